"""The exceptions fenchel raises.

FenchelError
├── InvalidData         (ValueError)    arrays, labels or settings that cannot be used
├── Incompatible        (TypeError)     loss, regulariser and solver do not go together
├── HostLost            (RuntimeError)  shards of a remote engine that no process could hold
├── NotConverged        (RuntimeError)  raised only by `Result.raise_for_status()`
└── InvalidCertificate  (RuntimeError)  `verify` could not confirm what a result claims

A message may name settings, which functions, estimators and the command line call by different
names: `strength`, `alpha` and `--strength`. It is given in parts, text and `Setting`s, and each
surface puts in its own words for the settings; the text, in which a user's own names stand, is
never searched or rewritten:

    raise InvalidData("y is 0 for every row; use ", Setting("intercept", False))
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from string import Formatter
from typing import TypeAlias


class Setting(str):
    """A setting in a message, with a value if one is named; as text, what functions call it.

    `text` stands for it where Python is spoken, if `name=value` would not do.
    """

    name: str
    value: object

    def __new__(cls, name: str, value: object = None, text: str | None = None) -> Setting:
        """With the name that functions have for it, under which surfaces look up their own."""
        if text is None:
            text = name if value is None else f"{name}={value!r}"
        setting = super().__new__(cls, text)
        setting.name, setting.value = name, value
        return setting


Words: TypeAlias = Callable[[Setting], str]  # of a surface: what it calls a setting


class Phrase(str):
    """Text in parts, some of which are settings."""

    parts: tuple[str, ...]

    def __new__(cls, *parts: str) -> Phrase:
        """Of text, settings and other phrases, which follow each other without a blank."""
        phrase = super().__new__(cls, "".join(parts))
        pieces = (part.parts if isinstance(part, Phrase) else (part,) for part in parts)
        phrase.parts = tuple(itertools.chain.from_iterable(pieces))
        return phrase

    @classmethod
    def of(cls, template: str) -> Phrase:
        """Of fixed text with the names of settings in braces, such as "raise {strength}"."""
        parts: list[str] = []
        for text, name, *_ in Formatter().parse(template):
            parts += [text, Setting(name)] if name else [text]
        return cls(*parts)

    def worded(self, words: Words) -> str:
        """The text with the settings in those words."""
        return "".join(words(part) if isinstance(part, Setting) else part for part in self.parts)


class Spoken(Exception):
    """An error or a warning whose message is given in parts."""

    words: Words = str  # of the surface that the caller used

    def __init__(self, *parts: str) -> None:
        super().__init__(*Phrase(*parts).parts)

    def worded(self, words: Words) -> str:
        """The message with its settings in those words."""
        return Phrase(*self.args).worded(words)

    def __str__(self) -> str:
        return self.worded(self.words)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class FenchelError(Spoken):
    """Base class of every error that fenchel raises on purpose."""


class InvalidData(FenchelError, ValueError):
    """Arrays, labels or settings that cannot be used as they are.

    `row` is the first row of a table that shows it, counted from 0, where one does.
    """

    def __init__(self, *parts: str, row: int | None = None) -> None:
        super().__init__(*parts)
        self.row = row


class Incompatible(FenchelError, TypeError):
    """A combination of loss, regulariser, solver and options that makes no sense."""


class HostLost(FenchelError, RuntimeError):
    """Shards of a remote engine were lost again and again, or could be placed nowhere."""


class NotConverged(FenchelError, RuntimeError):
    """The requested gap was not reached."""


class InvalidCertificate(FenchelError, RuntimeError):
    """A result claims more than its witness proves, or bounds contradict each other."""


class FenchelWarning(Spoken, UserWarning):
    """Input that was accepted after a repair worth knowing about."""
