"""What the accelerated methods ask of a problem: how it is made smooth, and how far that is off."""

from __future__ import annotations

from fenchel.regularizers import lacking
from fenchel.risks.base import Problem, Risk
from fenchel.risks.views.smoothing import roughness
from fenchel.risks.views.soft_chains import is_soft_chain, most_entropy
from fenchel.risks.views.soft_measures import is_soft_measure


def without_dual_smoothness(problem: Problem) -> str | None:
    """What the dual's f = lambda Omega* needs of Omega."""
    if problem.regularizer.strong_convexity == 0:
        return "form='dual' needs a strongly convex regulariser"
    if not problem.regularizer.has("conjugate_argmax"):
        return f"form='dual' needs {lacking(problem.regularizer, 'conjugate_argmax')}"
    return None


def is_soft(risk: Risk) -> bool:
    """Its maxima are made soft, and rows have no dual variables: cuts are those of places."""
    return is_soft_chain(risk) or is_soft_measure(risk)


def most_roughness(risk: Risk) -> float:
    """How far R smoothed by mu lies below R, at most, over mu."""
    if is_soft_measure(risk):
        return 1.0
    return most_entropy(risk) if is_soft_chain(risk) else roughness(risk)
