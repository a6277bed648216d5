"""Fitted transformers and pipelines of every kind that a file may hold, and data for them."""

import numpy as np
import pandas as pd
import polars as pl
from scipy import sparse
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer, TransformedTargetRegressor, make_column_selector
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_extraction import DictVectorizer, FeatureHasher
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.feature_selection import (
    SelectKBest,
    SelectPercentile,
    VarianceThreshold,
    chi2,
    f_regression,
)
from sklearn.frozen import FrozenEstimator
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier, MultiOutputRegressor
from sklearn.pipeline import FeatureUnion, make_pipeline, make_union
from sklearn.preprocessing import (
    Binarizer,
    FunctionTransformer,
    KBinsDiscretizer,
    LabelBinarizer,
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

import fenchel.sklearn as dropin
from fenchel import (
    Classifier,
    ClassifierCV,
    IncompleteCholesky,
    PoissonRegressor,
    QuantileRegressor,
    Regressor,
    Spectrum,
)

_RNG = np.random.default_rng(11)
_N = 60
NUMBERS = _RNG.normal(size=(_N, 4))
POSITIVE = np.abs(NUMBERS)
SINGLE = NUMBERS.astype(np.float32)
SPARSE = sparse.csr_array(np.where(POSITIVE > 0.7, POSITIVE, 0))
HOLES = np.where(_RNG.random((_N, 4)) < 0.2, np.nan, NUMBERS)
TWO = (NUMBERS[:, 0] > 0).astype(np.int64)
THREE = np.array(["low", "mid", "high"])[np.digitize(NUMBERS[:, 1], [-0.5, 0.5])]
REAL = NUMBERS @ [1.0, -1.0, 0.5, 0.0]
FRAME = pd.DataFrame(
    {
        "age": HOLES[:, 0],
        "income": POSITIVE[:, 1],
        "city": _RNG.choice(["Oslo", "São Paulo", None], _N),
        "plan": _RNG.choice(["a", "b", "c"], _N, p=[0.6, 0.35, 0.05]),
        "kids": _RNG.integers(0, 4, _N),
        "owner": _RNG.random(_N) < 0.5,
    }
)
POLARS = pl.from_pandas(FRAME)
WORDS = FRAME[["city", "plan"]].astype(object)
CODES = FRAME[["kids"]].to_numpy()
TEXTS = [
    f"{a} {b}, the naïve {c}"
    for a, b, c in _RNG.choice(["cat", "dog", "ÿak", "ant", "bee"], (_N, 3)).tolist()
]
DICTS = [{"word": text.split()[0], "length": len(text), "the": True} for text in TEXTS]


def _columns(words=("city", "plan"), remainder="drop"):
    numbers = make_pipeline(SimpleImputer(strategy="median", add_indicator=True), StandardScaler())
    encoder = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="none"),
        OneHotEncoder(handle_unknown="ignore"),
    )
    return ColumnTransformer(
        [
            ("numbers", numbers, ["age", "income"]),
            ("words", encoder, words if callable(words) else list(words)),
            ("log", FunctionTransformer(np.log1p, feature_names_out="one-to-one"), ["income"]),
            ("bins", KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), ["income"]),
            ("same", "passthrough", slice(4, 5)),
        ],
        remainder=remainder,
    )


# name: (what is fitted, X, y)
TRANSFORMERS = {
    "one-hot": (OneHotEncoder(handle_unknown="ignore"), WORDS, None),
    "one-hot-dense": (OneHotEncoder(sparse_output=False, dtype=np.float32), WORDS, None),
    "one-hot-drop": (OneHotEncoder(drop="first"), WORDS, None),
    "one-hot-drop-binary": (OneHotEncoder(drop="if_binary"), FRAME[["plan", "owner"]], None),
    "one-hot-rare": (
        OneHotEncoder(min_frequency=0.2, handle_unknown="infrequent_if_exist", drop="first"),
        WORDS,
        None,
    ),
    "one-hot-given": (OneHotEncoder(categories=[[0, 1, 2, 3, 9]]), CODES, None),
    "one-hot-text": (OneHotEncoder(), np.array([[text[:3]] for text in TEXTS]), None),
    "one-hot-polars": (OneHotEncoder(), POLARS[["plan", "kids", "owner"]], None),
    "ordinal": (OrdinalEncoder(), WORDS, None),
    "ordinal-unknown": (
        OrdinalEncoder(
            handle_unknown="use_encoded_value",
            unknown_value=-1,
            max_categories=2,
            dtype=np.int32,
            encoded_missing_value=-2,
        ),
        WORDS,
        None,
    ),
    "target": (TargetEncoder(), WORDS, TWO),
    "target-classes": (TargetEncoder(target_type="multiclass"), WORDS, THREE),
    "target-real": (TargetEncoder(smooth=2.0), WORDS, REAL),
    "standard": (StandardScaler(), NUMBERS, None),
    "standard-single": (StandardScaler(), SINGLE, None),
    "standard-holes": (StandardScaler(with_mean=False), HOLES, None),
    "standard-sparse": (StandardScaler(with_mean=False), SPARSE, None),
    "standard-off": (StandardScaler(with_mean=False, with_std=False), NUMBERS, None),
    "standard-pandas": (
        StandardScaler().set_output(transform="pandas"),
        FRAME[["age", "income"]],
        None,
    ),
    "min-max": (MinMaxScaler(feature_range=(-1, 2), clip=True), NUMBERS, None),
    "max-abs": (MaxAbsScaler(), SPARSE, None),
    "robust": (RobustScaler(quantile_range=(10.0, 80.0)), NUMBERS, None),
    "robust-half": (RobustScaler(with_centering=False), SPARSE, None),
    "normalizer": (Normalizer("l1"), NUMBERS, None),
    "binarizer": (Binarizer(threshold=0.3), NUMBERS, None),
    "power": (PowerTransformer(), NUMBERS, None),
    "power-raw": (PowerTransformer("box-cox", standardize=False), POSITIVE, None),
    "quantile": (QuantileTransformer(n_quantiles=10, output_distribution="normal"), NUMBERS, None),
    "imputer": (SimpleImputer(), HOLES, None),
    "imputer-indicator": (SimpleImputer(strategy="median", add_indicator=True), HOLES, None),
    "imputer-words": (SimpleImputer(strategy="most_frequent"), WORDS, None),
    "imputer-none": (
        SimpleImputer(missing_values=None, strategy="constant", fill_value="?"),
        WORDS.where(WORDS.notna(), None).to_numpy(),
        None,
    ),
    "imputer-zeros": (SimpleImputer(missing_values=0, strategy="mean"), CODES, None),
    "indicator": (MissingIndicator(), HOLES, None),
    "indicator-all": (MissingIndicator(features="all", sparse=True), HOLES, None),
    "bins": (KBinsDiscretizer(4, quantile_method="averaged_inverted_cdf"), NUMBERS, None),
    "bins-ordinal": (KBinsDiscretizer(3, encode="ordinal", strategy="uniform"), NUMBERS, None),
    "bins-dense": (
        KBinsDiscretizer([2, 3, 4, 5], encode="onehot-dense", strategy="kmeans"),
        NUMBERS,
        None,
    ),
    "splines": (SplineTransformer(), NUMBERS, None),
    "splines-periodic": (SplineTransformer(extrapolation="periodic", degree=2), NUMBERS, None),
    "splines-sparse": (SplineTransformer(sparse_output=True, include_bias=False), NUMBERS, None),
    "splines-linear": (SplineTransformer(extrapolation="linear", knots="quantile"), NUMBERS, None),
    "polynomial": (PolynomialFeatures(3, include_bias=False), NUMBERS, None),
    "polynomial-range": (PolynomialFeatures((2, 3), interaction_only=True), NUMBERS, None),
    "polynomial-sparse": (PolynomialFeatures(2), SPARSE, None),
    "function": (FunctionTransformer(np.log1p, np.expm1, check_inverse=False), POSITIVE, None),
    "function-none": (FunctionTransformer(), NUMBERS, None),
    "counts": (CountVectorizer(ngram_range=(1, 2), strip_accents="unicode"), TEXTS, None),
    "counts-few": (CountVectorizer(max_features=5, stop_words="english"), TEXTS, None),
    "counts-letters": (CountVectorizer(analyzer="char_wb", binary=True), TEXTS, None),
    "counts-given": (CountVectorizer(vocabulary=["cat", "dog"], stop_words=["the"]), TEXTS, None),
    "tfidf": (TfidfVectorizer(sublinear_tf=True, token_pattern=r"[^ ]+"), TEXTS, None),
    "tfidf-single": (TfidfVectorizer(use_idf=False, dtype=np.float32), TEXTS, None),
    "tfidf-after": (make_pipeline(CountVectorizer(), TfidfTransformer()), TEXTS, None),
    "hashing": (HashingVectorizer(n_features=64, alternate_sign=False), TEXTS, None),
    "hasher": (FeatureHasher(32), DICTS, None),
    "dicts": (DictVectorizer(), DICTS, None),
    "dicts-dense": (DictVectorizer(sparse=False, dtype=np.float32, separator=":"), DICTS, None),
    "best": (SelectKBest(k=2), NUMBERS, TWO),
    "best-real": (SelectKBest(f_regression, k=1), NUMBERS, REAL),
    "percentile": (SelectPercentile(chi2, percentile=50), SPARSE, TWO),
    "variance": (VarianceThreshold(0.9), NUMBERS, None),
    "svd": (TruncatedSVD(2, random_state=0), SPARSE, None),
    "pca": (PCA(2, whiten=True), NUMBERS, None),
    "pca-single": (PCA(svd_solver="full"), SINGLE, None),
    "pca-share": (PCA(0.9), NUMBERS, None),
    "cholesky": (IncompleteCholesky(rank=10, gamma=0.5), NUMBERS, None),
    "cholesky-sparse": (IncompleteCholesky("polynomial", rank=8, degree=2), SPARSE, None),
    "spectrum": (Spectrum(k=2), TEXTS, None),
    "labels": (LabelBinarizer(), THREE, None),
    "union": (make_union(StandardScaler(), PCA(2), "passthrough"), NUMBERS, None),
    "union-weights": (
        FeatureUnion(
            [("text", CountVectorizer()), ("none", "drop"), ("kmers", Spectrum())],
            transformer_weights={"text": 2.0},
        ),
        TEXTS,
        None,
    ),
    "columns": (_columns(make_column_selector("city|plan")), FRAME, None),
    "columns-rest": (_columns(remainder="passthrough").set_params(sparse_threshold=0), FRAME, None),
    "columns-scaled-rest": (
        ColumnTransformer(
            [("one", MinMaxScaler(), [0]), ("mask", MaxAbsScaler(), [False, True, False, False])],
            remainder=RobustScaler(),
            transformer_weights={"one": 0.5},
        ),
        NUMBERS,
        None,
    ),
    "columns-index": (
        ColumnTransformer(
            [("a", StandardScaler(), FRAME.columns[:1]), ("b", OneHotEncoder(), ["plan"])]
        ).set_output(transform="default"),
        FRAME,
        None,
    ),
    "columns-text": (
        ColumnTransformer([("text", TfidfVectorizer(), "text"), ("n", "passthrough", ["n"])]),
        pd.DataFrame({"text": TEXTS, "n": REAL}),
        None,
    ),
    "columns-polars": (
        ColumnTransformer(
            [("n", SimpleImputer(), ["age"]), ("w", OneHotEncoder(sparse_output=False), ["plan"])]
        ).set_output(transform="polars"),
        POLARS,
        None,
    ),
}


def _logistic(**settings):
    return Classifier(loss="logistic", alpha=1e-2, **settings)


ESTIMATORS = {
    "frame": (make_pipeline(_columns(), _logistic()), FRAME, THREE),
    "frame-hinge": (make_pipeline(_columns(), Classifier(alpha=1e-2)), FRAME, TWO),
    "polars": (make_pipeline(_columns(), Regressor(alpha=1e-2)), POLARS, REAL),
    "counts": (make_pipeline(_columns(), PoissonRegressor(alpha=1e-2)), FRAME, CODES[:, 0]),
    "text": (make_pipeline(TfidfVectorizer(), _logistic()), TEXTS, THREE),
    "kernel": (make_pipeline(IncompleteCholesky(rank=9), Classifier()), NUMBERS, TWO),
    "quantile": (
        make_pipeline(PolynomialFeatures(2), QuantileRegressor(alpha=1e-2)),
        NUMBERS,
        REAL,
    ),
    "calibrated": (CalibratedClassifierCV(Classifier(alpha=1e-2), cv=3), NUMBERS, THREE),
    "calibrated-isotonic": (
        CalibratedClassifierCV(
            make_pipeline(StandardScaler(), Classifier(alpha=1e-2)), method="isotonic", cv=3
        ),
        NUMBERS,
        TWO,
    ),
    "calibrated-temperature": (
        CalibratedClassifierCV(_logistic(), method="temperature", cv=3),
        NUMBERS,
        THREE,
    ),
    "calibrated-frozen": (
        CalibratedClassifierCV(FrozenEstimator(Classifier(alpha=1e-2).fit(NUMBERS, TWO))),
        NUMBERS,
        TWO,
    ),
    "one-vs-rest": (OneVsRestClassifier(make_pipeline(PCA(3), _logistic())), NUMBERS, THREE),
    "one-vs-rest-sets": (
        OneVsRestClassifier(_logistic()),
        NUMBERS,
        np.column_stack([TWO, 1 - TWO, np.roll(TWO, 3)]),
    ),
    "one-vs-rest-always": (
        OneVsRestClassifier(_logistic()),
        NUMBERS,
        np.column_stack([TWO, np.ones_like(TWO)]),
    ),
    "targets": (MultiOutputRegressor(Regressor(alpha=1e-2)), NUMBERS, np.c_[REAL, -REAL]),
    "labels": (MultiOutputClassifier(_logistic()), NUMBERS, np.column_stack([TWO, THREE])),
    "log-target": (
        TransformedTargetRegressor(
            make_pipeline(StandardScaler(), Regressor(alpha=1e-2)), func=np.log, inverse_func=np.exp
        ),
        NUMBERS,
        np.exp(REAL),
    ),
    "scaled-target": (
        TransformedTargetRegressor(Regressor(alpha=1e-2), transformer=StandardScaler()),
        NUMBERS,
        REAL,
    ),
    "search": (
        GridSearchCV(
            make_pipeline(StandardScaler(), _logistic()), {"classifier__alpha": [0.1, 0.01]}, cv=2
        ),
        NUMBERS,
        THREE,
    ),
    "drop-in": (
        make_pipeline(StandardScaler(), dropin.LogisticRegression()),
        NUMBERS,
        THREE,
    ),
    "drop-in-search": (make_pipeline(StandardScaler(), dropin.LassoCV(cv=2)), NUMBERS, REAL),
    "one-vs-rest-drop-in": (OneVsRestClassifier(dropin.LinearSVC()), NUMBERS, THREE),
    "cross-validated": (make_pipeline(MinMaxScaler(), ClassifierCV(cv=2)), NUMBERS, TWO),
}


def answers(model, X):
    """What a fitted model says of X, by the name of each method that it has."""
    names = ("transform", "predict", "predict_proba", "decision_function")
    return {name: plain(getattr(model, name)(X)) for name in names if hasattr(model, name)}


def plain(answer):
    """An answer as values that == compares to the bit, with its types."""
    if sparse.issparse(answer):
        parts = [plain(part) for part in (answer.data, answer.indices, answer.indptr)]
        return type(answer), answer.shape, *parts
    if isinstance(answer, list):
        return [plain(each) for each in answer]
    if isinstance(answer, np.ndarray) and answer.dtype.kind in "OU":
        return answer.dtype.kind, repr(answer.tolist())
    if isinstance(answer, np.ndarray):
        return answer.dtype, answer.shape, answer.tobytes()
    return type(answer), list(answer.columns), plain(answer.to_numpy())
