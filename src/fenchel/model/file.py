"""Fitted estimators in files.

A model file holds what predicts and what was proved: the estimator's name and parameters, its
coefficients, classes, column names, and the certificate and history of each minimisation. It holds
no code, and names none but the class of a user's own loss or penalty, see own.py. What belonged to
the run alone, `callback` and `checkpoint`, is left out. A parameter that a file lacks, because it
is new, has its default.

    coef, or coef.mask and coef.values    see coefficients.py
    intercept                             one number for each line of coef
    history                               seven columns, the lines of all runs one after the other
    classes, feature_names                where there are any, see labels.py
    penalty.weights, cost, loss.cost      where a penalty or a loss has them

and whatever else an estimator's `_state` has, such as the thresholds of an OrdinalRegressor. A loss
of all scores has one run and a line of coef for each class, even where `coef_` has but the
difference of two; one of a taxonomy has a line for each node.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
import numpy as np
from msgspec import Meta

import fenchel
from fenchel._system import container
from fenchel._system.container import Arrays, Path
from fenchel.errors import FenchelError, Incompatible, InvalidData, Setting
from fenchel.model import coefficients, labels, own, parameters, runs
from fenchel.model.saved import SavedState

if TYPE_CHECKING:  # scikit-learn takes a second
    from fenchel.estimators.base import LinearEstimator
    from fenchel.estimators.protocol import Estimator, State

_KIND = "model"
_OF_THE_RUN = {"callback", "checkpoint", "verbose", "early_stopping_rounds", "eval_metric"}

Text = Annotated[str, Meta(max_length=10_000)]


class Stored(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The header as it stands in the file."""

    version: Annotated[str, Meta(max_length=64)]  # of the library that wrote it
    estimator: Annotated[str, Meta(max_length=64)]
    parameters: dict[str, parameters.Parameter]
    n_features: Annotated[int, Meta(ge=1, le=1 << 48)]
    runs: Annotated[list[runs.Run], Meta(min_length=1)]
    label_type: labels.Kind | None
    named_features: bool
    index_base: Literal[0, 1] | None
    offset_column: Text | None = None
    exposure_column: Text | None = None


class Header(Stored, frozen=True, kw_only=True):
    """What a file says about its model, coefficients apart."""

    classes: tuple[Any, ...] | None
    feature_names: tuple[str, ...] | None


def save(
    estimator: Any,
    path: Path,
    *,
    feature_names: Sequence[str] | None = None,
    index_base: Literal[0, 1] | None = None,
    offset_column: str | None = None,
    exposure_column: str | None = None,
) -> None:
    """Writes a fitted estimator to a file, or replaces the file, in one step.

    `feature_names` are the names of the columns, by default those that `fit` saw; `index_base` says
    whether the indices in the svmlight file of the training data began at 0 or 1. `offset_column`
    is the column of a table that held the offsets of a model with a log link, `exposure_column` one
    whose logarithms they were: `fenchel predict` takes them from there. All of these come back, as
    `feature_names_in_`, `index_base_`, `offset_column_` and `exposure_column_`. The same model
    gives the same bytes.

    A loss or penalty of a class of your own is saved by that class's name, if it can be imported
    by it; see `load`.
    """
    from sklearn.utils.validation import check_is_fitted

    name, model = _ours(estimator)
    check_is_fitted(model)
    model._check()
    state = model._state()
    arrays = _arrays(state)
    header = Stored(
        version=fenchel.__version__,
        estimator=name,
        parameters=_stored_parameters(model, arrays),
        n_features=int(model.n_features_in_),
        runs=[runs.run_of(result) for result in state.results],
        label_type=_store_classes(state, arrays),
        named_features=_store_names(model, feature_names, arrays),
        index_base=_index_base(model, index_base),
        offset_column=_given(model, "offset_column", offset_column),
        exposure_column=_given(model, "exposure_column", exposure_column),
    )
    _check_offsets(model, header)
    container.write(path, _KIND, header, arrays)


def load(path: Path, *, allow: Iterable[type | str] = ()) -> Any:
    """The fitted estimator in a file that `save` wrote; it predicts the same, bit for bit.

    Files may come from anyone: what is damaged, forged or of a newer format raises InvalidData, and
    nothing in a file is ever run. `result_` is restored but for its witness.

    A model whose loss or penalty is of a class of someone's own is refused unless `allow` has that
    class, or its name as in "my_package.losses:MyLoss", which is then imported. Allow what you
    would import yourself: no other name in a file is.
    """
    header, arrays = container.read(path, _KIND, Stored)
    allowed = own.Allowed(allow)
    with container.naming(path):
        return _estimator(header, arrays, allowed)


def header(path: Path) -> Header:
    """What a file says about its model, without making it."""
    stored, arrays = container.read(path, _KIND, Stored)
    with container.naming(path):
        kind = stored.label_type
        classes = None if kind is None else labels.restored(kind, arrays)
        names = _names(stored, arrays)
    return Header(
        **{field: getattr(stored, field) for field in stored.__struct_fields__},
        classes=None if classes is None else tuple(classes.tolist()),
        feature_names=None if names is None else tuple(names),
    )


def _saveable() -> dict[str, type[LinearEstimator]]:
    from fenchel.estimators.saveable import SAVEABLE  # scikit-learn takes a second

    return SAVEABLE


# From an estimator to what is stored.


def _ours(estimator: Any) -> tuple[str, Estimator]:
    """The estimator by its name in a file, if a file can hold it."""
    name, known = type(estimator).__name__, _saveable()
    if type(estimator) is not known.get(name):
        raise Incompatible(
            f"fenchel.save writes fenchel's own estimators ({', '.join(known)}); got {name}. Of a "
            "pipeline or a grid search save the step or best_estimator_ that is one"
        )
    return name, estimator


def _arrays(state: State) -> Arrays:
    if not (np.isfinite(state.coef).all() and np.isfinite(state.intercept).all()):
        raise InvalidData("cannot save a model whose coef_ or intercept_ holds nan or inf")
    history = np.concatenate([runs.table(result.history) for result in state.results])
    stored = coefficients.stored(state.coef)
    return {**stored, "intercept": state.intercept, "history": history, **state.more}


def _store_classes(state: State, arrays: Arrays) -> labels.Kind | None:
    if state.classes is None:
        return None
    label_type, arrays["classes"] = labels.stored(state.classes)
    return label_type


def _store_names(model: Estimator, given: Sequence[str] | None, arrays: Arrays) -> bool:
    names = model._column_names(given)
    if names is None:
        return False
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidData(f"feature_names must be a sequence of text; got {names!r:.200}")
    if len(names) != model.n_features_in_:
        raise InvalidData(
            f"feature_names holds {len(names)} names, but the model has {model.n_features_in_} "
            "columns"
        )
    arrays["feature_names"] = labels.text(names)
    return True


def _index_base(model: Estimator, given: object) -> Literal[0, 1] | None:
    base = getattr(model, "index_base_", None) if given is None else given
    if base is None:
        return None
    if isinstance(base, bool) or base not in (0, 1):
        raise InvalidData(Setting("index_base"), f" must be 0, 1 or None; got {base!r}")
    return 1 if base else 0


def _given(model: Estimator, name: str, given: str | None) -> str | None:
    """The name of a column: the one given, else that of the file the model came from."""
    column = getattr(model, f"{name}_", None) if given is None else given
    if not isinstance(column, str | None):
        raise InvalidData(f"{name} must be the name of a column or None; got {column!r}")
    return column


def _check_offsets(model: Estimator, header: Stored) -> None:
    """Offsets are in one column, of a model that has them."""
    columns = [each for each in (header.offset_column, header.exposure_column) if each is not None]
    if columns and not model._takes_offset:
        raise InvalidData(f"it has a column of offsets, which no {header.estimator} takes")
    if len(columns) > 1:
        raise InvalidData(f"its offsets are in two columns, {columns[0]!r} and {columns[1]!r}")


def _stored_parameters(model: Estimator, arrays: Arrays) -> dict[str, parameters.Parameter]:
    given = sorted(model.get_params(deep=False).items())
    return {
        name: parameters.stored(name, value, arrays)
        for name, value in given
        if name not in _OF_THE_RUN
    }


# From what is stored to an estimator.


def _estimator(header: Stored, arrays: Arrays, allowed: own.Allowed) -> LinearEstimator:
    model = _unfitted(header, arrays, allowed)
    model.n_features_in_ = header.n_features
    names = _names(header, arrays)
    if names is not None:
        model.feature_names_in_ = np.array(names, dtype=object)
    if header.index_base is not None:
        model.index_base_ = header.index_base
    _check_offsets(model, header)
    if header.offset_column is not None:
        model.offset_column_ = header.offset_column
    if header.exposure_column is not None:
        model.exposure_column_ = header.exposure_column
    try:
        model._check()
    except FenchelError as error:
        raise InvalidData(f"its parameters: {error}") from error
    saved = SavedState(arrays, header.label_type, header.runs)
    model._restore(saved)
    saved.check_taken(header.estimator)
    return model


def _unfitted(header: Stored, arrays: Arrays, allowed: own.Allowed) -> LinearEstimator:
    kind = _saveable().get(header.estimator)
    if kind is None:
        raise InvalidData(
            f"its estimator {header.estimator!r}, of fenchel {header.version!r}, is unknown to "
            f"this one, {fenchel.__version__}"
        )
    unknown = header.parameters.keys() - (kind().get_params(deep=False).keys() - _OF_THE_RUN)
    if unknown:
        raise InvalidData(
            f"its {header.estimator}, of fenchel {header.version!r}, has parameters that this one, "
            f"{fenchel.__version__}, does not know: {sorted(unknown)!r:.200}"
        )
    return kind(
        **{
            name: parameters.restored(name, value, arrays, allowed)
            for name, value in header.parameters.items()
        }
    )


def _names(header: Stored, arrays: Arrays) -> list[str] | None:
    if not header.named_features:
        return None
    names = labels.untext(arrays, "feature_names")
    if len(names) != header.n_features:
        raise InvalidData(f"it names {len(names)} features, but has {header.n_features}")
    return names
