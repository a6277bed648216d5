"""Pipelines and meta-estimators in a file, and all that may be inside them.

`stored` turns a fitted transformer, pipeline or meta-estimator into a node and an array of bytes,
`restored` makes it again. Everything in it is of the allow-list or an estimator of the library's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import calibration
from sklearn.base import BaseEstimator
from sklearn.calibration import (
    CalibratedClassifierCV,
    _CalibratedClassifier,
    _SigmoidCalibration,
)
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.multiclass import OneVsRestClassifier, _ConstantPredictor
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import LabelBinarizer

from fenchel.errors import InvalidData
from fenchel.model import fitted, laws, own
from fenchel.model.checks import (
    Sizes,
    apart,
    array,
    count,
    each,
    either,
    flag,
    instance,
    labels,
    maybe,
    number,
    numbers,
    plain,
    table,
    text,
)
from fenchel.model.objects import Kind, Object, Restoring, Storing
from fenchel.model.transformers import FUNCTION_OF_NUMBERS, FUNCTIONS, TRANSFORMERS
from fenchel.model.values import Pool

_WORDS = {"drop", "passthrough"}
_selection = either(plain, instance(make_column_selector))


def stored(value: Any, columns: fitted.TableColumns) -> tuple[Object, npt.NDArray[np.uint8]]:
    """The node of an object of the allow-list, and the bytes behind its arrays."""
    storing = Storing(KINDS, FUNCTIONS, columns)
    node = storing.object(value)
    content = storing.pool.content()
    try:  # nothing is written that cannot be read
        restored(node, content, own.Allowed(storing.named))
    except InvalidData as error:
        name = type(value).__name__
        raise InvalidData(f"cannot save this {name}, for load would refuse it: {error}") from error
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


def _interpolation(calibrator: Any) -> Any:
    """The function between the thresholds, which scikit-learn makes of them."""
    calibrator._build_f(calibrator.X_thresholds_, calibrator.y_thresholds_)
    return calibrator.f_


_estimator = instance(BaseEstimator)
_INNER = {"estimator": maybe(_estimator)}
_TEMPERATURE = [
    vars(calibration)[name] for name in ["_TemperatureScaling"] if name in vars(calibration)
]  # since 1.8
_CALIBRATORS = (_SigmoidCalibration, IsotonicRegression, *_TEMPERATURE)
_ALLOWED = (
    Kind(Pipeline, parameters={"steps": _steps}, dropped=frozenset({"memory"})),
    Kind(  # which does not check its settings itself
        FeatureUnion,
        parameters={
            "transformer_list": _steps,
            "transformer_weights": maybe(table(text, number)),
            "n_jobs": maybe(number),
            "verbose": flag,
            "verbose_feature_names_out": flag,
        },
    ),
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
        {"_transformers_feature_names_out": array("out")},
        {"transformers": _steps, "remainder": _part},
    ),
    Kind(make_column_selector),
    Kind(FrozenEstimator, parameters=_INNER),
    Kind(
        CalibratedClassifierCV,
        {"calibrated_classifiers_": each(instance(_CalibratedClassifier)), "classes_": labels},
        parameters=_INNER,
    ),
    Kind(
        _CalibratedClassifier,
        parameters={**_INNER, "calibrators": each(instance(*_CALIBRATORS)), "classes": labels},
    ),
    Kind(_SigmoidCalibration, {"a_": number, "b_": number}),
    Kind(
        IsotonicRegression,
        {
            "X_thresholds_": numbers("thresholds"),
            "y_thresholds_": numbers("thresholds"),
            "X_min_": number,
            "X_max_": number,
            "increasing_": either(flag, instance(np.bool_)),
        },
        derived={"f_": _interpolation},
        holds=laws.isotonic,
    ),
    Kind(
        OneVsRestClassifier,
        {
            "estimators_": each(_estimator),
            "classes_": labels,
            "label_binarizer_": instance(LabelBinarizer),
        },
        parameters=_INNER,
    ),
    Kind(_ConstantPredictor, {"y_": numbers("one")}),
    Kind(LabelBinarizer, {"classes_": labels, "y_type_": text, "sparse_input_": flag}),
    Kind(
        MultiOutputClassifier,
        {"estimators_": each(_estimator, "targets"), "classes_": each(apart(labels), "targets")},
        parameters=_INNER,
    ),
    Kind(MultiOutputRegressor, {"estimators_": each(_estimator)}, parameters=_INNER),
    Kind(
        TransformedTargetRegressor,
        {"regressor_": _estimator, "transformer_": _estimator, "_training_dim": count},
        parameters={
            "regressor": maybe(_estimator),
            "transformer": maybe(_estimator),
            **FUNCTION_OF_NUMBERS,
        },
    ),
    *(Kind(found, {"beta_": number}) for found in _TEMPERATURE),
)
KINDS: dict[str, Kind] = {**{kind.made.__name__: kind for kind in _ALLOWED}, **TRANSFORMERS}
