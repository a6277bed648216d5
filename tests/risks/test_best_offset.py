"""The best offset in C++: a minimum with its proof, and what the method in Python finds."""

import math

import numpy as np
import pytest
from catalogue import ids
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fenchel import losses
from fenchel.losses import LOSSES, Labels, ScalarLoss
from fenchel.losses.scalar_rows import NativeScalarRows
from fenchel.risks.intercept import Offset, profile
from fenchel.tolerances import OFFSET_BLUR
from fenchel.witness import Bracket

BUILT_IN = [kind() for kind in LOSSES.values() if issubclass(kind, ScalarLoss) and kind.intercept]
FEW = settings(max_examples=30)  # for each loss
EVERY = pytest.mark.parametrize("loss", BUILT_IN, ids=ids)


@st.composite
def rows(draw, loss, largest=30.0):
    """Scores, labels, weights and a guess; scores may be equal and weights 0."""
    n = draw(st.integers(1, 12))
    number = st.floats(-largest, largest) | st.integers(-3, 3).map(float)
    z = draw(st.lists(number, min_size=n, max_size=n))
    label = {
        Labels.BINARY: st.sampled_from([-1.0, 1.0]),
        Labels.REAL: st.floats(-10, 10) | st.integers(-2, 2).map(float),
        Labels.COUNT: st.integers(0, 5).map(float),
        Labels.POSITIVE: st.floats(0.1, 10),
    }[loss.labels]
    y = draw(st.lists(label, min_size=n, max_size=n))
    weight = st.sampled_from([0.0, 1.0, 1.0, 2.5, 1e-3])
    s = draw(st.none() | st.lists(weight, min_size=n, max_size=n).filter(any))
    return np.array(z), np.array(y), None if s is None else np.array(s), draw(st.floats(-5, 5))


def found(loss, z, y, s, near):
    """(the offset, the rows' loss, the sum of their weights)."""
    bound, total = NativeScalarRows(loss, y, s), float(len(y) if s is None else np.sum(s))
    *bracket, best, value, floor = bound.best_offset(z, total, near)
    return Offset(Bracket(*bracket), best, value, floor), bound, total


def has_minimum(loss, y, s):
    """Whether the mean loss of all offsets is attained: that of one class, or of zeros, is not."""
    counted = y if s is None else y[s > 0]
    if loss.labels is Labels.BINARY:
        return len(np.unique(counted)) == 2
    return loss.labels is not Labels.COUNT or bool(np.any(counted > 0))


@EVERY
def test_is_what_the_method_in_python_finds(loss):
    @FEW
    @given(rows(loss))
    def law(given_rows):
        z, y, s, near = given_rows
        offset, bound, total = found(loss, z, y, s, near)
        counted = z if s is None else z[s > 0]
        resolution = OFFSET_BLUR * (1 + float(np.max(np.abs(counted))))

        def sums(b):
            value, slope = bound.sums(z, b)
            return value / total, slope / total

        other = profile(sums, near, resolution, loss.differentiable)
        flat = [*other.bracket, *other[1:]]
        assert np.allclose([*offset.bracket, *offset[1:]], flat, rtol=1e-9, equal_nan=True)

    law()


@EVERY
def test_encloses_the_least_mean_loss_between_floor_and_value(loss):
    @FEW
    @given(rows(loss))
    def law(given_rows):
        z, y, s, near = given_rows
        offset, bound, total = found(loss, z, y, s, near)
        if math.isnan(offset.value):
            assert not has_minimum(loss, y, s)
            return
        others = offset.best + np.concatenate([np.linspace(-40, 40, 81), np.logspace(-12, 0, 13)])
        least = min(bound.sums(z, b)[0] / total for b in others)
        assert offset.floor <= offset.value
        assert offset.floor <= least + 1e-13 * (1 + abs(least))
        assert offset.value == pytest.approx(bound.sums(z, offset.best)[0] / total, rel=1e-14)
        if has_minimum(loss, y, s):
            assert offset.value <= least + 1e-9 * (1 + abs(least))
            assert offset.value - offset.floor <= 1e-9 * (1 + abs(offset.value))

    law()


@EVERY
def test_the_brackets_slopes_enclose_0_and_cancel(loss):
    @FEW
    @given(rows(loss))
    def law(given_rows):
        z, y, s, near = given_rows
        offset, bound, total = found(loss, z, y, s, near)
        if math.isnan(offset.value):
            return
        below, above, weight_below, weight_above = offset.bracket
        low, high = bound.sums(z, below)[1] / total, bound.sums(z, above)[1] / total
        assert below <= above and weight_below >= 0 and weight_above >= 0
        assert low <= 0 <= high or below == above
        size = weight_below * abs(low) + weight_above * abs(high)
        assert weight_below + weight_above == pytest.approx(1, abs=1e-15)
        assert abs(weight_below * low + weight_above * high) <= 1e-14 * size

    law()


@pytest.mark.parametrize("loss", [x for x in BUILT_IN if not x.differentiable], ids=ids)
def test_the_brackets_ends_keep_off_the_kinks(loss):
    @FEW
    @given(rows(loss, largest=5.0))
    @example((np.array([0.0, 0.0]), np.array([1.0, -1.0]), None, 0.0))
    def law(given_rows):
        z, y, s, near = given_rows
        offset, bound, _ = found(loss, z, y, s, near)
        if math.isnan(offset.value):
            return
        for b in (offset.bracket.below, offset.bracket.above):
            nearby = 1e-14 * (1 + np.abs(z + b))
            sides = [bound.slopes(z + step, b)[1] for step in (-nearby, 0.0, nearby)]
            assert np.array_equal(sides[0], sides[2]) and np.array_equal(sides[0], sides[1])

    law()


@EVERY
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_rows_of_weight_0_are_not_there_whatever_their_score(loss, bad):
    y = np.array([1.0, 1.0, -1.0]) if loss.labels is Labels.BINARY else np.array([1.0, 2.0, 3.0])
    z, s = np.array([bad, 0.5, -0.25]), np.array([0.0, 1.0, 1.0])
    assert found(loss, z, y, s, 0.0)[0] == found(loss, z[1:], y[1:], s[1:], 0.0)[0]


@EVERY
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_scores_out_of_range_end_without_a_claim(loss, bad):
    y = np.array([1.0, -1.0]) if loss.labels is Labels.BINARY else np.array([1.0, 2.0])
    offset, _, _ = found(loss, np.array([bad, 0.5]), y, None, 0.0)
    assert math.isnan(offset.floor) or offset.floor <= offset.value


@EVERY
@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1e6, 1e100])
def test_any_scale_of_scores_is_survived(loss, scale):
    y = np.array([1.0, -1.0, 1.0]) if loss.labels is Labels.BINARY else np.array([1.0, 2.0, 3.0])
    offset, *_ = found(loss, scale * np.array([1.0, -0.5, 0.25]), y, None, 0.0)
    assert math.isnan(offset.floor) or offset.floor <= offset.value


def test_one_class_has_no_best_offset():
    for loss in (losses.Logistic(), losses.Exponential()):
        offset, _, _ = found(loss, np.zeros(3), np.ones(3), None, 0.0)
        assert offset.value < 1e-9 or math.isnan(offset.value)


@EVERY
@pytest.mark.parametrize("fixed", [False, True], ids=["no-offsets", "offsets"])
def test_a_step_along_a_ray_is_scores_offset_slopes_and_rate_at_once(loss, fixed):
    @FEW
    @given(rows(loss, largest=5.0), st.floats(-2, 2))
    def law(given_rows, eta):
        z, y, s, near = given_rows
        rng, total = np.random.default_rng(len(z)), float(len(y) if s is None else np.sum(s))
        q, o = rng.normal(size=(2, len(z)))
        bound = NativeScalarRows(loss, y, s, o if fixed else None)
        moved, a, offset, rate = bound.step_along(z, q, eta, total, near)
        assert np.allclose(moved, z + eta * q, rtol=1e-15, atol=1e-15)
        assert np.array_equal(offset, bound.best_offset(moved, total, near), equal_nan=True)
        below, above, weight_below, weight_above, *_ = offset
        wanted = weight_below * bound.slopes(moved, below)[1]
        wanted = wanted + weight_above * bound.slopes(moved, above)[1]
        assert np.allclose(a, wanted, rtol=1e-12, atol=1e-14, equal_nan=True)
        assert np.allclose(rate, a @ q, rtol=1e-12, atol=1e-12, equal_nan=True)

    law()
