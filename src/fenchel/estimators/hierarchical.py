"""Classification by the leaves of a taxonomy."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_softmax
from sklearn.base import ClassifierMixin
from sklearn.metrics import accuracy_score

from fenchel.data.checked import checked_weights
from fenchel.data.classes import checked_leaves
from fenchel.errors import InvalidData
from fenchel.estimators.available import available_if
from fenchel.estimators.base import WithIntercept
from fenchel.estimators.classifier import check_discrete, check_weighed
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.protocol import Saved
from fenchel.estimators.settings import loss_of
from fenchel.losses import HierarchicalSoftmax, Labels, Taxonomy
from fenchel.losses.hierarchy import Hierarchical
from fenchel.losses.vector import Cost
from fenchel.result import Result
from fenchel.risks.base import Array


def _has_probabilities(estimator: HierarchicalClassifier) -> None:
    if estimator.loss != "hierarchical_softmax" and not isinstance(
        estimator.loss, HierarchicalSoftmax
    ):
        raise AttributeError(
            f"loss={estimator.loss!r} gives no probabilities: use loss='hierarchical_softmax', or "
            "calibrate the scores on other rows, by sklearn.calibration."
            "CalibratedClassifierCV(model).fit(X, y) (docs/how-to/probabilities.md)"
        )


@declared
class HierarchicalClassifier(ClassifierMixin, WithIntercept):
    """Linear classification by the leaves of a taxonomy, to a certified gap.

    Every node of the taxonomy but its root has a weight vector and an offset, and the score of a
    leaf is the sum over the nodes on its path: leaves share what is common to them. Minimises
    alpha * penalty(W) + mean of loss(scores, y), the mean weighted by sample_weight.

    Parameters
    ----------
    taxonomy : dict, list, array or fenchel.losses.Taxonomy, default=None
        The tree whose leaves are the labels: a dict from child to parent; an array with the parent
        of node 0, 1, ... and -1 for the root; a list of paths, tuples of names from below the root
        to a leaf; or a nested dict, {"animal": ["cat", "dog"], "fern": None}. None puts all labels
        below the root, which makes this a multiclass classifier.
    loss : {"hierarchical_hinge", "hierarchical_softmax"} or loss, default="hierarchical_hinge"
        The loss: the largest margin by which a wrong leaf wins, or minus the log-likelihood of a
        softmax over all leaves, which gives probabilities. An instance has its own taxonomy.
    cost : {"distance", "relative"}, float, array or callable, default="distance"
        For "hierarchical_hinge": what it costs to take leaf z for leaf y. "distance" is the number
        of edges between them, "relative" the same over the largest; or a number, if all mistakes
        are alike; a matrix with z in rows and y in columns, leaves sorted; a function of z and y.
    fit_intercept : bool, default=True
        Whether each node has an intercept; they are never penalised. On a handful of rows the fit
        may then end short of `tol`, with a warning; without intercepts it does not.
    solver : str or Solver, default="auto"
        How to minimise; "auto" chooses by loss and penalty. The names are those of
        `fenchel.minimize`: "bmrm", "ls-bmrm" and others.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if the nodes and columns are the same.

    Attributes
    ----------
    classes_ : ndarray of shape (n_leaves,)
        The leaves of the taxonomy, sorted.
    nodes_ : ndarray of shape (n_nodes,)
        The nodes of the taxonomy but its root, parents before their children.
    taxonomy_ : fenchel.losses.Taxonomy
        The tree itself.
    coef_ : ndarray of shape (n_nodes, n_features)
        The weights W.
    intercept_ : ndarray of shape (n_nodes,)
        The offsets b.

    Examples
    --------
    >>> from fenchel import HierarchicalClassifier
    >>> X = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> taxonomy = {"animal": ["cat", "dog"], "plant": ["fern", "moss"]}
    >>> model = HierarchicalClassifier(taxonomy=taxonomy, alpha=1e-3)
    >>> model = model.fit(X, ["cat", "dog", "fern", "moss"])
    >>> model.predict([[0.1, 0.9], [0.9, 0.1]])
    array(['dog', 'fern'], dtype='<U4')
    >>> model.nodes_
    array(['animal', 'cat', 'dog', 'plant', 'fern', 'moss'], dtype='<U6')
    >>> model.coef_.shape, model.result_.converged
    ((6, 2), True)
    """

    taxonomy: Any = None
    loss: str | Hierarchical = "hierarchical_hinge"
    cost: Cost | str = "distance"

    def _loss(self) -> Hierarchical:
        settings = {"taxonomy": self.taxonomy, "cost": self.cost}
        loss = loss_of(self.loss, (Labels.LEAVES,), settings)
        assert isinstance(loss, Hierarchical)
        return loss

    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Minimises the objective over the rows of X, their leaves y and their weights."""
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        rows, taxonomy = self._rows(X, reset=True), self._loss().taxonomy
        targets = checked_leaves(self._target(y), taxonomy, rows.n_rows)
        classes = targets.classes if taxonomy is None else taxonomy.classes
        check_discrete(classes)
        weights = checked_weights(sample_weight, rows.n_rows)
        check_weighed(weights, classes, targets.y)
        problems = settings.problems(rows, [targets], weights)

        def adopt(results: list[Result]) -> None:
            (result,) = results
            self._adopt(classes)
            self.coef_, self.intercept_ = result.w, np.asarray(result.intercept)

        return Posed(settings, problems, [self._start(targets.classes, rows.n_columns)], adopt)

    def _adopt(self, classes: npt.NDArray[Any]) -> None:
        """The leaves, and the tree above them."""
        taxonomy = self._loss().taxonomy
        self.classes_ = classes
        self.taxonomy_ = Taxonomy.flat(classes.tolist()) if taxonomy is None else taxonomy
        self.nodes_ = classes if taxonomy is None else taxonomy.names

    def _restore(self, saved: Saved) -> None:
        classes = saved.classes()
        self._adopt(classes)
        if not np.array_equal(classes, self.taxonomy_.classes):
            raise InvalidData("its classes are not the leaves of its taxonomy")
        shape = len(self.nodes_), self.n_features_in_
        self.coef_, self.intercept_ = self._restored_lines(saved, shape, together=True)

    def _start(self, nodes: npt.NDArray[Any], n_columns: int) -> Array | None:
        if not np.array_equal(getattr(self, "nodes_", nodes), nodes):
            return None
        starts = self._starts((len(nodes), n_columns))
        return None if starts[0] is None else np.asarray(starts)

    def _leaf_scores(self, X: Any) -> Array:
        scores = self._scores(X)
        return self.taxonomy_.leaf_scores(scores)

    def decision_function(self, X: Any) -> Array:
        """The scores of all leaves for each row of X; of two, the second less the first."""
        scores = self._leaf_scores(X)
        return scores[:, 1] - scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The leaf of each row of X."""
        codes = self._leaf_scores(X).argmax(axis=1)
        leaves: npt.NDArray[Any] = self.classes_[codes]
        return leaves

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the probabilities of the leaves."""
        chances: Array = log_softmax(self._leaf_scores(X), axis=1)
        return chances

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """The probabilities of the leaves: the softmax of their scores."""
        probabilities: Array = np.exp(self.predict_log_proba(X))
        return probabilities

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose leaf is predicted; y must hold leaves of the taxonomy."""
        predicted = self.predict(X)
        y = self._target(y)
        labels, rows = np.unique(y, return_inverse=True)
        self.taxonomy_.codes(labels, rows)  # refuses labels that the model does not know
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))
