"""A host: some consecutive shards of a problem, in whatever process holds them."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from fenchel._system import blas
from fenchel.data.shards import Shard, fingerprint
from fenchel.engines.base import PerShard
from fenchel.engines.sums import Span, subtotals
from fenchel.engines.threads import Threads


class Gone(Exception):
    """A host did not answer, for whatever reason its transport gave."""


class Missing(LookupError):
    """The host was never told, or has forgotten, what it would need for an answer."""


class Ref(NamedTuple):
    """A value that the hosts keep, by its number."""

    number: int


class Parts(NamedTuple):
    """A value for each shard that comes with the call."""

    values: Sequence[Any]


class Call(NamedTuple):
    """One `map`: a task, its arguments, and the number of what comes of it."""

    result: int
    task: Callable[..., Any]
    args: tuple[Any, ...]

    @property
    def mutates(self) -> bool:
        """Whether the task changes one of its arguments."""
        return bool(getattr(self.task, "mutates", False))

    @property
    def refs(self) -> set[int]:
        """The kept values that it takes."""
        return {arg.number for arg in self.args if isinstance(arg, Ref)}

    @property
    def n_bytes(self) -> int:
        """The size of the arrays that come with it."""
        return sum(_n_bytes(arg) for arg in self.args)

    def within(self, first: int, last: int) -> Call:
        """The same for some of the shards."""
        args = [
            Parts(arg.values[first:last]) if isinstance(arg, Parts) else arg for arg in self.args
        ]
        return self._replace(args=tuple(args))


@dataclass(frozen=True)
class Request:
    """The calls of a round, and what of their results is wanted."""

    round: int
    calls: Sequence[Call]
    dropped: Sequence[int] = ()  # values that nobody needs any more
    collected: int | None = None  # a value that is wanted as it is
    summed: tuple[int, ...] = ()  # values of which the sums are wanted
    snapshot: bool = False  # whether all kept values are wanted
    first: int = 0  # the first of the shards that it is for

    def within(self, first: int, last: int) -> Request:
        """The same for some of its shards."""
        calls = [call.within(first - self.first, last - self.first) for call in self.calls]
        return replace(self, calls=calls, first=first)


@dataclass(frozen=True)
class Reply:
    """A host's answer to the request of the same round."""

    round: int
    first: int  # its first shard
    n_rows: int
    values: Sequence[Any] = ()
    sums: Sequence[dict[Span, Any]] = ()  # of each of them
    snapshot: dict[int, list[Any]] | None = None
    error: Exception | None = None  # of a task, which would be one on any host

    @property
    def has_nan(self) -> bool:
        """Whether one of its values or sums is not a number."""
        values = [*self.values, *(value for sums in self.sums for value in sums.values())]
        return any(np.isnan(value).any() for value in values if _is_real(value))


class Host:
    """Holds the shards from `first` on, of `n_shards` in all, and values that belong to them."""

    def __init__(
        self,
        shards: Sequence[Shard],
        first: int,
        n_shards: int,
        n_threads: int,
        kept: dict[int, list[Any]] | None = None,
    ):
        self.engine = Threads(n_threads).place(shards)
        self.first, self.n_shards = first, n_shards
        self.n_rows = sum(shard.rows.n_rows for shard in self.engine.shards)
        self.kept = {number: PerShard(values) for number, values in (kept or {}).items()}
        self.place = f"{socket.gethostname()}, process {os.getpid()}"
        self._answered: Reply | None = None  # in the last round

    @property
    def last(self) -> int:
        """One after the last of its shards."""
        return self.first + self.engine.n_shards

    def fingerprints(self) -> list[bytes]:
        """A digest of each shard."""
        return list(self.engine.map(fingerprint))

    def run(self, request: Request) -> Reply:
        """The calls, in order, then what is wanted.

        A round that was done is not done again: a request may come by two ways (relays.py).
        """
        before = self._answered
        if before is not None and request.round == before.round:
            return before
        if before is not None and request.round < before.round:
            late = Missing(f"round {request.round} comes after round {before.round}")
            return Reply(request.round, self.first, self.n_rows, error=late)
        try:
            with blas.one_thread(), np.errstate(all="ignore"):
                reply = self._run(request)
        except Exception as error:
            reply = Reply(request.round, self.first, self.n_rows, error=error)
        self._answered = replace(reply, snapshot=None)  # which would keep what is dropped later
        return reply

    def _run(self, request: Request) -> Reply:
        for call in request.calls:
            self.kept[call.result] = self.engine.map(call.task, *map(self._argument, call.args))
        values: tuple[Any, ...] = ()
        if request.collected is not None:
            values = tuple(self.kept[request.collected])
        wanted = [list(self.kept[number]) for number in request.summed]
        sums = [subtotals(each, self.first, self.n_shards) for each in wanted]
        for number in request.dropped:
            self.kept.pop(number, None)
        kept = {number: list(each) for number, each in self.kept.items()}
        snapshot = kept if request.snapshot else None
        return Reply(request.round, self.first, self.n_rows, values, sums, snapshot)

    def _argument(self, arg: Any) -> Any:
        if isinstance(arg, Ref):
            if arg.number not in self.kept:
                raise Missing(f"it has no value {arg.number}")
            return self.kept[arg.number]
        return PerShard(arg.values) if isinstance(arg, Parts) else arg


def _n_bytes(arg: Any) -> int:
    if isinstance(arg, Parts):
        return sum(_n_bytes(value) for value in arg.values)
    return arg.nbytes if isinstance(arg, np.ndarray) else 0


def _is_real(value: Any) -> bool:
    return isinstance(value, float) or (isinstance(value, np.ndarray) and value.dtype.kind == "f")


def needed(calls: Sequence[Call], wanted: set[int]) -> list[Call]:
    """The calls on which wanted values depend, or that change one of them."""
    needed, kept = set(wanted), []
    for call in reversed(calls):
        if call.result in needed or (call.mutates and call.refs & needed):
            kept.append(call)
            needed |= call.refs
    return kept[::-1]
