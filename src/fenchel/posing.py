"""From arrays and names to a problem."""

from __future__ import annotations

import dataclasses
import inspect
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import engines, losses, regularizers
from fenchel.data.blocks import Blocks
from fenchel.data.checked import (
    checked_groups,
    checked_labels,
    checked_matrix,
    checked_offset,
    checked_weights,
)
from fenchel.data.classes import (
    Targets,
    checked_codes,
    checked_leaves,
    checked_sets,
    checked_vectors,
)
from fenchel.data.dask_rows import checked_collection, is_dask
from fenchel.data.rows import DenseRows, SparseRows, WithOnes
from fenchel.data.sequences import (
    MOST_LABELS,
    all_pairs,
    compressed,
    cut_sequences,
    observed_pairs,
)
from fenchel.data.shards import cut
from fenchel.engines import Dask, Engine
from fenchel.engines.owners import Owners
from fenchel.errors import Incompatible, InvalidData, Setting
from fenchel.losses import ChainLoss, Labels, Loss, MultivariateLoss, NuLoss, VectorLoss
from fenchel.losses.chains import CostedChainLoss
from fenchel.losses.hierarchy import Hierarchical
from fenchel.losses.multivariate import group_weights
from fenchel.regularizers import REGULARIZERS, Boxed, Regularizer
from fenchel.risks.base import Array, Problem
from fenchel.risks.chains import ChainRisk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.multivariate import MultivariateRisk
from fenchel.risks.nu import NuRisk
from fenchel.risks.oracle import Oracle, oracle_risk
from fenchel.risks.owners import OwnersRisk
from fenchel.settings import real

LEAST_STRENGTH = 1e-100  # one over it must be finite, and so must its square


def problem(
    X: Any = None,
    y: Any = None,
    *,
    loss: str | Loss | Oracle = "hinge",
    regularizer: str | Regularizer = "l2",
    strength: float = 1e-4,
    intercept: bool = False,
    sample_weight: Any = None,
    offset: Any = None,
    groups: Any = None,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    engine: str | Engine | Owners | None = None,
    **loss_options: Any,
) -> Problem:
    """J(w) = strength * Omega(w) + (1/S) sum_i s_i l(<x_i, w> + b + o_i, y_i).

    `loss` and `regularizer` are names or instances; options such as `quantile=0.9`, `delta=`,
    `epsilon=`, `rho=`, `mu=`, `nu=` and `l1_ratio=` go to the one that takes them. For losses of
    two classes y may hold any two values: the smaller stands for -1, the larger for +1. With
    `intercept=True` an unregularised b is part of the model. X is used as it is, without a copy,
    where its layout allows.

    `offset` holds a fixed number o_i for each row that is added to its score, for losses of one
    score a row. With a log link that is an exposure: offset=log(e) makes poisson's mean e times
    exp(<x, w> + b). It is no part of the model: whoever predicts adds the offsets of new rows.

    The losses multiclass_hinge and softmax take any classes in y, multilabel_hinge sets of labels:
    an indicator array of zeros and ones, dense or sparse, or a list with a collection of labels for
    each row. They have a w and a b for each class; the classes, sorted, are `risk.classes` of the
    problem. The regulariser's weights, one for each column, are the same for all classes, and so
    are the bounds `lower` and `upper` on coefficients, a number or one for each column. Intercepts
    are neither penalised nor bounded. group_l1 takes `feature_groups=`, quadratic `Q=`
    (docs/regularizers.md).

    Multivariate losses are of all scores at once (docs/multivariate-losses.md). Those that rank the
    documents of queries need `groups`, the query of each row; rows of a query stand together.
    hierarchical_hinge and hierarchical_softmax take leaves of a `taxonomy=` and have a w and a b
    for each of its nodes; multivariate_squared takes an array y with a column for each target.

    Rows of crf, m3n and soft_m3n are the tokens of sequences, and need `groups`, the sequence of
    each. Their w has a number for each of `risk.pairs`. Sample weights are those of sequences, and
    of the lists of rerank_likelihood and rerank_margin: the same for all rows of one. An `Oracle`
    takes lists X and y of any examples.

    `engine` says where the work is done (docs/engines.md); with `Owners`, X and y are theirs.
    """
    penalty_options = _split_options(regularizer, loss_options)
    penalty = regularizers.named(regularizer, penalty_options)
    if lower is not None or upper is not None:
        penalty = Boxed(penalty, lower, upper)
    if isinstance(loss, Oracle):
        given = any(each is not None for each in (sample_weight, offset, groups))
        if given or intercept or loss_options:
            takes_no = "intercept, sample_weight, offset, groups or options"
            raise Incompatible(f"an oracle takes no {takes_no}")
        if isinstance(engine, Owners):
            raise Incompatible("owners serve losses of rows; an oracle's examples are its user's")
        return _of_oracle(X, y, loss, penalty, strength, engine)
    chosen_loss = losses.named(loss, loss_options)
    if isinstance(engine, Owners):
        if any(each is not None for each in (X, y, sample_weight, offset, groups)):
            raise Incompatible("X, y and what else rows have are the owners': leave them out")
        strength = checked_strength("strength", strength)
        return across(engine, chosen_loss, penalty, strength, intercept)
    placed = engines.named(engine)
    strength = checked_strength("strength", strength)
    _check_intercept(chosen_loss, intercept)

    rows = _checked_rows(X, placed)
    y = _computed(y, placed)
    targets = _targets(y, chosen_loss, rows.n_rows)
    weights = checked_weights(_computed(sample_weight, placed), rows.n_rows)
    return posed(
        rows,
        targets,
        weights,
        loss=chosen_loss,
        regularizer=penalty.resolved(column_names(X)),
        strength=strength,
        intercept=intercept,
        engine=placed,
        groups=checked_groups(_computed(groups, placed), rows.n_rows),
        offset=checked_offset(_computed(offset, placed), rows.n_rows),
    )


def column_names(X: Any) -> list[str] | None:
    """The names of a table's columns, None where X has none."""
    columns = getattr(X, "column_names", getattr(X, "columns", None))  # the first is pyarrow's
    return None if columns is None else [str(name) for name in columns]


def _of_oracle(
    X: Any,
    y: Any,
    oracle: Oracle,
    penalty: Regularizer,
    strength: float,
    engine: str | Engine | None,
) -> Problem:
    strength = checked_strength("strength", strength)
    risk = oracle_risk(oracle, X, y, engines.named(engine))
    penalty.free(risk.n_parameters)  # refuses weights of the wrong length
    return Problem(risk, penalty, strength)


def posed(
    rows: SparseRows | DenseRows | Blocks,
    targets: Targets,
    s: Array | None,
    *,
    loss: Loss,
    regularizer: Regularizer,
    strength: float,
    intercept: bool,
    engine: Engine,
    groups: npt.NDArray[np.int64] | None = None,
    offset: Array | None = None,
) -> Problem:
    """The problem of rows, labels and weights that were checked; many may share the same rows."""
    regularizer.free(rows.n_columns)  # refuses weights of the wrong length
    if offset is not None and not isinstance(loss, losses.ScalarLoss):
        raise Incompatible(
            f"{type(loss).__name__} takes no offset: a number added to the score of each row "
            "belongs to losses of one score a row, such as poisson and logistic"
        )
    if intercept:
        _check_attainable(loss, targets, s)
    if isinstance(loss, MultivariateLoss):
        starts = loss.sample(targets.y, s, groups).starts
        shards = cut(rows, targets.y, s, starts if loss.grouped else None)
        whole = MultivariateRisk(loss, engine.place(shards), starts=starts, intercept=intercept)
        return Problem(whole, regularizer, strength)
    if isinstance(loss, ChainLoss):
        if isinstance(rows, Blocks):
            raise Incompatible(f"{type(loss).__name__} needs its tokens in memory, not in a store")
        return _chains(rows, targets, s, loss, regularizer, strength, engine, groups)
    if groups is not None:
        raise Incompatible(
            f"{type(loss).__name__} has no groups: they belong to losses that rank the rows of "
            "queries, such as ndcg and rank_hinge"
        )
    if isinstance(loss, NuLoss):
        _check_bounded(loss, regularizer, strength)
        shards = cut(rows, loss.signs(targets.y), s)
        nu_risk = NuRisk(loss, engine.place(shards), intercept=intercept)
        return Problem(nu_risk, regularizer, strength)
    shards = cut(rows, targets.y, s, offset=offset)
    if not isinstance(loss, VectorLoss):
        risk = LinearRisk(loss, engine.place(shards), intercept=intercept)
        return Problem(risk, regularizer, strength)
    loss = loss.for_classes(targets.classes)
    if intercept:
        shards = tuple(dataclasses.replace(each, rows=WithOnes(each.rows)) for each in shards)
    risk = LinearRisk(loss, engine.place(shards), classes=targets.classes)
    penalty = for_outputs(regularizer, rows.n_columns, intercept, risk.n_outputs)
    return Problem(risk, penalty, strength)


def across(
    owners: Owners, loss: Loss, regularizer: Regularizer, strength: float, intercept: bool
) -> Problem:
    """The problem of rows that stay with their owners, who say what loss they serve."""
    risk = OwnersRisk(owners)
    if repr(loss) != repr(risk.loss) or bool(intercept) != bool(risk.n_offsets):
        raise Incompatible(
            f"the owners serve loss={risk.loss!r} and ",
            Setting("intercept", bool(risk.n_offsets)),
            f"; got loss={loss!r} and ",
            Setting("intercept", bool(intercept)),
        )
    penalty = for_outputs(regularizer, risk.shape[0], bool(intercept), 1)
    return Problem(risk, penalty, strength)


def _checked_rows(X: Any, engine: Engine) -> SparseRows | DenseRows | Blocks:
    """X as rows, wherever they are."""
    if isinstance(X, Blocks):
        return X
    if not is_dask(X):
        return checked_matrix(X)
    if not isinstance(engine, Dask):
        raise Incompatible(
            f"X is a Dask {type(X).__name__}, whose rows are with its cluster: give the engine "
            "that runs there, engine=Dask(client)"
        )
    return checked_collection(X, engine.client)


def _computed(values: Any, engine: Engine) -> Any:
    """A number or label for each row, which all come here."""
    if is_dask(values) and isinstance(engine, Dask):
        return engine.client.compute(values).result()
    return values


def _chains(
    rows: SparseRows | DenseRows,
    targets: Targets,
    s: Array | None,
    loss: ChainLoss,
    regularizer: Regularizer,
    strength: float,
    engine: Engine,
    groups: npt.NDArray[np.int64] | None,
) -> Problem:
    """Rows are tokens, and groups their sequences.

    Weights are those of sequences, and so the same for all tokens of one.
    """
    if groups is None:
        raise Incompatible(
            f"{type(loss).__name__} labels the tokens of each sequence: give groups=, with the "
            "sequence of each row (the same for all rows if there is one sequence only)"
        )
    K = len(targets.classes)
    if K > MOST_LABELS:
        raise InvalidData(f"chains take up to {MOST_LABELS} labels; y has {K}")
    if isinstance(loss, CostedChainLoss):
        loss.costs(K)  # refuses a matrix of the wrong size
    inner = np.flatnonzero(np.diff(groups)) + 1
    starts = np.concatenate([[0], inner, [rows.n_rows]]).astype(np.int64)
    tokens = compressed(rows)
    pairs = (
        all_pairs(rows.n_columns, K)
        if loss.pairs == "all"
        else observed_pairs(tokens, targets.y, starts, K)
    )
    s = None if s is None else group_weights(s, starts)
    shards = cut_sequences(tokens, targets.y, s, starts, pairs)
    risk = ChainRisk(loss, engine.place(shards), targets.classes)
    penalty = regularizer.spread(pairs.feature, pairs.n_features)  # transitions belong to none
    return Problem(risk, penalty, strength)


def _targets(y: Any, loss: Loss, n_rows: int) -> Targets:
    if loss.labels in (Labels.CLASSES, Labels.TAGS):
        return checked_codes(y, n_rows)
    if loss.labels is Labels.SETS:
        return checked_sets(y, n_rows)
    if loss.labels is Labels.VECTORS:
        return checked_vectors(y, n_rows)
    if isinstance(loss, Hierarchical):
        return checked_leaves(y, loss.taxonomy, n_rows)
    return Targets(checked_labels(y, loss.labels, n_rows))


def for_outputs(penalty: Regularizer, n_columns: int, intercept: bool, K: int) -> Regularizer:
    """The regulariser of K outputs: each column has K parameters, as have the intercepts."""
    columns = np.append(np.arange(n_columns), -1) if intercept else np.arange(n_columns)
    return penalty.spread(np.repeat(columns, K), n_columns)


def _split_options(regularizer: object, options: dict[str, Any]) -> dict[str, Any]:
    """Takes the regulariser's options out of `options`."""
    takes = {name: set(inspect.signature(kind).parameters) for name, kind in REGULARIZERS.items()}
    mine = takes.get(regularizer, set()) if isinstance(regularizer, str) else set()
    for name in set(options) - mine:
        able = [other for other, names in takes.items() if name in names]
        if able:
            raise Incompatible(
                Setting("regularizer"),
                f" {regularizer!r} does not take {name}; {' and '.join(able)} can",
            )
    return {name: options.pop(name) for name in list(options) if name in mine}


def checked_strength(name: str, strength: object) -> float:
    """A weight of the regulariser, by the name that the caller knows it under."""
    try:
        value = real(name, strength)
    except InvalidData:
        value = -1.0
    if value < 0:
        raise InvalidData(Setting(name), f" must be a finite number >= 0; got {strength!r}")
    if 0 < value < LEAST_STRENGTH:
        least = f"{LEAST_STRENGTH:g}"
        raise InvalidData(Setting(name), f" must be 0, or at least {least}; got {strength!r}")
    return value


def _check_intercept(loss: Loss, intercept: object) -> None:
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


def _check_bounded(loss: NuLoss, regularizer: Regularizer, strength: float) -> None:
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


def _check_attainable(loss: Loss, targets: Targets, s: Array | None) -> None:
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
