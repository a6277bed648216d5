"""Laws between the fitted attributes of a transformer, on which scikit-learn's loops rely.

An encoder or a vectorizer writes the columns of a sparse matrix as it finds them in its attributes,
and nobody after it tests whether the matrix has such columns. A file could say anything, so these
are tested once, when it is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.special import comb

from fenchel.features.kernels import kernel_of

_ENCODINGS = {
    "utf-8", "utf8", "utf-8-sig", "ascii", "latin-1", "latin1", "iso-8859-1", "iso-8859-15",
    "cp1252", "windows-1252", "utf-16", "utf-32",
}  # fmt: skip
_HIGHEST_DEGREE = 1000


def one_hot(encoder: Any) -> bool:
    """Columns are the groups of categories of each feature, without the one that is dropped."""
    groups = [*_groups(encoder)]
    dropped = encoder._drop_idx_after_grouping
    if dropped is None:
        dropped = [None] * len(groups)
    ranges = zip(dropped, groups, strict=True)
    if not all(k is None or (type(k) is int and 0 <= k < size) for k, size in ranges):
        return False
    left = [size - (k is not None) for size, k in zip(groups, dropped, strict=True)]
    return left == [int(width) for width in encoder._n_features_outs]


def ordinal(encoder: Any) -> bool:
    """Categories are grouped as they are said to be, and each feature has a missing one at most."""
    widths = [len(each) for each in encoder.categories_]
    missing = encoder._missing_indices
    return len([*_groups(encoder)]) == len(widths) and all(
        0 <= j < len(widths) and 0 <= k < widths[j] for j, k in missing.items()
    )


def target(encoder: Any) -> bool:
    """A number for each category, of each class if there are several."""
    times = len(encoder.classes_) if encoder.target_type_ == "multiclass" else 1
    widths = [len(each) for each in encoder.categories_ for _ in range(times)]
    return not encoder._infrequent_enabled and widths == [len(each) for each in encoder.encodings_]


def _groups(encoder: Any) -> Iterator[int]:
    """How many groups the categories of each feature make; ValueError if that is not clear."""
    missing = vars(encoder).get("_missing_indices", {})  # which are never grouped
    for j, categories in enumerate(encoder.categories_):
        size = len(categories) - (j in missing)
        rare, mapped = _rare(encoder, j)
        if rare is None and mapped is None:
            yield size
            continue
        frequent = np.setdiff1d(np.arange(size), rare)
        group = np.full(size, len(frequent))
        group[frequent] = np.arange(len(frequent))
        if not np.array_equal(group, mapped):
            raise ValueError("infrequent categories are not where they belong")
        yield len(frequent) + 1


def _rare(encoder: Any, j: int) -> tuple[Any, Any]:
    """The infrequent categories of a feature, and the group of each category."""
    if not encoder._infrequent_enabled:
        return None, None
    return encoder._infrequent_indices[j], encoder._default_to_infrequent_mappings[j]


def bins(discretizer: Any) -> bool:
    """As many bins as lie between the edges, which are in order, and a column for each."""
    widths = [len(edges) - 1 for edges in discretizer.bin_edges_]
    ordered = all((np.diff(edges) >= 0).all() for edges in discretizer.bin_edges_)
    if not ordered or widths != discretizer.n_bins_.tolist():
        return False
    encoder = vars(discretizer).get("_encoder")
    if encoder is None:
        return bool(discretizer.encode == "ordinal")
    return [len(each) for each in encoder.categories_] == widths


def splines(transformer: Any) -> bool:
    """One spline for each column, of the degree that the settings say."""
    degree, found = transformer.degree, transformer.bsplines_
    shapes = {(each.c.shape, each.k) for each in found}
    return len(found) == transformer.n_features_in_ and len(shapes) == 1 and found[0].k == degree


def polynomial(features: Any) -> bool:
    """The number of products is that of the degree and the columns."""
    degree = features.degree
    least, most = (int(each) for each in ((0, degree) if np.ndim(degree) == 0 else degree))
    if most > _HIGHEST_DEGREE or (features._min_degree, features._max_degree) != (least, most):
        return False
    given = features.n_features_in_, features.interaction_only
    width = _products(*given, least, most) + features.include_bias
    return bool(
        features.n_output_features_ == width
        and features._n_out_full == _products(*given, 0, most) + features.include_bias
    )


def _products(n: int, interaction_only: bool, least: int, most: int) -> int:
    """How many products of `least` to `most` of n numbers there are, the empty one apart."""
    degrees = range(max(1, least), (min(most, n) if interaction_only else most) + 1)
    ways = (comb(n if interaction_only else n + d - 1, d, exact=True) for d in degrees)
    return sum(int(each) for each in ways)


def vectorizer(transformer: Any) -> None:
    """Reads texts, and neither files nor codecs of other names; ValueError if not."""
    if transformer.input != "content":
        raise ValueError(f"input must be 'content', text itself; it is {transformer.input!r:.40}")
    if transformer.encoding.lower() not in _ENCODINGS:
        known = ", ".join(sorted(_ENCODINGS))
        raise ValueError(f"encoding must be one of {known}; it is {transformer.encoding!r:.40}")
    try:
        re.compile(transformer.token_pattern or "")
    except (re.error, OverflowError, RecursionError) as error:
        raise ValueError(f"token_pattern is no pattern: {error}") from error


def tfidf(transformer: Any) -> bool:
    """A frequency for each word, too."""
    inner, words = transformer._tfidf, vars(transformer).get("vocabulary_", {})
    idf = vars(inner).get("idf_")
    return idf is None or len(idf) == len(words)


def dictionary(transformer: Any) -> bool:
    """The columns are those of the names."""
    names = transformer.feature_names_
    return dict(transformer.vocabulary_) == {name: j for j, name in enumerate(names)}


def isotonic(calibrator: Any) -> bool:
    """The function grows, or falls, between its thresholds."""
    x, y = calibrator.X_thresholds_, calibrator.y_thresholds_
    return len(x) > 0 and bool((np.diff(x) >= 0).all() and np.isfinite(y).all())


def kernel(features: Any) -> bool:
    """The kernel is one of the library's own."""
    kernel_of(
        features.kernel, features.gamma, features.degree, features.coef0, features.n_features_in_
    )
    return isinstance(features.kernel, str) and features.rank_ == features.landmarks_.shape[0]
