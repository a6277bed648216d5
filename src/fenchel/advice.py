"""What else may be done about a run that fell short, from a look at the data."""

from __future__ import annotations

import numpy as np

from fenchel.errors import Phrase
from fenchel.result import Result, Status
from fenchel.risks.base import Problem
from fenchel.risks.existence import separated
from fenchel.risks.scales import too_large
from fenchel.verification import unprovable


def advised(problem: Problem, result: Result) -> Phrase | None:
    """Columns to rescale or to leave out, where they are why; else None."""
    with np.errstate(all="ignore"):
        if result.status is Status.UNBOUNDED:
            return separated(problem, problem.risk.flattened(result.w, result.intercept))
        if result.status is Status.STALLED:
            return too_large(problem, result.gap) or unprovable(problem)
    return None
