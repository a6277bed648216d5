"""Fitted estimators and pipelines in files.

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

A pipeline, or anything else of scikit-learn's that is on the allow-list, is a tree of such values:
see objects.py for how it is stored, transformers.py and pipelines.py for the list. The estimators
in it are described as in a file of their own, and all arrays are one array of bytes, `content`.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

import fenchel
from fenchel._system import container
from fenchel._system.container import Arrays, Path, take
from fenchel.callers import users_line
from fenchel.data.table_facts import TableFacts
from fenchel.errors import FenchelWarning, InvalidData
from fenchel.model import fitted, labels, own
from fenchel.model.objects import Object

_KIND = "model"
_WHOLE = "pipeline"


class Header(fitted.Stored, frozen=True, kw_only=True):
    """What a file says about its model, coefficients apart."""

    classes: tuple[Any, ...] | None
    feature_names: tuple[str, ...] | None


class StoredPipeline(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The header of a pipeline as it stands in the file."""

    version: Annotated[str, Meta(max_length=64)]  # of the library that wrote it
    sklearn: Annotated[str, Meta(max_length=64)]  # likewise
    root: Object


def save(
    estimator: Any,
    path: Path,
    *,
    feature_names: Sequence[str] | None = None,
    index_base: Literal[0, 1] | None = None,
    offset_column: str | None = None,
    exposure_column: str | None = None,
    table: TableFacts | None = None,
) -> None:
    """Writes a fitted estimator or pipeline to a file, or replaces the file, in one step.

    A pipeline may hold the transformers and meta-estimators of scikit-learn's that
    docs/reference/model-files.md lists; anything else is refused by the name of its step. A search
    is saved as its `best_estimator_`.

    `feature_names` are the names of the columns, by default those that `fit` saw; `index_base` says
    whether the indices in the svmlight file of the training data began at 0 or 1. `offset_column`
    is the column of a table that held the offsets of a model with a log link, `exposure_column` one
    whose logarithms they were: `fenchel predict` takes them from there. `table` is what the command
    line knows of the columns of the table it trained on. All of these come back, as
    `feature_names_in_`, `index_base_`, `offset_column_`, `exposure_column_` and `table_`. The same
    model gives the same bytes.

    A loss or penalty of a class of your own is saved by that class's name, if it can be imported
    by it; see `load`.
    """
    from sklearn.utils.validation import check_is_fitted

    columns = fitted.TableColumns(feature_names, index_base, offset_column, exposure_column, table)
    estimator = fitted.settled(estimator)
    if fitted.is_ours(estimator):
        check_is_fitted(estimator)
        container.write(path, _KIND, *fitted.described(estimator, columns))
    else:
        header, arrays = _whole(estimator, columns)
        check_is_fitted(estimator)
        container.write(path, _WHOLE, header, arrays)


def load(path: Path, *, allow: Iterable[type | str] = ()) -> Any:
    """The fitted estimator or pipeline in a file of `save`'s; it predicts the same, bit for bit.

    Files may come from anyone: what is damaged, forged or of a newer format raises InvalidData, and
    nothing in a file is ever run. `result_` is restored but for its witness. A pipeline that was
    saved with another scikit-learn comes with a warning.

    A model whose loss or penalty is of a class of someone's own is refused unless `allow` has that
    class, or its name as in "my_package.losses:MyLoss", which is then imported. Allow what you
    would import yourself: no other name in a file is.
    """
    kinds: dict[str, type[msgspec.Struct]] = {_KIND: fitted.Stored, _WHOLE: StoredPipeline}
    header, arrays = container.read_any(path, kinds)
    allowed = own.Allowed(allow)
    with container.naming(path):
        if isinstance(header, fitted.Stored):
            return fitted.restored(header, arrays, allowed)
        assert isinstance(header, StoredPipeline)
        return _restored(header, arrays, allowed)


def header(path: Path) -> Header:
    """What a file says about its model, or about the model at the end of its pipeline."""
    kinds: dict[str, type[msgspec.Struct]] = {_KIND: fitted.Stored, _WHOLE: StoredPipeline}
    stored, arrays = container.read_any(path, kinds)
    with container.naming(path):
        if isinstance(stored, StoredPipeline):
            stored, arrays = _last(stored, arrays)
        assert isinstance(stored, fitted.Stored)
        kind = stored.label_type
        classes = None if kind is None else labels.restored(kind, arrays)
        names = fitted.names(stored, arrays)
    return Header(
        **{field: getattr(stored, field) for field in stored.__struct_fields__},
        classes=None if classes is None else tuple(classes.tolist()),
        feature_names=None if names is None else tuple(names),
    )


def _last(header: StoredPipeline, arrays: Arrays) -> tuple[fitted.Stored, Arrays]:
    """The header and the arrays of the last step of a pipeline."""
    made = _restored(header, arrays, own.Allowed(()))
    model = made[-1] if hasattr(made, "steps") else None
    if model is None or not fitted.is_ours(model):
        raise InvalidData("it holds no pipeline that ends in one of fenchel's estimators")
    stored, held = fitted.described(model, fitted.TableColumns())
    return msgspec.structs.replace(stored, version=header.version), held


def _whole(pipeline: Any, columns: fitted.TableColumns) -> tuple[StoredPipeline, Arrays]:
    import sklearn

    from fenchel.model import pipelines  # which imports much of scikit-learn

    root, content = pipelines.stored(pipeline, columns)
    return StoredPipeline(fenchel.__version__, sklearn.__version__, root), {"content": content}


def _restored(header: StoredPipeline, arrays: Arrays, allowed: own.Allowed) -> Any:
    import sklearn

    from fenchel.model import pipelines

    content = take(arrays, "content", "u1", (arrays["content"].size if "content" in arrays else 0,))
    if arrays:
        raise InvalidData(f"it holds arrays that no pipeline has: {sorted(arrays)!r:.200}")
    made = pipelines.restored(header.root, content, allowed)
    if header.sklearn != sklearn.__version__:
        warnings.warn(
            f"it was saved with scikit-learn {header.sklearn!r} and is used with "
            f"{sklearn.__version__}, whose transformers may do something else: test it, or save it "
            "again from this one",
            FenchelWarning,
            stacklevel=users_line(),
        )
    return made
