"""Who watches a fit and may end it: the user's callback, lines, rows held out, scikit-learn's API.

Each of them is a callback of `minimize`; several are called one after the other, and one of them is
enough to end the fit. Nobody watches a fit that nobody asked to watch: it costs nothing.

Early stopping is regularisation by not minimising: the model is the iterate with the best score on
the rows held out, and no minimiser of anything. It is handed out as what it is, with the status
EARLY_STOPPED and a certificate that holds for it: J at this w above, the best lower bound below.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

import numpy as np

from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.estimators.fitting import Posed
from fenchel.result import Certificate, Record, Result, Status
from fenchel.risks.base import Problem
from fenchel.settings import meant, whole
from fenchel.solvers._stepwise import REASON, stepwise
from fenchel.stopping import Tolerance
from fenchel.verification import can_recompute, recompute
from fenchel.watching import LineWriter, Pace

Callback = Callable[[Record], Any]

Method = TypeVar("Method", bound=Callable[..., Any])

try:
    from sklearn.callback import CallbackSupportMixin as CallbackSupportMixin
    from sklearn.callback import with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """No callbacks of scikit-learn's."""

    def with_callbacks(method: Method) -> Method:
        """The method itself."""
        return method


def watched(method: Method) -> Method:
    """The method, at whose end scikit-learn's callbacks are taken down, however it ends."""
    found: Method = with_callbacks(method)
    return found


def check_watchers(verbose: object, early_stopping_rounds: object, eval_metric: object) -> None:
    """Refuses settings of who watches that cannot be used, in every fit: not when they are needed.

    Names of scores are looked up only if there is one: what knows them takes long to import.
    """
    if not isinstance(verbose, bool | np.bool_ | numbers.Integral) or int(verbose) < 0:
        raise InvalidData(
            Setting("verbose"), f" must be True, False or a whole number >= 0; got {verbose!r}"
        )
    if early_stopping_rounds is not None:
        whole("early_stopping_rounds", early_stopping_rounds, least=1)
    if isinstance(eval_metric, str):
        _check_score(eval_metric)
    elif eval_metric is not None and not callable(eval_metric):
        raise Incompatible(
            Setting("eval_metric"),
            f" must be the name of a score, callable or None; got {eval_metric!r}",
        )


def _check_score(name: str) -> None:
    from sklearn.metrics import get_scorer_names

    names = get_scorer_names()
    if name not in names:
        found = meant(name, names)
        hint = "sklearn.metrics.get_scorer_names() lists them"
        raise InvalidData(
            Setting("eval_metric"),
            f" must be a score that scikit-learn knows; got {name!r}; "
            f"{hint if found is None else f'did you mean {found!r}?'}",
        )


def steered(estimator: Any, posed: Posed, eval_set: Any) -> list[Result]:
    """The results of a fit, watched by whom the estimator's settings and its user ask for."""
    if eval_set is None and estimator.early_stopping_rounds is not None:
        raise Incompatible(
            Setting("early_stopping_rounds"),
            " needs rows that are held out: fit(X, y, eval_set=(X_valid, y_valid))",
        )
    held = None if eval_set is None else _held_out(estimator, eval_set)
    tasks = bool(getattr(estimator, "_skl_callbacks", None))
    if held is None and not estimator.verbose and not tasks:
        return posed.run()
    posed = posed.kept()
    if held is not None:
        posed = held.watching(posed)
    watchers: list[Callback] = [] if posed.fit.callback is None else [posed.fit.callback]
    watchers += [] if held is None else [held]
    with _lines(estimator, posed, held) as lines, _tasks(estimator, posed, tasks) as iterations:
        watchers += [*lines, *iterations]
        fit = dataclasses.replace(posed.fit, callback=_together(watchers))
        results = dataclasses.replace(posed, fit=fit).run()
    return results if held is None else [held.kept(results[0])]


def _together(watchers: Sequence[Callback]) -> Callback:
    """All of them, each of which may end the run."""
    return lambda record: any([watcher(record) for watcher in watchers])


def _glimpse(estimator: Any, posed: Posed, record: Record) -> Any:
    """A copy of the estimator as the iterate would make it; itself it stays as it is."""
    before = dict(vars(estimator))
    try:
        estimator._take(posed, [_as_result(record)])
        return copy.copy(estimator)
    finally:
        vars(estimator).clear()
        vars(estimator).update(before)


def _as_result(record: Record) -> Result:
    return Result(
        w=record.w,
        intercept=record.intercept,
        certificate=Certificate(record.lower_bound, record.objective),
        status=Status.INTERRUPTED,
        iterations=record.iteration,
        passes=record.passes,
        seconds=record.seconds,
        history=[],
        solver="",
        reason="",
        witness=None,
    )


# Rows held out.


def _held_out(estimator: Any, eval_set: Any) -> HeldOut:
    if isinstance(eval_set, list) and len(eval_set) == 1:
        eval_set = eval_set[0]  # as LightGBM and XGBoost take them
    if not isinstance(eval_set, tuple) or len(eval_set) not in (2, 3):
        raise InvalidData(
            "eval_set must be one tuple of rows that are held out: (X, y), (X, y, sample_weight) "
            f"or (X, y, dict of what else the score takes); got {type(eval_set).__name__}"
            f"{f' of {len(eval_set)}' if isinstance(eval_set, list | tuple) else ''}"
        )
    X, y, *more = eval_set
    given = {} if not more or more[0] is None else more[0]
    if not isinstance(given, Mapping):
        given = {"sample_weight": given}
    return HeldOut(estimator, X, y, given, estimator.early_stopping_rounds)


class HeldOut:
    """Scores each iterate on rows that are held out, and knows the best.

    After `rounds` iterations without a better score it asks for the end of the run.
    """

    def __init__(
        self, estimator: Any, X: Any, y: Any, given: Mapping[str, Any], rounds: int | None
    ):
        from sklearn.metrics import check_scoring

        self.estimator, self.X, self.y, self.given, self.rounds = estimator, X, y, given, rounds
        self.scorer = check_scoring(estimator, scoring=estimator.eval_metric)
        self.scores: list[float] = []
        self.best: Result | None = None
        self.best_score = -math.inf

    posed: Posed
    problem: Problem

    def watching(self, posed: Posed) -> Posed:
        """The fit with a solver whose steps can be seen, unless its user chose one."""
        problems = tuple(posed.problems)
        if len(problems) != 1:
            raise Incompatible(
                f"an eval_set needs one problem, but {len(problems)} classes are fitted one "
                "against the rest, one after the other: use loss='softmax' or "
                "loss='multiclass_hinge', which take all classes together"
            )
        self.posed, (self.problem,) = posed, problems
        self.chose = posed.fit.solver == "auto"
        solver = stepwise(self.problem) if self.chose else None
        if solver is None:
            return posed
        return dataclasses.replace(posed, fit=dataclasses.replace(posed.fit, solver=solver))

    def __call__(self, record: Record) -> bool:
        """Scores an iterate; true once it is time to end."""
        glimpse = _glimpse(self.estimator, self.posed, record)
        self.scores.append(float(self.scorer(glimpse, self.X, self.y, **self.given)))
        if self.best is None or self.scores[-1] > self.best_score:
            self.best, self.best_score = _as_result(record), self.scores[-1]
        return self.rounds is not None and record.iteration - self.best.iterations >= self.rounds

    def kept(self, result: Result) -> Result:
        """The model: the iterate with the best score where that may end a run, else the last."""
        self.estimator.validation_scores_ = self.scores
        self.estimator.best_iteration_ = result.iterations
        if self.chose:
            result = dataclasses.replace(result, reason=REASON)
        if self.rounds is None or self.best is None or self.best.iterations >= result.iterations:
            return result
        self.estimator.best_iteration_ = self.best.iterations
        fit = self.posed.fit
        return _stopped(result, self.best, self.problem, Tolerance(fit.tol, fit.atol))


def _stopped(result: Result, best: Result, problem: Problem, tolerance: Tolerance) -> Result:
    """A run's result with an earlier iterate in place of its last, proved for what it is.

    That may be as near the minimum as was asked for after all.
    """
    kept = dataclasses.replace(
        result,
        w=best.w,
        intercept=best.intercept,
        status=Status.EARLY_STOPPED,
        certificate=Certificate(result.lower_bound, best.objective, result.certificate.source),
    )
    if can_recompute(problem.risk):
        proof = recompute(kept, problem)
        lower = min(result.lower_bound, proof.objective)
        kept = dataclasses.replace(
            kept,
            certificate=Certificate(lower, proof.objective, result.certificate.source),
            proof_passes=result.proof_passes + proof.passes,
        )
    near = tolerance.met(kept.objective, kept.lower_bound)
    return dataclasses.replace(kept, status=Status.CONVERGED) if near else kept


# Lines, and scikit-learn's callbacks.


@contextmanager
def _lines(estimator: Any, posed: Posed, held: HeldOut | None) -> Iterator[list[Callback]]:
    """Progress on stdout, as scikit-learn's verbose fits have it."""
    if not estimator.verbose:
        yield []
        return
    problems: Sequence[Problem] = tuple(posed.problems)
    pace = Pace(posed.fit.tol, problems[0].risk.n_rows, len(problems))
    score = None if held is None else ("score", lambda: f"{held.scores[-1]:.6g}")
    lines = LineWriter(print, pace, score)
    yield [lines]
    lines.finish()


@contextmanager
def _tasks(estimator: Any, posed: Posed, asked: bool) -> Iterator[list[Callback]]:
    """Each iteration is a task of the fit, as scikit-learn's callbacks know them."""
    if not asked:
        yield []
        return
    context = estimator._init_callback_context(max_subtasks=None)
    X, y = posed.given
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def iteration(record: Record) -> bool:
        task = context.subcontext(task_name="iteration")
        task.call_on_fit_task_begin(estimator=estimator, X=X, y=y)
        fitted = None
        if len(tuple(posed.problems)) == 1:
            fitted = lambda: vars(_glimpse(estimator, posed, record))  # noqa: E731
        return bool(
            task.call_on_fit_task_end(
                estimator=estimator, X=X, y=y, reconstruction_attributes=fitted
            )
        )

    yield [iteration]
    context.call_on_fit_task_end(estimator=estimator, X=X, y=y)
