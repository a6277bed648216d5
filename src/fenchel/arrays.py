"""From arrays and names to a problem."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np

from fenchel import engines, losses, regularizers
from fenchel.data.checked import checked_labels, checked_matrix, checked_weights
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.shards import cut
from fenchel.engines import Engine
from fenchel.errors import Incompatible, InvalidData
from fenchel.losses import Labels, ScalarLoss
from fenchel.naming import real
from fenchel.protocols import Array, Problem
from fenchel.regularizers import REGULARIZERS, Regularizer
from fenchel.risk import LinearRisk

LEAST_STRENGTH = 1e-100  # one over it must be finite, and so must its square


def problem(
    X: Any,
    y: Any = None,
    *,
    loss: str | ScalarLoss = "hinge",
    regularizer: str | Regularizer = "l2",
    strength: float = 1e-4,
    intercept: bool = False,
    sample_weight: Any = None,
    engine: str | Engine | None = None,
    **loss_options: Any,
) -> Problem:
    """J(w) = strength * Omega(w) + (1/S) sum_i s_i l(<x_i, w> + b, y_i).

    `loss` and `regularizer` are names or instances; options such as `quantile=0.9`, `delta=`,
    `epsilon=`, `rho=`, `mu=` and `l1_ratio=` go to the one that takes them. For losses of two
    classes y may hold any two values: the smaller stands for -1, the larger for +1. With
    `intercept=True` an unregularised b is part of the model. X is used as it is, without a copy,
    where its layout allows.
    """
    penalty_options = _split_options(regularizer, loss_options)
    chosen_loss = losses.named(loss, loss_options)
    penalty = regularizers.named(regularizer, penalty_options)
    placed = engines.named(engine)
    strength = checked_strength("strength", strength)
    _check_intercept(chosen_loss, intercept)

    rows = checked_matrix(X)
    labels = checked_labels(y, chosen_loss.labels, rows.n_rows)
    weights = checked_weights(sample_weight, rows.n_rows)
    return posed(
        rows,
        labels,
        weights,
        loss=chosen_loss,
        regularizer=penalty,
        strength=strength,
        intercept=intercept,
        engine=placed,
    )


def posed(
    rows: SparseRows | DenseRows,
    y: Array,
    s: Array | None,
    *,
    loss: ScalarLoss,
    regularizer: Regularizer,
    strength: float,
    intercept: bool,
    engine: Engine,
) -> Problem:
    """The problem of rows, labels and weights that were checked; many may share the same rows."""
    regularizer.free(rows.n_columns)  # refuses weights of the wrong length
    if intercept:
        _check_attainable(loss, y, s)
    risk = LinearRisk(loss, engine.place(cut(rows, y, s)), intercept=intercept)
    return Problem(risk, regularizer, strength)


def _split_options(regularizer: object, options: dict[str, Any]) -> dict[str, Any]:
    """Takes the regulariser's options out of `options`."""
    takes = {name: set(inspect.signature(kind).parameters) for name, kind in REGULARIZERS.items()}
    mine = takes.get(regularizer, set()) if isinstance(regularizer, str) else set()
    for name in set(options) - mine:
        able = [other for other, names in takes.items() if name in names]
        if able:
            raise Incompatible(
                f"regularizer {regularizer!r} does not take {name}; {' and '.join(able)} can"
            )
    return {name: options.pop(name) for name in list(options) if name in mine}


def checked_strength(name: str, strength: object) -> float:
    """A weight of the regulariser, by the name that the caller knows it under."""
    try:
        value = real(name, strength)
    except InvalidData:
        value = -1.0
    if value < 0:
        raise InvalidData(f"{name} must be a finite number >= 0; got {strength!r}")
    if 0 < value < LEAST_STRENGTH:
        raise InvalidData(f"{name} must be 0, or at least {LEAST_STRENGTH:g}; got {strength!r}")
    return value


def _check_intercept(loss: ScalarLoss, intercept: object) -> None:
    if not isinstance(intercept, bool | np.bool_):
        raise InvalidData(f"intercept must be True or False; got {intercept!r}")
    if intercept and not loss.intercept:
        raise Incompatible(
            f"{type(loss).__name__} has no use for an intercept: a large one explains every row; "
            "use intercept=False"
        )


def _check_attainable(loss: ScalarLoss, y: Array, s: Array | None) -> None:
    """With an intercept, labels must pull it from both sides."""
    counted = y if s is None else y[s > 0]
    if loss.labels is Labels.BINARY and np.all(counted == counted[0]):
        raise InvalidData(
            "all rows with sample_weight > 0 are of one class, so no best intercept exists; "
            "use intercept=False or keep rows of both classes"
        )
    if loss.labels is Labels.COUNT and not counted.any():
        raise InvalidData(
            "y is 0 for every row, so the best intercept is -inf; use intercept=False"
        )
