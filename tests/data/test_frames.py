"""Frames and columns of any library give the numbers, or an error that names the column."""

from __future__ import annotations

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from inputs import X, Y, minimum, refused, same_minimum, the_rows
from scipy import sparse

import fenchel
from fenchel.data import frames

NAMES = ("age", "height", "weight")
LIBRARIES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
}


@pytest.fixture(params=LIBRARIES)
def frame(request):
    """Makes a frame of a dictionary of columns, in each library."""
    return LIBRARIES[request.param]


def of(X, names=NAMES):
    return {name: X[:, j] for j, name in enumerate(names)}


def unusable(X, *said):
    with pytest.raises(fenchel.InvalidData) as error:
        frames.columns(X)
    for phrase in said:
        assert phrase in str(error.value)


def test_a_frame_gives_its_numbers_and_names(frame):
    """FAULTS #44"""
    values, names = frames.columns(frame(of(X)))
    np.testing.assert_array_equal(values, X)
    assert names == NAMES


def test_a_problem_takes_frames_and_series(frame):
    """FAULTS #44"""
    same_minimum(frame(of(X)))


@pytest.mark.parametrize("series", [pd.Series, pl.Series, lambda y: pa.chunked_array([y])])
@pytest.mark.parametrize("y", [Y, Y > 0, Y.astype(int), np.where(Y > 0, "yes", "no").tolist()])
def test_labels_may_be_a_series_of_any_library(series, y):
    """FAULTS #44"""
    same_minimum(X, series(y))


@pytest.mark.parametrize(
    "y",
    [
        pd.Series(np.where(Y > 0, "yes", "no"), dtype="category"),
        pd.Series(Y, dtype="Int64"),
        pd.Series(Y, index=range(7, -1, -1)),
        pd.DataFrame({"y": Y}),
        pl.Series(np.where(Y > 0, "yes", "no").tolist(), dtype=pl.Categorical),
    ],
)
def test_labels_of_other_kinds_are_taken_by_position(y):
    same_minimum(X, y)


@pytest.mark.parametrize("loss", ["hinge", "squared_error"])
@pytest.mark.parametrize(
    "y",
    [
        pd.Series([*Y[:5], None, None, 1.0]),
        pd.Series([*Y[:5], None, None, 1.0], dtype="Int64"),
        pl.Series([*Y[:5], None, None, 1.0]),
        pa.chunked_array([[*Y[:5], None, None, 1.0]]),
        pl.Series([*"ababa", None, None, "b"]),
        pd.Series([*"ababa", None, None, "b"]),
    ],
)
def test_missing_labels_are_counted_and_located(y, loss):
    refused("y has 2 missing values", "row 5", X=X, y=y, loss=loss)


def test_sample_weights_may_be_a_series():
    s = np.arange(1.0, 9.0)
    same_minimum(X, sample_weight=pl.Series(s))
    expected = minimum(sample_weight=s).objective
    assert minimum(sample_weight=pd.Series(s)).objective == expected


# Types of columns.


def test_numbers_and_booleans_of_every_type_are_taken(frame):
    columns = {kind: np.array([0, 1, 5]).astype(kind) for kind in ("i1", "u8", "f4", "f8", "?")}
    values, _ = frames.columns(frame(columns))
    assert values.dtype == np.float64
    np.testing.assert_array_equal(values, np.column_stack(list(columns.values())))


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_columns_of_one_floating_type_keep_it(frame, kind):
    values, _ = frames.columns(frame(of(X.astype(kind))))
    assert values.dtype == kind
    np.testing.assert_array_equal(values, X.astype(kind))


def test_a_pandas_frame_of_floats_is_not_copied():
    table = pd.DataFrame(X)
    assert np.shares_memory(frames.columns(table)[0], table.to_numpy())
    assert np.shares_memory(the_rows(table, Y).values, table.to_numpy())


def test_nullable_and_arrow_backed_columns_are_taken():
    table = pd.DataFrame(
        {
            "a": pd.array([1, 2], dtype="Int64"),
            "b": pd.array([True, False], dtype="boolean"),
            "c": pd.array([1.5, 2.5], dtype="double[pyarrow]"),
        }
    )
    np.testing.assert_array_equal(frames.columns(table)[0], [[1, 1, 1.5], [2, 0, 2.5]])


def test_decimals_are_taken():
    column = [decimal.Decimal("1.5"), decimal.Decimal("2")]
    for table in (pl.DataFrame({"a": column}), pa.table({"a": column})):
        np.testing.assert_array_equal(frames.columns(table)[0], [[1.5], [2]])


def test_objects_that_are_numbers_are_taken():
    """FAULTS #43"""
    table = pd.DataFrame(X, columns=NAMES, dtype=object)
    np.testing.assert_array_equal(frames.columns(table)[0], X)
    same_minimum(table)


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(">f8"),
        np.asfortranarray,
        lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
        lambda X: X[::-1][::-1],
    ],
)
def test_frames_over_unusual_memory_are_taken(change):
    """FAULTS #43"""
    values = change(X)
    values.setflags(write=False)
    same_minimum(pd.DataFrame(values, columns=NAMES, copy=False))


def test_a_slice_of_a_frame_is_taken_by_position():
    big = pd.DataFrame(np.repeat(X, 2, axis=0), columns=NAMES)
    same_minimum(big.iloc[::2])


@pytest.mark.parametrize("kind", [None, "category", object])
def test_text_columns_are_refused_by_name_with_a_remedy(kind):
    table = pd.DataFrame({"age": [1.0, 2], "town": pd.Series(["Bonn", "Ulm"], dtype=kind)})
    unusable(table, "'town'", "2 of 2", "'Bonn' in row 0", "one-hot", "get_dummies")


@pytest.mark.parametrize("kind", [pl.String, pl.Categorical, pl.Enum(["Bonn", "Ulm"])])
def test_text_columns_of_polars_are_refused_by_name(kind):
    table = pl.DataFrame({"age": [1.0, 2], "town": pl.Series(["Bonn", "Ulm"], dtype=kind)})
    unusable(table, "'town'", "'Bonn' in row 0", "one-hot")


def test_a_stray_word_among_numbers_is_located():
    table = pd.DataFrame({"age": [1.5, 2, "unknown", 3]}, dtype=object)
    unusable(table, "'age'", "1 of 4", "'unknown' in row 2")


def test_numbers_written_as_text_are_refused_as_such(frame):
    unusable(frame({"age": ["1", "2.5"]}), "'age'", "numbers written as text", "convert")


def test_dates_and_lists_are_refused_by_name(frame):
    unusable(frame({"born": [datetime.datetime(2000, 1, 1)]}), "'born'", "Datetime", "numbers")
    table = pl.DataFrame({"path": [[1, 2]]})
    unusable(table, "'path'", "List")


def test_missing_values_are_counted_and_located(frame):
    table = frame({"age": [1.0, 2, 3, 4], "height": [1.0, None, 3, None]})
    unusable(table, "'height' has 2 missing values", "row 1", "Impute or drop")
    unusable(frame({"n": [1, 2, None]}), "'n' has 1 missing value ", "row 2")
    unusable(frame({"x": [1.0, np.nan], "y": [1, 2]}), "'x' has 1 missing value ", "row 1")


@pytest.mark.parametrize("kind", ["Int64", "boolean", "Float64", object])
def test_missing_values_of_pandas_own_types_are_located(kind):
    table = pd.DataFrame({"age": pd.Series([1, None, 1], dtype=kind)})
    unusable(table, "'age' has 1 missing value ", "row 1")


def test_infinite_values_are_left_to_the_check_of_every_matrix(frame):
    bad = X.copy()
    bad[3, 1] = np.inf
    refused("inf", "row 3, column 1", X=frame(of(bad)), y=Y)


def test_a_lazy_frame_is_refused_with_a_remedy():
    refused("lazy", "collect()", X=pl.LazyFrame(of(X)), y=Y)


def test_an_empty_frame_is_refused(frame):
    """FAULTS #4"""
    refused("0 rows", X=frame(of(X[:0])), y=Y[:0])


# Names.


def test_duplicate_names_are_refused():
    for table in (
        pd.DataFrame(X, columns=["a", "b", "a"]),
        pa.table(list(X.T), names=["a", "b", "a"]),
    ):
        unusable(table, "more than one column named 'a'")


def test_names_that_are_not_text_are_no_names():
    for names in (range(3), [1.5, 2.5, 3.5], pd.MultiIndex.from_tuples([(1, 2), (1, 3), (2, 2)])):
        for table in (pd.DataFrame(X, columns=names), pd.DataFrame(X.astype(int), columns=names)):
            values, found = frames.columns(table)
            assert found is None
            np.testing.assert_array_equal(values, table.to_numpy())


def test_names_of_which_some_are_text_are_refused_as_scikit_learn_does():
    table = pd.DataFrame(X, columns=["a", 1, "b"])
    with pytest.raises(TypeError, match="1 of type int"):
        frames.columns(table)
    with pytest.raises(fenchel.Incompatible):
        fenchel.problem(table, Y)


# Sparse columns.


def sparse_frame(X, kind=np.float64, **names):
    return pd.DataFrame.sparse.from_spmatrix(sparse.csr_matrix(X.astype(kind)), **names)


def test_sparse_columns_stay_sparse():
    """FAULTS #44"""
    values, names = frames.columns(sparse_frame(X, columns=NAMES))
    assert isinstance(values, sparse.csr_array) and values.nnz == np.count_nonzero(X)
    np.testing.assert_array_equal(values.toarray(), X)
    assert names == NAMES
    same_minimum(sparse_frame(X, columns=NAMES))


def test_a_large_sparse_frame_is_never_written_out():
    """FAULTS #44, #47"""
    n = 1_000_000
    one = sparse.csc_matrix((np.ones(300), np.arange(300), np.arange(301)), shape=(n, 300))
    table = pd.DataFrame.sparse.from_spmatrix(one)  # 2.4 GB if dense
    values, _ = frames.columns(table)
    assert values.shape == (n, 300) and values.nnz == 300


def test_sparse_and_dense_columns_go_together():
    table = pd.get_dummies(pd.DataFrame({"a": X[:, 0], "t": [*"uvwuvwuv"]}), sparse=True)
    values, names = frames.columns(table)
    assert isinstance(values, sparse.csr_array)
    assert names == ("a", "t_u", "t_v", "t_w")
    np.testing.assert_array_equal(values.toarray(), table.to_numpy().astype(float))


@given(st.lists(st.sampled_from([0.0, 1.0, -2.5]), min_size=1, max_size=20), st.data())
def test_sparse_columns_of_any_kind_and_filling_give_their_values(column, data):
    fill = data.draw(st.sampled_from([0, 1.0, -2.5]))
    kind = data.draw(st.sampled_from(["block", "integer"]))
    table = pd.DataFrame({"a": pd.arrays.SparseArray(column, fill_value=fill, kind=kind)})
    values, _ = frames.columns(table)
    np.testing.assert_array_equal(values.toarray()[:, 0], column)


def test_missing_values_in_sparse_columns_are_located():
    gaps = pd.DataFrame({"a": pd.arrays.SparseArray([1.0, np.nan, np.nan])})
    unusable(gaps, "'a' has 2 missing values", "row 1")
    stored = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1.0, np.nan], fill_value=0.0)})
    unusable(stored, "'a' has 1 missing value ", "row 2")


def test_text_beside_sparse_columns_is_refused_by_name():
    table = pd.DataFrame({"a": pd.arrays.SparseArray([0, 1]), "town": ["Bonn", "Ulm"]})
    unusable(table, "'town'", "one-hot")


# What is not a frame.


@pytest.mark.parametrize(
    "thing", [X, X.tolist(), sparse.csr_array(X), pd.Series(Y), pl.Series(Y), None, "text", 3]
)
def test_other_things_are_no_frames(thing):
    assert not frames.is_frame(thing)


def test_a_series_for_a_matrix_is_refused():
    """FAULTS #9"""
    refused("two dimensions", X=pd.Series(Y), y=Y)


@pytest.mark.slow
def test_arrays_do_not_pay_for_narwhals():
    import subprocess
    import sys

    code = "import sys, numpy as np, fenchel; fenchel.problem(np.eye(2), [0, 1])\n"
    code += "assert 'narwhals' not in sys.modules and 'pandas' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
