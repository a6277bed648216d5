"""Large dense X that is mostly zeros is taken as the sparse matrix that it is."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel import _kernels
from fenchel.data.rows import DenseRows, SparseRows, compressed


def mostly_zeros(share: float, order: str = "C", dtype: type = np.float64) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 500)) * (rng.random((2100, 500)) < share)
    X[3], X[5, 7] = 0.0, -0.0
    return np.asarray(X, dtype=dtype, order=order)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_it_is_the_sparse_matrix_of_scipy(order: str, dtype: type) -> None:
    X = mostly_zeros(0.1, order, dtype)
    rows, expected = compressed(DenseRows(X), n_threads=2), sparse.csr_array(X)
    assert isinstance(rows, SparseRows) and rows.value.dtype == dtype
    assert np.array_equal(rows.row_start, expected.indptr)
    assert np.array_equal(rows.column, expected.indices)
    assert np.array_equal(rows.value, expected.data)


@pytest.mark.parametrize("X", [mostly_zeros(0.3), mostly_zeros(0.1)[:100]], ids=["full", "few"])
def test_rows_with_many_numbers_and_few_rows_stay_dense(X: np.ndarray) -> None:
    rows = DenseRows(X)
    assert compressed(rows) is rows


def test_zeros_that_only_a_sample_of_rows_has_are_counted_in_all() -> None:
    X = np.ones((3000, 500))
    X[::3] = 0.0  # every third row, which is the sample
    assert isinstance(compressed(DenseRows(X)), DenseRows)


def test_a_fit_has_the_bits_of_the_sparse_one_and_leaves_x_alone() -> None:
    X = mostly_zeros(0.1)
    y, before = np.sign(X[:, 0] + X[:, 1] + 0.1), X.copy()
    dense, given = (fenchel.Classifier(loss="logistic").fit(A, y) for A in (X, sparse.csr_array(X)))
    assert np.array_equal(dense.coef_, given.coef_)
    assert dense.lower_bound_ == given.lower_bound_
    assert np.array_equal(X, before)


def test_arrays_that_are_too_short_are_refused() -> None:
    X, start = mostly_zeros(0.1), np.empty(2101, np.int64)
    n = np.count_nonzero(X) - 1
    with pytest.raises(ValueError, match="room"):
        _kernels.dense_compress(X, start, np.empty(n, np.int32), np.empty(n))


def test_parts_of_sparse_rows_are_matrices_without_a_copy() -> None:
    X = sparse.csr_array(mostly_zeros(0.1))
    start = X.indptr.astype(np.int64)
    for i, j in ((0, 100), (300, 2100), (2100, 2100)):
        part = SparseRows(start[i : j + 1], X.indices, X.data, 500).matrix()
        assert i == j or np.shares_memory(part.data, X.data)
        assert i == j or np.shares_memory(part.indices, X.indices)
        np.testing.assert_array_equal(part.toarray(), X.toarray()[i:j])
        np.testing.assert_allclose(part.T @ np.ones(j - i), X.toarray()[i:j].sum(axis=0))
