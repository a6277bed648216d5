"""The certificates and histories of a fit, in a file and back.

Everything of a `Result` is kept but its witness, which may be as large as the data: `verify` on a
loaded model falls back to the tangent bound.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fenchel.errors import InvalidData
from fenchel.result import Certificate, Record, Result, Status, record_of, relative_gap
from fenchel.risks.base import Array
from fenchel.solvers import SOLVERS

Count = Annotated[int, Meta(ge=0, le=1 << 48)]
Text = Annotated[str, Meta(max_length=1000)]
Real = float | Literal["inf", "-inf", "nan"]  # JSON has numbers for finite ones only


class Run(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """One minimisation: lower_bound <= min J <= objective, and what it took to prove that."""

    objective: Real
    lower_bound: Real
    intercept: float | None  # None of a vector loss: one for each class, in the array
    source: Text
    status: str
    solver: Text
    reason: Text
    iterations: Count
    passes: Count
    seconds: Annotated[float, Meta(ge=0)]
    records: Count  # lines of the history
    proof_passes: Count = 0

    @property
    def gap(self) -> float:
        """(objective - lower_bound) / |objective|."""
        return relative_gap(float(self.objective), float(self.lower_bound))


def run_of(result: Result) -> Run:
    """What the header says of a result."""
    return Run(
        objective=_real(result.objective),
        lower_bound=_real(result.lower_bound),
        intercept=float(result.intercept) if result.w.ndim == 1 else None,
        source=result.certificate.source,
        status=result.status.name.lower(),
        solver=result.solver,
        reason=result.reason,
        iterations=result.iterations,
        passes=result.passes,
        seconds=result.seconds,
        records=len(result.history),
        proof_passes=result.proof_passes,
    )


def result_of(run: Run, w: Array, intercept: Array, history: list[Record]) -> Result:
    """The result that a run describes; `intercept` is that of a vector loss."""
    if (run.intercept is None) is not (w.ndim == 2):
        raise InvalidData("it has a run whose intercept is not that of its coefficients")
    if run.solver not in SOLVERS:
        raise InvalidData(f"its solver {run.solver[:40]!r} is unknown")
    return Result(
        w=w,
        intercept=intercept if run.intercept is None else run.intercept,
        certificate=Certificate(float(run.lower_bound), float(run.objective), run.source),
        status=_status(run.status),
        iterations=run.iterations,
        passes=run.passes,
        seconds=run.seconds,
        history=history,
        solver=run.solver,
        reason=run.reason,
        witness=None,
        proof_passes=run.proof_passes,
    )


def table(history: Sequence[Record]) -> Array:
    """A history as an array: a line for each record."""
    return np.array(history, dtype=np.float64).reshape(-1, len(Record._fields))


_COUNTS = (0, 4, 5, 6, 7, 8, 9)  # fields of a record that are neither bounds, gap nor step


def records(lines: npt.NDArray[Any]) -> list[Record]:
    """The history in an array with a column for each field of a record."""
    counts = lines[:, [k for k in _COUNTS if k < lines.shape[1]]]
    if not (np.isfinite(counts) & (counts >= 0)).all():
        raise InvalidData("its history counts iterations, passes or seconds that cannot be")
    return [record_of(line) for line in lines.tolist()]


def _real(number: float) -> Real:
    return float(number) if math.isfinite(number) else repr(float(number))  # type: ignore[return-value]  # repr of inf


def _status(name: str) -> Status:
    if name.upper() not in Status.__members__ or not name.islower():
        raise InvalidData(f"its status {name[:40]!r} is unknown")
    return Status[name.upper()]
