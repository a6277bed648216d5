"""Objectives without a minimum: most are refused before a solver goes after what is not there.

Of one kind the data alone tell. Without a penalty, and with a loss >= 0 that goes to 0 as a row's
score goes the right way, a w that has all rows on their right sides shows that inf J = 0: longer
and longer, it leaves nothing of the loss. A hinge is then 0 at some length, which is a minimiser;
the logistic loss never is, and has none.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.classes import Targets
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.losses import ChainLoss, Labels, Loss, MultivariateLoss, NuLoss
from fenchel.losses.hierarchy import Hierarchical
from fenchel.regularizers import Regularizer
from fenchel.risks.base import Array, Point, Problem

_DOUBLINGS = 40  # of w: scores of 1e-9 are then 1000
_NOTHING = 1e-30  # of J: what is left of it where the loss of each row vanishes


def vanishing(problem: Problem, point: Point) -> Point | None:
    """A multiple of w at which J is gone, but for `_NOTHING` of it; None if there is none.

    A row on its wrong side keeps at least the loss that it has at score 0, whatever the multiple;
    so every row of more weight than `_NOTHING` is on its right side. As w is doubled, what is left
    of an exponential tail is squared: J is 0 at the multiple that is found only if it is 0 at all.
    A piecewise quadratic J, which is 0 further out, is never said to be next to nothing.
    """
    facts, w, J = problem.risk.facts, point.w, problem.objective(point)
    if problem.strength > 0 or not facts.nonnegative or not w.any():
        return None
    most = 0.0 if facts.piecewise else _NOTHING * J
    ray, last = point.towards(w), J
    for k in range(1, _DOUBLINGS):
        problem.pulse()
        eta = 2.0**k - 1
        value = problem.strength * problem.regularizer.value(w + eta * w) + ray.along(eta)[0]
        if value <= most:
            return ray.at(eta)
        if not value <= last:  # J is convex: it will not fall again
            break
        last = value
    return None


def check_intercept(loss: Loss, intercept: object) -> None:
    """Some losses have no use for an intercept, whatever the labels."""
    if not isinstance(intercept, bool | np.bool_):
        raise InvalidData(Setting("intercept"), f" must be True or False; got {intercept!r}")
    if not intercept:
        return
    if isinstance(loss, MultivariateLoss) and not loss.intercept:
        why = "stays the same when all scores are shifted, so no intercept is better than another"
    elif isinstance(loss, ChainLoss):
        why = "has no intercept, though a feature may be 1 for all tokens"
    elif not loss.intercept:
        why = "has no use for an intercept: a large one explains every row"
    else:
        return
    raise Incompatible(f"{type(loss).__name__} {why}; use ", Setting("intercept", False))


def check_bounded(loss: NuLoss, regularizer: Regularizer, strength: float) -> None:
    """A risk that grows with the length of w needs a penalty that outgrows it."""
    if strength == 0 or regularizer.strong_convexity == 0:
        raise Incompatible(
            f"{loss!r} falls in proportion to the length of w, so its objective has no minimum "
            f"with {regularizer!r} and ",
            Setting("strength"),
            f" {strength:g}: use L2 or an elastic net, without weights of 0, and ",
            Setting("strength"),
            " > 0",
        )


def check_attainable(loss: Loss, targets: Targets, s: Array | None) -> None:
    """With an intercept, labels must pull it from both sides."""
    counted = targets.y if s is None else targets.y[s > 0]
    if loss.labels is Labels.BINARY and np.all(counted == counted[0]):
        raise InvalidData(
            "all rows with sample_weight > 0 are of one class, so no best intercept exists; use ",
            Setting("intercept", False),
            " or keep rows of both classes",
        )
    if loss.labels is Labels.COUNT and not counted.any():
        raise InvalidData(
            "y is 0 for every row, so the best intercept is -inf; use ",
            Setting("intercept", False),
        )
    classes = targets.classes
    if isinstance(loss, Hierarchical) and loss.taxonomy is not None:
        classes = loss.taxonomy.classes
    if loss.labels in (Labels.CLASSES, Labels.LEAVES) and loss.differentiable:
        missing = np.setdiff1d(np.arange(len(classes)), counted)
        if len(missing):
            raise InvalidData(
                f"no row of class {classes.tolist()[missing[0]]!r} has sample_weight > 0, so its "
                "best intercept is -inf; use ",
                Setting("intercept", False),
                " or drop the class",
            )
