"""The engine protocol: `map` work over shards, `total` its results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import Shard

Array = npt.NDArray[np.float64]
E = TypeVar("E", bound="Engine")


class PerShard(tuple[Any, ...]):
    """One value for each shard; it stays where the shard is."""

    def split(self) -> tuple[PerShard, ...]:
        """A PerShard of k-tuples as k PerShards."""
        return tuple(PerShard(part) for part in zip(*self, strict=True))


class Engine(ABC):
    """Runs functions on shards.

    A task is a module-level function whose first argument is a shard. Arguments that are
    `PerShard` are split, all others are broadcast. Sums are added in the order of the shards, so
    every engine gives the bits that `Serial` gives.
    """

    def __init__(self) -> None:
        self.shards: tuple[Shard, ...] = ()

    def place(self: E, shards: Sequence[Shard]) -> E:
        """An engine with the same settings that holds these shards."""
        placed = type(self)(**self.settings())
        placed.shards = tuple(shards)
        return placed

    def settings(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {}

    @property
    def n_shards(self) -> int:
        """The number of shards."""
        return len(self.shards)

    @abstractmethod
    def map(self, task: Callable[..., Any], *args: Any) -> PerShard:
        """task(shard, *args) for every shard."""

    def total(self, values: PerShard) -> Any:
        """The sum of a PerShard of numbers or arrays, in the order of the shards."""
        total = values[0].copy() if isinstance(values[0], np.ndarray) else values[0]
        for value in values[1:]:
            total += value
        return total

    def gather(self, values: PerShard) -> Array:
        """A PerShard of per-row arrays as one array."""
        return np.concatenate(values)

    def scatter(self, values: Array) -> PerShard:
        """One array of per-row values as a PerShard."""
        ends = np.cumsum([shard.rows.n_rows for shard in self.shards])
        return PerShard(np.split(values, ends[:-1]))

    def close(self) -> None:
        """Lets go of the shards."""
        self.shards = ()

    def _calls(self, args: tuple[Any, ...]) -> Iterable[tuple[Any, ...]]:
        """The arguments of each shard's call."""
        for i, shard in enumerate(self.shards):
            yield (shard, *(arg[i] if isinstance(arg, PerShard) else arg for arg in args))

    def __repr__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in self.settings().items())
        return f"{type(self).__name__}({settings})"
