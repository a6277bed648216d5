"""The soft maximum over labellings: bounds, slopes, extremes, and as a problem."""

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.losses.multivariate_twins import twin


def scored(n, seed=0, share=1.0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    y = np.where(z + rng.normal(size=n) > share, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    return z, y


def native(loss, z, y):
    """(value, slopes) of the kernel."""
    c, g = twin(loss, loss.sample(y)).tangent(z)
    return c + g @ z, g


@pytest.mark.parametrize("mu", [1e-6, 1e-4, 1e-2, 1.0])
@pytest.mark.parametrize("n", [2, 9, 60, 300])
def test_it_lies_below_the_loss_by_no_more_than_its_bound(n, mu):
    z, y = scored(n)
    for beta in (0.5, 1.0):
        exact = losses.FBeta(beta).value(z, y)
        value, g = native(losses.FBeta(beta).smoothed(mu), z, y)
        assert exact - mu * n * np.log(2) - 1e-12 <= value <= exact + 1e-12
        assert np.all((-y * g >= 0) & (-y * g <= 2 / n * (1 + 1e-12)))


@pytest.mark.parametrize("mu", [1e-5, 1e-3, 0.1])
def test_the_kernel_is_the_formula_in_logarithms(mu):
    for n in (2, 17, 130):
        z, y = scored(n, seed=n)
        loss = losses.SmoothedFBeta(0.8, mu)
        value, g = native(loss, z, y)
        assert value == pytest.approx(loss.value(z, y), rel=1e-10)
        assert np.allclose(g, loss.slope(z, y), rtol=1e-7, atol=1e-13)


@pytest.mark.parametrize("mu", [3e-3, 0.1])
def test_the_slopes_are_the_derivatives_of_the_value(mu):
    z, y = scored(40)
    loss, h = losses.SmoothedFBeta(mu=mu), 1e-5
    _, g = native(loss, z, y)
    for i, e in enumerate(h * np.eye(len(z))):
        change = native(loss, z + e, y)[0] - native(loss, z - e, y)[0]
        assert change / (2 * h) == pytest.approx(g[i], rel=1e-5, abs=1e-9)


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e4, 1e8])
def test_thousands_of_rows_with_scores_of_any_size(scale):
    n, mu = 3000, 1e-5
    z, y = scored(n)
    value, g = native(losses.SmoothedFBeta(mu=mu), scale * z, y)
    exact = losses.FBeta().value(scale * z, y)
    assert exact - mu * n * np.log(2) <= value + 1e-9 * scale
    assert value <= exact + 1e-9 * scale
    assert np.all(np.abs(g) <= 2 / n * (1 + 1e-12))
    assert np.abs(g).max() > 1 / n


def test_equal_scores_have_equal_slopes():
    y = np.repeat([1.0, -1.0], [30, 70])
    _, g = native(losses.SmoothedFBeta(mu=1e-3), np.zeros(100), y)
    assert np.allclose(g[:30], g[0], rtol=1e-9)
    assert np.allclose(g[30:], g[30], rtol=1e-9)


def test_a_score_that_is_no_number_gives_none():
    z, y = scored(10)
    z[3] = np.inf
    value, g = native(losses.SmoothedFBeta(), z, y)
    assert np.isnan(value)
    assert np.isnan(g).all()


@pytest.mark.parametrize("mu", [0.0, -1.0, np.nan])
def test_a_mu_that_is_not_positive_is_refused(mu):
    with pytest.raises(fenchel.InvalidData, match="mu must"):
        losses.FBeta().smoothed(mu)


@pytest.mark.parametrize("intercept", [False, True])
def test_lbfgs_minimises_it_and_bounds_the_minimum_of_the_loss_itself(intercept):
    rng = np.random.default_rng(0)
    n, mu = 80, 1e-4
    X = rng.normal(size=(n, 4))
    y = np.where(X @ np.ones(4) + rng.normal(size=n) > 2, 1.0, -1.0)
    options = {"strength": 1e-2, "intercept": intercept}
    smooth = fenchel.problem(X, y, loss=losses.FBeta().smoothed(mu), **options)
    found = fenchel.minimize(smooth, "lbfgs", gap=1e-5)
    assert found.converged
    assert fenchel.verify(found, smooth).gap <= 1e-5
    exact = fenchel.minimize(fenchel.problem(X, y, loss="fbeta", **options), "bmrm", gap=1e-5)
    assert found.certificate.lower_bound <= exact.certificate.upper_bound
    bound = found.certificate.upper_bound + mu * n * np.log(2)
    assert exact.certificate.lower_bound <= bound
