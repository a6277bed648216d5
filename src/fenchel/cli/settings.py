"""The settings of a training run: defaults < configuration file < environment < flags."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Meta

from fenchel.cli.choices import (
    CLASSIFICATION,
    COSTS,
    DEVIANCES,
    IN_PYTHON,
    LEAVES,
    LOSS_OPTIONS,
    METRICS,
    NOVELTY,
    OF_ALL_ROWS,
    OPTIONS,
    REGULARIZER_OPTIONS,
    SEQUENCES,
    Loss,
    Regularizer,
    Solver,
    nearest,
)
from fenchel.cli.exits import UsageError
from fenchel.cli.solver_options import Value, parsed
from fenchel.cli.sources import Format
from fenchel.data.table_facts import Missing
from fenchel.losses.table import Real, Whole, Word

LARGEST = 1e100  # msgspec has no word for finite
Positive = Annotated[float, Meta(gt=0, le=LARGEST)]
Count = Annotated[int, Meta(ge=1)]
Names = str | list[str]  # of columns; one text may name several, with commas between them


def _type(option: Real | Whole | Word) -> Any:
    """What msgspec checks the values of an option by."""
    if isinstance(option, Word):
        return Literal[option.words]
    if isinstance(option, Whole):
        return Annotated[int, Meta(ge=option.least)]
    most = LARGEST if option.below is option.most is None else option.most
    bounds: dict[str, Any] = {"gt": option.above, "ge": option.least, "lt": option.below}
    return Annotated[float, Meta(**bounds, le=most)]


if TYPE_CHECKING:

    class _LossOptions(msgspec.Struct, frozen=True):
        """A field for each option of a loss, None where it was not given."""

else:
    _LossOptions = msgspec.defstruct(
        "_LossOptions",
        [(name, _type(option) | None, None) for name, option in OPTIONS.items()],
        frozen=True,
    )


class Settings(_LossOptions, frozen=True, forbid_unknown_fields=True):
    """Everything that decides what `fenchel train` fits; None leaves it to the library.

    The options of losses, from their table, are inherited.
    """

    loss: Loss = "hinge"
    regularizer: Regularizer = "l2"
    strength: Annotated[float, Meta(ge=0, le=LARGEST)] = 1e-4
    cost: Positive | None = None  # in place of strength: 1 / (cost * n)
    l1_ratio: Annotated[float, Meta(ge=0, le=1)] | None = None
    radius: Positive | None = None
    p: Annotated[float, Meta(gt=1, le=2)] | None = None
    cap: Positive | None = None
    label_costs: str | None = None
    taxonomy: str | None = None
    lower: Annotated[float, Meta(ge=-LARGEST, le=LARGEST)] | None = None
    upper: Annotated[float, Meta(ge=-LARGEST, le=LARGEST)] | None = None
    solver: Solver = "auto"
    solver_option: dict[str, Value] | None = None
    gap: Positive = 1e-4
    atol: Annotated[float, Meta(ge=0, le=LARGEST)] = 0.0
    intercept: bool | None = None
    balanced: bool = False
    template: str | None = None
    min_count: Count | None = None
    hashed: Count | None = None
    max_iterations: Count = 10_000
    max_seconds: Positive | None = None
    threads: Count | None = None
    engine: str | None = None
    certificate: str | None = None  # these three for owners
    key: str | None = None
    authority: str | None = None
    seed: Annotated[int, Meta(ge=0, le=(1 << 63) - 1)] | None = None  # as model files can hold
    batch: Count | None = None
    stream: bool | None = None  # None: if workers of a cluster can read the rows themselves
    target: str | None = None
    offset: str | None = None
    exposure: str | None = None  # in place of offset, which is its logarithm
    index_base: Annotated[int, Meta(ge=0, le=1)] | None = None
    format: Format | None = None
    columns: Names | None = None  # these and the following are of tables
    ignore: Names | None = None
    categorical: Names | None = None
    dates: Names | None = None
    na: Names | None = None
    decimal: Literal[".", ","] | None = None
    missing: Missing | None = None
    scale: bool = False
    weight: str | None = None
    group: str | None = None

    def loss_options(self) -> dict[str, Any]:
        """The options of the loss that were given."""
        return self._given(OPTIONS)

    def solver_options(self) -> dict[str, Any]:
        """The options of the solver that were given."""
        return self._given(("seed", "batch"))

    def regularizer_options(self) -> dict[str, Any]:
        """The options of the regulariser that were given."""
        return self._given(REGULARIZER_OPTIONS)

    def _given(self, names: Iterable[str]) -> dict[str, Any]:
        values = {name: getattr(self, name) for name in names}
        return {name: value for name, value in values.items() if value is not None}


_TYPES: dict[str, Any] = get_type_hints(Settings, include_extras=True)
_WORDS = {
    "Expected": "expected",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "str": "text",
}
_RIVALS = {  # two ways to say one thing
    "strength": ("cost", "--strength or --cost, not both: strength = 1 / (cost * n)"),
    "offset": ("exposure", "--offset or --exposure, not both: offset = log(exposure)"),
}


def combined(flags: Mapping[str, Any], config: Path | None) -> Settings:
    """The settings from all sources; the nearer to the user's hands, the stronger."""
    merged: dict[str, Any] = {}
    for layer in _layers(flags, config):
        for one, (other, either) in _RIVALS.items():
            if one in layer and other in layer:
                raise UsageError(f"give {either}")
            if one in layer or other in layer:
                merged = {name: merged[name] for name in merged if name not in (one, other)}
        merged |= layer
    return _consistent(Settings(**merged))


def changed(settings: Settings, flags: Mapping[str, Any]) -> Settings:
    """The settings with those that were given as flags in their place."""
    return msgspec.structs.replace(settings, **_given(flags))


def _consistent(settings: Settings) -> Settings:
    """The settings themselves, if each of them has something to act on."""
    for name in settings.loss_options():
        if settings.loss not in LOSS_OPTIONS[name]:
            able = " and ".join(LOSS_OPTIONS[name])
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} does not go with --loss {settings.loss}: it is for {able}")
    for name in ("template", "min_count", "hashed"):
        if getattr(settings, name) is not None and settings.loss not in SEQUENCES:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is for the tokens of --loss {', '.join(SEQUENCES)}")
    if settings.intercept is not None and settings.loss in SEQUENCES:
        raise UsageError(f"--loss {settings.loss} has no intercept: transitions do its work")
    if settings.cost is not None and settings.loss in SEQUENCES:
        raise UsageError(
            f"--cost is liblinear's C, not what a wrong label costs: with --loss {settings.loss} "
            "give --strength; --label-costs FILE has the costs of labels"
        )
    for name in settings.regularizer_options():
        takers = REGULARIZER_OPTIONS[name]
        if settings.regularizer not in takers:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} goes with --regularizer {' and '.join(takers)} only")
    if settings.taxonomy is not None and settings.loss not in LEAVES:
        raise UsageError(
            f"--taxonomy does not go with --loss {settings.loss}: it is for {' and '.join(LEAVES)}"
        )
    if settings.label_costs is not None and settings.loss not in COSTS:
        raise UsageError(
            f"--label-costs does not go with --loss {settings.loss}: it is for {', '.join(COSTS)}"
        )
    _check_bounds(settings.lower, settings.upper)
    for flag in ("offset", "exposure"):
        if getattr(settings, flag) is not None and settings.loss not in DEVIANCES:
            raise UsageError(
                f"--{flag} does not go with --loss {settings.loss}: it is for the log links of "
                f"{', '.join(DEVIANCES)}"
            )
    if settings.balanced and settings.loss not in CLASSIFICATION:
        reason = "does not" if settings.loss in METRICS else "has none"
        raise UsageError(f"--balanced weighs classes; --loss {settings.loss} {reason}")
    if settings.intercept and settings.loss in NOVELTY:
        raise UsageError(
            f"--loss {settings.loss} has no intercept: a large one would explain every row"
        )
    if settings.intercept is not None and settings.loss in OF_ALL_ROWS:
        raise UsageError(
            f"--loss {settings.loss} leaves no choice of an intercept: f1 and fbeta have one, the "
            "other measures of all rows do not change when all scores are shifted"
        )
    return settings


def _check_bounds(lower: float | None, upper: float | None) -> None:
    if lower is not None and upper is not None and lower > upper:
        raise UsageError(f"--lower {lower:g} is above --upper {upper:g}: no coefficient is between")


def _layers(flags: Mapping[str, Any], config: Path | None) -> Iterator[dict[str, Any]]:
    if config is not None:
        yield _checked(_parsed(config), f"{config}: {{}}", strict=True)
    environment = {
        name: os.environ[f"FENCHEL_{name.upper()}"]
        for name in _TYPES
        if os.environ.get(f"FENCHEL_{name.upper()}")
    }
    yield _checked(environment, "FENCHEL_{}", strict=False, spelling=str.upper)
    yield _given(flags)


def _given(flags: Mapping[str, Any]) -> dict[str, Any]:
    given = {name: value for name, value in flags.items() if value not in (None, [], ())}
    return _checked(given, "--{}", strict=True, spelling=lambda name: name.replace("_", "-"))


def _parsed(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} is not a TOML file: {error}") from error


def _checked(
    layer: Mapping[str, Any], label: str, *, strict: bool, spelling: Any = str
) -> dict[str, Any]:
    """Every value of a layer in its type, or an error that names the place."""
    for name in layer:
        if name not in _TYPES:
            raise UsageError(f"{label.format(name)} is no setting{nearest(name, _TYPES)}")
    return {
        name: _value(label.format(spelling(name)), name, value, strict)
        for name, value in layer.items()
    }


def _value(label: str, name: str, value: Any, strict: bool) -> Any:
    if name == "solver_option" and isinstance(value, str | list | tuple):
        value = parsed(value.split(",") if isinstance(value, str) else value)
    try:
        return msgspec.convert(value, _TYPES[name], strict=strict)
    except msgspec.ValidationError as error:
        raise UsageError(f"{label}: {_complaint(name, value, str(error))}") from error


def _complaint(name: str, value: Any, error: str) -> str:
    if name == "regularizer" and value in IN_PYTHON:
        return f"{value} needs {IN_PYTHON[value]}"
    choices = _names(_TYPES[name])
    if choices:
        hint = nearest(str(value), choices) or ";"
        return f"unknown {name} {value!r}{hint} available are {', '.join(choices)}"
    expected = error.partition(", got")[0].replace("`", "").replace(" | null", "")
    for word, phrase in _WORDS.items():
        expected = expected.replace(word, phrase)
    return f"{expected}; got {value!r}"


def _names(kind: Any) -> tuple[str, ...]:
    """The names that a type allows, if they are all it allows but None."""
    if isinstance(kind, str):
        return (kind,)
    return tuple(name for part in getattr(kind, "__args__", ()) for name in _names(part))
