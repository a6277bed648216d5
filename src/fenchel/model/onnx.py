"""Fitted estimators as ONNX graphs, for runtimes without Python.

Importing this module teaches skl2onnx the estimators, so that `skl2onnx.convert_sklearn` converts
pipelines that end in one. The graphs use plain operators in the type of their input, float32 or
float64; the operators of ai.onnx.ml know float32 alone.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import Incompatible, InvalidData
from fenchel.estimators import (
    Classifier,
    GammaRegressor,
    HierarchicalClassifier,
    MultilabelClassifier,
    MultivariateRegressor,
    NoveltyDetector,
    PoissonRegressor,
    QuantileRegressor,
    Regressor,
    TweedieRegressor,
)
from fenchel.estimators.deviances import LogLinkRegressor
from fenchel.losses import VectorLoss

try:
    import onnx
    import skl2onnx
    from onnx.shape_inference import InferenceError
    from skl2onnx.algebra.onnx_ops import (
        OnnxAbs,
        OnnxAdd,
        OnnxArgMax,
        OnnxCast,
        OnnxConcat,
        OnnxExp,
        OnnxGather,
        OnnxGreater,
        OnnxIdentity,
        OnnxLess,
        OnnxLog,
        OnnxMatMul,
        OnnxMin,
        OnnxNeg,
        OnnxReshape,
        OnnxSigmoid,
        OnnxSoftmax,
        OnnxSub,
        OnnxWhere,
    )
    from skl2onnx.common import shape_calculator
    from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType, Int64TensorType
    from skl2onnx.common.utils_classifier import get_label_classes

    from fenchel.model.onnx_inputs import TEXT_OPTIONS, counts_words, inputs_of
    from fenchel.model.onnx_steps import converters
except ImportError as error:
    raise ImportError(
        'ONNX graphs are made by onnx and skl2onnx: pip install "fenchel[onnx]"'
    ) from error


def to_onnx(
    estimator: Any, *, dtype: Literal["float64", "float32"] | None = None
) -> onnx.ModelProto:
    """A fitted estimator, or a pipeline that ends in one, as an ONNX graph.

    The input is "X", of the type given: float32 is less exact, and for runtimes without float64. By
    default it is float64, but float32 of a pipeline that counts words: ONNX has no other for them.
    A pipeline that begins with a ColumnTransformer of named columns has an input of one column for
    each, of text or whole numbers where that is what its encoders take; "nan" is missing text.
    The outputs of a classifier are "label" and "probabilities", or "scores" where the loss gives
    none, with a column for each class; those of a NoveltyDetector are "label" and "scores", and so
    are those of a MultilabelClassifier, whose "label" has a 1 or 0 in a column for each label; a
    regressor has "prediction", with a column for each target.
    """
    types = {"float64": DoubleTensorType, "float32": FloatTensorType}
    if dtype is not None and dtype not in types:
        raise InvalidData(f"dtype must be 'float64' or 'float32'; got {dtype!r}")
    last = _last_step(estimator)
    check_is_fitted(last)
    counts = counts_words(estimator)
    if counts and dtype == "float64":
        raise Incompatible("ONNX counts words in float32 only: leave dtype out, or say 'float32'")
    dtype = dtype or ("float32" if counts else "float64")
    inputs = inputs_of(estimator, types[dtype])
    try:
        graph: onnx.ModelProto = skl2onnx.convert_sklearn(
            estimator,
            name=type(last).__name__,
            initial_types=inputs,
            final_types=[(name, None) for name in _outputs(last)],
            options=_asked(estimator, last),
            **converters(types[dtype]),
        )
        _declare(graph, dtype)
        onnx.checker.check_model(graph, full_check=True)
    except (
        RuntimeError,
        NotImplementedError,
        onnx.checker.ValidationError,
        InferenceError,
    ) as error:
        raise Incompatible(
            f"skl2onnx cannot convert it in {dtype}: {error!s:.500}. Some transformers have no "
            "operator, or one of float32 only: use others, or dtype='float32'"
        ) from error
    return graph


def _declare(graph: onnx.ModelProto, dtype: str) -> None:
    """Numbers that come out are of the type of the graph, even where only text goes in."""
    of = {"float64": onnx.TensorProto.DOUBLE, "float32": onnx.TensorProto.FLOAT}[dtype]
    for output in graph.graph.output:
        if output.name != "label":
            output.type.tensor_type.elem_type = of


def _asked(estimator: Any, last: Any) -> dict[Any, Any]:
    """The options: answers as arrays, and words as scikit-learn has them."""
    arrays = {id(estimator): {"zipmap": False}} if is_classifier(last) else {}
    return {**TEXT_OPTIONS, **arrays}


def _last_step(estimator: Any) -> Any:
    last = estimator.steps[-1][1] if hasattr(estimator, "steps") else estimator
    if type(last) not in _CONVERTERS:
        names = ", ".join(kind.__name__ for kind in _CONVERTERS)
        raise Incompatible(
            f"to_onnx converts {names}, and pipelines that end in one of them; got "
            f"{type(last).__name__}. For others use skl2onnx.to_onnx"
        )
    return last


def _outputs(estimator: Any) -> list[str]:
    if isinstance(estimator, Classifier | HierarchicalClassifier):
        return ["label", "probabilities" if hasattr(estimator, "predict_proba") else "scores"]
    scored = isinstance(estimator, NoveltyDetector | MultilabelClassifier)
    return ["label", "scores"] if scored else ["prediction"]


class _Graph:
    """The scores <x, w> + b of an operator's input, and what is made of them."""

    def __init__(self, scope: Any, operator: Any, container: Any):
        self.scope, self.container, self.outputs = scope, container, operator.outputs
        self.model = operator.raw_operator
        double = isinstance(operator.inputs[0].type, DoubleTensorType)  # else whole numbers too
        self.dtype = np.float64 if double else np.float32
        to = onnx.TensorProto.DOUBLE if double else onnx.TensorProto.FLOAT
        coef, intercept = _lines(self.model)
        X = self.node(OnnxCast, operator.inputs[0], to=to)
        products = self.node(OnnxMatMul, X, coef.T.astype(self.dtype))
        self.scores = self.node(OnnxAdd, products, intercept.astype(self.dtype))
        self.zero = np.zeros(1, self.dtype)

    def node(self, kind: type, *inputs: Any, **settings: Any) -> Any:
        """An operation on nodes or arrays, of the version that the graph is written for."""
        return kind(*inputs, **settings, op_version=self.container.target_opset)

    def flat(self, node: Any) -> Any:
        """A single column as a vector."""
        return self.node(OnnxReshape, node, np.array([-1]))

    def output(self, k: int, kind: type, *inputs: Any, **settings: Any) -> None:
        """The operation that gives output k."""
        last = self.node(kind, *inputs, output_names=[self.outputs[k]], **settings)
        last.add_to(self.scope, self.container)


def _lines(model: Any) -> tuple[Any, Any]:
    """The w and b of each score: of the leaves of a taxonomy, sums over the nodes above them.

    Two leaves have one score, as two classes do: the second's less the first's.
    """
    if not hasattr(model, "coef_"):
        raise Incompatible("a model with a kernel has no coefficients, which the ONNX file holds")
    coef, intercept = np.atleast_2d(model.coef_), np.atleast_1d(model.intercept_)
    if isinstance(model, HierarchicalClassifier):
        paths = model.taxonomy_.paths
        paths = np.diff(paths, axis=0) if len(paths) == 2 else paths
        return paths @ coef, paths @ intercept
    return coef, intercept


def _regressor(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    link = OnnxExp if isinstance(graph.model, LogLinkRegressor) else OnnxIdentity
    graph.output(0, link, graph.scores)


def _novelty_detector(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    scores = graph.flat(graph.scores)
    novel = graph.node(OnnxLess, scores, graph.zero)
    graph.output(0, OnnxWhere, novel, np.array([-1]), np.array([1]))
    graph.output(1, OnnxIdentity, scores)


def _multilabel_classifier(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    threshold = np.array([graph.model.threshold_], graph.dtype)
    scores = graph.node(OnnxSub, graph.scores, threshold)
    has = graph.node(OnnxGreater, scores, graph.zero)
    graph.output(0, OnnxCast, has, to=onnx.TensorProto.INT64)
    graph.output(1, OnnxIdentity, scores)


def _classifier(scope: Any, operator: Any, container: Any) -> None:
    graph = _Graph(scope, operator, container)
    classes = get_label_classes(scope, graph.model)
    scores = graph.scores
    if len(classes) == 2:
        positive = graph.node(OnnxGreater, scores, graph.zero)
        codes = graph.node(OnnxCast, positive, to=onnx.TensorProto.INT64)
        scores = graph.node(OnnxConcat, graph.node(OnnxNeg, scores), scores, axis=1)
    else:
        codes = graph.node(OnnxArgMax, scores, axis=1)
    labels = classes.astype(str if classes.dtype.kind in "OU" else np.int64)
    graph.output(0, OnnxGather, labels, graph.flat(codes))
    if not hasattr(graph.model, "predict_proba"):
        graph.output(1, OnnxIdentity, scores)
    elif len(classes) == 2:
        graph.output(1, OnnxSigmoid, scores)
    elif isinstance(graph.model._loss(), VectorLoss):
        graph.output(1, OnnxSoftmax, scores, axis=1)
    else:  # p / sum p by way of log p, for the sake of rows that no class claims
        graph.output(1, OnnxSoftmax, _log_sigmoid(graph, scores), axis=1)


def _log_sigmoid(graph: _Graph, z: Any) -> Any:
    """min(z, 0) - log(1 + exp(-|z|)); onnxruntime has no Softplus of float64."""
    small = graph.node(OnnxExp, graph.node(OnnxNeg, graph.node(OnnxAbs, z)))
    rest = graph.node(OnnxLog, graph.node(OnnxAdd, small, np.ones(1, graph.dtype)))
    return graph.node(OnnxSub, graph.node(OnnxMin, z, graph.zero), rest)


def _multilabel_shapes(operator: Any) -> None:
    n, k = operator.inputs[0].get_first_dimension(), len(operator.raw_operator.classes_)
    operator.outputs[0].set_type(Int64TensorType([n, k]))
    operator.outputs[1].type.shape = [n, k]


def _novelty_shapes(operator: Any) -> None:
    n = operator.inputs[0].get_first_dimension()
    operator.outputs[0].set_type(Int64TensorType([n]))
    operator.outputs[1].type.shape = [n]


_OF_CLASSIFIERS = shape_calculator.calculate_linear_classifier_output_shapes
_OF_REGRESSORS = shape_calculator.calculate_linear_regressor_output_shapes
_OPTIONS = {"zipmap": [True, False, "columns"], "nocl": [True, False]}  # skl2onnx asks for both
_CONVERTERS = {
    Classifier: (_classifier, _OF_CLASSIFIERS, _OPTIONS),
    Regressor: (_regressor, _OF_REGRESSORS, None),
    HierarchicalClassifier: (_classifier, _OF_CLASSIFIERS, _OPTIONS),
    MultilabelClassifier: (_multilabel_classifier, _multilabel_shapes, _OPTIONS),
    MultivariateRegressor: (_regressor, _OF_REGRESSORS, None),
    QuantileRegressor: (_regressor, _OF_REGRESSORS, None),
    PoissonRegressor: (_regressor, _OF_REGRESSORS, None),
    GammaRegressor: (_regressor, _OF_REGRESSORS, None),
    TweedieRegressor: (_regressor, _OF_REGRESSORS, None),
    NoveltyDetector: (_novelty_detector, _novelty_shapes, None),
}
for _kind, (_convert, _shapes, _options) in _CONVERTERS.items():
    skl2onnx.update_registered_converter(
        _kind, f"Fenchel{_kind.__name__}", _shapes, _convert, options=_options
    )
