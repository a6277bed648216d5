"""Boosting that corrects all weights in every round."""

from __future__ import annotations

import math
import time
import warnings
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter, validate_data

from fenchel.callers import users_line
from fenchel.data.checked import checked_classes
from fenchel.errors import FenchelWarning, Incompatible, InvalidData
from fenchel.estimators.classifier import check_discrete
from fenchel.estimators.corrective import Edges
from fenchel.regularizers import Entropy
from fenchel.risks.base import Array
from fenchel.settings import positive, whole

_INNER = 0.1  # the gap of a round's problem, relative to that of the whole


class Round(NamedTuple):
    """One round: what the new hypothesis's edge was, and what is proved by now."""

    iteration: int
    edge: float
    objective: float
    lower_bound: float
    gap: float
    seconds: float


class ERLPBoost(ClassifierMixin, BaseEstimator):
    """Entropy-regularised LPBoost (Warmuth et al., ALT 2008; [Zhang11] example 5).

    A weak learner is fitted to weighted rows, round by round. After each, the weights of the rows
    are made anew so that the best hypothesis yet has the smallest edge, sum_i d_i y_i h(x_i), with
    no d_i above 1/(nu n) and Omega(d)/eta, Omega the relative entropy, added. The weights of the
    hypotheses solve the dual problem: they make the soft margin of their vote the largest, when
    nu n rows may fall short of it.

    objective_ is the largest edge of all hypotheses found plus Omega(d)/eta, at the best d, and
    lower_bound_ the dual's value: the minimum over d lies between them. No hypothesis can lower it;
    whether one is left that would raise it is the weak learner's word. (A tree splits by impurity,
    which need not give the largest edge there is.)

    Parameters
    ----------
    estimator : estimator, default=None
        The weak learner: a scikit-learn classifier whose fit takes sample_weight. None: a stump,
        DecisionTreeClassifier(max_depth=1).
    nu : float, default=0.05
        The share of rows, in (0, 1], that may fall short of the margin: less than the share of the
        rarer class, or all of that may be given up. A fit warns where it is not.
    eta : float, default=None
        How little the entropy counts; None: 2 log(1/nu) / tol, for which it counts tol/2 at most.
    tol : float, default=0.01
        Stop when objective_ - lower_bound_ is at most this; edges lie between -1 and 1.
    max_iter : int, default=500
        The most rounds.
    random_state : int, RandomState or None, default=None
        Of the weak learner, where it has one.

    Attributes
    ----------
    estimators_ : list
        The hypotheses.
    estimator_weights_ : ndarray of shape (n_iter_,)
        Their weights, >= 0, with the sum 1.
    objective_, lower_bound_, gap_ : float
        The bounds and their distance.
    history_ : list of Round
        The same after each round, with its edge and the seconds since the start.
    status_ : {"converged", "max_iterations"}
        Why the fit ended.
    n_iter_ : int
        The number of hypotheses.
    classes_ : ndarray of shape (2,)
        The labels; the second is the positive one.
    n_features_in_ : int
        The number of columns.
    feature_names_in_ : ndarray of shape (n_features_in_,)
        The columns' names, where X had names.

    Examples
    --------
    >>> import fenchel
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = fenchel.ERLPBoost(random_state=0).fit(X, y)
    >>> model.status_
    'converged'
    >>> bool(model.gap_ <= 0.01)
    True
    """

    def __init__(
        self,
        estimator: Any = None,
        *,
        nu: float = 0.05,
        eta: float | None = None,
        tol: float = 0.01,
        max_iter: int = 500,
        random_state: Any = None,
    ):
        self.estimator = estimator
        self.nu = nu
        self.eta = eta
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.sparse = get_tags(self._weak()).input_tags.sparse
        return tags

    def _weak(self) -> Any:
        return DecisionTreeClassifier(max_depth=1) if self.estimator is None else self.estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Boosts the weak learner on the rows of X and their labels y."""
        nu, eta, tol, max_iter = self._settings()
        X, y = validate_data(self, X, y, accept_sparse="csr")
        check_discrete(np.unique(y))
        self.classes_, codes = checked_classes(y, len(y))
        if len(self.classes_) > 2:
            raise InvalidData(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"y holds {len(self.classes_)} classes; fit one against the rest with "
                "sklearn.multiclass.OneVsRestClassifier"
            )
        _warn_of_a_lost_class(nu, self.classes_, codes)
        self._boost(X, np.where(codes == 1, 1.0, -1.0), Entropy(1 / (nu * len(y))), eta, tol)
        if self.status_ != "converged":
            warnings.warn(
                f"ERLPBoost stopped short after {max_iter} rounds: the certified gap is "
                f"{self.gap_:.2g}, tol asks for {tol:g}; raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=users_line(),
            )
        return self

    def _settings(self) -> tuple[float, float, float, int]:
        """(nu, eta, tol, max_iter), checked before the data are touched."""
        nu, tol = positive("nu", self.nu), positive("tol", self.tol)
        if nu > 1:
            raise InvalidData(f"nu must lie in (0, 1]; got {self.nu!r}")
        eta = max(0.5, 2 * math.log(1 / nu) / tol) if self.eta is None else self.eta
        if not has_fit_parameter(self._weak(), "sample_weight"):
            raise Incompatible(
                f"the weak learner {self._weak()!r} has no sample_weight in its fit: the rows of "
                "each round are weighted"
            )
        return nu, positive("eta", eta), tol, whole("max_iter", self.max_iter, least=1)

    def _boost(self, X: Any, y: Array, entropy: Entropy, eta: float, tol: float) -> None:
        random, begun = check_random_state(self.random_state), time.perf_counter()
        best = d = entropy.start(len(y))
        U, w, lower = np.empty((0, len(y))), np.empty(0), -math.inf
        self.estimators_, self.history_ = [], []
        for iteration in range(1, self.max_iter + 1):
            hypothesis = self._hypothesis(X, y, d, random)
            u = y * _votes(hypothesis, X, self.classes_)
            U = np.vstack([U, u])
            problem = Edges(U, entropy, eta)
            objective, best = min(((problem.upper(x), x) for x in (best, d)), key=itemgetter(0))
            gap, seconds = objective - lower, time.perf_counter() - begun
            self.history_.append(Round(iteration, float(u @ d), objective, lower, gap, seconds))
            if gap <= tol:
                break
            self.estimators_.append(hypothesis)
            d, w, _, bound = problem.corrected(w, _INNER * max(min(gap, 1.0), tol))
            lower = max(lower, bound)
        self.estimator_weights_ = w
        self.objective_, self.lower_bound_, self.gap_ = objective, lower, objective - lower
        self.status_ = "converged" if self.gap_ <= tol else "max_iterations"
        self.n_iter_ = len(self.estimators_)

    def _hypothesis(self, X: Any, y: Array, d: Array, random: np.random.RandomState) -> Any:
        weak = clone(self._weak())
        if "random_state" in weak.get_params():
            weak.set_params(random_state=random.randint(np.iinfo(np.int32).max))
        return weak.fit(X, self.classes_[(y > 0).astype(np.intp)], sample_weight=d)

    def decision_function(self, X: Any) -> Array:
        """The vote of the hypotheses on each row of X, from -1 to 1."""
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", reset=False)
        votes = [_votes(hypothesis, X, self.classes_) for hypothesis in self.estimators_]
        scores: Array = self.estimator_weights_ @ np.array(votes)
        return scores

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The label of each row of X."""
        second = (self.decision_function(X) > 0).astype(np.intp)
        labels: npt.NDArray[Any] = self.classes_[second]
        return labels


def _warn_of_a_lost_class(nu: float, classes: npt.NDArray[Any], codes: npt.NDArray[Any]) -> None:
    counts = np.bincount(codes, minlength=2)
    rarer = int(np.argmin(counts))
    share = counts[rarer] / len(codes)
    if nu >= share:
        warnings.warn(
            f"nu = {nu:g} lets that share of the rows fall short of the margin, and class "
            f"{classes[rarer]} has {share:.2g} of them: the vote may never say it; choose nu below",
            FenchelWarning,
            stacklevel=users_line(),
        )


def _votes(hypothesis: Any, X: Any, classes: npt.NDArray[Any]) -> Array:
    """+1 for the second class, -1 for the first."""
    return np.where(hypothesis.predict(X) == classes[1], 1.0, -1.0)
