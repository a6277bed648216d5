"""Re-ranking: the right candidate out of each list."""

from __future__ import annotations

import itertools
from dataclasses import field
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from fenchel.data.checked import checked_labels
from fenchel.errors import InvalidData
from fenchel.estimators.declared import declared
from fenchel.estimators.ranker import Ranker
from fenchel.losses import Labels, MultivariateLoss, RerankLikelihood, RerankMargin
from fenchel.losses.multivariate import Sample
from fenchel.risks.base import Array
from fenchel.settings import construct

RERANKING: dict[str, type[MultivariateLoss]] = {
    "rerank_likelihood": RerankLikelihood,
    "rerank_margin": RerankMargin,
}


@declared
class Reranker(Ranker):
    """The right candidates out of lists of them, such as the N best of a parser ([Andrew07]).

    Minimises alpha * penalty(w) + mean over lists of loss(scores), the mean weighted by
    sample_weight. X has a row for each candidate,
    y says how good it is, 1 and 0 for right and wrong or anything >= 0, and `groups` has the list
    of each row; the best of a list are its gold candidates.

    Parameters
    ----------
    loss : {"rerank_likelihood", "rerank_margin"}, default="rerank_likelihood"
        The log-likelihood of the gold candidates, or the margin by which they come first, what is
        missing in y being the cost of the others.

    Examples
    --------
    >>> from fenchel import Reranker
    >>> X, y = [[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [0.5, 3.0]], [0, 1, 1, 0]
    >>> model = Reranker(alpha=1e-2).fit(X, y, groups=[4, 4, 7, 7])
    >>> model.choose(X, groups=[4, 4, 7, 7])
    array([1, 2])
    """

    _group: ClassVar[str] = "list"

    loss: str = "rerank_likelihood"
    k: int | None = field(default=None, init=False)  # of the ranker's losses alone
    half_life: float = field(default=5.0, init=False)

    def _loss(self) -> MultivariateLoss:
        return construct("loss", self.loss, RERANKING, {})

    def fit(
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None, *, eval_set: Any = None
    ) -> Self:
        """Minimises the objective over the rows of X, how good they are, y, and their lists.

        `groups` has the list of each row, a whole number; rows of a list stand together.
        `sample_weight` says how often a list counts, the same for all of its rows.
        """
        return super().fit(X, y, groups, sample_weight, eval_set=eval_set)

    def choose(self, X: Any, groups: Any = None) -> npt.NDArray[np.int64]:
        """The row of the best candidate of each list, in the order of the lists."""
        scores = self.predict(X)
        return _chosen(scores, self._starts_of(groups, len(scores)))

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Of lists with a candidate that has y > 0, the share of which a best one is chosen."""
        scores = self.predict(X)
        quality = checked_labels(self._target(y), Labels.COUNT, len(scores))
        starts = self._starts_of(groups, len(scores))
        best = np.maximum.reduceat(quality, starts[:-1])
        if not best.any():
            raise InvalidData("no list has a gold candidate, y > 0: none can be chosen")
        right = quality[_chosen(scores, starts)] == best
        return float(np.mean(right[best > 0]))

    def _starts_of(self, groups: Any, n_rows: int) -> npt.NDArray[np.int64]:
        sample: Sample = self._loss().sample(np.ones(n_rows), None, self._groups(groups, n_rows))
        return sample.starts


def _chosen(scores: Array, starts: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    lists = itertools.pairwise(starts)
    return np.array([i + int(np.argmax(scores[i:j])) for i, j in lists], dtype=np.int64)
