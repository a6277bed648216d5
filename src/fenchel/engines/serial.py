"""The reference engine: one shard after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fenchel.engines.base import Engine, PerShard

T = TypeVar("T")


class Serial(Engine):
    """Evaluates shards one after another; every other engine must agree with it bit for bit."""

    def map(self, task: Callable[..., T], *args: Any) -> PerShard[T]:
        """task(shard, *args) for every shard."""
        return PerShard(task(*call) for call in self.calls(args))
