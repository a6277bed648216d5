"""What a minimisation returns: the best iterate, how good it is, and the evidence; and paths."""

from __future__ import annotations

import enum
import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData, NotConverged, Phrase
from fenchel.notebook import facts, table
from fenchel.witness import Witness

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Array = npt.NDArray[np.float64]


class Status(enum.Enum):
    """How a run ended; each member's value says what it means and what to do."""

    _value_: Phrase

    def __new__(cls, template: str) -> Status:
        """With the names of settings in braces, which each surface calls its own way."""
        status = object.__new__(cls)
        status._value_ = Phrase.of(template)
        return status

    CONVERGED = "the gap is certified to be within the tolerance"
    MAX_ITERATIONS = "the iteration limit was reached; raise `{max_iterations}` or loosen `{gap}`"
    TIME_LIMIT = "the time limit was reached; raise `{max_seconds}` or loosen `{gap}`"
    INTERRUPTED = "stopped by the callback or the keyboard; this is the best iterate so far"
    EARLY_STOPPED = (
        "the score on the rows held out got no better, and this is the iterate with the best one; "
        "the certificate says how far it is from the minimum"
    )
    STALLED = (
        "neither bound moves any more: `{gap}` is below what round-off or this solver can reach"
    )
    NONFINITE = "the objective is nan or inf; rescale X or y, or raise `{strength}`"
    UNBOUNDED = (
        "the objective falls without end, so there is no minimiser, as where a w separates the "
        "classes and nothing is penalised; raise `{strength}`"
    )


@dataclass(frozen=True)
class Certificate:
    """lower_bound <= min J <= upper_bound, and where the lower bound comes from."""

    lower_bound: float
    upper_bound: float
    source: str = "solver"

    @property
    def gap(self) -> float:
        """(upper - lower) / |upper|; 0 where both bounds are 0."""
        return relative_gap(self.upper_bound, self.lower_bound)

    @property
    def width(self) -> float:
        """upper - lower, which `atol` is compared with."""
        return self.upper_bound - self.lower_bound

    def __repr__(self) -> str:
        return (
            f"Certificate({self.lower_bound:.8g} <= min J <= {self.upper_bound:.8g}, "
            f"gap {self.gap:.1e}, from the {self.source})"
        )


class Record(NamedTuple):
    """One line of the history: the best bounds after an iteration, and what they cost so far."""

    iteration: int
    objective: float
    lower_bound: float
    gap: float
    passes: int
    seconds: float
    phase: int = 0  # of a solver that changes its method on the way, such as hybrid
    nonzeros: int = 0  # in the best w so far
    evaluations: int = 0  # of J or its slope, by the searches for steps so far, where counted
    inner: int = 0  # iterations of the loop inside this one, such as [Yu10]'s k; where counted
    step: float = 0.0  # the length of the step along its direction, where there is one

    @property
    def sigfig(self) -> float:
        """-log10 of the gap, as [Teo07]'s code has it: how many digits of J are certain.

        0 where none is, inf where the bounds are equal.
        """
        return max(0.0, -math.log10(self.gap)) if self.gap > 0 else math.inf

    @property
    def w(self) -> Array:
        """The best w so far, as a `Result` has it, in the record that a callback sees; no copy."""
        raise AttributeError(_FORGOTTEN)

    @property
    def intercept(self) -> float | Array:
        """The intercept, or intercepts, that belong to w."""
        raise AttributeError(_FORGOTTEN)


OLD_FIELDS = 7  # of a record in files of versions before it told of efforts
_KINDS = (int, float, float, float, int, float, int, int, int, int, float)


def record_of(numbers: Sequence[float]) -> Record:
    """A record from a line of a table; tables of earlier versions had `OLD_FIELDS` columns."""
    return Record(*(kind(number) for kind, number in zip(_KINDS, numbers, strict=False)))


_FORGOTTEN = (
    "a history keeps no w and no intercept: the record that a callback is called with has them"
)


class Watched(Record):
    """A record as a callback sees it, from which the best iterate can be had."""

    iterate: Callable[[], tuple[Array, float | Array]]

    @classmethod
    def of(cls, record: Record, iterate: Callable[[], tuple[Array, float | Array]]) -> Watched:
        """The record with what makes w and the intercept of it, if they are asked for."""
        watched = cls(*record)
        watched.iterate = iterate
        return watched

    def __repr__(self) -> str:
        return repr(Record(*self))

    @property
    def w(self) -> Array:
        """The best w so far, as a `Result` has it; not a copy, and not to be written to."""
        w = self.iterate()[0].view()
        w.flags.writeable = False
        return w

    @property
    def intercept(self) -> float | Array:
        """The intercept, or intercepts, that belong to w."""
        return self.iterate()[1]


@dataclass(frozen=True)
class Result:
    """The best iterate of a run, its certificate and its history."""

    w: Array  # of shape (n_features,), or (n_classes, n_features) for a vector loss
    intercept: float | Array  # a number, or one for each class
    certificate: Certificate
    status: Status
    iterations: int
    passes: int  # products with X or X'
    seconds: float
    history: Sequence[Record]
    solver: str
    reason: str  # why this solver
    witness: Witness | None
    proof_passes: int = 0  # the same to prove the bounds from the witness, by other code
    advice: Phrase | None = None  # what else may be done about a run that fell short
    feature_names: tuple[str, ...] | None = None  # of the columns, if X had names for them

    @property
    def objective(self) -> float:
        """J at the best iterate: an upper bound of min J."""
        return self.certificate.upper_bound

    @property
    def lower_bound(self) -> float:
        """The best proved lower bound of min J."""
        return self.certificate.lower_bound

    @property
    def gap(self) -> float:
        """(objective - lower_bound) / |objective|."""
        return self.certificate.gap

    @property
    def converged(self) -> bool:
        """Whether the requested gap was certified."""
        return self.status is Status.CONVERGED

    @property
    def ending(self) -> Phrase:
        """How the run ended, and what to do about it, in a sentence or two."""
        return Phrase(self.status.value, ". ", self.advice) if self.advice else self.status.value

    def raise_for_status(self) -> Result:
        """Raises NotConverged unless the requested gap was certified; returns the result itself."""
        if not self.converged:
            raise NotConverged(
                f"{self.solver} stopped with gap {self.gap:.2e} after {self.iterations} "
                "iterations: ",
                self.ending,
            )
        return self

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the history; with a path, writes it too. See `fenchel.plot`."""
        from fenchel import plot  # as a user calls it: plots know results, not results plots

        return plot(self, path)

    def __getstate__(self) -> dict[str, Any]:
        """The fields, the status by its name: its sentence may change, and skops has no enums."""
        return {**vars(self), "status": self.status.name}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, status=Status[state["status"]])

    def _repr_html_(self) -> str:
        return facts(
            f"{self.status.name.lower().replace('_', ' ')} by {self.solver}",
            {
                "bounds": f"{self.lower_bound:.8g} <= min J <= {self.objective:.8g}",
                "gap": f"{self.gap:.1e}, from the {self.certificate.source}",
                "w": f"{np.count_nonzero(self.w):,} of {self.w.size:,} nonzero",
                "iterations": f"{self.iterations:,}",
                "passes": f"{self.passes:,}, and {self.proof_passes:,} to prove it",
                "seconds": f"{self.seconds:.2f}",
                "solver": f"{self.solver}: {self.reason}",
                "ending": self.ending,
            },
        )

    def __repr__(self) -> str:
        return (
            f"Result({self.status.name.lower()} by {self.solver}: "
            f"{self.lower_bound:.8g} <= min J <= {self.objective:.8g}, gap {self.gap:.1e}, "
            f"{self.iterations} iterations, {self.passes} passes"
            f"{f' + {self.proof_passes} to prove it' * bool(self.proof_passes)}, "
            f"{self.seconds:.2f} s)"
        )


@dataclass(frozen=True)
class Path(Sequence[Result]):
    """The results of one problem at several strengths, from the largest to the smallest.

    A sequence: `path[0]` is the result at `path.strengths[0]`, and so on. The arrays have the
    strengths along their last axis, as those of scikit-learn's `lasso_path` do.
    """

    strengths: Array
    results: Sequence[Result]

    @overload
    def __getitem__(self, index: int) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> Path: ...
    def __getitem__(self, index: int | slice) -> Result | Path:
        if isinstance(index, slice):
            return Path(self.strengths[index], self.results[index])
        return self.results[index]

    def __len__(self) -> int:
        return len(self.results)

    def at(self, strength: float) -> Result:
        """The result at one of the strengths, which may be given to six digits."""
        found = np.flatnonzero(np.isclose(self.strengths, strength, rtol=1e-6, atol=0.0))
        if not len(found):
            known = ", ".join(f"{each:.6g}" for each in self.strengths)
            raise InvalidData(f"the path has no strength {strength!r}; its strengths are {known}")
        return self.results[int(found[0])]

    @property
    def coefficients(self) -> Array:
        """w at each strength, of shape (n_features, n_strengths); classes come first."""
        return np.stack([result.w for result in self.results], axis=-1)

    @property
    def intercepts(self) -> Array:
        """The intercept at each strength; classes come first."""
        return np.stack([np.asarray(result.intercept) for result in self.results], axis=-1)

    @property
    def objectives(self) -> Array:
        """J at each strength's best iterate."""
        return np.array([result.objective for result in self.results])

    @property
    def lower_bounds(self) -> Array:
        """The proved lower bound of min J at each strength."""
        return np.array([result.lower_bound for result in self.results])

    @property
    def gaps(self) -> Array:
        """(objective - lower_bound) / |objective| at each strength."""
        return np.array([result.gap for result in self.results])

    @property
    def converged(self) -> bool:
        """Whether the requested gap was certified at each strength."""
        return all(result.converged for result in self.results)

    def raise_for_status(self) -> Path:
        """Raises NotConverged unless every gap was certified; returns the path itself."""
        for result in self.results:
            result.raise_for_status()
        return self

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draws the coefficients and gaps; with a path, writes it too. See `fenchel.plot`."""
        from fenchel import plot  # as a user calls it: plots know results, not results plots

        return plot(self, path)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the columns, if X had names for them: of the rows of `coefficients`."""
        return self.results[0].feature_names if self.results else None

    def _repr_html_(self) -> str:
        heads = ("strength", "objective", "lower bound", "gap", "nonzero", "status")
        rows = (
            (
                f"{strength:.3g}",
                f"{each.objective:.6g}",
                f"{each.lower_bound:.6g}",
                f"{each.gap:.1e}",
                f"{np.count_nonzero(each.w):,}",
                each.status.name.lower(),
            )
            for strength, each in zip(self.strengths, self.results, strict=True)
        )
        return table(repr(self), heads, rows)

    def __repr__(self) -> str:
        done = sum(result.converged for result in self.results)
        first, last = (f"{self.strengths[k]:.3g}" for k in (0, -1))
        what = f"{len(self)} strengths from {first} to {last}" if len(self) > 1 else first
        return (
            f"Path({what}: "
            f"{done} converged, largest gap {max(self.gaps):.1e}, "
            f"{sum(result.passes for result in self.results)} passes, "
            f"{sum(result.seconds for result in self.results):.2f} s)"
        )


def relative_gap(upper: float, lower: float) -> float:
    """(upper - lower) / |upper|; 0 where both are 0."""
    if not math.isfinite(upper - lower):
        return math.inf
    if upper == lower:
        return 0.0
    return (upper - lower) / abs(upper) if upper != 0 else math.inf
