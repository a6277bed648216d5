"""From what a caller wrote to what the code uses: names to instances, settings to numbers."""

from __future__ import annotations

import difflib
import inspect
import math
import numbers
from collections.abc import Mapping
from typing import Any, TypeVar

from fenchel.errors import Incompatible, InvalidData, Setting

T = TypeVar("T")


_PARAMETERS: dict[type, tuple[str, ...]] = {}


def parameters_of(kind: type) -> tuple[str, ...]:
    """The names of a constructor's arguments, which take long to find out."""
    if kind not in _PARAMETERS:
        _PARAMETERS[kind] = tuple(inspect.signature(kind).parameters)
    return _PARAMETERS[kind]


class Configured:
    """What its constructor's arguments tell all about, which it keeps under their names."""

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments and their values."""
        names = parameters_of(type(self))
        return {name: getattr(self, name) for name in names if hasattr(self, name)}

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"


def user_written(thing: object) -> bool:
    """Whether its class is a user's: then the formulas are theirs, and so are the claims."""
    return not type(thing).__module__.startswith("fenchel.")


def instance(given: T, options: dict[str, Any]) -> T:
    """The instance itself, beside which no options make sense."""
    if options:
        raise Incompatible(
            f"the options {sorted(options)} were given beside an instance, {given!r}; "
            "set them on the instance"
        )
    return given


def construct(
    kind: str, name: object, registry: Mapping[str, type[T]], options: dict[str, Any]
) -> T:
    """registry[name](**options), or an error that says what would work."""
    if not isinstance(name, str):
        raise Incompatible(
            Setting(kind),
            f" must be a name or an instance; got {name!r} of type {type(name).__name__}",
        )
    if name not in registry:
        close = difflib.get_close_matches(name, registry, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        available = ", ".join(registry)
        raise InvalidData("unknown ", Setting(kind), f" {name!r}: {hint}available are {available}")
    accepted = parameters_of(registry[name])
    unknown = sorted(set(options) - set(accepted))
    if unknown:
        takes = ", ".join(accepted) if accepted else "no options"
        wrong = ", ".join(unknown)
        raise Incompatible(Setting(kind), f" {name!r} does not take {wrong}; it takes {takes}")
    return registry[name](**options)


def real(name: str, value: object) -> float:
    """A setting that must be a finite real number."""
    try:
        number = float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:
        number = math.inf
    if isinstance(value, bool) or not math.isfinite(number):
        raise InvalidData(Setting(name), f" must be a finite number; got {value!r}")
    return number


def positive(name: str, value: object) -> float:
    """A setting that must be a finite number > 0."""
    if not real(name, value) > 0:
        raise InvalidData(Setting(name), f" must be > 0; got {value!r}")
    return real(name, value)


def nonnegative(name: str, value: object) -> float:
    """A setting that must be a finite number >= 0."""
    if not real(name, value) >= 0:
        raise InvalidData(Setting(name), f" must be >= 0; got {value!r}")
    return real(name, value)


def one_of(name: str, value: object, choices: tuple[str, ...]) -> str:
    """A setting that must be one of some words."""
    if not (isinstance(value, str) and value in choices):
        either = " or ".join(map(repr, choices))
        raise InvalidData(Setting(name), f" must be {either}; got {value!r}")
    return value


def between(name: str, value: object, low: float, high: float) -> float:
    """A setting that must lie strictly between two numbers."""
    if not low < real(name, value) < high:
        limits = f"between {low:g} and {high:g}"
        raise InvalidData(Setting(name), f" must lie strictly {limits}; got {value!r}")
    return real(name, value)


def whole(name: str, value: object, least: int) -> int:
    """A setting that must be a whole number >= least."""
    number = int(value) if isinstance(value, numbers.Integral) else least - 1
    if isinstance(value, bool) or number < least:
        raise InvalidData(Setting(name), f" must be a whole number >= {least}; got {value!r}")
    return number
