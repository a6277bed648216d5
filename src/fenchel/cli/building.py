"""From the settings of a command to what is fitted: estimator, regulariser and solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fenchel
from fenchel.cli.choices import METRICS, NOVELTY, ONLY_LOSS, estimator_for, nearest
from fenchel.cli.exits import UsageError
from fenchel.cli.settings import Settings

if TYPE_CHECKING:
    from fenchel.regularizers import Regularizer
    from fenchel.solvers import Solver

_DRAWING_ROWS = ("pegasos", "sdca")


def estimator_of(settings: Settings, n_rows: int) -> Any:
    """The estimator that the settings ask for, not fitted."""
    kind = getattr(fenchel, estimator_for(settings.loss))
    return kind(**_parameters(settings, n_rows))


def _parameters(settings: Settings, n_rows: int) -> dict[str, Any]:
    """The settings in the words of the estimators."""
    parameters: dict[str, Any] = {
        "penalty": penalty_of(settings),
        "lower": settings.lower,
        "upper": settings.upper,
        "alpha": 1 / (settings.cost * n_rows) if settings.cost else settings.strength,
        "solver": solver_of(settings),
        "tol": settings.gap,
        "atol": settings.atol,
        "max_iter": settings.max_iterations,
        "max_seconds": settings.max_seconds,
        "n_jobs": None if settings.engine else settings.threads,
        **settings.loss_options(),
    }
    if settings.l1_ratio is not None and settings.regularizer == "elastic_net":
        parameters["l1_ratio"] = settings.l1_ratio
    if settings.loss not in (*METRICS, *NOVELTY, *ONLY_LOSS.values()):
        parameters["loss"] = settings.loss
    for name in ("template", "min_count", "hashed"):
        if getattr(settings, name) is not None:
            parameters[name] = getattr(settings, name)
    if settings.loss == "nu_novelty" and "nu" not in parameters:
        parameters["nu"] = 0.5  # which makes it one
    if settings.loss in METRICS:
        parameters["metric"] = METRICS[settings.loss]
    if settings.intercept is not None and settings.loss not in NOVELTY:
        parameters["fit_intercept"] = settings.intercept
    if settings.balanced:
        parameters["class_weight"] = "balanced"
    return parameters


def penalty_of(settings: Settings) -> str | Regularizer:
    """The regulariser by its name, or with those of its options that were given."""
    from fenchel import regularizers

    given = settings.regularizer_options()
    if not given or settings.regularizer == "elastic_net":  # which estimators may have as l1 or l2
        return settings.regularizer
    return regularizers.named(settings.regularizer, given)


def solver_of(settings: Settings) -> str | Solver:
    """The solver by its name, or with those of its options that were given."""
    from fenchel.errors import FenchelError
    from fenchel.settings import parameters_of
    from fenchel.solvers import SOLVERS

    flags = settings.solver_options()
    for name in flags:
        able = [each for each, kind in SOLVERS.items() if name in parameters_of(kind)]
        if name == "seed":  # those of other solvers are of what their papers print: --solver-option
            able = [each for each in able if each in _DRAWING_ROWS]
        if settings.solver not in able:
            raise UsageError(
                f"--{name} does not go with --solver {settings.solver}: it is for "
                f"{' and '.join(able)}"
            )
    if settings.solver == "pegasos" and settings.seed is not None and settings.batch is None:
        raise UsageError("without --batch pegasos takes all rows: there is nothing to --seed")
    more = settings.solver_option or {}
    if more:
        _check(settings.solver, more, flags)
    if not flags and not more:
        return settings.solver
    try:
        return SOLVERS[settings.solver](**flags, **more)
    except (FenchelError, TypeError) as error:
        flag = "--solver-option: " if more else ""
        raise UsageError(f"{flag}{error}") from error


def _check(solver: str, given: dict[str, Any], flags: dict[str, Any]) -> None:
    from fenchel.settings import parameters_of
    from fenchel.solvers import SOLVERS

    if solver not in SOLVERS:
        raise UsageError(
            f"--solver-option is of one solver, and --solver {solver} chooses among all: name one"
        )
    takes = parameters_of(SOLVERS[solver])
    for name in given:
        if name in flags:
            raise UsageError(f"--solver-option {name} and --{name} say the same: give one of them")
        if name not in takes:
            hint = nearest(name, takes) or ";"
            raise UsageError(
                f"--solver-option: --solver {solver} has no {name!r}{hint} it takes "
                f"{', '.join(takes) or 'none'}"
            )
