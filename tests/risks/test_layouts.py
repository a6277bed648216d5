"""Good data in every storage: used as they are where possible, never modified (10-14, 43)."""

from __future__ import annotations

import ctypes
import mmap
import os
import weakref

import numpy as np
import pytest
from inputs import (
    COMPRESSED,
    COMPRESSED_OR_BLOCKS,
    X,
    Y,
    broken,
    minimum,
    refused,
    same_minimum,
    state,
    the_rows,
)
from scipy import sparse
from scipy.special import expit

import fenchel
from fenchel.data.checked import checked_classes
from fenchel.data.rows import SparseRows

# 10: duplicates.


def with_duplicates(kind):
    """The matrix X with each stored entry in two halves."""
    whole = kind(X)
    half = kind(X)
    starts = np.diff(whole.indptr)
    order = np.concatenate(
        [np.tile(np.arange(i, j), 2) for i, j in zip(whole.indptr, whole.indptr[1:], strict=False)]
    )
    half.data, half.indices = whole.data[order] / 2, whole.indices[order]
    half.indptr = np.concatenate([[0], np.cumsum(2 * starts)]).astype(whole.indptr.dtype)
    return half


@pytest.mark.parametrize("kind", COMPRESSED)
def test_duplicates_are_added_up_on_a_copy_with_a_warning(kind):
    doubled = with_duplicates(kind)
    before = state(doubled)
    with pytest.warns(fenchel.FenchelWarning, match="more than once.*sum_duplicates") as caught:
        problem = fenchel.problem(doubled, Y, strength=1e-2)
    assert state(doubled) == before
    assert caught[0].filename == __file__
    result = fenchel.minimize(problem, gap=1e-8)
    fenchel.verify(result, problem)
    assert result.objective == pytest.approx(minimum().objective, rel=1e-7)


def test_the_warning_names_the_first_row_with_duplicates():
    late = sparse.csr_matrix(([1.0] * 4, [0, 1, 2, 2], [0, 1, 2, 4]), shape=(3, 3))
    with pytest.warns(fenchel.FenchelWarning, match="row 2"):
        fenchel.problem(late, [0, 1, 1])


def test_duplicates_that_add_up_to_inf_are_refused():
    big = sparse.csr_matrix(([9e99] * 2 + [1.0], [0, 0, 1], [0, 2, 3]), shape=(2, 2))
    with pytest.warns(fenchel.FenchelWarning):
        problem = fenchel.problem(big, [0, 1])
    result = fenchel.minimize(problem)
    assert np.isfinite(result.objective)


def test_duplicates_in_coordinate_format_are_added_up():
    whole = sparse.coo_matrix(X)
    row, column = np.tile(whole.row, 2), np.tile(whole.col, 2)
    same_minimum(sparse.coo_matrix((np.tile(whole.data, 2) / 2, (row, column)), shape=X.shape))


def test_good_data_get_no_warning_and_no_flags():
    clean = sparse.csr_matrix((lambda A: (A.data, A.indices, A.indptr))(sparse.csr_matrix(X)))
    assert "_has_canonical_format" not in vars(clean)
    minimum(clean)
    assert not {"_has_canonical_format", "_has_sorted_indices"} & set(vars(clean))


# 11: unsorted indices.


@pytest.mark.parametrize("kind", COMPRESSED)
def test_unsorted_indices_are_accepted_as_they_are(kind):
    mixed = kind(X)
    for i, j in zip(mixed.indptr, mixed.indptr[1:], strict=False):
        mixed.data[i:j], mixed.indices[i:j] = mixed.data[i:j][::-1], mixed.indices[i:j][::-1]
    same_minimum(mixed)


# 13: index types.


@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("number", [np.float32, np.float64])
def test_csr_is_used_without_a_copy(kind, index, number):
    matrix = kind(X.astype(number))
    matrix.indices, matrix.indptr = matrix.indices.astype(index), matrix.indptr.astype(index)
    rows = the_rows(matrix)
    assert np.shares_memory(rows.value, matrix.data)
    narrow = index == np.int32  # columns of 64 bits are copied to 32
    assert np.shares_memory(rows.column, matrix.indices) == narrow
    assert rows.column.dtype == np.int32 and rows.value.dtype == number
    same_minimum(matrix.astype(np.float64))


def test_64_bit_pointers_are_used_without_a_copy():
    matrix = sparse.csr_array(X)
    matrix.indices, matrix.indptr = matrix.indices.astype(np.int64), matrix.indptr.astype(np.int64)
    assert np.shares_memory(the_rows(matrix).row_start, matrix.indptr)


def test_a_shard_is_a_view_as_a_matrix_too():
    """SciPy's constructor would copy what is less than half of an array."""
    matrix = sparse.random_array((40, 30), density=0.5, rng=np.random.default_rng(0), format="csr")
    start = matrix.indptr.astype(np.int64)[10:16]
    part = SparseRows(start, matrix.indices, matrix.data, 30).matrix()
    assert np.shares_memory(part.data, matrix.data)
    assert np.shares_memory(part.indices, matrix.indices)
    np.testing.assert_array_equal(part.toarray(), matrix.toarray()[10:15])


@pytest.mark.parametrize("values", [[0.0, -0.0, 2.5], [3, -1, 3], [True, False], [1, 2, 3]])
def test_classes_are_those_that_sorting_finds(values):
    y = np.array(values * 3)
    for found, expected in zip(
        checked_classes(y, len(y)), np.unique(y, return_inverse=True), strict=True
    ):
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("index", [np.int16, np.uint32, np.uint64, np.dtype(">i4")])
def test_other_index_types_are_converted(index):
    same_minimum(broken(sparse.csr_matrix, indices=lambda values: values.astype(index)))


# 14: more than 2^31 entries, without the memory for them.


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="needs Linux's memfd_create")
def test_more_than_2_to_the_31_entries_are_handled():
    """The same 256 rows appear 2048 times in the address space, once in memory; others follow."""
    rng = np.random.default_rng(0)
    n, d, times = 256, 4096, 2048
    first, last = rng.normal(size=(2, n, d)).astype(np.float32)
    y, w = np.where(rng.random(n) < 0.5, 1.0, -1.0), rng.normal(size=d) / 64
    matrix = sparse.csr_array((n * (times + 1), d))
    matrix.data = repeated([first] * times + [last])
    matrix.indices = repeated([np.tile(np.arange(d), n)] * (times + 1))
    matrix.indptr = d * np.arange(n * (times + 1) + 1)
    assert matrix.indptr[-1] > 2**31

    problem = fenchel.problem(matrix, np.tile(y, times + 1), loss="logistic", strength=1e-3)
    assert np.shares_memory(problem.risk.engine.shards[-1].rows.value, matrix.data)
    point = problem.risk.at(w)

    blocks = [(first.astype(np.float64), times), (last.astype(np.float64), 1)]
    total = n * (times + 1)
    value = sum(k * np.sum(np.logaddexp(0, -y * (B @ w))) for B, k in blocks) / total
    gradient = sum(k * (B.T @ (-y * expit(-y * (B @ w)))) for B, k in blocks) / total
    assert point.value == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(point.subgradient, gradient, rtol=0, atol=1e-12)
    # The last rows, beyond entry 2^31, by themselves.
    z = problem.risk.engine.gather(point.z)
    np.testing.assert_allclose(z[-n:], last.astype(np.float64) @ w, rtol=0, atol=1e-10)


def repeated(blocks):
    """Blocks one after another in the address space; a repeated one is in memory once.

    Systems count its pages as often as they appear: the process seems to hold 26 GB, until the
    last array over them is gone.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    size, fixed = blocks[0].nbytes, 0x10
    start = libc.mmap(None, size * len(blocks), 0, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS, -1, 0)
    files = {}
    for k, block in enumerate(blocks):
        if id(block) not in files:
            files[id(block)] = os.memfd_create("block")
            os.write(files[id(block)], block.tobytes())
        at, file = start + k * size, files[id(block)]
        assert libc.mmap(at, size, mmap.PROT_READ, mmap.MAP_SHARED | fixed, file, 0) == at
    for file in files.values():
        os.close(file)
    span = (ctypes.c_char * (size * len(blocks))).from_address(start)
    weakref.finalize(span, libc.munmap, ctypes.c_void_p(start), ctypes.c_size_t(size * len(blocks)))
    whole = np.frombuffer(span, blocks[0].dtype)
    whole.flags.writeable = False
    return whole


# 43: layouts and types of good data.


def dense_layouts():
    """(name, array, whether it can be used without a copy)."""
    tall, wide = np.zeros((16, 3)), np.zeros((8, 6))
    both = np.zeros((16, 6))
    tall[::2], wide[:, ::2], both[::2, ::2] = X, X, X
    read_only = X.copy()
    read_only.flags.writeable = False
    yield "C", np.ascontiguousarray(X), True
    yield "Fortran", np.asfortranarray(X), True
    yield "C float32", np.ascontiguousarray(X, dtype=np.float32), True
    yield "Fortran float32", np.asfortranarray(X, dtype=np.float32), True
    yield "every second row", tall[::2], True
    yield "rows backwards", X[::-1].copy()[::-1], True
    yield "a slice of columns", np.column_stack([X, Y])[:, :3], True
    yield "every second column of Fortran", np.asfortranarray(wide)[:, ::2], True
    yield "read-only", read_only, True
    yield "matrix", X.copy().view(np.matrix), True
    yield "every second column", wide[:, ::2], False
    yield "strided both ways", both[::2, ::2], False
    yield "strided both ways, float32", both.astype(np.float32)[::2, ::2], False
    yield "big-endian", X.astype(">f8"), False
    yield "big-endian float32", X.astype(">f4"), False
    yield "object", X.astype(object), False
    yield "longdouble", X.astype(np.longdouble), False


LAYOUTS = {name: (values, kept) for name, values, kept in dense_layouts()}


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
def test_dense_layouts_are_copied_only_where_needed(layout):
    values, kept = LAYOUTS[layout]
    rows = the_rows(values)
    assert np.shares_memory(rows.values, values) == kept
    expected = np.asarray(values).astype(np.float64)
    assert minimum(values).objective == pytest.approx(minimum(expected).objective, rel=1e-7)


@pytest.mark.parametrize("layout", ["big-endian float32", "strided both ways, float32"])
def test_single_precision_stays_single(layout):
    assert the_rows(LAYOUTS[layout][0]).values.dtype == np.float32


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int64, np.uint64, bool, np.float16])
def test_other_numbers_become_float64(dtype):
    values = (X > 0).astype(dtype)
    assert the_rows(values).values.dtype == np.float64
    assert minimum(values).objective == pytest.approx(minimum((X > 0) * 1.0).objective, rel=1e-7)


@pytest.mark.parametrize("dtype", [np.int8, np.int64, bool, ">f8", ">f4"])
@pytest.mark.parametrize("kind", COMPRESSED)
def test_other_numbers_in_sparse_data_are_accepted(dtype, kind):
    matrix = kind((X > 0) * 1.0)
    expected = minimum(matrix)
    matrix.data = matrix.data.astype(dtype)  # SciPy itself would not make a big-endian one
    assert minimum(matrix).objective == pytest.approx(expected.objective, rel=1e-7)


def test_lists_of_lists_are_accepted():
    same_minimum(X.tolist(), Y.tolist())
    same_minimum(tuple(map(tuple, X)), tuple(Y))


@pytest.mark.parametrize("name", ["csr", "csc", "coo", "bsr", "dia", "dok", "lil"])
@pytest.mark.parametrize("suffix", ["_matrix", "_array"])
def test_every_sparse_format_is_accepted(name, suffix):
    same_minimum(getattr(sparse, name + suffix)(X))


@pytest.mark.parametrize("kind", COMPRESSED_OR_BLOCKS)
def test_spare_room_in_sparse_arrays_is_left_alone(kind):
    roomy = broken(
        kind, indices=lambda v: np.append(v, v[:1]), data=lambda v: np.append(v, v[:1], 0)
    )
    same_minimum(roomy)


@pytest.mark.parametrize("kind", [*COMPRESSED, sparse.coo_array])
def test_read_only_memory_is_accepted_everywhere(kind):
    matrix, y, weights = kind(X), Y.copy(), np.ones(8)
    arrays_of = [v for v in vars(matrix).values() if isinstance(v, np.ndarray)]
    for array in [*arrays_of, *getattr(matrix, "coords", ()), y, weights]:
        array.flags.writeable = False
    same_minimum(matrix, y, sample_weight=weights)


def test_labels_and_weights_may_be_strided_and_big_endian():
    strided = np.column_stack([Y, Y])[:, 0]
    same_minimum(X, strided)
    same_minimum(X, Y.astype(">f8"), loss="squared_error")
    weights = np.arange(1.0, 9.0)
    expected = minimum(sample_weight=weights).objective
    for odd in (np.repeat(weights, 2)[::2], weights.astype(">f4"), weights.astype(object)):
        assert minimum(sample_weight=odd).objective == pytest.approx(expected, rel=1e-7)


def test_masked_values_are_not_taken_for_data():
    """numpy.asarray would uncover what the mask hides."""
    refused("mask", X=np.ma.masked_array(X, mask=X > 1))


@pytest.mark.parametrize("dtype", ["datetime64[D]", "timedelta64[s]", "M8[ns]"])
def test_times_are_not_numbers(dtype):
    refused("not numbers", X=np.zeros((8, 3), dtype=dtype))


@pytest.mark.parametrize("value", ["a", None, 1j, {}, 10**400])
def test_objects_that_are_not_real_numbers_are_refused(value):
    bad = X.astype(object)
    bad[3, 1] = value
    refused("X", X=bad)


def test_complex_data_are_refused():
    refused("X", "complex", X=X * 1j)
    refused("X", "complex", X=sparse.csr_matrix(X * 1j))


def test_long_doubles_beyond_range_are_refused_without_a_warning():
    refused("X", X=np.full((8, 3), np.longdouble("1e4000")))


def test_data_frames_are_accepted():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    before = frame.copy()
    labels = pandas.Series(Y).map({-1.0: "no", 1.0: "yes"})
    assert minimum(frame, labels).objective == pytest.approx(minimum().objective, rel=1e-7)
    pandas.testing.assert_frame_equal(frame, before)
    frame.loc[2, "b"] = None
    refused("column 'b' has 1 missing value", "row 2", X=frame)
