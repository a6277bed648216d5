"""Objectives without a minimum: most are refused before a solver goes after what is not there.

Of one kind the data alone tell. Without a penalty, and with a loss >= 0 that goes to 0 as a row's
score goes the right way, a w that has all rows on their right sides shows that inf J = 0: longer
and longer, it leaves nothing of the loss. A hinge is then 0 at some length, which is a minimiser;
the logistic loss never is, and has none.

Nor has it one where the rows are separated but for some that stay where they are: a direction in
which no loss rises and some fall for ever (Albert & Anderson 1984: quasi-complete separation). The
slopes of a loss of one score, far out on either side, are the ends of its conjugate's domain; so
such a direction moves the score of a row up only if the upper end is 0, and down only if the lower
is. Newton's steps turn into it, because what is left of the losses that fall has little curvature.
"""

from __future__ import annotations

import numpy as np

from fenchel.data.classes import Targets
from fenchel.data.shards import Shard
from fenchel.errors import Incompatible, InvalidData, Phrase, Setting
from fenchel.losses import ChainLoss, Conjugable, Labels, Loss, MultivariateLoss, NuLoss
from fenchel.losses.hierarchy import Hierarchical
from fenchel.regularizers import Regularizer
from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.newton import Hessian
from fenchel.risks.views.newton_system import MOST_UNKNOWNS

_DOUBLINGS = 40  # of w: scores of 1e-9 are then 1000
_NOTHING = 1e-30  # of J: what is left of it where the loss of each row vanishes
_STILL = 1e-6  # of the largest move of a score: one that is no move
_NOTABLE = 1e-2  # of the coefficient that grows most: another that grows, too
_MOST_NAMED = 5


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


def receding(problem: Problem, point: Point) -> Array | None:
    """Newton's step at a point, where it is a direction in which R falls for ever; else None."""
    risk = problem.risk
    if problem.strength > 0 or not isinstance(risk, LinearRisk) or risk.facts.piecewise:
        return None
    if Hessian.obstacle(risk) is not None or risk.n_parameters > MOST_UNKNOWNS:
        return None
    p, b = Hessian(risk).whole_step(point)
    return p if _falls(risk, p, b) else None


def _falls(risk: LinearRisk, p: Array, b: float) -> bool:
    """Whether some losses fall for ever in this direction, and none rises.

    Scores that move the wrong way by `_STILL` of the largest stand still: a minimum that is so many
    times further out is out of reach of any arithmetic.
    """
    if not np.isfinite(p).all():
        return False
    right, wrong = np.max(np.array(list(risk.engine.map(_moves, risk.loss, p, b))), axis=0)
    return bool(right > 0 and wrong <= _STILL * right)


def _moves(shard: Shard, loss: Conjugable, p: Array, b: float) -> tuple[float, float]:
    """How far scores move at most in directions in which their losses fall for ever, and others."""
    q = shard.rows.scores(p) + b
    counted = slice(None) if shard.s is None else shard.s > 0
    q, (lowest, highest) = q[counted], loss.domain(shard.y[counted])
    right = np.where(q > 0, highest == 0, lowest == 0)
    size = np.abs(q)
    return float(np.max(size[right], initial=0.0)), float(np.max(size[~right], initial=0.0))


def separated(problem: Problem, w: Array) -> Phrase | None:
    """Which coefficients grow without end, where that is why there is no minimum."""
    risk = problem.risk
    if not isinstance(risk, LinearRisk) or not isinstance(risk.loss, Conjugable):
        return None
    point = risk.at(w)
    direction = receding(problem, point)
    if direction is None and _falls(risk, w, float(point.intercept)):
        direction = w
    if direction is None:
        return None
    size = np.abs(direction) * np.sqrt(risk.squares)
    columns = [str(j) for j in np.flatnonzero(size > _NOTABLE * np.max(size))]
    if len(columns) > _MOST_NAMED:
        columns = [*columns[:_MOST_NAMED], "..."]
    which = "columns" if len(columns) > 1 else "column"
    return Phrase(
        f"The rows are separated by the coefficients of {which} {', '.join(columns)} (counted from "
        "0), which grow without end: leave such columns out or merge rare categories, or use ",
        Setting("strength"),
        " > 0",
    )


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
