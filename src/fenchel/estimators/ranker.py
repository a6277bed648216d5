"""Ranking: the documents of each query in order of relevance."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags

from fenchel.data.checked import checked_groups, checked_labels
from fenchel.data.classes import Targets
from fenchel.errors import InvalidData
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Groups, Posed
from fenchel.estimators.measures import ndcg
from fenchel.estimators.protocol import Saved
from fenchel.estimators.settings import multivariate_loss_of, multivariate_weights
from fenchel.losses import ERU, MRR, NDCG, Labels, MultivariateLoss, RankHinge
from fenchel.result import Result
from fenchel.risks.base import Array
from fenchel.settings import whole

RANKING: dict[str, type[MultivariateLoss]] = {
    "rank_hinge": RankHinge,
    "ndcg": NDCG,
    "mrr": MRR,
    "eru": ERU,
}


@declared
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
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses "ls-bmrm". "bmrm", "sublbfgs", "hybrid" and others can too.

    Attributes
    ----------
    intercept_ : float
        0: an order does not change when all scores are shifted.

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

    _grouped: ClassVar[bool] = True
    _group: ClassVar[str] = "query"

    loss: str = "rank_hinge"
    k: int | None = 10
    half_life: float = 5.0

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

    def _measure(self) -> str:
        return str(self.loss)

    def fit(
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None, *, eval_set: Any = None
    ) -> Self:
        """Minimises the objective over the rows of X and their relevances y.

        `groups` has the query of each row, a whole number; rows of a query stand together. Weights
        are for "rank_hinge", where a pair of documents counts with the product of theirs.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight, groups=groups), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        rows = self._rows(X, reset=True)
        relevance = checked_labels(self._target(y), settings.loss.labels, rows.n_rows)
        queries = self._groups(groups, rows.n_rows)
        loss, instead = self._loss(), "loss='rank_hinge'"
        weights = multivariate_weights(loss, sample_weight, rows.n_rows, instead)

        def adopt(results: list[Result]) -> None:
            (result,) = results
            self.coef_, self.intercept_ = result.w, 0.0

        problems = settings.problems(rows, [Targets(relevance)], weights, queries)
        return Posed(settings, problems, self._starts((1, rows.n_columns)), adopt)

    def _restore(self, saved: Saved) -> None:
        self.coef_, self.intercept_ = self._restored_line(saved, self.n_features_in_)

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
