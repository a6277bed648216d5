"""The state of a run in a file, from which `minimize` goes on.

A solver's state is taken at fixed iterations, and the solver then starts anew from it, whether or
not the run is ever interrupted. A run that goes on from the file therefore takes the same steps, to
the last bit, as one that was left alone; what is lost is the work since the state was taken, a
half of a short run and at most 32 iterations of a long one.
"""

from __future__ import annotations

import hashlib
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np

from fenchel._system import container
from fenchel._system.files import destination
from fenchel.callers import users_line
from fenchel.errors import FenchelWarning, InvalidData, Phrase
from fenchel.regularizers import Regularizer
from fenchel.result import Record, record_of
from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.digests import held
from fenchel.settings import user_written
from fenchel.solvers import Solver, State
from fenchel.witness import Witness, packed, unpacked

_SECONDS = 30.0  # between writes
_FIRST, _APART = 8, 32  # states are taken at 8, 16 and 32 iterations, then at every 32nd
_KIND = "checkpoint"


class Best(NamedTuple):
    """The best iterate so far."""

    w: Array
    intercept: float | Array

    @classmethod
    def of(cls, point: Point) -> Best:
        """The iterate at a point, without what the point keeps with the shards."""
        return cls(point.w, point.intercept)


class Snapshot(NamedTuple):
    """All a run needs to go on."""

    state: State
    best: Best
    objective: float
    lower_bound: float
    witness: Witness | None
    history: Sequence[Record]


class Checkpoint:
    """A file for the state of a run, with a note of the caller's own in it."""

    def __init__(self, path: str | os.PathLike[str], note: str = ""):
        self.path, self.note = os.fspath(path), note

    def part(self, name: str) -> Checkpoint:
        """The file of one run out of several that belong together."""
        return Checkpoint(f"{self.path}.{name}", self.note)

    def read_note(self) -> str:
        """The note in the file."""
        return container.read(self.path, _KIND, _CheckpointHeader)[0].note


def due(iteration: int) -> bool:
    """Whether the state is taken after this iteration."""
    early = iteration >= _FIRST and iteration & (iteration - 1) == 0
    return iteration % _APART == 0 or (early and iteration < _APART)


class CheckpointFile:
    """A checkpoint of one problem and solver."""

    def __init__(self, checkpoint: Checkpoint, problem: Problem, solver: Solver):
        destination(checkpoint.path)  # refuses a place that cannot be written to
        self.checkpoint = checkpoint
        self.header = _CheckpointHeader(_fingerprint(problem), repr(solver), checkpoint.note)
        self._kept: Snapshot | None = None
        self._written = time.monotonic()

    def load(self) -> Snapshot | None:
        """What the file holds, None if there is none; an error if it is another problem's."""
        if not os.path.lexists(self.checkpoint.path):
            return None
        header, arrays = container.read(self.checkpoint.path, _KIND, _CheckpointHeader)
        self._check(header)
        with container.naming(self.checkpoint.path):
            return _snapshot(arrays)

    def keep(self, snapshot: Snapshot) -> None:
        """Takes the newest state; writes it if the last time is long enough ago."""
        self._kept = snapshot
        if time.monotonic() - self._written > _SECONDS:
            self.write()

    def write(self) -> None:
        """Writes the newest state, unless that is done."""
        if self._kept is not None:
            container.write(self.checkpoint.path, _KIND, self.header, _arrays(self._kept))
            self._kept, self._written = None, time.monotonic()

    def close(self) -> None:
        """Writes the last state; if that fails, as on a full disk, the run's result is not lost."""
        try:
            self.write()
        except OSError as error:
            why = f"the checkpoint could not be written: {error}"
            warnings.warn(why, FenchelWarning, stacklevel=users_line())

    def _check(self, found: _CheckpointHeader) -> None:
        for what, ours, theirs in (
            (
                Phrase.of("problem (its data, loss, regulariser or {strength})"),
                self.header.problem,
                found.problem,
            ),
            (f"solver, {found.solver}", self.header.solver, found.solver),
        ):
            if ours != theirs:
                raise InvalidData(
                    f"the checkpoint {self.checkpoint.path} belongs to another ",
                    what,
                    "; remove it to start afresh, or name another file",
                )


def opened(
    checkpoint: str | os.PathLike[str] | Checkpoint | None, problem: Problem, solver: Solver
) -> CheckpointFile | None:
    """The checkpoint for this problem and solver; None if none is wanted."""
    if checkpoint is None:
        return None
    if not isinstance(checkpoint, Checkpoint):
        checkpoint = Checkpoint(checkpoint)
    return CheckpointFile(checkpoint, problem, solver)


class _CheckpointHeader(msgspec.Struct, forbid_unknown_fields=True):
    problem: str  # a digest of all that defines it
    solver: str
    note: str


def _arrays(snapshot: Snapshot) -> dict[str, np.ndarray[Any, Any]]:
    return {
        "numbers": np.array((snapshot.objective, snapshot.lower_bound)),
        "intercept": np.asarray(snapshot.best.intercept, dtype=np.float64),
        "best": snapshot.best.w,
        "history": np.array(snapshot.history, dtype=np.float64).reshape(-1, len(Record._fields)),
        **packed("witness", [] if snapshot.witness is None else [snapshot.witness]),
        **{f"state.{name}": array for name, array in snapshot.state.items()},
    }


def _snapshot(arrays: Mapping[str, np.ndarray[Any, Any]]) -> Snapshot:
    try:
        objective, lower_bound = arrays["numbers"].tolist()
        intercept = arrays["intercept"]
        best = Best(arrays["best"], intercept if intercept.ndim else float(intercept))
        witness = next(iter(unpacked("witness", arrays)), None)
        history = [record_of(line) for line in arrays["history"].tolist()]
        names = [name for name in arrays if name.startswith("state.")]
        state = {name.removeprefix("state."): arrays[name] for name in names}
        return Snapshot(state, best, objective, lower_bound, witness, history)
    except (KeyError, ValueError, TypeError, IndexError, OverflowError) as error:
        raise InvalidData(f"its arrays do not belong together: {error!r}") from error


def _fingerprint(problem: Problem) -> str:
    """A digest of the data and of all that defines the problem."""
    digest = hashlib.blake2b(problem.risk.fingerprint(), digest_size=16)
    digest.update(f"{type(problem.regularizer).__name__} {problem.strength!r}".encode())
    for name, value in _settings(problem.regularizer):
        digest.update(f"{name} {np.shape(value)}".encode())
        try:
            digest.update(np.asarray(value, dtype=np.float64).tobytes())
        except (TypeError, ValueError):  # names
            digest.update(repr(value).encode())
    return digest.hexdigest()


def _settings(regularizer: Regularizer) -> Iterator[tuple[str, Any]]:
    """The settings of a regulariser and of those within it; of a user's, all that it holds."""
    if user_written(regularizer):
        yield held(regularizer).hex(), None
        return
    for name, value in regularizer.settings().items():
        if isinstance(value, Regularizer):
            yield f"{name} {type(value).__name__}", None
            yield from _settings(value)
        else:
            yield name, value
