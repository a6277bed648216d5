"""Ranking: the documents of each query in order of relevance."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags

from fenchel.data.checked import checked_groups, checked_labels
from fenchel.data.classes import Targets
from fenchel.errors import InvalidData
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.fitting import Groups, Posed
from fenchel.estimators.measures import ndcg
from fenchel.estimators.settings import multivariate_loss_of, multivariate_weights
from fenchel.losses import ERU, MRR, NDCG, Labels, MultivariateLoss, RankHinge
from fenchel.regularizers import Regularizer
from fenchel.result import Record, Result
from fenchel.risks.base import Array
from fenchel.settings import whole
from fenchel.solvers import Solver

RANKING: dict[str, type[MultivariateLoss]] = {
    "rank_hinge": RankHinge,
    "ndcg": NDCG,
    "mrr": MRR,
    "eru": ERU,
}


class Ranker(LinearEstimator):
    """Linear ranking of the documents of queries, to a certified gap.

    Minimises alpha * penalty(w) + mean over queries of loss(scores, relevances).

    Parameters
    ----------
    loss : {"rank_hinge", "ndcg", "mrr", "eru"}, default="rank_hinge"
        "rank_hinge" is the hinge over pairs of documents in the wrong order (RankSVM). The others
        bound 1 - NDCG@k, 1 - the reciprocal rank of the first document with y > 0, and 1 - the
        expected rank utility; their bounds are loose.
    k : int, default=10
        Places that count for NDCG, in the loss "ndcg" and in `score`; None for all.
    half_life : float, default=5.0
        For "eru": the place that is worth half of the first.
    penalty : {"l2", "l1", "elastic_net"} or Regularizer, default="l2"
        The regulariser; "elasticnet" is understood too.
    alpha : float, default=1e-4
        Its strength, against a loss that is a mean.
    l1_ratio : float, default=0.5
        For the elastic net: the share of L1, from 0 (all L2) to 1 (all L1).
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses "ls-bmrm". "bmrm", "sublbfgs", "hybrid" and others can too.
    tol : float, default=1e-4
        Stop when (objective - lower bound) / objective is certified to be at most this.
    max_iter : int, default=10_000
        The most iterations.
    max_seconds : float, default=None
        The most seconds; None for no limit.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if there are as many columns.
    n_jobs : int, default=None
        Threads. None: FENCHEL_NUM_THREADS or OMP_NUM_THREADS, else all cores; -1: all cores. The
        result does not depend on it.
    callback : callable, default=None
        Sees a `fenchel.Record` after each iteration; a true return value stops the fit.
    checkpoint : path, default=None
        A file from which an interrupted fit goes on.

    Attributes
    ----------
    coef_ : ndarray of shape (n_features,)
        The weights w.
    intercept_ : float
        0: an order does not change when all scores are shifted.
    objective_, lower_bound_ : float
        Bounds of the least objective; objective_ is attained.
    gap_ : float
        (objective_ - lower_bound_) / objective_.
    status_ : str
        How the fit ended: "converged", or why not.
    n_iter_ : int
        Iterations.
    solver_ : str
        The solver that was used.
    result_ : fenchel.Result
        All that is known of the minimisation; `fenchel.verify` checks its proof.
    n_features_in_, feature_names_in_ : int, ndarray of str
        The columns seen by fit; their names only if they all had one.

    Examples
    --------
    >>> from fenchel import Ranker
    >>> X, y = [[0.0], [1.0], [2.0], [5.0], [4.0], [3.0]], [0, 1, 2, 2, 1, 0]
    >>> query = [7, 7, 7, 8, 8, 8]
    >>> model = Ranker(alpha=1e-3).fit(X, y, groups=query)
    >>> model.predict([[1.0], [3.0], [2.0]]).argsort()
    array([0, 2, 1])
    >>> model.score(X, y, groups=query), model.result_.converged
    (1.0, True)
    """

    _group: ClassVar[str] = "query"

    def __init__(
        self,
        *,
        loss: str = "rank_hinge",
        k: int | None = 10,
        half_life: float = 5.0,
        penalty: str | Regularizer = "l2",
        alpha: float = 1e-4,
        l1_ratio: float = 0.5,
        solver: str | Solver = "auto",
        tol: float = 1e-4,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        warm_start: bool = False,
        n_jobs: int | None = None,
        callback: Callable[[Record], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
    ):
        super().__init__(
            penalty=penalty,
            alpha=alpha,
            l1_ratio=l1_ratio,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            max_seconds=max_seconds,
            warm_start=warm_start,
            n_jobs=n_jobs,
            callback=callback,
            checkpoint=checkpoint,
        )
        self.loss = loss
        self.k = k
        self.half_life = half_life

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.positive_only = self.loss != "rank_hinge"
        return tags

    def _loss(self) -> MultivariateLoss:
        if self.k is not None:
            whole("k", self.k, least=1)  # `score` takes it, whatever the loss
        settings = {"k": self.k, "half_life": self.half_life}
        return multivariate_loss_of("loss", self.loss, RANKING, settings)

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Minimises the objective over the rows of X and their relevances y.

        `groups` has the query of each row, a whole number; rows of a query stand together. Weights
        are for "rank_hinge", where a pair of documents counts with the product of theirs.
        """
        return self._fit(self._posed(X, y, sample_weight, groups))

    def _posed(self, X: Any, y: Any, sample_weight: Any, groups: Any = None) -> Posed:
        settings = self._settings(fit_intercept=False)
        rows = self._rows(X, reset=True)
        relevance = checked_labels(self._target(y), settings.loss.labels, rows.n_rows)
        queries = self._groups(groups, rows.n_rows)
        loss, instead = self._loss(), "loss='rank_hinge'"
        weights = multivariate_weights(loss, sample_weight, rows.n_rows, instead)

        def adopt(results: list[Result]) -> None:
            (result,) = results
            self._warn_of_zero(result, str(self.loss))
            self.coef_, self.intercept_ = result.w, 0.0

        problems = settings.problems(rows, [Targets(relevance)], weights, queries)
        return Posed(settings, problems, self._starts((1, rows.n_columns)), adopt)

    def _groups(self, groups: Any, n_rows: int) -> Groups:
        queries = checked_groups(groups, n_rows)
        if queries is None:
            raise InvalidData(
                f"groups is missing: {type(self).__name__} compares the rows of a {self._group}; "
                f"give the {self._group} of each row, the same number for all if there is but one"
            )
        return queries

    def predict(self, X: Any) -> Array:
        """The score of each row of X: of two documents of a query, the higher comes first."""
        return self._products(X)[:, 0]

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """The mean NDCG@k over the queries that have a document with y > 0, gains 2^y - 1.

        Documents with equal scores count as the mean over their orders.
        """
        scores = self.predict(X)
        relevance = checked_labels(self._target(y), Labels.COUNT, len(scores))
        each = ndcg(scores, relevance, self._groups(groups, len(scores)), self.k)
        if not len(each):
            raise InvalidData("no query has a relevant document, y > 0: there is no NDCG")
        return float(np.mean(each))
