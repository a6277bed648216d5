"""Columns so large for the strength that round-off hides the minimum.

Bundle methods and dual ascent see J by its dual, <b, alpha> - 1/2 alpha'Q alpha, where the entries
of Q are sums over columns of a_j^2 / (strength c_j), with a_j about the root of the column's mean
square. At the maximum these terms nearly cancel, and what is left of them is known to `EPSILON` of
their size: where that is as much as the gap, no inner solver can close it. Q is the same in any
units of the columns, so that scaling them inside would change nothing: it is the ratio of column
to strength that is out of range, and that is the user's to choose.
"""

from __future__ import annotations

import numpy as np

from fenchel.errors import Phrase, Setting
from fenchel.risks.base import Problem
from fenchel.risks.linear import LinearRisk
from fenchel.tolerances import EPSILON

_NOTEWORTHY = 1e-6  # a smaller gap is no cause for advice


def too_large(problem: Problem, gap: float) -> Phrase | None:
    """What to do about the worst column, where round-off in its terms is as large as the gap."""
    risk, regularizer, strength = problem.risk, problem.regularizer, problem.strength
    known = isinstance(risk, LinearRisk) and regularizer.quadratic and regularizer.separable
    if not known or strength == 0 or not gap > _NOTEWORTHY:
        return None
    assert isinstance(risk, LinearRisk)
    squares = np.repeat(risk.squares, risk.n_outputs)
    penalty = strength * regularizer.curvature(len(squares))
    ratios = np.divide(squares, penalty, out=np.zeros_like(squares), where=penalty > 0)
    worst = int(np.argmax(ratios))
    if EPSILON * ratios[worst] < gap:
        return None
    column, size = worst // risk.n_outputs, float(np.sqrt(squares[worst]))
    return Phrase(
        f"column {column} of X, whose values are about {size:.1g}, is too large for ",
        Setting("strength"),
        f" {strength:g}: round-off in its terms hides the minimum. Rescale the columns to values "
        "about 1, or raise ",
        Setting("strength"),
    )
