"""A fitted estimator as a header and arrays, and back; what a file or a pipeline holds of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

import fenchel
from fenchel._system.container import Arrays
from fenchel.data.table_facts import TableFacts
from fenchel.errors import FenchelError, InvalidData, Setting
from fenchel.model import coefficients, labels, own, parameters, runs
from fenchel.model.saved import SavedState

if TYPE_CHECKING:  # scikit-learn takes a second
    from fenchel.estimators.base import LinearEstimator
    from fenchel.estimators.protocol import Estimator, State

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
    table: TableFacts | None = None


class TableColumns(NamedTuple):
    """What belongs to the table of the training data; None: as the model has it already."""

    feature_names: Sequence[str] | None = None
    index_base: Literal[0, 1] | None = None
    offset_column: str | None = None
    exposure_column: str | None = None
    table: TableFacts | None = None


_DROP_INS = "sklearn."  # before the names of the estimators of fenchel.sklearn


def saveable() -> dict[str, type[LinearEstimator]]:
    """The estimators that a file can hold, by their names there; drop-ins apart."""
    from fenchel.estimators.saveable import SAVEABLE  # scikit-learn takes a second

    return SAVEABLE


def is_ours(estimator: object) -> bool:
    """Whether it is one of the library's own, not of a class made from it."""
    return type(estimator) is _kind(name_of(estimator))


def name_of(estimator: object) -> str:
    """What a file calls an estimator; scikit-learn's names are some of ours too."""
    drop_in = type(estimator).__module__.startswith("fenchel.sklearn.")
    return _DROP_INS * drop_in + type(estimator).__name__


def _kind(name: str) -> type[LinearEstimator] | None:
    """The class of an estimator that a file calls by that name."""
    if not name.startswith(_DROP_INS):
        return saveable().get(name)
    from fenchel.sklearn.saveable import DROP_INS

    return DROP_INS.get(name.removeprefix(_DROP_INS))


def settled(value: Any) -> Any:
    """What a search or a cross-validation has found, or is to fit; anything else is itself."""
    from sklearn.model_selection._search import BaseSearchCV

    if isinstance(value, BaseSearchCV):
        return settled(vars(value).get("best_estimator_", value.estimator))
    ours = type(value).__module__.startswith("fenchel.")
    return vars(value).get("best_estimator_", value) if ours else value


# From an estimator to what is stored.


def described(model: Estimator, columns: TableColumns) -> tuple[Stored, Arrays]:
    """The header and the arrays of a fitted estimator."""
    model._check()
    state = model._state()
    arrays = _arrays(state)
    header = Stored(
        version=fenchel.__version__,
        estimator=name_of(model),
        parameters=stored_parameters(model, arrays),
        n_features=int(model.n_features_in_),
        runs=[runs.run_of(result) for result in state.results],
        label_type=_store_classes(state, arrays),
        named_features=_store_names(model, columns.feature_names, arrays),
        index_base=_index_base(model, columns.index_base),
        offset_column=_given(model, "offset_column", columns.offset_column),
        exposure_column=_given(model, "exposure_column", columns.exposure_column),
        table=columns.table or getattr(model, "table_", None),
    )
    _check_offsets(model, header)
    return header, arrays


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


def stored_parameters(model: Estimator, arrays: Arrays) -> dict[str, parameters.Parameter]:
    """The settings, but for those of the run; vectors and matrices go into `arrays`."""
    given = sorted(model.get_params(deep=False).items())
    return {
        name: parameters.stored(name, value, arrays)
        for name, value in given
        if name not in _OF_THE_RUN
    }


# From what is stored to an estimator.


def restored(header: Stored, arrays: Arrays, allowed: own.Allowed) -> LinearEstimator:
    """The fitted estimator; all arrays must be of use."""
    model = unfitted(header.estimator, header.version, header.parameters, arrays, allowed)
    model.n_features_in_ = header.n_features
    columns = names(header, arrays)
    if columns is not None:
        model.feature_names_in_ = np.array(columns, dtype=object)
    if header.index_base is not None:
        model.index_base_ = header.index_base
    _check_offsets(model, header)
    if header.offset_column is not None:
        model.offset_column_ = header.offset_column
    if header.exposure_column is not None:
        model.exposure_column_ = header.exposure_column
    if header.table is not None:
        model.table_ = header.table
    try:
        model._check()
    except (FenchelError, ValueError, TypeError) as error:  # scikit-learn's, of drop-ins
        raise InvalidData(f"its parameters: {error}") from error
    saved = SavedState(arrays, header.label_type, header.runs)
    try:
        model._restore(saved)
    except (OverflowError, TypeError, ValueError) as error:
        if isinstance(error, InvalidData):
            raise
        raise InvalidData(f"what its {header.estimator} has found cannot be: {error}") from error
    saved.check_taken(header.estimator)
    return model


def unfitted(
    name: str,
    version: str,
    settings: dict[str, parameters.Parameter],
    arrays: Arrays,
    allowed: own.Allowed,
) -> LinearEstimator:
    """The estimator of that name and those settings, which a library of that version wrote."""
    kind = _kind(name)
    if kind is None:
        raise InvalidData(
            f"its estimator {name!r}, of fenchel {version!r}, is unknown to this one, "
            f"{fenchel.__version__}"
        )
    unknown = settings.keys() - (kind().get_params(deep=False).keys() - _OF_THE_RUN)
    if unknown:
        raise InvalidData(
            f"its {name}, of fenchel {version!r}, has parameters that this one, "
            f"{fenchel.__version__}, does not know: {sorted(unknown)!r:.200}"
        )
    return kind(
        **{
            each: parameters.restored(each, value, arrays, allowed)
            for each, value in settings.items()
        }
    )


def names(header: Stored, arrays: Arrays) -> list[str] | None:
    """The names of the columns, taken out of the arrays."""
    if not header.named_features:
        return None
    found = labels.untext(arrays, "feature_names")
    if len(found) != header.n_features:
        raise InvalidData(f"it names {len(found)} features, but has {header.n_features}")
    return found
