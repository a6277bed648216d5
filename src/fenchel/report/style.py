"""The one style of all pictures: inks for lines, by day and by night, and the sheets that say so.

Colours are Okabe and Ito's, which the colour-blind can tell apart, without yellow, which is pale on
white; by night they are lighter. Of more lines than colours the next eight are dashed, then dotted,
then both, so that 28 lines differ. Whatever comes after those is a crowd, drawn in grey.
"""

from __future__ import annotations

from importlib import resources
from typing import NamedTuple

DAY = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#B8860B", "#56B4E9", "#222222")
NIGHT = ("#58A6E8", "#FF8A4C", "#2EC49A", "#E6A0C4", "#F2C14E", "#A5DBFF", "#E6E6E6")
DASHES = ((), (5, 2), (1.4, 1.6), (6, 1.8, 1.4, 1.8))
CROWD = "#A8A8A8", "#6E6E6E"
TEXT = "#24292F", "#E3E6EA"
FAINT = "#667077", "#9AA4AD"
RULE = "#D9DDE1", "#363C43"
GROUND = "#FFFFFF", "#14171B"
MOST = len(DAY) * len(DASHES)


class Ink(NamedTuple):
    """What a line is drawn with: a colour of the palette and dashes; a colour < 0 is grey."""

    colour: int = 0
    dash: int = 0

    @property
    def crowd(self) -> bool:
        """Whether it is that of lines too many to be told apart."""
        return self.colour < 0

    @property
    def hex(self) -> str:
        """The colour by day."""
        return CROWD[0] if self.crowd else DAY[self.colour]

    @property
    def dashes(self) -> tuple[float, ...]:
        """Lengths of strokes and of the room between them, in turns; none for a whole line."""
        return DASHES[self.dash]

    @property
    def key(self) -> str:
        """The end of its classes' names in the style sheet."""
        return "x" if self.crowd else str(self.colour)


GREY = Ink(-1)
BLACK = Ink(len(DAY) - 1)


def inks(n: int) -> list[Ink]:
    """For n lines: each its own while there are enough, then grey."""
    found = [Ink(k % len(DAY), k // len(DAY)) for k in range(min(n, MOST))]
    return found + [GREY] * (n - len(found))


def sheet() -> str:
    """The style sheet of drawings, by day and, where the reader's screen is dark, by night."""
    return f"{_colours(0)}\n@media (prefers-color-scheme: dark) {{\n{_colours(1)}\n}}\n{_SHAPES}"


def _colours(night: int) -> str:
    lines = [*(NIGHT if night else DAY), CROWD[night]]
    keys = [*map(str, range(len(DAY))), "x"]
    rules = [
        f".k{k} {{ stroke: {c} }} .f{k} {{ fill: {c} }}" for k, c in zip(keys, lines, strict=True)
    ]
    return "\n".join(
        [
            *rules,
            f".word {{ fill: {TEXT[night]} }} .faint {{ fill: {FAINT[night]} }}",
            f".axis, .mark {{ stroke: {FAINT[night]} }} .rule {{ stroke: {RULE[night]} }}",
            f".ground, .hollow {{ fill: {GROUND[night]} }}",
        ]
    )


_SHAPES = """text { font: 11px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif }
.head { font-size: 13px; font-weight: 600 }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round }
.line.kx { stroke-width: 0.7 }
.band { opacity: 0.14; stroke: none }
.axis, .rule { fill: none; stroke-width: 0.7 }
.mark { stroke-dasharray: 4 3; stroke-width: 0.9 }
.hollow { stroke-width: 1 }
.end { text-anchor: end } .middle { text-anchor: middle }"""


def file(name: str) -> str:
    """A text of this folder: what the pages hold besides their content."""
    return (resources.files("fenchel.report") / name).read_text(encoding="utf-8")
