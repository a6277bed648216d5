"""scikit-learn's logistic regression whose C, and share of L1, are chosen by cross-validation.

C counts against a sum of losses, and a fold has fewer rows than all: the strength that C stands for
differs from fold to fold. On each fold the fits go from the smallest C up, each from the last.
"""

from __future__ import annotations

import inspect
import numbers
import warnings
from collections.abc import Iterator
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import _fit_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegressionCV as Base
from sklearn.metrics import make_scorer
from sklearn.model_selection import check_cv
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _check_method_params

from fenchel._system import blas
from fenchel.callers import users_line
from fenchel.risks.base import Array
from fenchel.sklearn.core import DropIn, total, weights_of, with_our_solvers
from fenchel.sklearn.logistic import LogisticRegression, logistic_task, weighed
from fenchel.sklearn.routing import of_splitter_and_scorer

_NEVER = -1e3  # the score of a class that a fold has no rows of: exp of it is 0
_SHARES = {"l1": (1.0,), "l2": (0.0,)}


class Trials(NamedTuple):
    """What the folds say, by fold, share of L1 and C."""

    coefs: Array  # (n_folds, n_ratios, n_Cs, n_lines, n_features and one more for the intercept)
    scores: Array
    n_iter: npt.NDArray[np.int32]
    n_short: int


class LogisticRegressionCV(DropIn, Base):
    """scikit-learn's LogisticRegressionCV, the chosen model to a certified gap.

    Any penalty goes with any solver, see `LogisticRegression`.
    """

    _parameter_constraints = with_our_solvers(Base._parameter_constraints)

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Finds the C that scores best, then the model of it on all rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            The rows.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), default=None
            The weights of the rows.
        **params : dict
            What goes to the splitter and the scorer.

        Returns
        -------
        self
            The fitted estimator.
        """
        splits, scored = of_splitter_and_scorer(self, sample_weight, params)
        y, classes, weights = weighed(X, y, weights_of(X, sample_weight), self.class_weight)
        X, y = indexable(X, y)
        folds = list(check_cv(self.cv, y, classifier=True).split(X, y, **splits))
        given, ratios = self._ratios()
        self.Cs_ = _grid(self.Cs)
        self.classes_ = classes
        trials = self._tried(X, y, weights, folds, ratios, scored)
        self.l1_ratios_ = np.asarray([None] if given is None else given)
        self._choose(X, y, weights, ratios, trials)
        self._describe(trials, given is not None)
        if trials.n_short:
            text = f"{trials.n_short} of the fits that chose C stopped short of tol"
            warnings.warn(text, ConvergenceWarning, stacklevel=users_line())
        return self

    def _bias(self) -> float | None:
        return LogisticRegression._bias(self)  # whose settings it has

    def _ratios(self) -> tuple[Any, list[float]]:
        """The shares of L1 as they were given, None if they were not, and as numbers."""
        given = None if isinstance(self.l1_ratios, str) else self.l1_ratios
        penalty = getattr(self, "penalty", "deprecated")
        if penalty in _SHARES:
            return given, list(_SHARES[penalty])
        numbers_only = given is None or all(
            isinstance(each, numbers.Real) and 0 <= float(each) <= 1 for each in given
        )
        if not numbers_only or (given is not None and not len(given)):
            raise ValueError(
                f"l1_ratios must be an array-like of numbers between 0 and 1; got {given!r}"
            )
        return given, [0.0] if given is None else [float(each) for each in given]

    @blas.one_thread()
    def _tried(
        self, X: Any, y: Any, s: Array | None, folds: list[Any], ratios: list[float], scored: Any
    ) -> Trials:
        """The models of all folds, shares and Cs, and their scores on the rows left out."""
        shape, scorer = (len(folds), len(ratios), len(self.Cs_)), _scorer(self, self.classes_)
        found: dict[tuple[int, ...], tuple[Array, float, int, bool]] = {}
        for k, (inside, outside) in enumerate(folds):
            rows = _safe_indexing(X, inside), y[inside], None if s is None else s[inside]
            left = _safe_indexing(X, outside), y[outside]
            more = _check_method_params(X, scored, indices=outside)
            for j, ratio in enumerate(ratios):
                for i, judge, short in self._along(*rows, ratio):
                    score = float(scorer(judge, *left, **more))
                    line = _line(judge, self.fit_intercept)
                    found[k, j, i] = line, score, int(judge.n_iter_[0]), short
        coefs, scores, counts, n_short = (
            np.array(each).reshape(*shape, *np.shape(each[0]))
            for each in zip(*(found[place] for place in np.ndindex(*shape)), strict=True)
        )
        return Trials(coefs, scores, counts.astype(np.int32), int(n_short.sum()))

    def _along(
        self, X: Any, y: Any, s: Array | None, ratio: float
    ) -> Iterator[tuple[int, LogisticRegression, bool]]:
        """The place of each C with its model of some rows, and whether that fell short."""
        present, order = np.unique(y), np.argsort(self.Cs_, kind="stable")
        task = logistic_task(self, X, y, s, len(present), 1.0, ratio)
        posed = task.model._posed(X, y, sample_weight=s).kept()
        strengths = [1 / (C * total(X, s)) for C in self.Cs_[order]]
        for i, results in zip(order.tolist(), posed.along(strengths, proved=()), strict=True):
            task.model._take(posed, results)
            judge = LogisticRegression(solver=self.solver)
            judge._keep([task])
            judge.classes_ = self.classes_
            if len(present) < len(self.classes_):
                judge.coef_, judge.intercept_ = _spread(judge, present)
            yield i, judge, any(not result.converged for result in results)

    def _choose(self, X: Any, y: Any, s: Array | None, ratios: list[float], trials: Trials) -> None:
        """The best C and share of L1, and the model; without refit, the mean of the best ones."""
        if self.refit:
            j, i = np.unravel_index(
                int(np.argmax(trials.scores.sum(axis=0).T)), trials.scores.shape[:0:-1]
            )[::-1]
            C, ratio = float(self.Cs_[i]), ratios[j]
            task = logistic_task(self, X, y, s, len(self.classes_), C, ratio)
            model = LogisticRegression(C=C, solver=self.solver, fit_intercept=self.fit_intercept)
            model.set_params(l1_ratio=ratio, tol=self.tol, max_iter=self.max_iter)
            model.set_params(intercept_scaling=self.intercept_scaling)
            model.classes_ = self.classes_
            self._become(model._minimise(X, [task]))
            self._chosen = C, ratio
            return
        lines = []
        chosen = []
        for k, scores in enumerate(trials.scores):
            i, j = np.unravel_index(int(np.argmax(scores.T)), scores.T.shape)
            chosen.append((self.Cs_[i], ratios[j]))
            lines.append(trials.coefs[k, j, i])
        self._chosen = (
            float(np.mean([C for C, _ in chosen])),
            float(np.mean([r for _, r in chosen])),
        )
        mean = np.mean(lines, axis=0)
        n = mean.shape[1] - bool(self.fit_intercept)
        self.coef_ = mean[:, :n]
        self.intercept_ = mean[:, n] if self.fit_intercept else np.zeros(len(mean))
        self.n_features_in_ = n

    def _become(self, model: LogisticRegression) -> None:
        if hasattr(self, "feature_names_in_"):
            del self.feature_names_in_  # of an earlier fit
        for name, value in vars(model).items():
            if name.endswith("_"):
                setattr(self, name, value)
        self.best_estimator_ = model

    def _describe(self, trials: Trials, with_ratios: bool) -> None:
        """What the folds said, in scikit-learn's shapes: the new ones, or those of before 1.8."""
        legacy = getattr(self, "use_legacy_attributes", False)
        C, ratio = self._chosen
        self.coefs_paths_: Any = trials.coefs
        self.scores_: Any = trials.scores
        self.n_iter_: Any = trials.n_iter
        self.C_: Any = C
        self.l1_ratio_: Any = ratio
        if legacy is False:
            return
        lines = trials.coefs.shape[3]
        names = self.classes_ if lines > 1 else self.classes_[1:]
        one = (slice(None),) if with_ratios else (0,)  # without the axis of shares
        scores = np.swapaxes(trials.scores, 1, 2)[(..., *one)]
        paths = np.moveaxis(trials.coefs, (3, 2), (0, 2))  # lines, folds, Cs, shares, columns
        self.scores_ = dict.fromkeys(names, scores)
        self.coefs_paths_ = {
            name: path[:, :, one[0], :] for name, path in zip(names, paths, strict=True)
        }
        self.n_iter_ = np.swapaxes(trials.n_iter, 1, 2)[None][(..., *one)]
        self.C_ = np.full(lines, C)
        self.l1_ratio_ = np.full(lines, ratio) if with_ratios else np.full(lines, None)


def _grid(Cs: Any) -> Array:
    if isinstance(Cs, numbers.Integral):
        return np.logspace(-4, 4, int(Cs))
    return np.asarray(Cs, dtype=np.float64)


def _line(model: LogisticRegression, intercept: bool) -> Array:
    return np.column_stack([model.coef_, model.intercept_]) if intercept else model.coef_


def _spread(model: LogisticRegression, present: npt.NDArray[Any]) -> tuple[Array, Array]:
    """Lines for all classes of a model that saw some of them: the others have no chance."""
    coef, b = model.coef_, model.intercept_
    if len(present) == 2:  # a difference, in halves
        coef, b = np.concatenate([-coef / 2, coef / 2]), np.concatenate([-b / 2, b / 2])
    lines, offsets = (
        np.zeros((len(model.classes_), coef.shape[1])),
        np.full(len(model.classes_), _NEVER),
    )
    which = np.searchsorted(model.classes_, present)
    lines[which], offsets[which] = coef, b
    return lines, offsets


def _scorer(estimator: LogisticRegressionCV, classes: npt.NDArray[Any]) -> Any:
    """The scorer, told of all classes if its measure wants to know: a fold may lack some."""
    scorer = estimator._get_scorer()
    takes = (
        inspect.signature(scorer._score_func).parameters if hasattr(scorer, "_score_func") else {}
    )
    if "labels" not in takes:
        return scorer
    more = {"pos_label": classes[-1]} if len(classes) == 2 and "pos_label" in takes else {}
    return make_scorer(
        scorer._score_func,
        greater_is_better=scorer._sign == 1,
        response_method=scorer._response_method,
        labels=classes,
        **{**scorer._kwargs, **more},
    )
