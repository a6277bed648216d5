"""`--solver-option name=value`: names and values out of text."""

from __future__ import annotations

from collections.abc import Sequence

from fenchel.cli.exits import UsageError

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
