"""Cells of tables: numbers as people write them, levels of text, days."""

from __future__ import annotations

import datetime

import numpy as np
import pyarrow as pa
import pytest

from fenchel.data import cells
from fenchel.errors import InvalidData


@pytest.mark.parametrize(
    ("text", "decimal", "number"),
    [
        ("1.5", None, 1.5),
        ("-2e3", None, -2000.0),
        ("1,5", None, None),
        ("1_000", None, None),
        ("", None, None),
        ("1,5", ",", 1.5),
        ("-,5", ",", -0.5),
        ("5,", ",", 5.0),
        ("1.234,5", ",", 1234.5),
        ("1.234.567", ",", 1234567.0),
        ("1.5", ",", None),
        ("12.34,5", ",", None),
        ("1 234,5", ",", 1234.5),
        ("1\u202f234,5", ",", 1234.5),
        ("1'234.5", ".", 1234.5),
        ("1,234.5", ".", 1234.5),
        ("1,23", ".", None),
        ("1,2345", ".", None),
        (",", ",", None),
        ("+", ",", None),
        ("1,5e2", ",", 150.0),
        ("x", ",", None),
    ],
)
def test_a_number_is_read_by_its_decimal_mark(text: str, decimal, number: float | None):
    assert cells.as_number(text, decimal) == number


@pytest.mark.parametrize("value", [0.1, -3.75, 12345.678, 1e-7, 999.0])
@pytest.mark.parametrize("decimal", [".", ","])
def test_what_python_writes_with_thousands_is_read_back(value: float, decimal):
    text = f"{value:,.10f}"
    if decimal == ",":
        text = text.translate(str.maketrans(",.", ".,"))
    assert cells.as_number(text, decimal) == value


def test_levels_are_trimmed_sorted_and_those_that_rows_have():
    column = pa.chunked_array([[" b", "a", None], ["b ", "", "?"]])
    found = cells.levels("c", column, na=["?"])
    assert found.texts == ["a", "b"]
    assert found.codes.tolist() == [1, 0, 2, 1, 2, 2]
    unused = pa.DictionaryArray.from_arrays(pa.array([1, 1]), pa.array(["never", "there"]))
    assert cells.levels("c", pa.chunked_array([unused])).texts == ["there"]


def test_levels_do_not_depend_on_chunks_or_on_their_coding():
    texts = np.random.default_rng(0).choice(["x", "y", "z", "w"], 50).tolist()
    plain = cells.levels("c", pa.chunked_array([texts]))
    parts = pa.chunked_array([texts[:20], texts[20:21], texts[21:]])
    for column in (parts, parts.dictionary_encode(), parts.cast(pa.large_string())):
        found = cells.levels("c", column)
        assert found.texts == plain.texts
        np.testing.assert_array_equal(found.codes, plain.codes)


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_dates_are_days_since_1970(unit: str):
    moments = [datetime.datetime(1970, 1, 2, 12), None, datetime.datetime(2024, 2, 29)]
    column = pa.chunked_array([pa.array(moments, pa.timestamp(unit))])
    np.testing.assert_array_equal(cells.days("d", column), [1.5, np.nan, 19782.0])
    dates = pa.chunked_array([pa.array([datetime.date(2024, 2, 29)])])
    assert cells.days("d", dates).tolist() == [19782.0]


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, None, 3], pa.int8()),
        pa.array([1, None, 3], pa.float32()),
        pa.array(["1", None, "3"]),
        pa.array([1, None, 3], pa.decimal128(5, 2)),
        pa.array([1, None, 3], pa.uint64()),
    ],
)
def test_numbers_of_all_types_are_the_same(column):
    found = cells.numbers("c", pa.chunked_array([column]))
    np.testing.assert_array_equal(found, [1.0, np.nan, 3.0])


def test_a_column_that_is_neither_numbers_nor_text_is_refused():
    with pytest.raises(InvalidData, match="is of type list<item: int64>, neither numbers nor text"):
        cells.numbers("c", pa.chunked_array([[[1], [2]]]))
