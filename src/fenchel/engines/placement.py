"""Which shards a host holds, and what is known here of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fenchel.data.shards import Shard


@dataclass
class Placed:
    """Consecutive shards, and the host that holds them."""

    first: int
    last: int
    host: Any = None  # what the transport calls it
    where: str = ""
    fingerprints: list[bytes] = field(default_factory=list)
    snapshot: dict[int, list[Any]] = field(default_factory=dict)
    replacements: int = 0

    def adopt(self, former: Sequence[Placed]) -> None:
        """Takes over what is known of these shards from the hosts that held all of them."""
        own = slice(self.first, self.last)
        self.fingerprints = [each for host in former for each in host.fingerprints][own]
        self.snapshot = {
            number: [value for host in former for value in host.snapshot[number]][own]
            for number in former[0].snapshot
        }

    def named(self, shards: Sequence[Shard]) -> str:
        """Which of all shards these are, and which rows they hold, in a message's words."""
        rows = [shard.rows.n_rows for shard in shards]
        first = sum(rows[: self.first])
        last = first + sum(rows[self.first : self.last]) - 1
        return f"shards {self.first} to {self.last - 1} (rows {first} to {last})"
