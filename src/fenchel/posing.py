"""From arrays and names to a problem."""

from __future__ import annotations

import dataclasses
import warnings
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel import engines, losses, regularizers
from fenchel.callers import users_line
from fenchel.data.arrays import is_away
from fenchel.data.blocks import Blocks
from fenchel.data.checked import (
    checked_groups,
    checked_matrix,
    checked_offset,
    checked_weights,
)
from fenchel.data.classes import Targets, checked_targets
from fenchel.data.dask_rows import checked_collection, is_dask
from fenchel.data.device_rows import checked_device
from fenchel.data.rows import DenseRows, SparseRows, WithOnes, compressed
from fenchel.data.shards import Shard, cut
from fenchel.engines import Dask, Engine
from fenchel.engines.owners import Owners
from fenchel.errors import FenchelWarning, Incompatible, Setting
from fenchel.kernel_posing import posed_by_kernel
from fenchel.losses import ChainLoss, Loss, MultivariateLoss, NuLoss, VectorLoss
from fenchel.losses.offset_rows import takes_offsets
from fenchel.losses.written import check_conjugate, check_vector_conjugate
from fenchel.regularizers import Boxed, Regularizer, Weighted, take_options
from fenchel.regularizers.written import check_written
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.chains import chain_risk
from fenchel.risks.existence import check_attainable, check_bounded, check_intercept
from fenchel.risks.linear import LinearRisk, OffsetsRisk
from fenchel.risks.multivariate import MultivariateRisk
from fenchel.risks.nu import NuRisk
from fenchel.risks.oracle import Oracle, oracle_risk
from fenchel.risks.owners import OwnersRisk
from fenchel.settings import checked_strength


class Given(NamedTuple):
    """What a user gives of the rows, not checked yet."""

    X: Any
    y: Any
    sample_weight: Any
    offset: Any
    groups: Any

    @property
    def only_examples(self) -> bool:
        """Whether nothing but X and y was given."""
        return all(each is None for each in self[2:])


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
    kernel: Any = None,
    **loss_options: Any,
) -> Problem:
    """J(w) = strength * Omega(w) + (1/S) sum_i s_i l(<x_i, w> + b + o_i, y_i).

    `loss` and `regularizer` are names or instances; options such as `quantile=0.9`, `taxonomy=`,
    `l1_ratio=` and `feature_groups=` go to the one that takes them. With `intercept=True` an
    unregularised b is part of the model. `lower` and `upper` bound coefficients by a number or by
    one for each column. X is used as it is, without a copy, where its layout allows, and stays on a
    device (docs/how-to/devices.md); a large dense X of mostly zeros is copied as a sparse one.

    y is what the loss takes. Of two classes, any two values, the smaller stands for -1 and the
    larger for +1. Losses of several classes take any values, hierarchical ones leaves of their
    taxonomy, multilabel_hinge an indicator array or a collection of labels for each row, and
    multivariate_squared a column for each target; they have a w and a b for each of `risk.classes`
    of the problem, and the penalty's weights and bounds are the same for all of them.

    `offset` holds a fixed number o_i for each row that is added to its score, for losses of one
    score a row. With a log link that is an exposure: offset=log(e) makes poisson's mean e times
    exp(<x, w> + b). It is no part of the model: whoever predicts adds the offsets of new rows.

    `groups` holds the query of each row for losses that rank
    (docs/reference/multivariate-losses.md), and the sequence of each token for crf, m3n and
    soft_m3n, whose w has a number for each of `risk.pairs`. Rows of a group stand together. Sample
    weights of sequences and of reranked lists are the same for all rows of one. An `Oracle` takes
    lists X and y of any examples.

    `engine` says where the work is done (docs/reference/engines.md); `Owners` have X and y.
    With a `kernel`, and its `gamma`, `degree`, `coef0` and `cache_size`, rows are known through
    their products, and w is a sum of them (docs/how-to/kernels.md).
    """
    given = Given(X, y, sample_weight, offset, groups)
    if kernel is not None:
        how = (kernel, loss_options, engine, (lower, upper))
        return _of_pairs(given, how, loss, regularizer, strength, intercept)
    penalty = regularizers.named(regularizer, take_options(regularizer, loss_options))
    if lower is not None or upper is not None:
        penalty = Boxed(penalty, lower, upper)
    if isinstance(loss, Oracle):
        more = intercept or bool(loss_options) or not given.only_examples
        return _of_oracle(given, loss, penalty, strength, engine, more)
    chosen = losses.named(loss, loss_options)
    if isinstance(engine, Owners):
        _check_nothing(given)
        return across(engine, chosen, penalty, checked_strength("strength", strength), intercept)
    return _of_rows(given, chosen, penalty, strength, intercept, engines.named(engine))


def _check_nothing(given: Given) -> None:
    if any(each is not None for each in given):
        raise Incompatible("X, y and what else rows have are the owners': leave them out")


def _check_pairs(given: Given, loss: object, engine: object, bounds: tuple[Any, Any]) -> None:
    """Refuses what rows that are known through a kernel do not have."""
    if isinstance(loss, Oracle) or isinstance(engine, Owners) or given.groups is not None:
        raise Incompatible("a kernel is one of rows that are here: no oracle, owners or groups")
    if any(bound is not None for bound in bounds):
        raise Incompatible("with a kernel w has no coefficients to bound: leave the bounds out")


def _of_pairs(
    given: Given,
    how: tuple[Any, dict[str, Any], Any, tuple[Any, Any]],
    loss: Any,
    regularizer: str | Regularizer,
    strength: float,
    intercept: bool,
) -> Problem:
    """The problem of rows that are known through a kernel."""
    from fenchel.features.choosing import KernelSettings  # scikit-learn's, which others do without

    kernel, options, engine, bounds = how
    _check_pairs(given, loss, engine, bounds)
    strength = checked_strength("strength", strength)
    mine = {name: options.pop(name) for name in KernelSettings.OPTIONS if name in options}
    chosen = losses.named(loss, options)
    check_intercept(chosen, intercept)
    gram, _ = KernelSettings(kernel, **mine).gram(given.X)
    return posed_by_kernel(
        gram,
        checked_targets(given.y, chosen, gram.n),
        checked_weights(given.sample_weight, gram.n),
        loss=chosen,
        regularizer=regularizer,
        strength=strength,
        intercept=intercept,
        engine=engines.named(engine),
        offset=checked_offset(given.offset, gram.n),
    )


def column_names(X: Any) -> list[str] | None:
    """The names of a table's columns, None where X has none."""
    columns = getattr(X, "column_names", getattr(X, "columns", None))  # the first is pyarrow's
    return None if columns is None else [str(name) for name in columns]


def _of_oracle(
    given: Given,
    oracle: Oracle,
    penalty: Regularizer,
    strength: float,
    engine: str | Engine | Owners | None,
    more: bool,
) -> Problem:
    if more:
        takes_no = "intercept, sample_weight, offset, groups or options"
        raise Incompatible(f"an oracle takes no {takes_no}")
    if isinstance(engine, Owners):
        raise Incompatible("owners serve losses of rows; an oracle's examples are its user's")
    strength = checked_strength("strength", strength)
    risk = oracle_risk(oracle, given.X, given.y, engines.named(engine))
    penalty.free(risk.n_parameters)  # refuses weights of the wrong length
    return _stated(risk, penalty, strength)


def _of_rows(
    given: Given,
    loss: Loss,
    penalty: Regularizer,
    strength: float,
    intercept: bool,
    engine: Engine,
) -> Problem:
    strength = checked_strength("strength", strength)
    check_intercept(loss, intercept)
    rows = for_loss(loss, _checked_rows(given.X, engine), engine)
    y, weights, offset, groups = (_computed(each, engine) for each in given[1:])
    names = column_names(given.X)
    found = posed(
        rows,
        checked_targets(y, loss, rows.n_rows),
        checked_weights(weights, rows.n_rows),
        loss=loss,
        regularizer=penalty.resolved(names),
        strength=strength,
        intercept=intercept,
        engine=engine,
        groups=checked_groups(groups, rows.n_rows),
        offset=checked_offset(offset, rows.n_rows),
    )
    return dataclasses.replace(found, feature_names=None if names is None else tuple(names))


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
        check_attainable(loss, targets, s)
    if isinstance(loss, MultivariateLoss):
        starts = loss.sample(targets.y, s, groups).starts
        shards = cut(rows, targets.y, s, starts if loss.grouped else None)
        whole = MultivariateRisk(loss, engine.place(shards), starts=starts, intercept=intercept)
        return _stated(whole, regularizer, strength)
    if isinstance(loss, ChainLoss):
        chains = chain_risk(loss, rows, targets, s, groups, engine)
        pairs = chains.pairs  # of a feature and a label; transitions belong to no feature
        return _stated(chains, regularizer.spread(pairs.feature, pairs.n_features), strength)
    if groups is not None:
        raise Incompatible(
            f"{type(loss).__name__} has no groups: they belong to losses that rank the rows of "
            "queries, such as ndcg and rank_hinge"
        )
    if isinstance(loss, NuLoss):
        check_bounded(loss, regularizer, strength)
        shards = cut(rows, loss.signs(targets.y), s)
        nu_risk = NuRisk(loss, engine.place(shards), intercept=intercept)
        return _stated(nu_risk, regularizer, strength)
    shards = cut(rows, targets.y, s, offset=offset)
    if not isinstance(loss, VectorLoss):
        check_conjugate(loss, targets.y)
        risk = LinearRisk(loss, engine.place(shards), intercept=intercept)
        return _stated(risk, regularizer, strength)
    loss = loss.for_classes(targets.classes)
    # Of sets of labels a bundle often cannot certify intercepts as coordinates, on few rows.
    certain = loss.differentiable or isinstance(loss, losses.MultilabelHinge)
    exact = certain or not leaves_free(regularizer)
    risk = _vector_risk(loss, engine, shards, targets.classes, intercept, exact)
    check_vector_conjugate(loss, targets.y, risk.n_outputs)
    ones = risk.n_offsets > 0
    penalty = for_outputs(regularizer, rows.n_columns, ones, risk.n_outputs)
    each = f"{risk.n_outputs} numbers, one for each class or target, "
    each += f"for each of {rows.n_columns} columns"
    each += " and for the intercepts" if ones else ""
    layout = f"{each}, one column after the other: write `spread` where Omega is not of all alike"
    return _stated(risk, penalty, strength, layout)


def for_loss(
    loss: Loss, rows: SparseRows | DenseRows | Blocks, engine: Engine
) -> SparseRows | DenseRows | Blocks:
    """The rows as a loss's kernels read them fastest; losses of several scores leave it to BLAS."""
    return compressed(rows, engine.n_threads) if isinstance(loss, losses.ScalarLoss) else rows


def _vector_risk(
    loss: VectorLoss,
    engine: Engine,
    shards: tuple[Shard, ...],
    classes: npt.NDArray[Any],
    intercept: bool,
    exact: bool,
) -> LinearRisk:
    """With intercepts that are profiled out, if `exact` and where that can be; else as a column."""
    if intercept and exact and takes_offsets(loss):
        profiled = OffsetsRisk(loss, engine.place(shards), classes=classes, intercept=True)
        if profiled.offsets is not None and profiled.offsets.attained:
            return profiled
    if intercept:
        shards = tuple(dataclasses.replace(each, rows=WithOnes(each.rows)) for each in shards)
    return LinearRisk(loss, engine.place(shards), classes=classes)


def leaves_free(penalty: Regularizer) -> bool:
    """Whether it can leave coordinates unpenalised, such as intercepts.

    Those of hinges then stay coordinates: to find them exactly takes many sweeps over the scores,
    and a bundle that has them as coordinates needs a fifth of the time or less.
    """
    inner = penalty.inner if isinstance(penalty, Boxed) else penalty
    return isinstance(inner, Weighted)


def _stated(risk: Risk, penalty: Regularizer, strength: float, layout: str = "") -> Problem:
    """The problem, unless no solver could do anything with its regulariser."""
    if strength == 0 and not penalty.finite:
        raise Incompatible(
            "bounds and other penalties that are inf somewhere need ",
            Setting("strength"),
            " > 0; a small one, such as 1e-8, hardly moves the minimum",
        )
    check_written(penalty, risk.n_parameters, layout)
    half_open = penalty.half_open(risk.n_parameters) if isinstance(penalty, Boxed) else None
    if half_open is not None and len(half_open):
        warnings.warn(
            f"coefficient {half_open[0]} has a weight of 0 and one bound only, so that a gap can "
            "hardly be certified: give it a weight > 0, both bounds or none",
            FenchelWarning,
            stacklevel=users_line(),
        )
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
    return _stated(risk, penalty, strength)


def _checked_rows(X: Any, engine: Engine) -> SparseRows | DenseRows | Blocks:
    """X as rows, wherever they are."""
    if isinstance(X, Blocks):
        return X
    if is_away(X):
        return checked_device(X)
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


def for_outputs(penalty: Regularizer, n_columns: int, intercept: bool, K: int) -> Regularizer:
    """The regulariser of K outputs: each column has K parameters, as have the intercepts."""
    columns = np.append(np.arange(n_columns), -1) if intercept else np.arange(n_columns)
    return penalty.spread(np.repeat(columns, K), n_columns)
