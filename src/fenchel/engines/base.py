"""What an engine is: whatever runs functions on the shards of a data set and adds up their results.

A risk says what is to be done on each shard (`map`) and what is to be added up (`total`); an engine
decides where: in this thread, in several, in other processes or on other machines. Values with an
entry for each row never leave their shard (`PerShard`), and sums have the same bits everywhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.data.blocks import KeptRows
from fenchel.data.device_rows import DeviceRows
from fenchel.data.rows import WithOnes
from fenchel.data.shards import Shard, joined
from fenchel.engines.sums import total
from fenchel.errors import Incompatible
from fenchel.settings import Configured

Array = npt.NDArray[np.float64]
E = TypeVar("E", bound="Engine")
T = TypeVar("T")
V = TypeVar("V", covariant=True)
Task = TypeVar("Task", bound=Callable[..., Any])


class PerShard(Generic[V]):
    """One value for each shard; it stays where the shard is, unless it is looked at here."""

    def __init__(self, values: Iterable[V]):
        self._values = tuple(values)

    def __iter__(self) -> Iterator[V]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __getitem__(self, shard: int) -> V:
        return self._values[shard]

    def split(self, n: int) -> tuple[PerShard[Any], ...]:
        """A PerShard of n-tuples as n PerShards."""
        values: tuple[Any, ...] = self._values
        if any(len(value) != n for value in values):
            raise ValueError(f"a task gave {len(values[0])} values instead of {n}")
        return tuple(PerShard(value[k] for value in values) for k in range(n))


class Away(PerShard[V]):
    """A value for each shard that is elsewhere: looking at it collects it, split sends nothing."""

    def __init__(self, engine: Elsewhere):
        self._engine = engine

    def __iter__(self) -> Iterator[V]:
        return iter(self._engine.collect(self))

    def __len__(self) -> int:
        return self._engine.n_shards

    def __getitem__(self, shard: int) -> V:
        value: V = self._engine.collect(self)[shard]
        return value

    def split(self, n: int) -> tuple[PerShard[Any], ...]:
        """A value of n-tuples as n values."""
        return tuple(self._engine.map(_item, self, k) for k in range(n))


def _item(shard: Shard, value: Any, k: int) -> Any:
    return value[k]


def mutates(task: Task) -> Task:
    """Marks a task that changes a PerShard argument in place, which must be done in order."""
    task.mutates = True  # type: ignore[attr-defined]  # functions take any
    return task


class Engine(Configured, ABC):
    """Runs functions on shards.

    A task is a module-level function whose first argument is a shard. Arguments that are
    `PerShard` are split, all others are broadcast. Sums are added in an order that depends on the
    number of shards alone, so every engine gives the bits that `Serial` gives.

    An engine of one's own writes `map`, and `settings` if its constructor takes any; the rest
    suits all that work in this process's memory (docs/how-to/own-engine.md).
    """

    n_threads = 1  # of this process that it works in

    def __init__(self) -> None:
        self.shards: tuple[Shard, ...] = ()

    def place(self: E, shards: Sequence[Shard]) -> E:
        """An engine with the same settings that holds these shards."""
        placed = type(self)(**self.settings())
        placed.shards = tuple(shards)
        return placed

    def settings(self) -> dict[str, Any]:
        """The arguments with which the constructor makes this engine again, without its shards."""
        return {}

    @property
    def n_shards(self) -> int:
        """The number of shards."""
        return len(self.shards)

    @property
    def in_one_memory(self) -> bool:
        """All rows lie in this process's memory, so that they can be taken in any order."""
        return not self._has_kept(KeptRows)

    @property
    def on_device(self) -> bool:
        """Rows lie on a device, from which one row is fetched no faster than a thousand."""
        return self._has_kept(DeviceRows)

    def _has_kept(self, kind: type) -> bool:
        """Whether some rows are kept in this way."""
        rows = (shard.rows for shard in self.shards)
        inner = (each.rows if isinstance(each, WithOnes) else each for each in rows)
        return any(isinstance(each, kind) for each in inner)

    def joined(self) -> Shard:
        """All rows as one shard, where they are in one memory."""
        return joined(self.shards)

    @abstractmethod
    def map(self, task: Callable[..., T], *args: Any) -> PerShard[T]:
        """task(shard, *args) for every shard."""

    def total(self, values: PerShard[T]) -> T:
        """The sum of a PerShard of numbers or arrays."""
        return total(list(values))

    def totals(self, *values: PerShard[Any]) -> tuple[Any, ...]:
        """Several sums at once."""
        return tuple(map(self.total, values))

    def gather(self, values: PerShard[Array]) -> Array:
        """A PerShard of per-row arrays as one array."""
        return np.concatenate(list(values))

    def scatter(self, values: Array) -> PerShard[Array]:
        """One array of per-row values as a PerShard."""
        ends = np.cumsum([shard.rows.n_rows for shard in self.shards])
        return PerShard(np.split(values, ends[:-1]))

    @property
    def leads(self) -> bool:
        """Of the processes that run the same program, this is the one that prints and writes."""
        return True

    def agreed(self, compute: Callable[[], T]) -> T:
        """What the process that leads computes, on all that run the same program."""
        return compute()

    def close(self) -> None:
        """Lets go of the shards."""
        self.shards = ()

    def calls(self, args: tuple[Any, ...]) -> Iterable[tuple[Any, ...]]:
        """The arguments of each shard's call of a task, the shard first: what `map` works on."""
        for i, shard in enumerate(self.shards):
            yield (shard, *(arg[i] if isinstance(arg, PerShard) else arg for arg in args))


class Elsewhere(Engine):
    """An engine whose values for shards are not all here, unless they are collected."""

    def place(self: E, shards: Sequence[Shard]) -> E:
        """An engine with the same settings that holds these shards, of rows that can be sent."""
        placed = super().place(shards)
        if placed.on_device:
            raise Incompatible(
                f"X is on a device, which {type(self).__name__}'s processes cannot reach: use the "
                "engine 'threads' or 'serial', or give X in this host's memory"
            )
        return placed

    @property
    def in_one_memory(self) -> bool:
        """No: rows lie with their shards, in the memory of other processes."""
        return False

    @abstractmethod
    def collect(self, values: Any) -> list[Any]:
        """The values of all shards, of an `Away` that this engine's `map` gave."""


def shares(shards: Sequence[Shard], n: int) -> list[int]:
    """The edges of at most n runs of consecutive shards, of about equal work."""
    work = np.cumsum([0, *(shard.rows.n_numbers + shard.rows.n_rows for shard in shards)])
    targets = work[-1] * np.arange(1, n) / n
    return sorted({0, *np.searchsorted(work, targets).tolist(), len(shards)})
