"""Engines: where the work on shards is done."""

from __future__ import annotations

from fenchel.engines.base import Engine, PerShard, mutates
from fenchel.engines.serial import Serial
from fenchel.engines.threads import Threads
from fenchel.errors import Incompatible
from fenchel.naming import construct

__all__ = ["ENGINES", "Engine", "PerShard", "Serial", "Threads", "mutates", "named"]

ENGINES: dict[str, type[Engine]] = {"serial": Serial, "threads": Threads}


def named(engine: str | Engine | None) -> Engine:
    """The engine of that name, the instance itself, or threads on all cores."""
    if engine is None:
        return Threads()
    if isinstance(engine, Engine):
        if engine.shards:
            raise Incompatible(f"{engine!r} already holds another problem's shards; give a new one")
        return engine
    return construct("engine", engine, ENGINES, {})
