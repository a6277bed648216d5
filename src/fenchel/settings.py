"""From what a caller wrote to what the code uses: names to instances, settings to numbers."""

from __future__ import annotations

import difflib
import functools
import inspect
import math
import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ParamSpec, TypeVar

from fenchel.errors import Incompatible, InvalidData, Setting

T = TypeVar("T")
P = ParamSpec("P")

# What goes by several names, here, in scikit-learn and elsewhere. Each surface has one of them: a
# function the first, an estimator scikit-learn's, the command line a flag. Who uses another is told
# the right one, on all surfaces; it is never taken silently.
_SYNONYMS = (
    ("regularizer", "penalty", "regularization"),
    ("strength", "alpha", "lambda", "lambda_", "reg_lambda"),
    ("strengths", "alphas", "lambdas"),
    ("gap", "tol", "rtol"),
    ("max_iterations", "max_iter", "n_iter"),
    ("max_seconds", "time_limit", "timeout"),
    ("intercept", "fit_intercept"),
    ("threads", "n_jobs", "n_threads"),
    ("w0", "coef_init"),
    ("cost", "C", "c"),
    ("roc", "roc_auc", "auc"),
    ("elastic_net", "elasticnet"),
    ("squared_error", "mse", "least_squares"),
    ("absolute_error", "mae"),
    ("logistic", "log_loss", "log"),
)


def meant(name: str, known: Iterable[str]) -> str | None:
    """Which of the known names is meant by another: one for the same thing, or a similar one."""
    names = list(known)
    same = next((each for each in _SYNONYMS if name in each), ())
    synonym = next((each for each in same if each in names), None)
    return synonym or next(iter(difflib.get_close_matches(name, names, n=1)), None)


def understood(function: Callable[P, T]) -> Callable[P, T]:
    """The function, which says of a setting that it does not have which one may be meant."""
    names = tuple(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> T:
        check_known(function.__name__, kwargs, names)
        return function(*args, **kwargs)

    return called


def check_known(who: str, given: Iterable[str], names: Sequence[str]) -> None:
    """Refuses settings that are none, with the name of the one that may be meant."""
    for name in given:
        if name not in names:
            found = meant(name, names)
            hint = f"did you mean {found}?" if found else f"it has {', '.join(names)}"
            raise Incompatible(f"{who} has no setting {name!r}; {hint}")


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
            f"set them on the instance{_hint(min(options))}"
        )
    return given


def _hint(option: str) -> str:
    """Of an option that is a setting under another name, that name."""
    same = next((each for each in _SYNONYMS if option in each[1:]), None)
    return "" if same is None else f". Did you mean {same[0]}?"


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
        close = meant(name, registry)
        hint = f"did you mean {close!r}? " if close else ""
        available = ", ".join(registry)
        raise InvalidData("unknown ", Setting(kind), f" {name!r}: {hint}available are {available}")
    accepted = parameters_of(registry[name])
    unknown = sorted(set(options) - set(accepted))
    if unknown:
        takes = ", ".join(accepted) if accepted else "no options"
        wrong, hint = ", ".join(unknown), _hint(unknown[0])
        raise Incompatible(
            Setting(kind), f" {name!r} does not take {wrong}; it takes {takes}{hint}"
        )
    return registry[name](**options)


def real(name: str, value: object) -> float:
    """A setting that must be a finite real number."""
    if type(value) is float and math.isfinite(value):  # as most are; to ask `numbers` takes longer
        return value
    try:
        number = float(value) if isinstance(value, numbers.Real) else math.nan
    except OverflowError:
        number = math.inf
    if isinstance(value, bool) or not math.isfinite(number):
        raise InvalidData(Setting(name), f" must be a finite number; got {value!r}")
    return number


def positive(name: str, value: object) -> float:
    """A setting that must be a finite number > 0."""
    number = real(name, value)
    if not number > 0:
        raise InvalidData(Setting(name), f" must be > 0; got {value!r}")
    return number


def nonnegative(name: str, value: object) -> float:
    """A setting that must be a finite number >= 0."""
    number = real(name, value)
    if not number >= 0:
        raise InvalidData(Setting(name), f" must be >= 0; got {value!r}")
    return number


def one_of(name: str, value: object, choices: tuple[str, ...]) -> str:
    """A setting that must be one of some words."""
    if not (isinstance(value, str) and value in choices):
        either = " or ".join(map(repr, choices))
        raise InvalidData(Setting(name), f" must be {either}; got {value!r}")
    return value


def between(name: str, value: object, low: float, high: float) -> float:
    """A setting that must lie strictly between two numbers."""
    number = real(name, value)
    if not low < number < high:
        limits = f"between {low:g} and {high:g}"
        raise InvalidData(Setting(name), f" must lie strictly {limits}; got {value!r}")
    return number


def whole(name: str, value: object, least: int) -> int:
    """A setting that must be a whole number >= least."""
    if type(value) is int and value >= least:
        return value
    number = int(value) if isinstance(value, numbers.Integral) else least - 1
    if isinstance(value, bool) or number < least:
        raise InvalidData(Setting(name), f" must be a whole number >= {least}; got {value!r}")
    return number


LEAST_STRENGTH = 1e-100  # one over it must be finite, and so must its square


def checked_strength(name: str, strength: object) -> float:
    """A weight of the regulariser, by the name that the caller knows it under."""
    try:
        value = real(name, strength)
    except InvalidData:
        value = -1.0
    if value < 0:
        raise InvalidData(Setting(name), f" must be a finite number >= 0; got {strength!r}")
    if 0 < value < LEAST_STRENGTH:
        least = f"{LEAST_STRENGTH:g}"
        raise InvalidData(Setting(name), f" must be 0, or at least {least}; got {strength!r}")
    return value
