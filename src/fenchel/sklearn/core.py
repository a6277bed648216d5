"""What the drop-in estimators share: scikit-learn's classes, with a `fit` that is ours.

A drop-in is a subclass of scikit-learn's own class. Parameters, their checks and defaults,
predictions, scores, tags and the routing of metadata are inherited; only `fit` is replaced. A class
says which minimisations make up its objective (`_tasks`), and in which shape scikit-learn keeps
what they find (`_adopt`). All else stands here.

scikit-learn's linear models minimise

    F(w, b) = p Omega(w) + f (1/S) sum_i s_i l(<x_i, w> + b, y_i),    S = sum_i s_i,

where p and f > 0 follow from C or alpha, from sums or means, and from halves that are there or not.
Ours minimise J = strength Omega + mean loss. At strength = p / f it holds that F = f J: both have
the same minimisers and the same relative gap, and bounds of J times f are bounds of F.

`tol` is in scikit-learn a bound on a gradient, and so about one on the distance to the minimiser:
near it J - min J grows with the square of either. Here it stands for a certified relative gap of
tol^2, at least of 1e-10: about what float64 can prove. A tol below 1e-7 asks for all that can be
had: iterations go on until nothing moves any more.
"""

from __future__ import annotations

import numbers
import warnings
from typing import Any, NamedTuple, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _num_samples

from fenchel.callers import users_line
from fenchel.data.checked import checked_weights
from fenchel.errors import InvalidData
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.settings import words
from fenchel.estimators.shortcomings import worst
from fenchel.estimators.steering import steered
from fenchel.result import Result, Status
from fenchel.risks.base import Array
from fenchel.sklearn.biased import joined, lines
from fenchel.sklearn.files import Found, InFiles, results_of
from fenchel.solvers import SOLVERS, Solver
from fenchel.tolerances import STALLED

LEAST_GAP = 1e-10
_LEAST_TOL, _NO_GAP = 1e-7, 1e-14  # below the first, the second: a gap that is hardly ever proved
# In place of alpha = 0 where no solver does without a penalty: kinked losses and bounds.
NEARLY_ZERO = 1e-6
_THEIRS = frozenset(  # the names of scikit-learn's solvers
    "auto cholesky highs highs-ds highs-ipm interior-point lbfgs liblinear lsqr newton-cg "
    "newton-cholesky sag saga sparse_cg svd".split()
) | {"revised simplex"}
_MANY = 1000  # iterations, where scikit-learn's class has no limit


class Task(NamedTuple):
    """One of the minimisations that make up a fit."""

    model: LinearEstimator  # an estimator of ours, at the strength p / f
    y: Any
    weights: Array | None
    factor: float = 1.0  # f


def with_our_solvers(constraints: dict[str, Any]) -> dict[str, Any]:
    """scikit-learn's constraints of parameters, where `solver` may be one of ours too."""
    theirs = [each for each in constraints["solver"] if isinstance(each, StrOptions)]
    names = set(SOLVERS).union({"auto"}, *(each.options for each in theirs))
    return {**constraints, "solver": [StrOptions(names), Solver]}


class DropIn(InFiles):
    """The part of a drop-in estimator that is ours; scikit-learn's class comes after it."""

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        """The minimisations that make up the objective; s are checked sample weights."""
        raise NotImplementedError

    def _adopt(self, found: Found) -> None:
        """Keeps what was found in scikit-learn's shapes; as it is here, of one score."""
        self.coef_, self.intercept_ = found.coef[0], float(found.intercept[0])
        self.n_iter_ = found.n_iter[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()  # type: ignore[misc]  # scikit-learn's class has it
        tags.array_api_support, tags.input_tags.sparse = False, True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Minimises scikit-learn's objective to a certified gap.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            What is to be predicted.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows.

        Returns
        -------
        self
            The fitted estimator.
        """
        return self._minimise(X, self._tasks(X, y, weights_of(X, sample_weight)))

    def _minimise(self, X: Any, tasks: list[Task]) -> Self:
        short = ""
        for task in tasks:
            posed = task.model._posed(X, task.y, sample_weight=task.weights)
            results = steered(task.model, posed, None)
            task.model._take(posed, results)
            short = short or self._shortfall(task.model, results)
        self._keep(tasks)
        if short:
            warnings.warn(short, ConvergenceWarning, stacklevel=users_line())
        return self

    def _keep(self, tasks: list[Task]) -> None:
        """What was found and what was proved, as attributes."""
        models = [task.model for task in tasks]
        least = max(models, key=lambda model: (model.status_ != "converged", model.gap_))
        bounds = np.array([[t.model.objective_, t.model.lower_bound_] for t in tasks])
        bounds *= [[task.factor] for task in tasks]
        coef, intercept = zip(*[lines(model) for model in models], strict=True)
        results = [each for model in models for each in results_of(model)]
        self.n_features_in_ = models[0].n_features_in_
        vars(self).pop("feature_names_in_", None)  # of an earlier fit
        if hasattr(models[0], "feature_names_in_"):
            self.feature_names_in_ = models[0].feature_names_in_
        self.objective_, self.lower_bound_ = bounds.sum(axis=0).tolist()
        self.gap_, self.status_, self.solver_ = least.gap_, least.status_, least.solver_
        self.result_ = results[0] if len(results) == 1 else results
        counts = [int(model.n_iter_) for model in models]
        gaps = bounds[:, 0] - bounds[:, 1]
        self._adopt(Found(np.concatenate(coef), np.concatenate(intercept), counts, gaps))

    def _shortfall(self, model: LinearEstimator, results: list[Result]) -> str:
        """What to say of a fit that did not converge; nothing of one that did."""
        last = worst(results)
        if last.converged or (last.status is Status.STALLED and last.gap <= STALLED):
            return ""
        return (
            f"{type(self).__name__} did not converge within {last.iterations} iterations: the "
            f"certified gap is {last.gap:.2g}, tol asks for {model.tol:.2g}; "
            f"{last.ending.worded(words)}"
        )

    def _common(self) -> dict[str, Any]:
        """Those settings of ours that all classes have, by scikit-learn's names of them."""
        given, limit = vars(self), vars(self).get("max_iter")
        return {
            "tol": gap_of(given.get("tol")),
            "max_iter": _MANY if limit is None else max(int(limit), 1),
            "solver": solver_of(given.get("solver", "auto")),
            "n_jobs": given.get("n_jobs"),
            "verbose": given.get("verbose", False),
        }

    def _warmed(self, model: LinearEstimator, line: slice = slice(None)) -> LinearEstimator:
        """The model, to start from the last fit's lines if that is wanted and there was one."""
        coef = getattr(self, "coef_", None)
        if getattr(self, "warm_start", False) and coef is not None:
            whole = np.atleast_2d(coef)
            b = np.broadcast_to(np.ravel(getattr(self, "intercept_", 0.0)), len(whole))
            start = joined(whole[line], b[line], getattr(model, "bias", None))
            model.warm_start, model.coef_ = True, start
            if hasattr(self, "classes_"):
                model.classes_ = self.classes_
        return model


def gap_of(tol: float | None) -> float:
    """The relative gap that a tolerance of scikit-learn's stands for, see above."""
    if tol is None:
        return LEAST_GAP
    return max(float(tol) ** 2, LEAST_GAP) if tol >= _LEAST_TOL else _NO_GAP


def solver_of(solver: str | Solver) -> str | Solver:
    """Our solver of that name; "auto" for scikit-learn's names, "lbfgs" among them."""
    return "auto" if isinstance(solver, str) and solver in _THEIRS else solver


def weights_of(X: Any, sample_weight: Any) -> Array | None:
    """Sample weights, checked; a number is one for all rows."""
    n = _num_samples(X)
    if isinstance(sample_weight, numbers.Number):
        sample_weight = np.full(n, sample_weight)
    shape = np.asarray(sample_weight).shape
    if len(shape) > 1:
        raise InvalidData(f"Sample weights must be 1D array or scalar; got shape {shape}")
    return checked_weights(sample_weight, n)


def total(X: Any, s: Array | None) -> float:
    """S, the sum of the weights of rows."""
    return float(_num_samples(X) if s is None else s.sum()) or 1.0  # no rows are refused later


def penalty_of(l1_ratio: float) -> str:
    """The name of the penalty with that share of L1."""
    return "l2" if l1_ratio == 0 else "l1" if l1_ratio == 1 else "elastic_net"
