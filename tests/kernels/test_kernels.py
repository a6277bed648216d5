"""The native products equal NumPy's and SciPy's, for every storage, and stay in their arrays."""

from dataclasses import replace

import numpy as np
import pytest
from catalogue import LOSSES, ids, labels_for
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import fenchel
from fenchel import _kernels, losses, regularizers
from fenchel.data.checked import checked_matrix
from fenchel.data.classes import Targets
from fenchel.data.rows import DenseRows, SparseRows
from fenchel.data.shards import cut
from fenchel.engines import Serial
from fenchel.losses.scalar_rows import twin
from fenchel.posing import posed

# Around the unrolled loops: 4 and 8 elements, 4 lines together and 4 more prefetched.
SMALL = [1, 2, 3, 4, 5, 7, 8, 9, 12, 15, 16, 17]
DTYPES = pytest.mark.parametrize("dtype", [np.float32, np.float64])
INDICES = pytest.mark.parametrize("index", [np.int32, np.int64])


def sparse_rows(X, index=np.int64):
    return SparseRows(
        X.indptr.astype(np.int64), X.indices.astype(index), np.ascontiguousarray(X.data), X.shape[1]
    )


def random_csr(rng, n, d, density=0.3, dtype=np.float64):
    dense = rng.normal(size=(n, d)) * (rng.uniform(size=(n, d)) < density)
    return sparse.csr_array(dense.astype(dtype))


def with_row_lengths(rng, lengths, d, dtype=np.float64):
    """CSR rows of given lengths, columns in any order; a column may repeat."""
    row_start = np.concatenate([[0], np.cumsum(lengths)])
    column, value = rng.integers(0, d, size=row_start[-1]), rng.normal(size=row_start[-1])
    return sparse.csr_array((value.astype(dtype), column, row_start), shape=(len(lengths), d))


def assert_equal_products(rows, X, rng, loss=None):
    """scores, adjoint and evaluate of `rows` against plain products with X."""
    X = X.astype(np.float64)
    size = magnitude(X)
    w, a = rng.normal(size=X.shape[1]), rng.normal(size=X.shape[0])
    a[rng.uniform(size=len(a)) < 0.3] = 0.0
    assert_close(rows.scores(w), X @ w, size @ abs(w))
    assert_close(rows.adjoint(a), X.T @ a, size.T @ abs(a))
    loss = losses.SquaredError() if loss is None else loss
    y, s = labels_for(loss, rng, X.shape[0]), rng.uniform(size=X.shape[0])
    s[rng.uniform(size=len(s)) < 0.2] = 0.0
    for weights in (None, s):
        value, g, z = rows.evaluate(twin(loss), y, weights, w)
        factor = 1.0 if weights is None else weights
        slopes = factor * loss.slope(z, y)
        assert_close(z, X @ w, size @ abs(w))
        assert value == pytest.approx(np.sum(factor * loss.value(z, y)), rel=1e-12, abs=1e-300)
        assert_close(g, X.T @ slopes, size.T @ abs(slopes))


def magnitude(X):
    """|X| entry by entry; entries of one place are not added up first, as abs() would."""
    if not sparse.issparse(X):
        return np.abs(X)
    return sparse.csr_array((np.abs(X.data), X.indices, X.indptr), shape=X.shape)


def assert_close(mine, theirs, scale):
    """Equal up to the round-off of sums whose terms add up to `scale` in magnitude."""
    assert mine.shape == theirs.shape and mine.dtype == np.float64
    assert np.all(np.abs(mine - theirs) <= 1e-13 * scale)


@INDICES
@DTYPES
@pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (40, 7), (7, 40), (3, 500), (500, 3)])
def test_sparse_products(shape, dtype, index):
    rng = np.random.default_rng(0)
    X = random_csr(rng, *shape, dtype=dtype)
    assert_equal_products(sparse_rows(X, index), X, rng)


@INDICES
@DTYPES
def test_sparse_rows_of_every_length_around_the_unrolled_loops(dtype, index):
    rng = np.random.default_rng(0)
    X = with_row_lengths(rng, [*range(20), 0, 0, 8, 16, 0], 30, dtype)
    assert_equal_products(sparse_rows(X, index), X, rng)


@pytest.mark.parametrize("total", [383, 384, 385, 391, 392, 393, 768, 800])
def test_sparse_shards_around_the_prefetch_distance(total):
    rng = np.random.default_rng(0)
    lengths = [8, *[16] * ((total - 8) // 16), (total - 8) % 16]
    X = with_row_lengths(rng, lengths, 50)
    assert_equal_products(sparse_rows(X), X, rng)


def test_sparse_shards_larger_than_a_block():
    rng = np.random.default_rng(0)
    X = with_row_lengths(rng, [1000, *[700] * 1500, 0, *[1001] * 100], 300)
    assert X.nnz > 1 << 20
    assert_equal_products(sparse_rows(X), X, rng)


def test_a_single_sparse_row_larger_than_a_block():
    rng = np.random.default_rng(0)
    X = with_row_lengths(rng, [0, (1 << 20) + 3, 2, 5], 100)
    assert_equal_products(sparse_rows(X), X, rng)


def test_a_block_that_ends_exactly_at_a_row():
    rng = np.random.default_rng(0)
    X = with_row_lengths(rng, [*[1 << 10] * (1 << 10), 1, 0, 3], 64)
    assert_equal_products(sparse_rows(X), X, rng)


def test_a_matrix_of_empty_rows():
    rng = np.random.default_rng(0)
    X = sparse.csr_array((5, 3))
    assert_equal_products(sparse_rows(X), X, rng)


@INDICES
@DTYPES
def test_columns_may_be_unsorted(dtype, index):
    rng = np.random.default_rng(0)
    X = random_csr(rng, 30, 20, 0.5, dtype)
    shuffled = X.copy()
    for i in range(30):
        row = slice(X.indptr[i], X.indptr[i + 1])
        order = rng.permutation(X.indptr[i + 1] - X.indptr[i])
        shuffled.indices[row], shuffled.data[row] = X.indices[row][order], X.data[row][order]
    assert_equal_products(sparse_rows(shuffled, index), X, rng)


@DTYPES
@pytest.mark.parametrize(("first", "last"), [(0, 1), (3, 4), (5, 40), (39, 40), (11, 29)])
def test_a_slice_that_starts_at_an_offset_is_those_rows(first, last, dtype):
    rng = np.random.default_rng(0)
    X = random_csr(rng, 40, 11, 0.6, dtype)
    whole = sparse_rows(X)
    part = SparseRows(whole.row_start[first : last + 1], whole.column, whole.value, 11)
    assert_equal_products(part, X[first:last], rng)
    assert (part.matrix() != X[first:last]).nnz == 0


def test_entries_beyond_the_range_of_32_bits_are_read(tmp_path):
    """Their files have holes where nobody looks: 17 GB of them, and a few blocks on disk."""
    rng, beyond = np.random.default_rng(0), 2**31 + 5
    X = random_csr(rng, 60, 9, 0.5, np.float32)
    arrays = []
    for name, part in (("column", X.indices.astype(np.int32)), ("value", X.data)):
        array = np.memmap(tmp_path / name, part.dtype, "w+", shape=(beyond + X.nnz,))
        array[beyond:] = part
        arrays.append(array)
    rows = SparseRows(beyond + X.indptr.astype(np.int64), *arrays, 9)
    assert_equal_products(rows, X, rng)
    assert (rows.matrix() != X).nnz == 0
    y = np.sign(rng.standard_normal(60))
    problem = {"loss": losses.Hinge(), "regularizer": regularizers.L2(), "strength": 0.1}
    one, other = (
        fenchel.minimize(
            posed(each, Targets(y), None, intercept=True, engine=Serial(), **problem), gap=1e-6
        )
        for each in (rows, sparse_rows(X))
    )
    assert np.array_equal(one.w, other.w) and one.converged
    spread = SparseRows(np.array([0, 2**31, *rows.row_start]), *arrays, 9)
    shards = cut(spread, np.zeros(62), None)
    assert sum(shard.rows.n_rows for shard in shards) == 62
    assert sum(shard.rows.n_numbers for shard in shards) == beyond + X.nnz


@DTYPES
@pytest.mark.parametrize("order", ["C", "F"])
def test_dense_products_around_the_unrolled_loops(order, dtype):
    rng = np.random.default_rng(0)
    for n in SMALL:
        for d in SMALL:
            X = np.asarray(rng.normal(size=(n, d)), dtype=dtype, order=order)
            assert_equal_products(DenseRows(X), X, rng)


@DTYPES
@pytest.mark.parametrize(
    ("shape", "order"),
    [
        *[((n, 3), "C") for n in (511, 512, 513, 1024, 1025)],
        *[((n, 700), "C") for n in (4, 5, 8, 9)],
        ((3, 5000), "C"),
        *[((n, 2), "F") for n in (4095, 4096, 4097)],
        *[((n, 900), "F") for n in (127, 128, 129, 257)],
        ((3, 5000), "F"),
    ],
    ids=str,
)
def test_dense_products_around_the_block_sizes(shape, order, dtype):
    rng = np.random.default_rng(0)
    X = np.asarray(rng.normal(size=shape), dtype=dtype, order=order)
    assert_equal_products(DenseRows(X), X, rng)


@DTYPES
@pytest.mark.parametrize(
    "view",
    [
        lambda X: X[::2],
        lambda X: X[::-1],
        lambda X: X[:, 3:16],
        lambda X: X[5:, :1],
        lambda X: X[7:8],
        lambda X: X.T,
        lambda X: X.T[:, ::2],
        lambda X: X.T[:, ::-1],
        lambda X: X.T[4:11],
        lambda X: np.broadcast_to(X[0], (9, X.shape[1])),
        lambda X: np.broadcast_to(X[:, :1].copy(), (X.shape[0], 6)),
    ],
    ids=[
        "every-other-row",
        "rows-backwards",
        "columns-within",
        "one-column",
        "one-row",
        "transposed",
        "transposed-every-other-column",
        "transposed-columns-backwards",
        "transposed-rows-within",
        "one-row-repeated",
        "one-column-repeated",
    ],
)
def test_dense_views_are_read_in_place(view, dtype):
    rng = np.random.default_rng(0)
    X = view(rng.normal(size=(33, 19)).astype(dtype))
    assert_equal_products(DenseRows(X), np.array(X), rng)


@pytest.mark.parametrize("loss", LOSSES, ids=ids)
def test_evaluate_is_scores_then_slopes_then_adjoint(loss):
    rng = np.random.default_rng(0)
    X = random_csr(rng, 60, 5, 0.5)
    assert_equal_products(sparse_rows(X), X, rng, loss)
    for order in "CF":
        assert_equal_products(DenseRows(np.asarray(X.todense(), order=order)), X, rng, loss)


@given(
    n=st.integers(1, 40),
    d=st.integers(1, 40),
    density=st.floats(0.0, 1.0),
    first=st.integers(0, 39),
    dtype=st.sampled_from([np.float32, np.float64]),
    index=st.sampled_from([np.int32, np.int64]),
    seed=st.integers(0, 1000),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_any_shape_and_any_slice(n, d, density, first, dtype, index, seed):
    rng = np.random.default_rng(seed)
    X = random_csr(rng, n, d, density, dtype)
    whole, first = sparse_rows(X, index), min(first, n - 1)
    part = SparseRows(whole.row_start[first:], whole.column, whole.value, d)
    assert_equal_products(part, X[first:], rng)
    dense = np.asarray(X.todense())
    assert_equal_products(DenseRows(dense[first:]), dense[first:], rng)
    assert_equal_products(DenseRows(np.asfortranarray(dense)[first:]), dense[first:], rng)


@DTYPES
def test_adjoint_adds_to_what_is_there(dtype):
    rng = np.random.default_rng(0)
    X, a, g = rng.normal(size=(9, 6)).astype(dtype), rng.normal(size=9), rng.normal(size=6)
    rows, dense, summed = sparse_rows(sparse.csr_array(X)), g.copy(), g.copy()
    _kernels.dense_adjoint(X, a, dense)
    _kernels.csr_adjoint(rows.row_start, rows.column, rows.value, a, summed)
    assert np.allclose(dense, g + X.T.astype(float) @ a, rtol=1e-12)
    assert np.allclose(summed, g + X.T.astype(float) @ a, rtol=1e-12)


def both_storages():
    X = random_csr(np.random.default_rng(0), 6, 5, 0.9)
    dense = np.asarray(X.todense())
    return [sparse_rows(X), DenseRows(dense), DenseRows(np.asfortranarray(dense))]


@pytest.mark.parametrize("wrong", [-1, 1])
@pytest.mark.parametrize("rows", both_storages(), ids=["sparse", "C", "F"])
def test_vectors_of_the_wrong_length_are_refused(rows, wrong):
    hinge, y, w = _kernels.Loss("hinge", 0.0), np.ones(6), np.ones(5)
    with pytest.raises(ValueError, match="length"):
        rows.adjoint(np.ones(6 + wrong))
    with pytest.raises(ValueError, match="length"):
        rows.evaluate(hinge, np.ones(6 + wrong), None, w)
    with pytest.raises(ValueError, match="length"):
        rows.evaluate(hinge, y, np.ones(6 + wrong), w)
    with pytest.raises(ValueError, match="length"):
        rows.evaluate(hinge, y, None, np.ones(5 + wrong))


@pytest.mark.parametrize("wrong", [-1, 1])
@pytest.mark.parametrize("rows", both_storages(), ids=["sparse", "C", "F"])
def test_scores_of_a_w_of_the_wrong_length_are_refused(rows, wrong):
    with pytest.raises(ValueError, match="length"):
        rows.scores(np.ones(5 + wrong))


def test_outputs_of_the_wrong_length_are_refused():
    sparse_, dense, _ = both_storages()
    csr = sparse_.row_start, sparse_.column, sparse_.value
    w, a = np.ones(5), np.ones(6)
    with pytest.raises(ValueError, match="length"):
        _kernels.csr_scores(*csr, w, np.empty(5))
    with pytest.raises(ValueError, match="length"):
        _kernels.dense_scores(dense.values, w, np.empty(5))
    with pytest.raises(ValueError, match="length"):
        _kernels.dense_adjoint(dense.values, a, np.empty(4))
    with pytest.raises(ValueError, match="length"):
        _kernels.slopes(_kernels.Loss("hinge", 0.0), a, a, None, 0.0, np.empty(5))
    with pytest.raises(ValueError, match="length"):
        _kernels.sums(_kernels.Loss("hinge", 0.0), a, w, None, 0.0)


def test_a_matrix_cut_short_is_refused():
    rows = both_storages()[0]
    short = SparseRows(rows.row_start, rows.column[:-1], rows.value[:-1], 5)
    with pytest.raises(ValueError, match="length"):
        short.scores(np.ones(5))
    with pytest.raises(ValueError, match="length"):
        SparseRows(rows.row_start, rows.column[:-1], rows.value, 5).scores(np.ones(5))


def test_an_unknown_native_loss_is_refused():
    with pytest.raises(ValueError, match="no native loss is called zeppelin"):
        _kernels.Loss("zeppelin", 0.0)


def test_wrong_types_are_refused_and_never_converted():
    X = np.ones((3, 2))
    with pytest.raises(TypeError):
        _kernels.dense_scores(X.astype(np.int64), np.ones(2), np.empty(3))
    with pytest.raises(TypeError):
        _kernels.dense_scores(X, np.ones(2, dtype=np.float32), np.empty(3))
    with pytest.raises(TypeError):
        _kernels.dense_scores(X, np.ones(4)[::2], np.empty(3))


@INDICES
@DTYPES
def test_numbers_that_are_all_one_need_not_be_read(dtype, index):
    """The bits are those of the same numbers read, and nothing depends on what is stored."""
    rng = np.random.default_rng(0)
    X = with_row_lengths(rng, [*SMALL, 0, 900, 1, 0], 40, dtype)
    X.data[:] = 1.0
    read = sparse_rows(X, index)
    known = replace(read, value=np.full_like(read.value, np.nan), ones=True)
    w, a, s = rng.normal(size=40), rng.normal(size=len(X.indptr) - 1), rng.uniform(size=16)
    y, loss = np.where(a > 0, 1.0, -1.0), twin(losses.Logistic())
    assert np.array_equal(known.scores(w), read.scores(w))
    assert np.array_equal(known.adjoint(a), read.adjoint(a))
    assert np.array_equal(known.squares(s), read.squares(s))
    for one, other in zip(known.evaluate(loss, y, s, w), read.evaluate(loss, y, s, w), strict=True):
        assert np.array_equal(one, other)


@DTYPES
@pytest.mark.parametrize("place", [None, 0, 1500, 2999])
def test_ones_are_known_where_there_is_no_other_number(dtype, place):
    X = sparse.csr_array(np.ones((100, 30), dtype=dtype))
    if place is not None:
        X.data[place] = 1.5
    rows = checked_matrix(X)
    assert rows.ones == (place is None)
    assert all(shard.rows.ones == rows.ones for shard in cut(rows, np.zeros(100), None))


def test_columns_of_64_bits_are_narrowed_and_others_used_as_they_are():
    X = random_csr(np.random.default_rng(0), 20, 30)
    wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr), shape=X.shape)
    wide.indices = wide.indices.astype(np.int64)
    narrow = sparse.csr_array((X.data, X.indices.astype(np.int32), X.indptr), shape=X.shape)
    assert wide.indices.dtype == np.int64
    assert checked_matrix(wide).column.dtype == np.int32
    assert np.shares_memory(checked_matrix(narrow).column, narrow.indices)
    assert np.array_equal(checked_matrix(wide).column, narrow.indices)


@pytest.mark.parametrize(
    ("columns", "repeated"),
    [
        ([0, 1, 2, 3], False),
        ([3, 1, 2, 0], False),
        ([0, 1, 1, 3], True),
        ([2, 1, 3, 2], True),
        ([1, 3, 0, 1], True),
    ],
)
def test_columns_that_repeat_are_found_in_any_order(columns, repeated):
    start, value = np.array([0, 1, 5]), np.ones(5)
    column, seen = np.array([2, *columns], dtype=np.int32), np.full(4, -1, dtype=np.int64)
    found = _kernels.csr_first_duplicate(start, column, value, seen)
    assert found == (1 if repeated else 2)
