"""Fitted estimators in files.

A model file holds what predicts and what was proved: the estimator's name and parameters, its
coefficients, classes, column names, and the certificate and history of each minimisation. It holds
no code and names none. What belonged to the run alone, `callback` and `checkpoint`, is left out. A
parameter that a file lacks, because it is new, has its default.

    coef, or coef.mask and coef.values    see coefficients.py
    intercept                             one number for each line of coef
    threshold                             of a MultilabelClassifier or a MetricClassifier
    thresholds                            of an OrdinalRegressor
    history                               seven columns, the lines of all runs one after the other
    classes, feature_names                where there are any, see labels.py
    penalty.weights, cost, loss.cost      where a penalty or a loss has them
    pairs.counts, pairs.labels            of a SequenceLabeler, see chains.py
    temperature                           the same's, of the loss that it was fitted with

A loss of all scores has one run and a line of coef for each class, even where `coef_` has but the
difference of two; one of a taxonomy has a line for each node.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, cast, get_args

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

import fenchel
from fenchel.errors import FenchelError, Incompatible, InvalidData, Setting
from fenchel.losses import VectorLoss
from fenchel.model import chains, coefficients, container, labels, parameters, runs
from fenchel.model.container import Arrays, Path, take
from fenchel.result import Record, Result
from fenchel.risks.base import Array
from fenchel.solvers import SOLVERS, Solver

_KIND = "model"
_OF_THE_RUN = {"callback", "checkpoint"}

Estimator = Literal[
    "Classifier",
    "MultilabelClassifier",
    "HierarchicalClassifier",
    "MetricClassifier",
    "OrdinalRegressor",
    "Ranker",
    "Reranker",
    "SequenceLabeler",
    "Regressor",
    "QuantileRegressor",
    "PoissonRegressor",
    "GammaRegressor",
    "TweedieRegressor",
    "NoveltyDetector",
]
_OF_CLASSES = (
    "Classifier",
    "MultilabelClassifier",
    "HierarchicalClassifier",
    "MetricClassifier",
    "OrdinalRegressor",
    "SequenceLabeler",
)
_OF_ONE_LINE = ("Ranker", "Reranker", "SequenceLabeler")  # and regressors: coef_ is a vector


class Stored(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The header as it stands in the file."""

    version: Annotated[str, Meta(max_length=64)]  # of the library that wrote it
    estimator: Estimator
    parameters: dict[str, parameters.Parameter]
    n_features: Annotated[int, Meta(ge=1, le=1 << 48)]
    runs: Annotated[list[runs.Run], Meta(min_length=1)]
    label_type: labels.Kind | None
    named_features: bool
    index_base: Literal[0, 1] | None


class Header(Stored, frozen=True):
    """What a file says about its model, coefficients apart."""

    classes: tuple[Any, ...] | None
    feature_names: tuple[str, ...] | None


def save(
    estimator: Any,
    path: Path,
    *,
    feature_names: Sequence[str] | None = None,
    index_base: Literal[0, 1] | None = None,
) -> None:
    """Writes a fitted estimator to a file, or replaces the file, in one step.

    `feature_names` are the names of the columns, by default those that `fit` saw; `index_base` says
    whether the indices in the svmlight file of the training data began at 0 or 1. They come back as
    `feature_names_in_` and `index_base_`. The same model gives the same bytes.
    """
    from sklearn.utils.validation import check_is_fitted

    name = _name_of(estimator)
    check_is_fitted(estimator)
    _check_settings(estimator)
    arrays = _fitted_arrays(estimator)
    label_type = _store_classes(estimator, arrays)
    named = _store_names(estimator, feature_names, arrays)
    header = Stored(
        version=fenchel.__version__,
        estimator=name,
        parameters=_stored_parameters(estimator, arrays),
        n_features=int(estimator.n_features_in_),
        runs=[runs.run_of(result) for result in _results(estimator)],
        label_type=label_type,
        named_features=named,
        index_base=_index_base(estimator, index_base),
    )
    container.write(path, _KIND, header, arrays)


def load(path: Path) -> Any:
    """The fitted estimator in a file that `save` wrote; it predicts the same, bit for bit.

    Files may come from anyone: what is damaged, forged or of a newer format raises InvalidData, and
    nothing in a file is ever run. `result_` is restored but for its witness.
    """
    header, arrays = container.read(path, _KIND, Stored)
    with container.naming(path):
        return _estimator(header, arrays)


def header(path: Path) -> Header:
    """What a file says about its model, without making it."""
    stored, arrays = container.read(path, _KIND, Stored)
    with container.naming(path):
        classes = _classes(stored, arrays)
        names = _names(stored, arrays)
    return Header(
        **{field: getattr(stored, field) for field in stored.__struct_fields__},
        classes=None if classes is None else tuple(classes.tolist()),
        feature_names=None if names is None else tuple(names),
    )


# From an estimator to what is stored.


def _name_of(estimator: Any) -> Estimator:
    name = type(estimator).__name__
    if type(estimator) is not _estimators().get(name):
        raise Incompatible(
            f"fenchel.save writes fenchel's own estimators ({', '.join(_estimators())}); got "
            f"{name}. Of a pipeline or a grid search save the step or best_estimator_ that is one"
        )
    return cast(Estimator, name)


def _estimators() -> dict[str, type[Any]]:
    from fenchel import estimators  # scikit-learn takes a second

    return {name: getattr(estimators, name) for name in get_args(Estimator)}


def _fitted_arrays(estimator: Any) -> Arrays:
    coef, intercept = _lines(estimator)
    if not (np.isfinite(coef).all() and np.isfinite(intercept).all()):
        raise InvalidData("cannot save a model whose coef_ or intercept_ holds nan or inf")
    history = np.concatenate([runs.table(result.history) for result in _results(estimator)])
    arrays = {**coefficients.stored(coef), "intercept": intercept, "history": history}
    if hasattr(estimator, "threshold_"):
        arrays["threshold"] = np.array([estimator.threshold_], dtype=np.float64)
    if hasattr(estimator, "pairs_"):
        arrays |= chains.stored(estimator.pairs_)
        arrays["temperature"] = np.array([estimator.temperature_], dtype=np.float64)
    if hasattr(estimator, "thresholds_"):
        arrays["thresholds"] = np.array(estimator.thresholds_, dtype=np.float64)
    return arrays


def _lines(estimator: Any) -> tuple[Array, Array]:
    """The coefficients of each score and their intercepts."""
    coef = np.atleast_2d(np.asarray(estimator.coef_, dtype=np.float64))
    intercept = np.array(estimator.intercept_, dtype=np.float64).reshape(-1)
    if not _together(estimator) or len(coef) > 1:
        return coef, intercept
    from fenchel.estimators.classifier import folded

    w, b = estimator.result_.w, np.asarray(estimator.result_.intercept)
    if not (np.array_equal(folded(w), coef) and np.array_equal(folded(b), intercept)):
        raise InvalidData(
            "cannot save a model of two classes whose coef_ or intercept_ is no longer what fit "
            "found: the file holds the weights of both classes, in result_"
        )
    return w, b


def _together(estimator: Any) -> bool:
    """Whether one run has the scores of all classes."""
    return isinstance(estimator._loss(), VectorLoss)


def _results(estimator: Any) -> list[Result]:
    found = estimator.result_
    return found if isinstance(found, list) else [found]


def _store_classes(estimator: Any, arrays: Arrays) -> labels.Kind | None:
    if not hasattr(estimator, "classes_"):
        return None
    label_type, arrays["classes"] = labels.stored(estimator.classes_)
    return label_type


def _store_names(estimator: Any, given: Sequence[str] | None, arrays: Arrays) -> bool:
    names = getattr(estimator, "feature_names_in_", None) if given is None else given
    if names is None:
        return False
    if hasattr(estimator, "pairs_") and not hasattr(estimator, "feature_names_in_"):
        raise InvalidData(
            "features that are hashed, or columns of numbers, have no names: leave out "
            "feature_names"
        )
    if isinstance(names, str) or not all(isinstance(name, str) for name in names):
        raise InvalidData(f"feature_names must be a sequence of text; got {names!r:.200}")
    if len(names) != estimator.n_features_in_:
        raise InvalidData(
            f"feature_names holds {len(names)} names, but the model has "
            f"{estimator.n_features_in_} columns"
        )
    arrays["feature_names"] = labels.text(names)
    return True


def _index_base(estimator: Any, given: object) -> Literal[0, 1] | None:
    base = getattr(estimator, "index_base_", None) if given is None else given
    if base is None:
        return None
    if isinstance(base, bool) or base not in (0, 1):
        raise InvalidData(Setting("index_base"), f" must be 0, 1 or None; got {base!r}")
    return 1 if base else 0


def _stored_parameters(estimator: Any, arrays: Arrays) -> dict[str, parameters.Parameter]:
    given = sorted(estimator.get_params(deep=False).items())
    return {
        name: parameters.stored(name, value, arrays)
        for name, value in given
        if name not in _OF_THE_RUN
    }


def _check_settings(estimator: Any) -> None:
    """What `fit` would say of the parameters: a file must not hold what it would refuse."""
    fit = estimator._settings(fit_intercept=getattr(estimator, "fit_intercept", False))
    fit.regularizer.free(estimator.n_features_in_)
    if not isinstance(fit.solver, Solver) and fit.solver not in ("auto", *SOLVERS):
        raise InvalidData(f"unknown solver {fit.solver!r}")
    weight = getattr(estimator, "class_weight", None)
    if not (weight is None or weight == "balanced" or isinstance(weight, dict)):
        raise InvalidData(f"class_weight must be a dict, 'balanced' or None; got {weight!r}")


# From what is stored to an estimator.


def _estimator(header: Stored, arrays: Arrays) -> Any:
    estimator = _unfitted(header, arrays)
    estimator.n_features_in_ = header.n_features
    names = _names(header, arrays)
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    if header.index_base is not None:
        estimator.index_base_ = header.index_base
    _check_stored_settings(estimator)
    _restore_fit(estimator, header, arrays)
    if arrays:
        raise InvalidData(f"it holds arrays that no model has: {sorted(arrays)!r:.200}")
    return estimator


def _unfitted(header: Stored, arrays: Arrays) -> Any:
    kind = _estimators()[header.estimator]
    unknown = header.parameters.keys() - (set(kind._get_param_names()) - _OF_THE_RUN)
    if unknown:
        raise InvalidData(
            f"its {header.estimator}, of fenchel {header.version!r}, has parameters that this one, "
            f"{fenchel.__version__}, does not know: {sorted(unknown)!r:.200}"
        )
    stored = header.parameters.items()
    return kind(**{name: parameters.restored(name, value, arrays) for name, value in stored})


def _check_stored_settings(estimator: Any) -> None:
    try:
        _check_settings(estimator)
    except FenchelError as error:
        raise InvalidData(f"its parameters: {error}") from error


def _restore_fit(estimator: Any, header: Stored, arrays: Arrays) -> None:
    classes = _classes(header, arrays)
    together = _together(estimator)
    n = 1 if classes is None or (len(classes) == 2 and not together) else len(classes)
    if header.estimator == "OrdinalRegressor":
        n = 1  # one score, whatever the number of levels
    width = header.n_features
    if header.estimator == "SequenceLabeler":
        assert classes is not None
        named, estimator.hashed_ = header.named_features, estimator.hashed
        if estimator.hashed is not None and (named or estimator.hashed != header.n_features):
            raise InvalidData("its features are hashed, but have names, or other columns")
        estimator.pairs_ = chains.restored(arrays, header.n_features, len(classes), named=named)
        estimator.temperature_ = _temperature(estimator, arrays)
        n, width = 1, len(estimator.pairs_.label)  # a number for each pair
    if header.estimator == "HierarchicalClassifier":
        assert classes is not None
        estimator._adopt(classes)
        if not np.array_equal(classes, estimator.taxonomy_.classes):
            raise InvalidData("its classes are not the leaves of its taxonomy")
        n = len(estimator.nodes_)
    coef = coefficients.restored(arrays, (n, width))
    intercept = _finite(arrays, "intercept", n)
    weights = coef[np.newaxis] if together else coef
    estimator._keep(_restored_results(header, weights, intercept, arrays))
    if together and header.estimator == "Classifier":
        from fenchel.estimators.classifier import folded

        coef, intercept = folded(coef), folded(intercept)
    if header.estimator.endswith("Regressor") or header.estimator in _OF_ONE_LINE:
        estimator.coef_, estimator.intercept_ = coef[0], float(intercept[0])
    else:
        estimator.coef_, estimator.intercept_ = coef, intercept
    if header.estimator == "NoveltyDetector":
        estimator.offset_ = -float(intercept[0])
    if header.estimator in ("MultilabelClassifier", "MetricClassifier"):
        estimator.threshold_ = float(_finite(arrays, "threshold", 1)[0])
    if header.estimator == "OrdinalRegressor":
        assert classes is not None
        estimator.thresholds_ = _rising(arrays, len(classes) - 1)
    if classes is not None:
        estimator.classes_ = classes


def _finite(arrays: Arrays, name: str, length: int) -> Array:
    numbers = take(arrays, name, np.float64, (length,))
    if not np.isfinite(numbers).all():
        raise InvalidData(f"its {name} is nan or inf")
    return numbers


def _temperature(estimator: Any, arrays: Arrays) -> float:
    """That of the parameters in a file which does not have it, because it is new."""
    from fenchel.estimators.labeler import temperature_of

    if "temperature" not in arrays:
        return temperature_of(estimator._loss())
    temperature = float(_finite(arrays, "temperature", 1)[0])
    if temperature < 0:
        raise InvalidData("its temperature is < 0")
    return temperature


def _rising(arrays: Arrays, length: int) -> Array:
    thresholds = _finite(arrays, "thresholds", length)
    if (np.diff(thresholds) < 0).any():
        raise InvalidData("its thresholds do not rise")
    return thresholds


def _restored_results(
    header: Stored, weights: Array, intercept: Array, arrays: Arrays
) -> list[Result]:
    """A result for each run, whose coefficients are weights[k]."""
    if len(header.runs) != len(weights):
        raise InvalidData(f"it has {len(header.runs)} runs for {len(weights)} problems")
    ends = np.cumsum([0, *(run.records for run in header.runs)], dtype=object)
    table = take(arrays, "history", np.float64, (ends[-1], len(Record._fields)))
    return [
        runs.result_of(run, w, intercept, runs.records(table[start:end]))
        for run, w, start, end in zip(header.runs, weights, ends[:-1], ends[1:], strict=True)
    ]


def _classes(header: Stored, arrays: Arrays) -> npt.NDArray[Any] | None:
    if (header.label_type is None) is (header.estimator in _OF_CLASSES):
        raise InvalidData(f"its labels, {header.label_type}, are none for a {header.estimator}")
    return None if header.label_type is None else labels.restored(header.label_type, arrays)


def _names(header: Stored, arrays: Arrays) -> list[str] | None:
    if not header.named_features:
        return None
    names = labels.untext(arrays, "feature_names")
    if len(names) != header.n_features:
        raise InvalidData(f"it names {len(names)} features, but has {header.n_features}")
    return names
