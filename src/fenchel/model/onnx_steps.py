"""Transformers as ONNX operators in the type that was asked for, where skl2onnx has none such.

skl2onnx knows more transformers than these, most of them in float32 only; what it has for numbers
in float64 is used as it is. A column of text is an input of text, in which the word "nan" stands
for what is missing, as pandas' `astype(str)` writes it. Categories that training had not seen get
the row that the encoder gives them; an encoder that would raise an error gives zeros, or nan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from skl2onnx.algebra import onnx_ops
from skl2onnx.common.data_types import StringTensorType
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    TargetEncoder,
)

from fenchel.errors import Incompatible

MISSING = "nan"  # in a column of text


class _Step:
    """The columns that a transformer is given, and what is made of them."""

    def __init__(self, scope: Any, operator: Any, container: Any, tensor: type):
        self.scope, self.container, self.output = scope, container, operator.outputs[0]
        self.model, self.inputs = operator.raw_operator, operator.inputs
        double = tensor.__name__ == "DoubleTensorType"
        self.dtype: npt.DTypeLike = np.float64 if double else np.float32
        self.to = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT

    def node(self, name: str, *inputs: Any, **settings: Any) -> Any:
        """An operation on nodes or arrays, of the version that the graph is written for."""
        version = 2 if name == "LabelEncoder" else self.container.target_opset  # of ai.onnx.ml
        return vars(onnx_ops)[f"Onnx{name}"](*inputs, **settings, op_version=version)

    def cast(self, node: Any) -> Any:
        """In the type of the graph."""
        return self.node("Cast", node, to=self.to)

    def matrix(self) -> Any:
        """All columns side by side, as numbers."""
        parts = [self.cast(each) for each in self.inputs]
        return parts[0] if len(parts) == 1 else self.node("Concat", *parts, axis=1)

    def columns(self) -> Iterator[Any]:
        """One column after the other, with its type."""
        for each in self.inputs:
            width = each.type.shape[1]
            for k in range(width or self.model.n_features_in_):
                yield each if width == 1 else self.node("Gather", each, np.array([k]), axis=1)

    def number(self, value: Any) -> npt.NDArray[Any]:
        """Constants in the type of the graph."""
        return np.asarray(value, dtype=self.dtype)

    def end(self, name: str, *inputs: Any, **settings: Any) -> None:
        """The operation that gives the output."""
        self.node(name, *inputs, output_names=[self.output], **settings).add_to(
            self.scope, self.container
        )

    def end_beside(self, parts: list[Any]) -> None:
        """Puts columns beside each other as the output."""
        self.end("Concat", *parts, axis=1)


def _refuse(model: Any, why: str) -> None:
    raise Incompatible(f"cannot write a {type(model).__name__} as ONNX: {why}")


# Imputers


def _is_text(operator: Any) -> bool:
    return isinstance(operator.inputs[0].type, StringTensorType)


def _imputer(step: _Step) -> None:
    model = step.model
    if isinstance(step.inputs[0].type, StringTensorType):
        if model.add_indicator:
            _refuse(model, "it imputes text with an indicator, and they are of two types")
        X = step.inputs[0]
        gaps = step.node("Equal", X, np.array([_word(model.missing_values)]))
        fill = np.array([model.statistics_.astype(str)])
        step.end("Where", gaps, fill, X)
        return
    X, kept = step.matrix(), _kept(model)
    gaps = _gaps(step, X, model.missing_values)
    full = step.node("Where", gaps, step.number([np.nan_to_num(model.statistics_)]), X)
    parts = [step.node("Gather", full, kept, axis=1)]
    if model.indicator_ is not None:
        where = step.node("Gather", step.cast(gaps), model.indicator_.features_, axis=1)
        parts.append(where)
    step.end_beside(parts)


def _gaps(step: _Step, X: Any, missing: Any) -> Any:
    if isinstance(missing, float) and np.isnan(missing):
        return step.node("IsNaN", X)
    return step.node("Equal", X, step.number([missing]))


def _kept(model: Any) -> npt.NDArray[np.intp]:
    """The columns that had a value in training, or that are kept without."""
    known = model.statistics_.astype(np.float64)
    empty = np.isnan(known) & (model.strategy != "constant")
    return np.flatnonzero(~empty)


def _word(value: Any) -> str:
    absent = value is None or (isinstance(value, float) and np.isnan(value))
    return MISSING if absent else str(value)


# Encoders: the place of a category, and the row of numbers that it stands for


def _encoder(step: _Step) -> None:
    parts = []
    for j, column in enumerate(step.columns()):
        rows = step.number(_rows(step.model, j))
        codes = _codes(step, column, step.model.categories_[j])
        parts.append(step.node("Gather", rows, codes, axis=0))
    step.end_beside(parts)


def _codes(step: _Step, column: Any, categories: npt.NDArray[Any]) -> Any:
    """The place of each category; the number of them for what is none."""
    flat, last = step.node("Reshape", column, np.array([-1])), len(categories)
    places = {"values_int64s": list(range(last)), "default_int64": last}
    if kind_of(categories) == "text":
        words = [_word(each) for each in categories.tolist()]
        return step.node("LabelEncoder", flat, keys_strings=words, **places)
    if kind_of(categories) == "whole":
        keys = [int(each) for each in categories.tolist()]
        return step.node("LabelEncoder", flat, keys_int64s=keys, **places)
    same = step.node("Equal", step.cast(column), step.number([categories.astype(np.float64)]))
    if np.isnan(categories.astype(np.float64)).any():
        absent = step.node("IsNaN", step.cast(column))
        nan = np.isnan(categories.astype(np.float64))[np.newaxis]
        same = step.node("Or", same, step.node("And", absent, nan))
    back = step.node("MatMul", step.cast(same), step.number(last - np.arange(last)[:, np.newaxis]))
    codes = step.node("Sub", step.number([last]), step.node("Reshape", back, np.array([-1])))
    return step.node("Cast", codes, to=onnx.TensorProto.INT64)


def kind_of(categories: npt.NDArray[Any]) -> str:
    """What the input of an encoder's column is: "text", "whole" or "number"."""
    if categories.dtype.kind in "biu":
        return "whole"
    text = any(isinstance(each, str) for each in categories.tolist())
    return "text" if text else "number"


def _rows(model: Any, j: int) -> npt.NDArray[np.float64]:
    """A row of the output for each category of a feature, and one for what is none of them."""
    n = len(model.categories_[j])
    if isinstance(model, TargetEncoder):
        means = np.atleast_1d(model.target_mean_)
        of_j = model.encodings_[j * len(means) : (j + 1) * len(means)]
        return np.vstack([np.column_stack(of_j), means])
    if isinstance(model, OrdinalEncoder):
        return _ordinal_rows(model, j, n)
    group, grouped = np.arange(n), False
    if model._infrequent_enabled and model._default_to_infrequent_mappings[j] is not None:
        group, grouped = model._default_to_infrequent_mappings[j], True
    rows = np.eye(group.max() + 1)
    unknown = rows[-1] if grouped and model.handle_unknown != "ignore" else 0 * rows[-1]
    rows = np.vstack([rows[group], unknown])
    dropped = None if model.drop_idx_ is None else model._drop_idx_after_grouping[j]
    return rows if dropped is None else np.delete(rows, dropped, axis=1)


def _ordinal_rows(model: Any, j: int, n: int) -> npt.NDArray[np.float64]:
    if model._infrequent_enabled:
        _refuse(model, "it groups infrequent categories")
    rows = np.arange(n + 1, dtype=np.float64)[:, np.newaxis]
    rows[n] = np.nan if model.unknown_value is None else model.unknown_value
    if j in model._missing_indices:
        rows[model._missing_indices[j]] = model.encoded_missing_value
    return rows


# Functions of numbers


def _bins(step: _Step) -> None:
    """The number of inner edges at or below x, or the row of 0 and 1 with a 1 there."""
    parts, X = [], step.matrix()
    for j, edges in enumerate(step.model.bin_edges_):
        x = step.node("Gather", X, np.array([j]), axis=1)
        above = step.node("Less", x, step.number([edges[1:-1]]))
        below = step.cast(step.node("Not", above))
        code = step.node("ReduceSum", below, np.array([1]), keepdims=1)
        if step.model.encode != "ordinal":
            flat = step.node("Reshape", code, np.array([-1]))
            places = step.node("Cast", flat, to=onnx.TensorProto.INT64)
            code = step.node("Gather", step.number(np.eye(len(edges) - 1)), places, axis=0)
        parts.append(code)
    step.end_beside(parts)


def _polynomial(step: _Step) -> None:
    """Products of columns, each with as many ones as it has fewer factors than the longest."""
    powers = step.model.powers_
    n, most = step.model.n_features_in_, int(powers.sum(axis=1).max())
    X = step.matrix()
    ones = step.node("Add", step.node("Mul", step.node("Gather", X, np.array([0]), axis=1),
                                      step.number([0])), step.number([1]))  # fmt: skip
    X = step.node("Concat", X, ones, axis=1)
    factors = np.array(
        [np.append(np.repeat(np.arange(n), row), [n] * (most - row.sum())) for row in powers]
    ).reshape(len(powers), most)
    product = step.node("Gather", X, np.full(len(powers), n), axis=1)
    for k in range(most):
        factor = step.node("Gather", X, factors[:, k].astype(np.int64), axis=1)
        product = step.node("Mul", product, factor)
    step.end("Identity", product)


_SIMPLE = {
    np.log: "Log", np.exp: "Exp", np.sqrt: "Sqrt", np.absolute: "Abs", np.sign: "Sign",
    np.reciprocal: "Reciprocal", np.negative: "Neg", np.floor: "Floor", np.ceil: "Ceil",
    np.tanh: "Tanh", np.sin: "Sin", np.cos: "Cos",
}  # fmt: skip


def _function(step: _Step) -> None:
    function, X = step.model.func, step.matrix()
    one = step.number([1])
    if function is None:
        step.end("Identity", X)
    elif function in _SIMPLE:
        step.end(_SIMPLE[function], X)
    elif function is np.log1p:
        step.end("Log", step.node("Add", X, one))
    elif function is np.expm1:
        step.end("Sub", step.node("Exp", X), one)
    elif function is np.square:
        step.end("Mul", X, X)
    else:
        _refuse(step.model, f"there is no operator for {function!r:.80}")


def _outputs_of(model: Any, width: int) -> int:
    """The number of columns of the output."""
    if isinstance(model, FunctionTransformer):
        return width
    if isinstance(model, KBinsDiscretizer):
        return int(width if model.encode == "ordinal" else model.n_bins_.sum())
    if isinstance(model, PolynomialFeatures):
        return int(model.n_output_features_)
    if isinstance(model, SimpleImputer):
        extra = 0 if model.indicator_ is None else len(model.indicator_.features_)
        text = model.statistics_.dtype.kind in "OU"
        return (width if text else len(_kept(model))) + extra
    return sum(_rows(model, j).shape[1] for j in range(len(model.categories_)))


_CONVERTERS: dict[type, Callable[[_Step], None]] = {
    SimpleImputer: _imputer,
    OneHotEncoder: _encoder,
    OrdinalEncoder: _encoder,
    TargetEncoder: _encoder,
    KBinsDiscretizer: _bins,
    PolynomialFeatures: _polynomial,
    FunctionTransformer: _function,
}


def converters(tensor: type) -> dict[str, Any]:
    """The arguments that teach skl2onnx these transformers, in that type, for one conversion."""

    def convert(kind: type, scope: Any, operator: Any, container: Any) -> None:
        _CONVERTERS[kind](_Step(scope, operator, container, tensor))

    def shape(operator: Any) -> None:
        n, model = operator.inputs[0].get_first_dimension(), operator.raw_operator
        width = getattr(model, "n_features_in_", None) or operator.inputs[0].type.shape[1]
        text = isinstance(model, SimpleImputer) and _is_text(operator)
        of = StringTensorType if text else tensor
        operator.outputs[0].type = of([n, _outputs_of(model, width)])

    return {
        "custom_conversion_functions": {kind: partial(convert, kind) for kind in _CONVERTERS},
        "custom_shape_calculators": dict.fromkeys(_CONVERTERS, shape),
    }
