"""What a reproduction is made of: runs, what is drawn of them, and statements that they decide."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, Literal

import numpy as np

import fenchel

Style = Literal["line", "steps", "points", "dashed", "faint"]
LIMIT = 900.0  # seconds of a run, unless it says otherwise


@dataclass(frozen=True)
class Run:
    """A call of a function at the top level of a module, with arguments that JSON can hold."""

    function: Callable[..., Mapping[str, Any]]
    arguments: Mapping[str, Any]
    limit: float = LIMIT

    @property
    def key(self) -> str:
        """A digest of what is run: the function, its source, the arguments, fenchel's version.

        Not of the code that the function calls: that would start all anew with every commit. The
        page says at which commit each run was made.
        """
        function = self.function
        what = [function.__module__, function.__qualname__, inspect.getsource(function)]
        text = json.dumps(
            [*what, self.arguments, self.limit, fenchel.__version__], sort_keys=True, default=plain
        )
        return blake2b(text.encode(), digest_size=16).hexdigest()

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        return f"{self.function.__name__}({given})"


def run(
    function: Callable[..., Mapping[str, Any]], /, *, limit: float = LIMIT, **arguments: Any
) -> Run:
    """The run function(**arguments), given up after `limit` seconds."""
    return Run(function, arguments, limit)


def plain(value: Any) -> Any:
    """NumPy's numbers and arrays as JSON has them."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"a run takes and gives what JSON can hold; not {type(value).__name__}")


@dataclass(frozen=True)
class Series:
    """Points under one name. A name keeps its colour in all panels of a figure.

    Styles: "line" in the order of the points, "steps" for what holds until the next point,
    "points", "dashed" for what is not measured (theory, a cost model), "faint" for contours
    and the like. Points that are not finite, or not positive on a logarithmic axis, are left out.
    """

    name: str
    x: Sequence[Any]
    y: Sequence[float]
    style: Style = "line"


@dataclass(frozen=True)
class Panel:
    """One pair of axes. `log` names those that are logarithmic: "", "x", "y" or "xy"."""

    title: str
    x: str
    y: str
    series: Sequence[Series]
    log: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of text and numbers under their heads."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[object]]


@dataclass(frozen=True)
class Check:
    """A statement of the paper, whether the runs bear it out, and the numbers that say so."""

    statement: str
    holds: bool
    measured: str = ""


Verdict = Literal["reproduced", "partly", "not", "broken", "unfinished"]


def verdict_of(checks: Sequence[Check]) -> Verdict:
    """All hold, some, or none."""
    held = [bool(check.holds) for check in checks]
    return "reproduced" if held and all(held) else "partly" if any(held) else "not"


@dataclass(frozen=True)
class Script:
    """A file of reproduction/figures, with the names that each of them has.

    `reason` is the experiment that shows why the claim does not hold: a file of
    reproduction/reasons, whose statements are of ours and count for no verdict.
    """

    id: str
    paper: str
    title: str
    did: str
    claim: str
    here: str
    why: str
    runs: Callable[[bool], Mapping[Hashable, Run]] = field(repr=False)
    draw: Callable[[Any], Sequence[Panel | Table]] = field(repr=False)
    verdict: Callable[[Any], Sequence[Check]] = field(repr=False)
    reason: Script | None = None
