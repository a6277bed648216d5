"""Pipelines and meta-estimators in a file, and all that may be inside them.

`stored` turns a fitted transformer, pipeline or meta-estimator into a node and an array of bytes,
`restored` makes it again. Everything in it is of the allow-list or an estimator of the library's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.pipeline import FeatureUnion, Pipeline

from fenchel.model import fitted, own
from fenchel.model.checks import Sizes, each, either, flag, instance, plain, table, text
from fenchel.model.objects import Kind, Object, Restoring, Storing
from fenchel.model.transformers import FUNCTIONS, TRANSFORMERS
from fenchel.model.values import Pool

_WORDS = {"drop", "passthrough"}
_selection = either(plain, instance(make_column_selector))


def stored(value: Any, columns: fitted.TableColumns) -> tuple[Object, npt.NDArray[np.uint8]]:
    """The node of an object of the allow-list, and the bytes behind its arrays."""
    storing = Storing(KINDS, FUNCTIONS, columns)
    node = storing.object(value)
    content = storing.pool.content()
    restored(node, content, own.Allowed(storing.named))  # nothing is written that cannot be read
    return node, content


def restored(node: Object, content: npt.NDArray[np.uint8], allowed: own.Allowed) -> Any:
    """The object of a node, all bytes of which must be of use."""
    pool = Pool(content)
    made = Restoring(KINDS, FUNCTIONS, pool, allowed).value(node)
    pool.check_taken()
    return made


def _part(value: Any, sizes: Sizes) -> bool:
    """An estimator or transformer, or a word for none."""
    return isinstance(value, BaseEstimator) or value is None or value in _WORDS


def _steps(value: Any, sizes: Sizes) -> bool:
    """Names, estimators and, in a ColumnTransformer, their columns."""
    return isinstance(value, list) and all(
        isinstance(step, tuple)
        and len(step) in (2, 3)
        and isinstance(step[0], str)
        and _part(step[1], sizes)
        and all(_selection(columns, sizes) for columns in step[2:])
        for step in value
    )


def _remainder(value: Any, sizes: Sizes) -> bool:
    """The step of the columns that no other has."""
    return _steps([value], sizes)


_ALLOWED = (
    Kind(Pipeline, parameters={"steps": _steps}, dropped=frozenset({"memory"})),
    Kind(FeatureUnion, parameters={"transformer_list": _steps}),
    Kind(
        ColumnTransformer,
        {
            "transformers_": _steps,
            "sparse_output_": flag,
            "output_indices_": table(text, instance(slice)),
            "_columns": each(plain),
            "_remainder": _remainder,
            "_transformer_to_input_indices": table(text, plain),
        },
        parameters={"transformers": _steps, "remainder": _part},
    ),
    Kind(make_column_selector),
)
KINDS: dict[str, Kind] = {**{kind.made.__name__: kind for kind in _ALLOWED}, **TRANSFORMERS}
