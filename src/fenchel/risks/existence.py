"""Objectives without a minimum, refused before a solver goes after what is not there."""

from __future__ import annotations

import numpy as np

from fenchel.data.classes import Targets
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.losses import ChainLoss, Labels, Loss, MultivariateLoss, NuLoss
from fenchel.losses.hierarchy import Hierarchical
from fenchel.regularizers import Regularizer
from fenchel.risks.base import Array


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
