"""Our estimators with a penalised intercept, as liblinear has it.

liblinear gives each row one more column, of a constant a ("intercept_scaling"), and penalises its
weight v like all others. The intercept is then b = a v; the larger a, the less it is penalised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from fenchel.data.blocks import Blocks
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.errors import Incompatible
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.classifier import Classifier
from fenchel.estimators.declared import declared
from fenchel.estimators.regressor import Regressor
from fenchel.risks.base import Array


@declared
class Biased(LinearEstimator):
    """A linear model of rows with one more column.

    Parameters
    ----------
    bias : float, default=None
        What stands in that column; None for no such column.
    """

    bias: float | None = None

    def _rows(self, X: Any, *, reset: bool) -> SparseRows | DenseRows | Blocks:
        rows = super()._rows(X, reset=reset)
        return rows if self.bias is None else with_column(rows, self.bias)


@declared
class BiasedClassifier(Biased, Classifier):
    """A `Classifier` whose intercept may be penalised."""


@declared
class BiasedRegressor(Biased, Regressor):
    """A `Regressor` whose intercept may be penalised."""


def with_column(rows: SparseRows | DenseRows | Blocks, a: float) -> SparseRows | DenseRows:
    """A copy of the rows with one more column, in which stands a."""
    if isinstance(rows, Blocks):
        raise Incompatible(
            "rows kept elsewhere have no penalised intercept; use fenchel.Classifier"
        )
    X = rows.matrix()
    dtype = X.dtype if X.dtype.type(a) == a else np.dtype(np.float64)
    column = np.full((rows.n_rows, 1), a, dtype)
    if isinstance(rows, DenseRows):
        return DenseRows(np.hstack([X, column]))
    whole = sparse.hstack([X, sparse.csr_array(column)], format="csr")
    return SparseRows(whole.indptr.astype(np.int64), whole.indices, whole.data, whole.shape[1])


def lines(model: LinearEstimator) -> tuple[Array, Array]:
    """The coefficients of a fitted model in lines, and the intercept of each."""
    coef = np.atleast_2d(model.coef_)
    bias = getattr(model, "bias", None)
    if bias is None:
        return coef, np.array(model.intercept_, dtype=np.float64).reshape(-1)
    return np.ascontiguousarray(coef[:, :-1]), bias * coef[:, -1]


def joined(coef: Array, intercept: Array, bias: float | None) -> Array:
    """The coefficients of a model whose lines these are."""
    return coef if bias is None else np.column_stack([coef, intercept / bias])
