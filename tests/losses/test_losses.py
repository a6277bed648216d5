"""Laws of the scalar losses: convexity, conjugacy, claims, extremes, and the native twins."""

import numpy as np
import pytest
from catalogue import LOSSES, ids, labels_for, problem_for
from sklearn import metrics

from fenchel import losses
from fenchel.losses import Labels
from fenchel.losses.binding import bound
from fenchel.losses.scalar_rows import is_built_in

EVERY = pytest.mark.parametrize("loss", LOSSES, ids=ids)
SCALED = (Labels.COUNT, Labels.POSITIVE)  # whose slopes cancel, as exp(z) - y does
KINKED = pytest.mark.parametrize("loss", [x for x in LOSSES if not x.differentiable], ids=ids)
EXTREMES = np.array([1e-300, 1e-8, 0.5, 1.0, 36.0, 37.0, 709.0, 710.0, 745.0, 746.0, 1e3, 1e4])


def one_label_each(loss):
    """The labels to test a loss with, few but of every sort."""
    return {
        Labels.BINARY: [-1.0, 1.0],
        Labels.REAL: [-1.3, 0.0, 0.7],
        Labels.COUNT: [0.0, 0.3, 1.0, 4.0],
        Labels.POSITIVE: [0.2, 0.7, 1.3],
        Labels.NONE: [0.0],
    }[loss.labels]


def at(loss, z, y):
    """(values, slopes) at the scores z, all with the label y."""
    labels = np.full(len(z), y)
    return loss.value(z, labels), loss.slope(z, labels)


def kinks(loss, y):
    return loss.kinks(np.array([y]))[:, 0]


def grid(loss, y, low=-3.0, high=3.0, n=601):
    return np.sort(np.concatenate([np.linspace(low, high, n), kinks(loss, y)]))


def dual_grid(loss, y, n=9):
    """Dual variables from end to end of the domain; an infinite end is cut off at 4."""
    low, high = (float(end[0]) for end in loss.domain(np.array([y])))
    low, high = max(low, min(high, 0.0) - 4.0), min(high, max(low, 0.0) + 4.0)
    return np.linspace(low, high, n)


def random_rows(loss, n=300, seed=0):
    rng = np.random.default_rng(seed)
    return 3.0 * rng.normal(size=n), labels_for(loss, rng, n), rng.uniform(0.1, 2.0, size=n)


def without_twin(loss):
    """The same loss by a subclass, which runs on its Python formulas."""
    return type("Plain", (type(loss),), {})(**loss.settings())


@EVERY
def test_is_convex(loss):
    rng = np.random.default_rng(0)
    for y in one_label_each(loss):
        u, v, t = 3 * rng.normal(size=500), 3 * rng.normal(size=500), rng.uniform(size=500)
        chord = t * at(loss, u, y)[0] + (1 - t) * at(loss, v, y)[0]
        assert np.all(at(loss, t * u + (1 - t) * v, y)[0] <= chord + 1e-12 * (1 + chord))


@EVERY
def test_the_slope_supports_from_below(loss):
    for y in one_label_each(loss):
        z = grid(loss, y, n=121)
        value, slope = at(loss, z, y)
        tangents = value[:, None] + slope[:, None] * (z[None, :] - z[:, None])
        assert np.all(value[None, :] >= tangents - 1e-12 * (1 + np.abs(tangents)))


@EVERY
def test_the_slope_is_the_derivative_away_from_kinks(loss):
    h = 1e-5
    for y in one_label_each(loss):
        z = np.linspace(-3.0, 3.0, 137)
        z = z[np.all(np.abs(z[None] - kinks(loss, y)[:, None]) > 2 * h, axis=0)]
        numerical = (at(loss, z + h, y)[0] - at(loss, z - h, y)[0]) / (2 * h)
        bend = loss.smoothness if np.isfinite(loss.smoothness) else 1.0
        assert np.allclose(numerical, at(loss, z, y)[1], rtol=0, atol=h * max(1.0, bend))


@EVERY
def test_the_slope_jumps_at_the_kinks_and_nowhere_else(loss):
    for y in one_label_each(loss):
        for kink in kinks(loss, y):
            before, after = at(loss, np.array([kink - 1e-9, kink + 1e-9]), y)[1]
            assert after - before > 0.4
        z = np.linspace(-3.0, 3.0, 2000)
        change = np.diff(at(loss, z, y)[1])
        bends = (z[None, :-1] <= kinks(loss, y)[:, None]) & (kinks(loss, y)[:, None] <= z[None, 1:])
        assert np.all(change[~np.any(bends, axis=0)] < 0.1)
        assert np.all(change >= -1e-14)


@EVERY
def test_claims_to_be_differentiable_exactly_without_kinks(loss):
    assert loss.differentiable == (len(loss.kinks(np.ones(3))) == 0)


@EVERY
def test_fenchel_young_inequality(loss):
    for y in one_label_each(loss):
        z, alpha = grid(loss, y, n=61), dual_grid(loss, y, 21)
        conjugate = loss.conjugate(alpha, np.full(len(alpha), y))
        slack = at(loss, z, y)[0][None] + conjugate[:, None] - alpha[:, None] * z[None]
        assert np.all(slack >= -1e-12)


@EVERY
def test_fenchel_young_equality_at_the_slope(loss):
    for y in one_label_each(loss):
        z = grid(loss, y)
        value, slope = at(loss, z, y)
        conjugate = loss.conjugate(slope, np.full(len(z), y))
        assert np.allclose(value + conjugate, slope * z, rtol=1e-11, atol=1e-11)


@EVERY
def test_the_conjugate_is_the_supremum_over_scores(loss):
    for y in one_label_each(loss):
        z = grid(loss, y, -40.0, 40.0, 80_001)
        alpha = dual_grid(loss, y)
        supremum = [np.max(a * z - at(loss, z, y)[0]) for a in alpha]
        assert np.allclose(loss.conjugate(alpha, np.full(9, y)), supremum, rtol=0, atol=1e-5)


@EVERY
def test_the_domain_is_where_the_conjugate_is_finite(loss):
    far = np.concatenate([-np.geomspace(1, 1e6, 200), np.geomspace(1, 1e6, 200)])
    for y in one_label_each(loss):
        for end, outwards in zip(loss.domain(np.array([y])), (-1.0, 1.0), strict=True):
            inside = end if np.isfinite(end) else np.array([outwards * 50.0])
            assert np.isfinite(loss.conjugate(inside, np.array([y])))
            if np.isfinite(end):
                assert loss.conjugate(end + outwards * 1e-9, np.array([y])) == np.inf
                assert np.max((end + 0.01 * outwards) * far - at(loss, far, y)[0]) > 1e3


@EVERY
def test_is_nonnegative_if_it_says_so(loss):
    z, y, _ = random_rows(loss)
    scores = np.concatenate([z, EXTREMES, -EXTREMES])
    labels = np.concatenate([y, labels_for(loss, np.random.default_rng(1), 24)])
    assert loss.nonnegative
    assert np.all(loss.value(scores, labels) >= 0)


@EVERY
def test_smoothness_is_the_lipschitz_constant_of_the_slope(loss):
    for y in one_label_each(loss):
        z = np.linspace(-3.0, 3.0, 6001)
        steepest = np.max(np.abs(np.diff(at(loss, z, y)[1])) / np.diff(z))
        assert steepest <= loss.smoothness * (1 + 1e-6)
        assert np.isinf(loss.smoothness) or steepest >= 0.99 * loss.smoothness


@pytest.mark.parametrize("loss", [x for x in LOSSES if np.isinf(x.smoothness)], ids=ids)
def test_infinite_smoothness_means_a_jump_or_unbounded_growth(loss):
    y = one_label_each(loss)[-1]
    steep = at(loss, np.array([-300.0, -299.0, 299.0, 300.0]), y)[1]
    assert not loss.differentiable or np.max(np.abs(np.diff(steep))) > 1e9


@EVERY
def test_extreme_scores_give_no_warning_and_no_nan(loss):
    z = np.concatenate([EXTREMES, -EXTREMES])
    for y in one_label_each(loss):
        value, slope = at(loss, z, y)
        assert not np.isnan(value).any() and not np.isnan(slope).any()
        if not (loss.differentiable and np.isinf(loss.smoothness)):  # those grow like exp
            assert np.isfinite(value).all() and np.isfinite(slope).all()


def test_logistic_is_exact_at_both_ends():
    value, slope = at(losses.Logistic(), np.array([-1e4, -40.0, 40.0, 1e4]), 1.0)
    assert np.array_equal(value[[0, 1, 3]], [1e4, 40.0, 0.0])
    assert value[2] == pytest.approx(np.exp(-40.0), rel=1e-12)
    assert slope == pytest.approx([-1.0, -1.0, -np.exp(-40.0), 0.0], rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "z", "y", "value", "slope"),
    [
        (losses.Perceptron(), -2.0, 1.0, 2.0, -1.0),
        (losses.Perceptron(), -2.0, -1.0, 0.0, 0.0),
        (losses.SquaredPerceptron(), 3.0, -1.0, 4.5, 3.0),
        (losses.Hinge(), 0.5, 1.0, 0.5, -1.0),
        (losses.Hinge(), 0.5, -1.0, 1.5, 1.0),
        (losses.SquaredHinge(), 0.0, 1.0, 0.5, -1.0),
        (losses.SmoothedHinge(mu=0.5), 0.75, 1.0, 0.0625, -0.5),
        (losses.SmoothedHinge(mu=0.5), 0.0, 1.0, 0.75, -1.0),
        (losses.Exponential(), 2.0, -1.0, np.exp(2.0), np.exp(2.0)),
        (losses.Logistic(), 0.0, 1.0, np.log(2.0), -0.5),
        (losses.Novelty(rho=2.0), 0.5, 0.0, 1.5, -1.0),
        (losses.Novelty(rho=2.0), 2.5, 0.0, 0.0, 0.0),
        (losses.SquaredError(), 3.0, 1.0, 2.0, 2.0),
        (losses.AbsoluteError(), -3.0, 1.0, 4.0, -1.0),
        (losses.Quantile(quantile=0.9), 0.0, 2.0, 1.8, -0.9),
        (losses.Quantile(quantile=0.9), 2.0, 0.0, 0.2, 0.1),
        (losses.EpsilonInsensitive(epsilon=0.5), 2.0, 1.0, 0.5, 1.0),
        (losses.EpsilonInsensitive(epsilon=0.5), 1.4, 1.0, 0.0, 0.0),
        (losses.SquaredEpsilonInsensitive(epsilon=0.5), -2.0, 0.5, 2.0, -2.0),
        (losses.Huber(delta=0.5), 1.2, 1.0, 0.02, 0.2),
        (losses.Huber(delta=0.5), 3.0, 1.0, 0.875, 0.5),
        (losses.Poisson(), 0.0, 1.0, 0.0, 0.0),
        (losses.Poisson(), 1.0, 0.0, np.e, np.e),
    ],
    ids=lambda value: ids(value) if isinstance(value, losses.ScalarLoss) else f"{value:.3g}",
)
def test_agrees_with_the_table(loss, z, y, value, slope):
    z, y = np.array([z]), np.array([y])
    assert loss.value(z, y)[0] == pytest.approx(value, rel=1e-14, abs=1e-15)
    assert loss.slope(z, y)[0] == pytest.approx(slope, rel=1e-14, abs=1e-15)
    assert bound(loss, y).sums(z, 0.0) == pytest.approx((value, slope), rel=1e-14, abs=1e-15)


def test_agrees_with_the_meaning_that_scikit_learn_gives():
    rng = np.random.default_rng(0)
    z, r, sign = rng.normal(size=50), rng.normal(size=50), np.sign(rng.normal(size=50))
    counts = rng.poisson(2.0, size=50).astype(float)

    def mean(loss, y):
        return np.mean(loss.value(z, y))

    assert mean(losses.Quantile(quantile=0.9), r) == pytest.approx(
        metrics.mean_pinball_loss(r, z, alpha=0.9)
    )
    assert mean(losses.AbsoluteError(), r) == pytest.approx(metrics.mean_absolute_error(r, z))
    assert mean(losses.SquaredError(), r) == pytest.approx(metrics.mean_squared_error(r, z) / 2)
    assert mean(losses.Hinge(), sign) == pytest.approx(metrics.hinge_loss(sign, z))
    assert mean(losses.Logistic(), sign) == pytest.approx(
        metrics.log_loss(sign, 1 / (1 + np.exp(-z)))
    )
    assert mean(losses.Poisson(), counts) == pytest.approx(
        metrics.mean_poisson_deviance(counts, np.exp(z)) / 2
    )


@EVERY
def test_the_native_twin_has_the_same_values_and_slopes(loss):
    z, y, s = random_rows(loss)
    total, a = bound(loss, y, s).slopes(z, 0.25)
    assert is_built_in(loss)
    assert total == pytest.approx(np.sum(s * loss.value(z + 0.25, y)), rel=1e-13)
    assert np.allclose(a, s * loss.slope(z + 0.25, y), rtol=1e-13, atol=1e-15)
    assert bound(loss, y, s).sums(z, 0.25) == pytest.approx((total, np.sum(a)), rel=1e-12)


@EVERY
def test_the_native_twin_agrees_at_extreme_scores(loss):
    for y in one_label_each(loss):
        for z in np.concatenate([EXTREMES, -EXTREMES, [0.0, -0.0]])[:, None]:
            value, slope = (part[0] for part in at(loss, z, y))
            native, a = bound(loss, np.array([y])).slopes(z)
            assert native == pytest.approx(value, rel=1e-13)
            assert bound(loss, np.array([y])).sums(z, 0.0) == (native, a[0])
            if z not in kinks(loss, y):
                assert a[0] == pytest.approx(slope, rel=1e-13)


@EVERY
def test_the_native_twin_is_exact_over_the_whole_range(loss):
    """Many rows at once, as vector code sees them, with every length of the rest."""
    rng = np.random.default_rng(0)
    sizes = np.concatenate([np.geomspace(1e-12, 800.0, 1500), EXTREMES])
    z = rng.permutation(np.concatenate([sizes, -sizes, rng.uniform(-40, 40, size=1500)]))
    y = rng.choice(one_label_each(loss), size=len(z))
    value, slope = loss.value(z, y), loss.slope(z, y)
    room = 2e-15 * np.max(y) if loss.labels in SCALED else 1e-300
    for first in range(9):
        total, a = bound(loss, y[first:]).slopes(z[first:])
        assert np.allclose(a, slope[first:], rtol=1e-13, atol=room)
        assert np.isinf(value).any() or total == pytest.approx(np.sum(value[first:]), rel=1e-12)
    small = np.abs(z) < 40
    each = [bound(loss, y[i : i + 1]).slopes(z[i : i + 1])[0] for i in np.flatnonzero(small)]
    assert np.allclose(each, value[small], rtol=1e-12, atol=10 * room)
    assert bound(loss, y[small]).slopes(z[small])[0] == pytest.approx(np.sum(each), rel=1e-12)


@KINKED
def test_the_native_twin_has_a_subgradient_at_the_kinks(loss):
    for y in one_label_each(loss):
        z = kinks(loss, y)
        y = np.full(len(z), y)
        value, a = bound(loss, y).slopes(z)
        assert np.all(np.isfinite(loss.conjugate(a, y)))
        assert np.allclose(loss.value(z, y) + loss.conjugate(a, y), a * z, rtol=1e-14, atol=1e-14)
        assert value == pytest.approx(np.sum(loss.value(z, y)), abs=1e-15)


@pytest.mark.parametrize("make", [lambda x: x, without_twin], ids=["native", "python"])
@EVERY
def test_sample_weights_multiply(loss, make):
    loss = make(loss)
    z, y, s = random_rows(loss)
    once, unweighted = bound(loss, y).slopes(z)
    assert bound(loss, y, np.full(len(z), 2.0)).slopes(z)[0] == pytest.approx(2 * once, rel=1e-13)
    assert np.allclose(bound(loss, y, s).slopes(z)[1], s * unweighted, rtol=1e-14)
    each = [bound(loss, y[i : i + 1]).slopes(z[i : i + 1])[0] for i in range(len(z))]
    assert bound(loss, y, s).slopes(z)[0] == pytest.approx(s @ each, rel=1e-12)


@pytest.mark.parametrize("make", [lambda x: x, without_twin], ids=["native", "python"])
@pytest.mark.parametrize("loss", [losses.Exponential(), losses.Poisson()], ids=ids)
def test_a_row_of_weight_zero_contributes_nothing_even_at_infinity(loss, make):
    loss, sign = make(loss), -1.0 if loss.labels is Labels.BINARY else 1.0
    z, y, s = np.array([sign * 1e4, 0.0]), np.ones(2), np.array([0.0, 1.0])
    value, a = bound(loss, y, s).slopes(z)
    assert loss.value(z, y)[0] == np.inf
    assert value == pytest.approx(loss.value(z, y)[1])
    assert np.array_equal(a, [0.0, loss.slope(z, y)[1]])
    assert bound(loss, y, s).sums(z, 0.0) == pytest.approx((value, a[1]))


def test_a_subclass_that_changes_the_formula_runs_on_the_formula():
    class Doubled(losses.Hinge):
        def value(self, z, y):
            return 2 * super().value(z, y)

        def slope(self, z, y):
            return 2 * super().slope(z, y)

        def domain(self, y):
            low, high = super().domain(y)
            return 2 * low, 2 * high

        def conjugate(self, u, y):
            return 2 * super().conjugate(u / 2, y)

    assert not is_built_in(Doubled())
    w = np.array([0.3, -0.2, 0.5, 0.1])
    once, doubled = (problem_for(loss).risk.at(w) for loss in (losses.Hinge(), Doubled()))
    assert doubled.value == pytest.approx(2 * once.value, rel=1e-14)
    assert np.allclose(doubled.subgradient, 2 * once.subgradient, rtol=1e-14)


@EVERY
def test_repr_shows_how_to_build_it_again(loss):
    again = eval(repr(loss), {kind.__name__: kind for kind in losses.LOSSES.values()})
    assert type(again) is type(loss) and again.settings() == loss.settings()
