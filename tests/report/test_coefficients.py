"""The table of the largest coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from fenchel import InvalidData
from fenchel.report.coefficients import Coefficient, Size, coefficients


def test_the_largest_come_first_with_their_names_and_signs():
    table = coefficients([[0.5, -2.0, 0.0, 1.0]], [0.1], ["a", "b", "c", "d"], ["no", "yes"], k=2)
    assert table.largest == [Coefficient("yes", "b", -2.0), Coefficient("yes", "d", 1.0)]
    assert table.sizes == [Size("yes", 0.1, 3, 4)]


def test_zeros_are_left_out_and_equals_keep_their_order():
    table = coefficients([0.0, 1.0, -1.0, 0.0], 0.0)
    assert table.largest == [Coefficient(None, "x1", 1.0), Coefficient(None, "x2", -1.0)]


def test_each_class_has_its_rows():
    table = coefficients(
        np.diag([1.0, 2.0, 3.0]), [4.0, 5.0, 6.0], range(1, 4), np.array([7, 8, 9])
    )
    assert table.largest == [("7", "1", 1.0), ("8", "2", 2.0), ("9", "3", 3.0)]
    assert table.sizes == [("7", 4.0, 1, 3), ("8", 5.0, 1, 3), ("9", 6.0, 1, 3)]


rows = hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2), elements=st.floats(-9, 9))


@given(rows, st.integers(0, 12))
def test_no_weight_left_out_is_larger_than_one_listed(coef, k):
    table = coefficients(coef, 0.0, classes=range(len(coef)), k=k)
    for i, row in enumerate(coef):
        listed = [abs(c.weight) for c in table.largest if c.label == str(i)]
        expected = sorted(np.abs(row[row != 0]), reverse=True)[:k]
        assert listed == expected
        assert table.sizes[i].nonzeros == np.count_nonzero(row)


@pytest.mark.parametrize(
    ("settings", "what"),
    [
        ({"names": ["a"]}, "1 names were given for 2 features"),
        ({"classes": ["a", "b", "c"]}, "3 classes were given for 1 rows"),
        ({"intercept": [1.0, 2.0]}, "2 intercepts were given for 1 rows"),
        ({"k": -1}, "k must be a whole number"),
    ],
)
def test_what_does_not_fit_together_is_refused(settings, what):
    with pytest.raises(InvalidData, match=what):
        coefficients([[1.0, 2.0]], **({"intercept": 0.0} | settings))
