"""The spectrum kernel on text (Leslie, Eskin and Noble 2002), as the explicit features it has."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from fenchel.errors import InvalidData
from fenchel.settings import whole


class Spectrum(TransformerMixin, BaseEstimator):
    """How often each k-mer, a run of k characters, occurs in a text; divided by the length of that.

    The product of two texts' features is the normalised spectrum kernel: the k-mers they share. All
    characters count, spaces and capitals too. Columns are the k-mers of the training texts, but a
    text is normalised by all it has, seen or not: its kernel with a training text is exact. (This
    is where `CountVectorizer` and `Normalizer` would differ.)

    The features are sparse, and linear models take them as they are. Where texts are long and their
    k-mers many, `IncompleteCholesky(kernel="linear")` or scikit-learn's `Nystroem(kernel="linear")`
    makes few and dense ones of them.

    Parameters
    ----------
    k : int, default=3
        How many characters.
    normalize : bool, default=True
        Whether every text has length 1, whatever its number of characters. A text of fewer than k
        has length 0.

    Attributes
    ----------
    vocabulary_ : dict of str to int
        The column of each k-mer; they are in order.

    Examples
    --------
    >>> from fenchel import Spectrum
    >>> features = Spectrum(k=2).fit(["banana", "cabana"])
    >>> features.get_feature_names_out()
    array(['ab', 'an', 'ba', 'ca', 'na'], dtype=object)
    >>> Phi = features.transform(["banana", "cabana"]).toarray()
    >>> (Phi @ Phi.T).round(3)
    array([[1.   , 0.745],
           [0.745, 1.   ]])
    """

    def __init__(self, k: int = 3, *, normalize: bool = True):
        self.k = k
        self.normalize = normalize

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        return tags

    def fit(self, X: Iterable[str], y: Any = None) -> Self:
        """Learns the k-mers of the texts; y is ignored."""
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Iterable[str], y: Any = None) -> sparse.csr_array:
        """The features of the texts whose k-mers are learnt; y is ignored."""
        counted = [Counter(kmers) for kmers in self._kmers(X)]
        known = sorted(set().union(*counted))
        if not known:
            raise InvalidData(
                f"no text has {self.k} characters, so there are no k-mers to learn: lower k"
            )
        self.vocabulary_ = {kmer: j for j, kmer in enumerate(known)}
        return self._features(counted)

    def transform(self, X: Iterable[str]) -> sparse.csr_array:
        """The features of the texts: a row for each."""
        check_is_fitted(self)
        return self._features([Counter(kmers) for kmers in self._kmers(X)])

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The k-mers; input_features is ignored, as a text has no columns."""
        check_is_fitted(self)
        return np.array(list(self.vocabulary_), dtype=object)

    def _kmers(self, X: Iterable[str]) -> Iterable[list[str]]:
        k = whole("k", self.k, least=1)
        if isinstance(X, str):
            raise InvalidData("X must be a collection of texts; got a single one: give [text]")
        for i, text in enumerate(X):
            if not isinstance(text, str):
                raise InvalidData(
                    f"X must hold texts; X[{i}] is {text!r:.80} of type {type(text).__name__}",
                    row=i,
                )
            yield [text[start : start + k] for start in range(len(text) - k + 1)]

    def _features(self, counted: list[Counter[str]]) -> sparse.csr_array:
        column = self.vocabulary_
        found = [
            sorted((column[kmer], c) for kmer, c in each.items() if kmer in column)
            for each in counted
        ]
        row_start = np.cumsum([0, *map(len, found)], dtype=np.int32)
        indices = np.fromiter((j for row in found for j, _ in row), dtype=np.int32)
        counts = np.fromiter((c for row in found for _, c in row), dtype=np.float64)
        if self.normalize:
            squares = [sum(c * c for c in each.values()) for each in counted]
            lengths = np.sqrt(np.maximum(squares, 1.0))
            counts /= np.repeat(lengths, np.diff(row_start))
        shape = (len(counted), len(column))
        return sparse.csr_array((counts, indices, row_start), shape=shape)
