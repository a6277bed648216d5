"""From scikit-learn's names and habits to the library's: losses, penalties, threads, words."""

from __future__ import annotations

import functools
import numbers
import os
from collections.abc import Mapping
from contextlib import ContextDecorator
from typing import Any

import joblib
import numpy as np
import numpy.typing as npt

from fenchel.checkpoint import Checkpoint
from fenchel.data.checked import checked_weights
from fenchel.engines import Engine, Serial, Threads, named
from fenchel.errors import FenchelError, Incompatible, InvalidData, Setting
from fenchel.losses import LOSSES, Labels, Loss, MultivariateLoss
from fenchel.losses.reranking import Reranking
from fenchel.losses.table import TABLE
from fenchel.regularizers import L1, L2, REGULARIZERS, Boxed, Regularizer
from fenchel.risks.base import Array
from fenchel.settings import checked_strength, construct, parameters_of
from fenchel.solvers import SOLVERS, Solver

# What fits losses of a kind of labels: where the table has several, the first.
_ESTIMATORS = {row.labels: row.estimator or "fenchel.problem" for row in reversed(TABLE)}

# What estimators call the settings that the rest of the library knows by other names.
_WORDS = {
    "strength": "alpha",
    "gap": "tol",
    "max_iterations": "max_iter",
    "intercept": "fit_intercept",
    "regularizer": "penalty",
    "w0": "coef_",
}

_ALIASES = {"elasticnet": "elastic_net"}  # scikit-learn's spelling


def loss_of(loss: object, labels: tuple[Labels, ...], settings: Mapping[str, Any]) -> Loss:
    """The loss of that name, with those of the estimator's settings that it takes; or itself.

    `labels` are the kinds that the estimator has, the widest first.
    """
    kind: type[Loss] | None = type(loss) if isinstance(loss, Loss) else None
    if isinstance(loss, str):
        kind = LOSSES.get(loss)
    if kind is not None and issubclass(kind, MultivariateLoss):
        raise Incompatible(
            f"{_ESTIMATORS[labels[0]]} needs a loss of each row, but {loss!r} is one of all rows "
            f"at once: use {_of_all_rows(kind)}, or fenchel.problem and fenchel.minimize"
        )
    if kind is not None and kind.labels not in labels:
        raise Incompatible(
            f"{_ESTIMATORS[labels[0]]} needs a loss of {labels[0].value}, but {loss!r} is one of "
            f"{kind.labels.value}: use {_of_each_row(kind)}"
        )
    if isinstance(loss, Loss):
        return loss
    takes = () if kind is None else parameters_of(kind)
    return construct("loss", loss, _of_rows(labels), {name: settings[name] for name in takes})


@functools.cache
def _of_rows(labels: tuple[Labels, ...]) -> dict[str, type[Loss]]:
    """The losses of each row with labels of these kinds."""
    return {
        name: kind
        for name, kind in LOSSES.items()
        if kind.labels in labels and not issubclass(kind, MultivariateLoss)
    }


def _of_each_row(kind: type[Loss]) -> str:
    """The estimator of such a loss: by the table, or of another's class by its labels."""
    known = {LOSSES[row.name]: row.estimator or "fenchel.problem" for row in TABLE}
    return known.get(kind, _ESTIMATORS[kind.labels])


def _of_all_rows(kind: type[MultivariateLoss]) -> str:
    """The estimator of such a loss."""
    if kind.grouped:
        return "Reranker" if issubclass(kind, Reranking) else "Ranker"
    return "MetricClassifier" if kind.labels is Labels.BINARY else "OrdinalRegressor"


def multivariate_loss_of(
    what: str, name: object, able: Mapping[str, type[MultivariateLoss]], settings: dict[str, Any]
) -> MultivariateLoss:
    """The loss of all rows by that name, with those of the settings that it takes."""
    kind = able.get(name) if isinstance(name, str) else None
    takes = () if kind is None else parameters_of(kind)
    return construct(what, name, able, {key: settings[key] for key in takes if key in settings})


def multivariate_weights(
    loss: MultivariateLoss, sample_weight: Any, n_rows: int, instead: str
) -> Array | None:
    """Sample weights for a loss that has them; for others, weights that are all the same."""
    s = checked_weights(sample_weight, n_rows)
    if s is None or loss.weighted:
        return s
    if (s != s[0]).any():
        raise Incompatible(
            f"{type(loss).__name__} has no meaning for sample_weight: a row counts or does not. "
            f"Drop the rows you do not want, or use {instead}, whose pairs can be weighed"
        )
    return None


def penalty_of(penalty: object, l1_ratio: object, feature_groups: object) -> Regularizer:
    """The regulariser of that name, or itself; an elastic net may be all L1 or all L2.

    None is l2, of which nothing is used at the strength 0 that it stands for.
    """
    if penalty is None:
        penalty = "l2"
    name = _ALIASES.get(penalty, penalty) if isinstance(penalty, str) else penalty
    if name == "group_l1":
        return construct("regularizer", name, REGULARIZERS, {"feature_groups": feature_groups})
    if feature_groups is not None:
        raise Incompatible(
            "feature_groups are for ",
            Setting("regularizer", "group_l1"),
            f" only; it is {penalty!r}",
        )
    if isinstance(penalty, Regularizer):
        return penalty
    if name != "elastic_net":
        return construct("regularizer", name, REGULARIZERS, {})
    if isinstance(l1_ratio, numbers.Real) and l1_ratio in (0, 1):
        return L1() if l1_ratio else L2()
    return construct("regularizer", name, REGULARIZERS, {"l1_ratio": l1_ratio})


def strength_of(alpha: object, penalty: object) -> float:
    """The strength, which is 0 where there is no penalty."""
    strength = checked_strength("strength", alpha)
    return strength if penalty is not None else 0.0


def bounded(
    penalty: Regularizer, lower: npt.ArrayLike | None, upper: npt.ArrayLike | None
) -> Regularizer:
    """The regulariser where lower <= w <= upper, if there is a bound."""
    return penalty if lower is None and upper is None else Boxed(penalty, lower, upper)


def solver_of(solver: object) -> str | Solver:
    """The solver of that name, or itself; "auto" stays, as it depends on the problem."""
    if (isinstance(solver, str) and solver == "auto") or isinstance(solver, Solver):
        return solver
    return construct("solver", solver, SOLVERS, {})


def engine_of(n_jobs: object) -> Engine:
    """Threads as joblib counts them; None means the engine in use, or what the system allows."""
    if n_jobs is None:
        return named(None)
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral) or n_jobs == 0:
        raise InvalidData(
            f"n_jobs must be None, a whole number >= 1, or -1 for all cores; got {n_jobs!r}"
        )
    wanted = int(n_jobs)
    n_threads = wanted if wanted > 0 else max(1, joblib.cpu_count() + 1 + wanted)
    return Serial() if n_threads == 1 else Threads(n_threads)


def checkpoint_of(checkpoint: str | os.PathLike[str] | Checkpoint | None) -> Checkpoint | None:
    """Where the state of a fit is kept."""
    if checkpoint is None or isinstance(checkpoint, Checkpoint):
        return checkpoint
    if not isinstance(checkpoint, str | os.PathLike):
        raise Incompatible(f"checkpoint must be a path or None; got {checkpoint!r}")
    return Checkpoint(checkpoint)


def flag(name: str, value: object) -> bool:
    """A setting that must be True or False."""
    if not isinstance(value, bool | np.bool_):
        raise InvalidData(Setting(name), f" must be True or False; got {value!r}")
    return bool(value)


def words(setting: Setting) -> str:
    """What estimators call a setting."""
    name = _WORDS.get(setting.name)
    return str(setting if name is None else Setting(name, setting.value))


class in_these_words(ContextDecorator):  # noqa: N801 - it is used as a function is
    """Errors raised inside call the settings by their names here."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, FenchelError):
            error.words = words
