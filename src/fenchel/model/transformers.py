"""The allow-list of transformers: what scikit-learn's classes and ours hold after `fit`.

A class is added here, with all that its `fit` sets and what each must be; tests hold every line to
the same laws.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.interpolate import BSpline
from sklearn import feature_selection
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import SelectKBest, SelectPercentile, VarianceThreshold
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)

from fenchel.features import IncompleteCholesky, Spectrum
from fenchel.model import laws
from fenchel.model.checks import (
    apart,
    array,
    columns,
    count,
    dtype,
    each,
    either,
    flag,
    instance,
    labels,
    maybe,
    number,
    numbers,
    one_of,
    places,
    sparse_rows,
    table,
    text,
    whole,
)
from fenchel.model.objects import Kind

_UFUNCS = (
    np.log1p, np.expm1, np.log, np.log2, np.log10, np.exp, np.exp2, np.sqrt, np.cbrt, np.square,
    np.absolute, np.sign, np.reciprocal, np.negative, np.floor, np.ceil, np.rint, np.tanh,
    np.arcsinh, np.sinh, np.sin, np.cos,
)  # fmt: skip
_SCORES = (
    feature_selection.f_classif,
    feature_selection.f_regression,
    feature_selection.chi2,
    feature_selection.mutual_info_classif,
    feature_selection.mutual_info_regression,
)
# The functions that a file may name.
FUNCTIONS: dict[str, Any] = {
    **{f"numpy.{function.__name__}": function for function in _UFUNCS},
    **{f"sklearn.{function.__name__}": function for function in _SCORES},
}

_one_to_one = {"scale_": numbers("n"), "n_samples_seen_": either(count, number, numbers("n"))}
_function = maybe(one_of(*_UFUNCS))
FUNCTION_OF_NUMBERS = {"func": _function, "inverse_func": _function}


_ENCODER = {
    "categories_": each(apart(array("categories")), "n"),
    "_infrequent_enabled": flag,
}
_GROUPED = {
    "_infrequent_indices": each(maybe(apart(whole("rare"))), "n"),
    "_default_to_infrequent_mappings": each(maybe(apart(whole("categories"))), "n"),
}
_VOCABULARY = {"vocabulary_": places, "fixed_vocabulary_": flag}
_REDUCED = {
    "components_": numbers("k", "n"),
    "explained_variance_": numbers("k"),
    "explained_variance_ratio_": numbers("k"),
    "singular_values_": numbers("k"),
}
_SELECTED = {"scores_": numbers("n")}
_SCORE = {"score_func": one_of(*_SCORES)}

_ALLOWED = (
    Kind(
        OneHotEncoder,
        {
            **_ENCODER,
            "drop_idx_": maybe(array("n")),
            "_drop_idx_after_grouping": maybe(array("n")),
            "_n_features_outs": each(count, "n"),
        },
        _GROUPED,
        {"feature_name_combiner": one_of("concat")},
        holds=laws.one_hot,
    ),
    Kind(
        OrdinalEncoder,
        {**_ENCODER, "_missing_indices": table(count, count)},
        _GROUPED,
        holds=laws.ordinal,
    ),
    Kind(
        TargetEncoder,
        {
            **_ENCODER,
            "target_type_": text,
            "classes_": maybe(labels),
            "target_mean_": either(number, numbers("classes")),
            "encodings_": each(apart(numbers("categories"))),
        },
        holds=laws.target,
    ),
    Kind(
        StandardScaler,
        {
            "mean_": maybe(numbers("n")),
            "var_": maybe(numbers("n")),
            "scale_": maybe(numbers("n")),
            "n_samples_seen_": either(number, numbers("n")),
        },
    ),
    Kind(
        MinMaxScaler,
        {
            **_one_to_one,
            "min_": numbers("n"),
            "data_min_": numbers("n"),
            "data_max_": numbers("n"),
            "data_range_": numbers("n"),
        },
    ),
    Kind(MaxAbsScaler, {**_one_to_one, "max_abs_": numbers("n")}),
    Kind(RobustScaler, {"center_": maybe(numbers("n")), "scale_": maybe(numbers("n"))}),
    Kind(Normalizer),
    Kind(Binarizer),
    Kind(PowerTransformer, {"lambdas_": numbers("n")}, {"_scaler": instance(StandardScaler)}),
    Kind(
        QuantileTransformer,
        {
            "n_quantiles_": count,
            "references_": numbers("quantiles"),
            "quantiles_": numbers("quantiles", "n"),
        },
    ),
    Kind(
        SimpleImputer,
        {
            "statistics_": array("n"),
            "indicator_": maybe(instance(MissingIndicator)),
            "_fit_dtype": dtype,
        },
        {"_fill_dtype": dtype},
    ),
    Kind(
        MissingIndicator,
        {"features_": columns("missing"), "_n_features": count, "_precomputed": flag},
    ),
    Kind(
        KBinsDiscretizer,
        {"bin_edges_": array("n"), "n_bins_": whole("n")},
        {"_encoder": instance(OneHotEncoder)},
        holds=laws.bins,
    ),
    Kind(
        SplineTransformer,
        {"bsplines_": each(instance(BSpline), "n"), "n_features_out_": count},
        holds=laws.splines,
    ),
    Kind(BSpline),
    Kind(
        PolynomialFeatures,
        {
            "n_output_features_": count,
            "_n_out_full": count,
            "_min_degree": count,
            "_max_degree": count,
        },
        holds=laws.polynomial,
    ),
    Kind(FunctionTransformer, parameters=FUNCTION_OF_NUMBERS),
    Kind(CountVectorizer, _VOCABULARY, valid=laws.vectorizer),
    Kind(
        TfidfVectorizer,
        _VOCABULARY,
        {"_tfidf": instance(TfidfTransformer)},
        valid=laws.vectorizer,
        holds=laws.tfidf,
    ),
    Kind(TfidfTransformer, optional={"idf_": numbers("n")}),
    Kind(HashingVectorizer, valid=laws.vectorizer),
    Kind(FeatureHasher),
    Kind(
        DictVectorizer,
        {"feature_names_": each(text), "vocabulary_": places},
        holds=laws.dictionary,
    ),
    Kind(SelectKBest, _SELECTED, {"pvalues_": maybe(numbers("n"))}, _SCORE),
    Kind(SelectPercentile, _SELECTED, {"pvalues_": maybe(numbers("n"))}, _SCORE),
    Kind(VarianceThreshold, {"variances_": numbers("n")}),
    Kind(TruncatedSVD, _REDUCED),
    Kind(
        PCA,
        {
            **_REDUCED,
            "mean_": numbers("n"),
            "noise_variance_": number,
            "n_samples_": count,
            "n_components_": count,
        },
        {"_fit_svd_solver": text},
    ),
    Kind(Spectrum, {"vocabulary_": places}),
    Kind(
        IncompleteCholesky,
        {
            "landmarks_": either(numbers("rank", "n"), sparse_rows("rank", "n")),
            "landmark_indices_": whole("rank"),
            "factor_": numbers("rank", "rank"),
            "rank_": count,
            "residual_": number,
        },
        holds=laws.kernel,
    ),
)
TRANSFORMERS: dict[str, Kind] = {kind.made.__name__: kind for kind in _ALLOWED}
