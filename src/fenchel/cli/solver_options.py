"""`--solver-option name=value`: the settings of a solver, checked against its constructor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from fenchel.cli.choices import nearest
from fenchel.cli.exits import UsageError

if TYPE_CHECKING:
    from fenchel.cli.settings import Settings
    from fenchel.solvers import Solver

Value = bool | int | float | str | None
_WORDS: dict[str, Value] = {"true": True, "false": False, "none": None}


def parsed(given: Sequence[str]) -> dict[str, Value]:
    """Names and values; a value is a number, true, false or none where it reads as one."""
    found: dict[str, Value] = {}
    for text in given:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not (equals and name and value):
            raise UsageError(f"--solver-option: expected name=value, as in step=1; got {text!r}")
        if name in found:
            raise UsageError(f"--solver-option: {name} is given twice")
        found[name] = _value(value.strip())
    return found


def _value(text: str) -> Value:
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def solver_of(settings: Settings) -> str | Solver:
    """The solver by its name, or with those of its options that were given."""
    from fenchel.errors import FenchelError
    from fenchel.settings import parameters_of
    from fenchel.solvers import SOLVERS

    flags = settings.solver_options()
    for name in flags:
        able = [each for each, kind in SOLVERS.items() if name in parameters_of(kind)]
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
            known = f"it takes {', '.join(takes)}" if takes else "it takes none"
            raise UsageError(
                f"--solver-option: --solver {solver} has no {name!r}{nearest(name, takes)}; {known}"
            )
