"""Engines: where the work on shards is done."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from fenchel.engines.base import Engine, PerShard, mutates
from fenchel.engines.dask import Dask
from fenchel.engines.mpi import MPI
from fenchel.engines.serial import Serial
from fenchel.engines.threads import Threads
from fenchel.errors import Incompatible
from fenchel.settings import construct

__all__ = [
    "ENGINES",
    "MPI",
    "Dask",
    "Engine",
    "PerShard",
    "Serial",
    "Threads",
    "mutates",
    "named",
    "using",
]

ENGINES: dict[str, type[Engine]] = {"serial": Serial, "threads": Threads, "dask": Dask, "mpi": MPI}


_default: ContextVar[Engine | None] = ContextVar("engine", default=None)


@contextmanager
def using(engine: str | Engine) -> Iterator[Engine]:
    """The engine of all problems in this block that are not given one, estimators' included."""
    chosen = named(engine)
    before = _default.set(chosen)
    try:
        yield chosen
    finally:
        _default.reset(before)


def named(engine: str | Engine | None) -> Engine:
    """The engine of that name, the instance itself, that in use, or threads on all cores.

    An address, such as tcp://10.0.0.1:8786, is that of a Dask scheduler.
    """
    if engine is None:
        return _default.get() or Threads()
    if isinstance(engine, Engine):
        if engine.shards:
            raise Incompatible(f"{engine!r} already holds another problem's shards; give a new one")
        return engine
    if isinstance(engine, str) and "://" in engine:
        return Dask(engine)
    return construct("engine", engine, ENGINES, {})
