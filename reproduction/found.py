"""What a run gave, as figures and verdicts ask for it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt


class Found(dict[str, Any]):
    """What a run's function gave; `failed` says why there is nothing, if that is so."""

    failed: str = ""
    final: bool = True  # False: it failed by an error, which may be mended, not by a limit
    seconds_taken: float = 0.0  # by the whole call, the reading of data included
    made: Mapping[str, str] = MappingProxyType({})  # when, where, by what

    def column(self, field: str) -> npt.NDArray[np.float64]:
        """A column of the history; empty if the run failed."""
        return np.array(self.get("history", {}).get(field, ()), dtype=np.float64)

    def first(self, field: str, **at_most: float) -> float:
        """The field at the first record whose named column is at most so large; inf if never.

        first("passes", gap=1e-3): the passes after which a gap of 1e-3 was certified.
        """
        column = self.column(field)
        if not len(column):
            return math.inf
        reached = [self.column(name) <= limit for name, limit in at_most.items()]
        at = np.flatnonzero(np.all(reached, axis=0))
        return float(column[at[0]]) if len(at) else math.inf


Results = Mapping[Any, Found]


def finite(values: Iterable[float]) -> list[float]:
    """Those that are neither nan nor infinite."""
    return [value for value in values if math.isfinite(value)]
