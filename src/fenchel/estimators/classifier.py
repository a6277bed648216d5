"""Classification: two classes, or more, together or one against the rest."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import log_expit, log_softmax
from sklearn.base import ClassifierMixin
from sklearn.utils import Tags
from sklearn.utils.class_weight import compute_class_weight

from fenchel.data.checked import checked_classes, checked_weights
from fenchel.data.classes import Targets
from fenchel.engines.owners import Owners
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.estimators.available import available_if
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed
from fenchel.estimators.kernelised import WithKernel
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.settings import loss_of
from fenchel.estimators.summaries import WithSummary
from fenchel.losses import Labels, Logistic, Loss, NuHinge, ScalarLoss, Softmax, VectorLoss
from fenchel.losses.vector import Cost
from fenchel.result import Result
from fenchel.risks.base import Array
from fenchel.settings import real

Codes = npt.NDArray[np.intp]


def _has_probabilities(estimator: Classifier) -> None:
    loss = estimator.loss
    named = isinstance(loss, str) and loss in ("logistic", "softmax")
    if not named and not isinstance(loss, Logistic | Softmax):
        raise AttributeError(
            f"loss={loss!r} gives no probabilities: use loss='logistic' or loss='softmax', or "
            "calibrate the scores on other rows, by sklearn.calibration."
            "CalibratedClassifierCV(model).fit(X, y) (docs/how-to/probabilities.md)"
        )


@declared
class Classifier(ClassifierMixin, WithKernel, WithSummary):
    """Linear classification with any convex loss, to a certified gap.

    Minimises alpha * penalty(w) + mean of loss(<x, w> + b, y), the mean weighted by sample_weight.
    With a loss of the margin, three or more classes are fitted one against the rest, each to its
    own certificate, all on the same X. The losses "softmax" and "multiclass_hinge" take the scores
    of all classes at once, for any number of classes: one problem and one certificate.

    Parameters
    ----------
    loss : {"hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential", \
            "perceptron", "squared_perceptron", "nu_hinge", "softmax", "multiclass_hinge"} \
            or ScalarLoss or VectorLoss or NuHinge, default="hinge"
        The loss. "hinge" is the support vector machine; "logistic" gives probabilities. "nu_hinge"
        is the nu support vector machine, which needs a penalty with a share of L2. "softmax" is
        multinomial logistic regression, "multiclass_hinge" the support vector machine of Crammer
        and Singer. An instance may be of your own class, with a value, a slope and
        `labels = Labels.BINARY` or `Labels.CLASSES`.
    mu : float, default=1.0
        For "smoothed_hinge": the width of its quadratic part.
    nu : float, default=0.5
        For "nu_hinge", in (0, 1]: at most this share of the rows lies within the margin, and at
        least this share on or within it. With an intercept it is at most twice the share of the
        smaller class. alpha then only sets the scale of the scores, unless there is L1 in the
        penalty.
    cost : float, array of shape (n_classes, n_classes) or callable, default=None
        For "multiclass_hinge": what it costs to take class z for class y, in row z and column y or
        as a function of z and y; a number, or None for 1, if all mistakes are alike.
    rescaling : {"margin", "slack"}, default="margin"
        For "multiclass_hinge": whether a cost is the margin that is asked for, or a factor on how
        far a margin of 1 is missed.
    max_iter : int, default=10_000
        The most iterations for each problem.
    max_seconds : float, default=None
        The most seconds of all classes together; None for no limit.
    class_weight : dict or "balanced", default=None
        A factor on the sample weights of each class; "balanced" gives all classes the same total.
    warm_start : bool, default=False
        Start from the coefficients of the last fit, if there are as many classes and columns.
    checkpoint : path, default=None
        A file from which an interrupted fit goes on; one against the rest, each class has its
        own, with the suffix .0, .1 and so on.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The labels in order; of two, the second is the positive one.
    coef_ : ndarray of shape (1 or n_classes, n_features)
        The weights w; of two classes, those of the second less those of the first.
    intercept_ : ndarray of shape (1 or n_classes,)
        The offsets b, likewise.
    objective_, lower_bound_ : float
        Bounds of the least objective; the first is attained. One against the rest: sums over the
        classes.
    gap_ : float
        (objective_ - lower_bound_) / objective_; one against the rest, the largest.
    status_ : str
        How the fit ended: "converged", or why (a class) did not.
    n_iter_ : int
        Iterations; one against the rest, the most.
    result_ : fenchel.Result
        All that is known of the minimisation; one against the rest, a list.

    Examples
    --------
    >>> from fenchel import Classifier
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], ["low", "low", "high", "high"]
    >>> model = Classifier(loss="logistic", alpha=0.01).fit(X, y)
    >>> model.predict([[0.5], [2.5]])
    array(['low', 'high'], dtype='<U4')
    >>> model.predict_proba([[1.5]]).round(2)
    array([[0.5, 0.5]])
    >>> bool(model.gap_ <= model.tol)
    True

    Three classes in one problem:

    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], ["a", "a", "b", "b", "c", "c"]
    >>> model = Classifier(loss="softmax", alpha=1e-3).fit(X, y)
    >>> model.predict([[0.5], [2.5], [4.5]])
    array(['a', 'b', 'c'], dtype='<U1')
    >>> model.coef_.shape, model.result_.converged
    ((3, 1), True)
    """

    loss: str | ScalarLoss | VectorLoss | NuHinge = "hinge"
    mu: float = 1.0
    nu: float = 0.5
    cost: Cost = None
    rescaling: str = "margin"
    class_weight: dict[Any, float] | str | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        # These two have their minimum at w = 0.
        tags.classifier_tags.poor_score = str(self.loss) in ("perceptron", "squared_perceptron")
        return tags

    def _loss(self) -> Loss:
        settings = {
            "mu": self.mu,
            "nu": self.nu,
            "cost": self.cost,
            "rescaling": self.rescaling,
        }
        return loss_of(self.loss, (Labels.CLASSES, Labels.BINARY), settings)

    def _settings(self) -> Fit:
        weight = self.class_weight
        if not (weight is None or weight == "balanced" or isinstance(weight, dict)):
            raise InvalidData(f"class_weight must be a dict, 'balanced' or None; got {weight!r}")
        return super()._settings()

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, eval_set: Any = None
    ) -> Self:
        """Minimises the objective over the rows of X, their labels y and their weights.

        `eval_set` has rows that are held out, (X, y) or (X, y, sample_weight): each iterate is
        scored on them, and the fit may stop by it (`early_stopping_rounds`).

        With `Owners` for X, who have rows and labels, there is nothing else to give.
        """
        return self._fit(self._posed(X, y, sample_weight=sample_weight), eval_set)

    def _pose(
        self, settings: Fit, X: Any, y: Any, sample_weight: Any, groups: Any, offset: Any
    ) -> Posed:
        if isinstance(X, Owners):
            given = (y, sample_weight, self.class_weight)
            return self._across(X, settings, given, partial(self._adopt, _classes_of(X)))
        rows = self._rows(X, reset=True)
        classes, codes = checked_classes(self._target(y), rows.n_rows)
        check_discrete(classes)
        weights = self._weights(checked_weights(sample_weight, rows.n_rows), classes, codes)
        starts: list[Array | None] = self._class_starts(classes, rows.n_columns)
        targets: Iterable[Targets] = _signs(codes, classes)
        if isinstance(settings.loss, VectorLoss):
            targets, starts = [Targets(codes.astype(np.int64), classes)], [unfolded(starts)]
        problems = settings.problems(rows, targets, weights)
        return Posed(settings, problems, starts, partial(self._adopt, classes))

    def _adopt(self, classes: npt.NDArray[Any], results: list[Result]) -> None:
        self._learn(*self._lines(results))
        self.classes_ = classes

    def _lines(self, results: list[Result]) -> tuple[Array, Array]:
        """The coefficients and intercepts that results stand for."""
        together = results[0].w.ndim == 2  # the scores of all classes
        w: Array = results[0].w if together else np.stack([result.w for result in results])
        b: Array = np.ravel([result.intercept for result in results])
        return (folded(w), folded(b)) if together else (w, b)

    def _state(self) -> State:
        """Of two classes whose scores were found together, the weights of both."""
        state = super()._state()
        if not isinstance(self._loss(), VectorLoss) or len(state.coef) > 1:
            return state
        if self.kernel is not None:
            return self._both_classes(state)
        (result,) = state.results
        w, b = result.w, np.asarray(result.intercept)
        same = np.array_equal(folded(w), state.coef), np.array_equal(folded(b), state.intercept)
        if not all(same):
            raise InvalidData(
                "cannot save a model of two classes whose coef_ or intercept_ is no longer what "
                "fit found: the file holds the weights of both classes, in result_"
            )
        return replace(state, coef=w, intercept=b)

    def _both_classes(self, state: State) -> State:
        """The weights of the support rows for both classes."""
        (result,) = state.results
        w = result.w if result.w.shape[1] == len(self.support_) else result.w[:, self.support_]
        return replace(state, coef=w, intercept=np.asarray(result.intercept, dtype=np.float64))

    def _restore(self, saved: Saved) -> None:
        classes, together = saved.classes(), isinstance(self._loss(), VectorLoss)
        n = 1 if len(classes) == 2 and not together else len(classes)
        w, b = self._restored_lines(saved, (n, self.n_features_in_), together=together)
        self._adopt_restored(folded(w) if together else w, folded(b) if together else b)
        self.classes_ = classes

    def _class_starts(self, classes: npt.NDArray[Any], n_columns: int) -> list[Array | None]:
        n = 1 if len(classes) == 2 else len(classes)
        if np.array_equal(getattr(self, "classes_", classes), classes):
            return self._starts((n, n_columns))
        return [None] * n

    def _weights(self, s: Array | None, classes: npt.NDArray[Any], codes: Codes) -> Array | None:
        """The weights of rows times those of their classes, none of which may vanish."""
        if self.class_weight is not None:
            s = np.ones(len(codes)) if s is None else s
            s = s * self._class_weights(s, classes, codes)[codes]
        check_weighed(s, classes, codes)
        return s

    def _class_weights(self, s: Array, classes: npt.NDArray[Any], codes: Codes) -> Array:
        if isinstance(self.class_weight, str) and self.class_weight == "balanced":
            totals = np.bincount(codes, weights=s).astype(np.float64)
            return float(s.sum()) / len(classes) / np.where(totals > 0, totals, 1.0)
        factors = compute_class_weight(self.class_weight, classes=classes, y=classes[codes])
        for label, factor in zip(classes.tolist(), factors.tolist(), strict=True):
            if real(f"class_weight[{label!r}]", factor) < 0:
                raise InvalidData(f"class_weight[{label!r}] must be >= 0; got {factor!r}")
        return np.asarray(factors, dtype=np.float64)

    def _summary_labels(self, fit: Fit, y: Any, n: int, s: Array) -> tuple[Array, Array]:
        """-1 and +1 of two classes, else their numbers; they must be those that were fitted."""
        if len(self.classes_) > 2 and not isinstance(fit.loss, Softmax):
            raise Incompatible(
                "one against the rest, each class has a model of its own, and no summary is one of "
                "all of them; use ",
                Setting("loss", "softmax"),
            )
        classes, codes = checked_classes(self._target(y), n)
        if not np.array_equal(classes, self.classes_):
            raise InvalidData(
                f"y has the classes {classes.tolist()}, but the model {self.classes_.tolist()}"
            )
        weights = self._weights(s, classes, codes)
        labels = np.where(codes == 1, 1.0, -1.0) if len(classes) == 2 else codes.astype(np.float64)
        return labels, s if weights is None else weights

    def decision_function(self, X: Any) -> Array:
        """The scores of each row of X: positive for the second of two classes; else one a class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row of X."""
        return self._predicted(self._scores(X))

    def _predicted(self, scores: Array) -> npt.NDArray[Any]:
        """The labels for scores, which are in the last axis."""
        two = len(self.classes_) == 2
        codes = (scores[..., 0] > 0).astype(np.intp) if two else scores.argmax(axis=-1)
        labels: npt.NDArray[Any] = self.classes_[codes]
        return labels

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Any) -> Array:
        """The logarithms of the probabilities of each row's classes."""
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.stack([-scores, scores], axis=1)
            chances: Array = log_expit(scores)
            return chances
        if not isinstance(self._loss(), VectorLoss):
            scores = log_expit(scores)
        chances = log_softmax(scores, axis=1)
        return chances

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> Array:
        """The probabilities of each row's classes.

        Of "softmax", the softmax of the scores. Of three or more classes one against the rest, the
        probability of each, divided by their sum.
        """
        probabilities: Array = np.exp(self.predict_log_proba(X))
        return probabilities


def _classes_of(owners: Owners) -> npt.NDArray[Any]:
    classes = np.array(owners.shapes[0].classes)  # of two numbers, or of two texts
    check_discrete(classes)
    return classes


def check_discrete(classes: npt.NDArray[Any]) -> None:
    """Refuses fractions, which are not names of classes."""
    if classes.dtype.kind == "f" and (classes % 1).any():
        raise InvalidData(
            f"Unknown label type: continuous. y holds {len(classes)} distinct values, such as "
            f"{classes[classes % 1 != 0].tolist()[0]!r}; did you mean ",
            Setting("loss", "squared_error", text="fenchel.Regressor"),
            "? If they are classes after all, give them as text or whole numbers",
        )


def check_weighed(s: Array | None, classes: npt.NDArray[Any], codes: npt.NDArray[Any]) -> None:
    """Refuses a class all of whose rows have weight 0."""
    if s is None:
        return
    absent = np.setdiff1d(codes, codes[s > 0])
    if len(absent):
        raise InvalidData(
            f"the rows of class {classes.tolist()[absent[0]]!r} all have weight 0; leave them out, "
            "or change sample_weight or class_weight"
        )


def _signs(codes: Codes, classes: npt.NDArray[Any]) -> Iterator[Targets]:
    """+1 for the rows of a class, -1 for the rest; of two classes, for the second only."""
    for k in range(1 if len(classes) == 2 else 0, len(classes)):
        yield Targets(np.where(codes == k, 1.0, -1.0))


def folded(each: Array) -> Array:
    """Weights or offsets of all classes; of two, the second less the first, as a line of its own.

    A loss of all scores does not change when they move together, so the difference says it all.
    """
    return each[1:] - each[:1] if len(each) == 2 else each


def unfolded(starts: Sequence[Array | None]) -> Array | None:
    """One start for all classes; a difference in halves, which no penalty can do better than."""
    lines = [start for start in starts if start is not None]
    if not lines:
        return None
    return np.stack([-lines[0] / 2, lines[0] / 2]) if len(lines) == 1 else np.stack(lines)
