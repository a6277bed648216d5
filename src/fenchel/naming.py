"""From a name and options to an instance, with errors that list what exists."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Mapping
from typing import Any, TypeVar

from fenchel.errors import Incompatible, InvalidData

T = TypeVar("T")


def construct(
    kind: str, name: object, registry: Mapping[str, type[T]], options: dict[str, Any]
) -> T:
    """registry[name](**options), or an error that says what would work."""
    if not isinstance(name, str):
        raise Incompatible(
            f"{kind} must be a name or an instance; got {name!r} of type {type(name).__name__}"
        )
    if name not in registry:
        close = difflib.get_close_matches(name, registry, n=1)
        hint = f"did you mean {close[0]!r}? " if close else ""
        raise InvalidData(f"unknown {kind} {name!r}: {hint}available are {', '.join(registry)}")
    accepted = list(inspect.signature(registry[name]).parameters)
    unknown = sorted(set(options) - set(accepted))
    if unknown:
        takes = ", ".join(accepted) if accepted else "no options"
        raise Incompatible(f"{kind} {name!r} does not take {', '.join(unknown)}; it takes {takes}")
    try:
        return registry[name](**options)
    except TypeError as error:
        raise InvalidData(f"{kind} {name!r} cannot use the options {options}: {error}") from error
