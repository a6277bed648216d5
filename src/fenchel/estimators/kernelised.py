"""Models in the space of a kernel's features: w is a sum of training rows, each with a weight."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from fenchel.data.checked import as_array, unmasked
from fenchel.data.frames import columns as frame_columns
from fenchel.data.frames import is_frame
from fenchel.errors import Incompatible
from fenchel.estimators.base import WithIntercept
from fenchel.estimators.declared import declared
from fenchel.estimators.fitting import Fit, Posed, RowPairs
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.settings import in_these_words
from fenchel.kernel_options import check_options
from fenchel.kernel_posing import check_penalty
from fenchel.risks.base import Array

if TYPE_CHECKING:  # most models have no kernel
    from fenchel.features.choosing import KernelSettings

_NUMBERS = 1 << 21  # of kernel values that are computed at a time to predict: 16 MB


@declared
class WithKernel(WithIntercept):
    """A model that may be one of a kernel's features instead of the columns.

    Parameters
    ----------
    kernel : str, callable, kernel of texts or graphs, default=None
        None for a linear model of the columns. "rbf", "laplacian", "polynomial" (or "poly") and
        "linear"; "precomputed", where X is the matrix of k between the rows to predict and those of
        the fit; "spectrum", "mismatch", "subsequence" and "weisfeiler_lehman" of texts and graphs,
        or instances of `fenchel.SpectrumKernel` and so on; or a function of two matrices that gives
        k for all pairs of their rows, which must be positive semidefinite. The penalty is then the
        squared length of w among the features, alpha/2 ||w||^2 (docs/how-to/kernels.md).
    gamma : {"scale", "auto"} or float, default="scale"
        For "rbf", "laplacian" and "polynomial": "scale" is 1 / (n_features * X.var()), "auto"
        1 / n_features.
    degree : int, default=3
        For "polynomial".
    coef0 : float, default=0.0
        For "polynomial", >= 0.
    cache_size : float, default=200
        Megabytes of kernel values that a fit may keep.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        With a kernel: the rows of the fit that have a weight.
    support_vectors_ : array or list of n_support rows
        Those rows; of "precomputed" there are none.
    dual_coef_ : ndarray of shape (n_scores, n_support)
        Their weights: w = sum_j dual_coef_j phi(x_j). There is no coef_ then.
    """

    kernel: Any = None
    gamma: str | float = "scale"
    degree: int = 3
    coef0: float = 0.0
    cache_size: float = 200

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.kernel is not None:
            tags.input_tags.pairwise = self._kernel_settings.is_precomputed
            objects = self._kernel_settings.of_objects is not None
            tags.input_tags.two_d_array = not objects
            tags.input_tags.string = objects
        return tags

    @property
    def _kernel_settings(self) -> KernelSettings:
        from fenchel.features.choosing import KernelSettings

        return KernelSettings(self.kernel, self.gamma, self.degree, self.coef0, self.cache_size)

    @in_these_words()
    def _settings(self) -> Fit:
        check_options(self.gamma, self.degree, self.coef0, self.cache_size)
        if self.kernel is not None:
            self._kernel_settings.check()
            if self.lower is not None or self.upper is not None:
                raise Incompatible("with a kernel w has no coefficients to bound: leave them out")
            check_penalty("l2" if self.penalty == "l2" else self.penalty)
        return super()._settings()

    # From what was given to points, and from points to scores.

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """The rows; with a kernel, all their pairs."""
        if self.kernel is None or not reset:
            return super()._rows(X, reset=reset)
        gram, self._whole_kernel = self._kernel_settings.gram(self._given(X, reset=True))
        return RowPairs(gram)

    def _given(self, X: Any, *, reset: bool) -> Any:
        """X as a kernel takes it: its columns checked, or texts and graphs as they are."""
        if self._kernel_settings.of_objects is not None:
            if reset:
                self.n_features_in_ = 1
            return X
        if is_frame(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return frame_columns(X)[0]
        return validate_data(
            self,
            as_array("X", X) if isinstance(X, list | tuple) else unmasked("X", X),
            reset=reset,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
        )

    def _products(self, X: Any) -> Array:
        if self.kernel is None:
            return super()._products(X)
        check_is_fitted(self)
        given = self._given(X, reset=False)
        if self._kernel_settings.is_precomputed:
            K = np.asarray(given.toarray() if sparse.issparse(given) else given)
            return np.asarray(K[:, self.support_] @ self.dual_coef_.T)
        return self._by_blocks(given)

    def _by_blocks(self, given: Any) -> Array:
        """K dual_coef', for some of the rows at a time."""
        fitted, n = self._support_kernel_, len(self.support_)
        points = fitted.new(given)
        found = np.zeros((len(points.squares), len(self.dual_coef_)))
        step = max(1, _NUMBERS // max(n, 1))
        for start in range(0, len(found) if n else 0, step):
            rows = slice(start, start + step)
            found[rows] = fitted.kernel.block(points.take(rows), fitted.points) @ self.dual_coef_.T
        return found

    # What was learnt, and in a file and back.

    def _fit(self, posed: Posed, eval_set: Any = None) -> Self:
        """All rows of the fit are forgotten at its end, but for those that have a weight."""
        try:
            return super()._fit(posed, eval_set)
        finally:
            if hasattr(self, "_whole_kernel"):
                del self._whole_kernel

    def _learn(self, coef: Array, intercept: Any) -> None:
        """With a kernel, the rows that have a weight are kept."""
        if self.kernel is None:
            super()._learn(coef, intercept)
            return
        lines = np.atleast_2d(coef)
        self.support_ = np.flatnonzero(np.any(lines, axis=0))
        self.dual_coef_, self.intercept_ = lines[:, self.support_], intercept
        self.shape_fit_ = (lines.shape[1], self.n_features_in_)
        whole = self._whole_kernel
        self.gamma_ = whole.gamma
        if not self._kernel_settings.is_precomputed:
            self.support_vectors_ = whole.rows(self.support_)
            self._support_kernel_ = self._kernel_settings.refitted(
                self.support_vectors_, self.gamma_
            )

    def _starts(self, shape: tuple[int, int]) -> list[Array | None]:
        """With a kernel and warm_start, the weights of the last fit, if it had as many rows."""
        if self.kernel is None:
            return super()._starts(shape)
        last = getattr(self, "dual_coef_", None) if self.warm_start else None
        if last is None or len(last) != shape[0] or self.shape_fit_[0] != shape[1]:
            return [None] * shape[0]
        whole = np.zeros(shape)
        whole[:, self.support_] = last
        return list(whole)

    def _state(self) -> State:
        if self.kernel is None:
            return super()._state()
        from fenchel.estimators.support_rows import stored_rows

        rows = self.support_vectors_ if not self._kernel_settings.is_precomputed else None
        more = stored_rows(self.support_, self.shape_fit_[0], rows, self.gamma_)
        return State(
            coef=np.asarray(self.dual_coef_, dtype=np.float64),
            intercept=np.array(self.intercept_, dtype=np.float64).reshape(-1),
            results=self.result_ if isinstance(self.result_, list) else [self.result_],
            classes=getattr(self, "classes_", None),
            more=more,
        )

    def _restored_lines(
        self, saved: Saved, shape: tuple[int, int], *, together: bool = False
    ) -> tuple[Array, Array]:
        """With a kernel, the weights of the support rows in place of those of columns."""
        if self.kernel is None:
            return super()._restored_lines(saved, shape, together=together)
        from fenchel.estimators.support_rows import restored_rows

        found = restored_rows(saved, self._kernel_settings, self.n_features_in_)
        self.support_, self.shape_fit_ = found.support, (found.n_rows, self.n_features_in_)
        self.gamma_ = found.gamma
        if found.rows is not None:
            self.support_vectors_ = found.rows
            self._support_kernel_ = self._kernel_settings.refitted(found.rows, found.gamma)
        width = (shape[0], len(found.support))
        coef, intercept = super()._restored_lines(saved, width, together=together)
        return coef, intercept

    def _adopt_restored(self, coef: Array, intercept: Any) -> None:
        """Takes over what a file has; rows and their kernel are there already."""
        if self.kernel is None:
            super()._adopt_restored(coef, intercept)
        else:
            self.dual_coef_, self.intercept_ = np.atleast_2d(coef), intercept
