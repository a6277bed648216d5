"""Templates: what a token says of itself and its neighbours, in the language of CRF++.

Each line is a template. It names parts of the tokens around the current one, and each token gets
one feature from it, the line's own text with the parts filled in:

    U00:%x[-1,0]             the first column of the token before
    U01:%x[0,0]/%x[0,1]      the first two columns of the token itself
    U02:%p3[0,0]             the first 3 letters of its first column
    U03:%s2[0,0]             the last 2
    U04:%l[0,0]  %h[0,0]     in lower case; its shape: Xx-0 for Mid-90

Beyond the ends of a sequence stand _B-1, _B-2, .. and _B+1, _B+2, .. Blank lines, lines that begin
with # and the line B are passed over: chains have transitions anyway. Features of two labels, all
other lines that begin with B, are refused.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.data.conll import Tokens
from fenchel.errors import InvalidData

Codes = npt.NDArray[np.int64]

# Words alone, and words with tags, as for the data of CoNLL-2000.
_WORDS = """
U00:%x[-2,0]
U01:%x[-1,0]
U02:%x[0,0]
U03:%x[1,0]
U04:%x[2,0]
U05:%x[-1,0]/%x[0,0]
U06:%x[0,0]/%x[1,0]
U07:%l[0,0]
U08:%p2[0,0]
U09:%p3[0,0]
U10:%s2[0,0]
U11:%s3[0,0]
U12:%h[0,0]
U13:%h[-1,0]/%h[0,0]
"""
_TAGS = """
U20:%x[-2,1]
U21:%x[-1,1]
U22:%x[0,1]
U23:%x[1,1]
U24:%x[2,1]
U25:%x[-2,1]/%x[-1,1]
U26:%x[-1,1]/%x[0,1]
U27:%x[0,1]/%x[1,1]
U28:%x[1,1]/%x[2,1]
U29:%x[-1,1]/%x[0,1]/%x[1,1]
"""
NAMED = {"words": _WORDS, "default": _WORDS + _TAGS}

_PART = re.compile(r"%(?:x|l|h|([ps])([1-9]))\[(-?\d{1,3}),(\d{1,3})\]")


class Part(NamedTuple):
    """A piece of a token: what is made of its column, and how far away it is."""

    kind: str
    offset: int
    column: int


class Template(NamedTuple):
    """Text with parts in between: texts[0] parts[0] texts[1] ... texts[-1]."""

    texts: tuple[str, ...]
    parts: tuple[Part, ...]


class Coded(NamedTuple):
    """A feature of each token, as the place of its name among names."""

    codes: Codes
    names: list[str]


def parsed(text: str) -> list[Template]:
    """The templates of a text, or those of a known name."""
    lines = NAMED.get(text.strip(), text).splitlines()
    if len(lines) == 1 and "%" not in text:
        raise InvalidData(
            f"unknown template {text.strip()!r}: give one of {', '.join(NAMED)}, or lines such as "
            "U00:%x[0,0]"
        )
    found = [
        _template(line.strip(), number)
        for number, line in enumerate(lines, 1)
        if line.strip() not in ("", "B") and not line.lstrip().startswith("#")
    ]
    if not found:
        raise InvalidData("the template has no lines such as U00:%x[0,0]")
    return found


def n_columns(templates: Sequence[Template]) -> int:
    """How many columns tokens must have."""
    return 1 + max(part.column for template in templates for part in template.parts)


def applied(templates: Sequence[Template], tokens: Tokens) -> list[Coded]:
    """One feature of each token for each template."""
    needed = n_columns(templates)
    if len(tokens.columns) < needed:
        raise InvalidData(
            f"the template reads column {needed - 1}, counted from 0, but tokens have "
            f"{len(tokens.columns)} columns"
        )
    column = _Columns(tokens)
    return [
        _combined(template, [column.part(part) for part in template.parts])
        for template in templates
    ]


def _template(line: str, number: int) -> Template:
    if line.startswith("B"):
        raise InvalidData(
            f"line {number} of the template, {line!r}, is a feature of two labels in CRF++, which "
            "chains do not have here: leave it out, or let it begin with U for one label"
        )
    texts, parts, end = [], [], 0
    for match in _PART.finditer(line):
        kind = (match[1] + match[2]) if match[1] else match[0][1]
        texts.append(line[end : match.start()])
        parts.append(Part(kind, int(match[3]), int(match[4])))
        end = match.end()
    texts.append(line[end:])
    if not parts or any("%" in text for text in texts):
        raise InvalidData(
            f"line {number} of the template, {line!r}, cannot be understood: parts are %x[row,col] "
            "for a column, %l in lower case, %h for its shape, %p3 and %s3 for its ends"
        )
    return Template(tuple(texts), tuple(parts))


def shape(word: str) -> str:
    """Runs of capitals, small letters and digits as X, x and 0; the rest as it is."""
    runs = itertools.groupby(word, _kind)
    return "".join(kind if kind in "Xx0" else "".join(run) for kind, run in runs)


def _kind(letter: str) -> str:
    if letter.isupper():
        return "X"
    if letter.islower():
        return "x"
    return "0" if letter.isdigit() else letter


def _function(kind: str) -> Callable[[str], str]:
    if kind[0] in "ps":
        n = int(kind[1])
        return (lambda word: word[:n]) if kind[0] == "p" else (lambda word: word[-n:])
    return shape if kind == "h" else str.lower


class _Columns:
    """Columns as codes; what is made of a word is made once for each word."""

    def __init__(self, tokens: Tokens):
        self.tokens = tokens
        lengths = np.diff(tokens.starts)
        self.place = np.arange(tokens.starts[-1]) - np.repeat(tokens.starts[:-1], lengths)
        self.left = np.repeat(lengths, lengths) - 1 - self.place
        self._made: dict[tuple[str, int], Coded] = {}

    def part(self, part: Part) -> Coded:
        """What the part is for each token."""
        codes, names = self._column(part.kind, part.column)
        n, offset = len(self.place), part.offset
        if offset == 0:
            return Coded(codes, names)
        moved = codes[np.clip(np.arange(n) + offset, 0, n - 1)]
        beyond = (-offset - self.place) if offset < 0 else (offset - self.left)
        sign = "-" if offset < 0 else "+"
        ends = [f"_B{sign}{k}" for k in range(1, abs(offset) + 1)]
        return Coded(np.where(beyond > 0, len(names) - 1 + beyond, moved), [*names, *ends])

    def _column(self, kind: str, column: int) -> Coded:
        if (kind, column) not in self._made:
            if kind == "x":
                made = coded(self.tokens.columns[column])
            else:
                words = self._column("x", column)
                names = coded([_function(kind)(word) for word in words.names])
                made = Coded(names.codes[words.codes], names.names)
            self._made[kind, column] = made
        return self._made[kind, column]


def coded(values: Sequence[str]) -> Coded:
    """Numbers for text, in order of appearance."""
    known: dict[str, int] = {}
    codes = [known.setdefault(value, len(known)) for value in values]
    return Coded(np.array(codes, dtype=np.int64), list(known))


def _combined(template: Template, parts: list[Coded]) -> Coded:
    """The parts of each token together, with the template's text around them."""
    codes, names = parts[0]
    names = [template.texts[0] + name for name in names]
    for text, part in zip(template.texts[1:-1], parts[1:], strict=True):
        both, codes = np.unique(codes * len(part.names) + part.codes, return_inverse=True)
        left, right = np.divmod(both, len(part.names))
        names = [
            f"{names[i]}{text}{part.names[j]}"
            for i, j in zip(left.tolist(), right.tolist(), strict=True)
        ]
    return Coded(codes, [name + template.texts[-1] for name in names])
