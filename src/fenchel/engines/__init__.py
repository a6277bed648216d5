"""Engines: where the work on shards is done."""

from __future__ import annotations

from fenchel.engines.base import Engine, PerShard, mutates
from fenchel.engines.dask import Dask
from fenchel.engines.serial import Serial
from fenchel.engines.threads import Threads
from fenchel.errors import Incompatible
from fenchel.naming import construct

__all__ = ["ENGINES", "Dask", "Engine", "PerShard", "Serial", "Threads", "mutates", "named"]

ENGINES: dict[str, type[Engine]] = {"serial": Serial, "threads": Threads, "dask": Dask}


def named(engine: str | Engine | None) -> Engine:
    """The engine of that name, the instance itself, or threads on all cores.

    An address, such as tcp://10.0.0.1:8786, is that of a Dask scheduler.
    """
    if engine is None:
        return Threads()
    if isinstance(engine, Engine):
        if engine.shards:
            raise Incompatible(f"{engine!r} already holds another problem's shards; give a new one")
        return engine
    if isinstance(engine, str) and "://" in engine:
        return Dask(engine)
    return construct("engine", engine, ENGINES, {})
