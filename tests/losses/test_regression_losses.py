"""Losses of numbers beside what others minimise: SciPy and scikit-learn."""

from decimal import Decimal, localcontext

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn import linear_model, metrics

import fenchel
from fenchel import losses
from fenchel.losses.binding import bound


def rows(n=200, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d), rng


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9])
def test_expectile_is_what_scipy_finds(level):
    X, z, rng = rows()
    y = z + rng.gumbel(size=len(z))

    def objective(wb):
        r = X @ wb[:-1] + wb[-1] - y
        return 0.05 * wb[:-1] @ wb[:-1] + 0.5 * np.mean(np.where(r > 0, 1 - level, level) * r**2)

    found = minimize(objective, np.zeros(4), method="BFGS", options={"gtol": 1e-9})
    model = fenchel.Regressor(loss="expectile", expectile=level, alpha=0.1, tol=1e-10).fit(X, y)
    assert model.status_ == "converged"
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)
    assert np.allclose([*model.coef_, model.intercept_], found.x, atol=1e-4)


def test_expectiles_balance_squares_and_the_middle_one_is_the_mean():
    y = np.random.default_rng(0).exponential(size=50)
    for level in (0.2, 0.5, 0.8):
        model = fenchel.Regressor(loss="expectile", expectile=level, tol=1e-12)
        e = model.fit(np.zeros((50, 1)), y).intercept_
        above, below = np.maximum(y - e, 0).sum(), np.maximum(e - y, 0).sum()
        assert level * above == pytest.approx((1 - level) * below, rel=1e-6)
        assert level != 0.5 or e == pytest.approx(y.mean())


def agrees(loss, other, X, y, alpha=0.1):
    """The minimum of both, of a penalty alpha/2 |w|^2 and half the mean deviance."""
    problem = fenchel.problem(X, y, loss=loss, strength=alpha, intercept=True, engine="serial")
    found = fenchel.minimize(problem, gap=1e-10)
    model = other.set_params(alpha=alpha, tol=1e-10, max_iter=10_000).fit(X, y)
    assert found.converged and fenchel.verify(found, problem)
    assert np.allclose(found.w, model.coef_, atol=1e-5)
    assert found.intercept == pytest.approx(model.intercept_, abs=1e-5)
    z = X @ model.coef_ + model.intercept_
    theirs = alpha / 2 * model.coef_ @ model.coef_ + np.mean(loss.value(z, y))
    assert found.lower_bound <= theirs * (1 + 1e-12)
    assert theirs == pytest.approx(found.objective, rel=1e-8)


def test_gamma_is_scikit_learns():
    X, z, rng = rows()
    y = rng.gamma(2.0, np.exp(z) / 2)
    assert np.mean(losses.Gamma().value(z, y)) == pytest.approx(
        metrics.mean_gamma_deviance(y, np.exp(z)) / 2
    )
    agrees(losses.Gamma(), linear_model.GammaRegressor(), X, y)


def test_gamma_refuses_labels_that_are_not_positive():
    with pytest.raises(fenchel.InvalidData, match="needs y > 0"):
        fenchel.problem(np.ones((3, 1)), [1.0, 0.0, 2.0], loss="gamma")


def claims(n=300, seed=0):
    """Sums of a Poisson number of gamma numbers: compound, many of them 0."""
    X, z, rng = rows(n, seed=seed)
    return X, z, rng.gamma(1.0, np.exp(z / 2), size=n) * rng.poisson(0.7, size=n)


@pytest.mark.parametrize("power", [1.1, 1.5, 1.9])
def test_tweedie_is_scikit_learns(power):
    X, z, y = claims()
    loss = losses.Tweedie(power=power)
    assert (y == 0).sum() > 50
    assert np.mean(loss.value(z, y)) == pytest.approx(
        metrics.mean_tweedie_deviance(y, np.exp(z), power=power) / 2
    )
    agrees(loss, linear_model.TweedieRegressor(power=power, link="log"), X, y)


def test_tweedie_goes_from_poisson_to_gamma():
    z, y = np.linspace(-3, 3, 25), np.linspace(0.1, 5, 25)
    for power, limit in ((1 + 1e-7, losses.Poisson()), (2 - 1e-7, losses.Gamma())):
        near = losses.Tweedie(power=power)
        assert np.allclose(near.value(z, y), limit.value(z, y), atol=1e-5)
        assert np.allclose(near.slope(z, y), limit.slope(z, y), atol=1e-5)
        alpha = near.slope(z, y)
        assert np.allclose(near.conjugate(alpha, y), limit.conjugate(alpha, y), atol=1e-5)


NEAR_THE_ENDS = [1 + 1e-15, 1 + 1e-10, 1.000001, 1.01, 1.5, 1.99, 2 - 1e-10, 2 - 1e-15]
FROM_THE_MINIMUM = [-100.0, -30.0, -1.0, -1e-3, -1e-7, 0.0, 1e-7, 1e-3, 1.0, 30.0, 100.0]


@pytest.mark.parametrize("power", NEAR_THE_ENDS)
def test_tweedie_is_exact_however_close_its_power_is_to_1_or_2(power):
    """Beside 60 digits: no further off than scores and log y that are rounded explain."""
    labels = [1e-300, 1e-12, 1e-3, 1.0, 1e3, 1e12]
    y, t = (part.ravel() for part in np.meshgrid(labels, FROM_THE_MINIMUM))
    loss, z = losses.Tweedie(power=power), np.log(y) + t
    twin = [bound(loss, y[i : i + 1]).slopes(z[i : i + 1]) for i in range(len(y))]
    ours = [loss.value(z, y), loss.slope(z, y)]
    theirs = [np.array([value for value, _ in twin]), np.array([a[0] for _, a in twin])]
    unit = Decimal(2) ** -52
    with localcontext(prec=60):
        a, b = Decimal(power) - 1, 2 - Decimal(power)
        for values, slopes in (ours, theirs):
            for value, slope, score, label in zip(values, slopes, z, y, strict=True):
                at, log = Decimal(score), Decimal(label).ln()
                down, up, level = (b * at).exp(), (log - a * at).exp(), (b * log).exp()
                exact, curvature = (down - level) / b + (up - level) / a, b * down + a * up
                blur = unit * (1 + abs(at) + abs(log))
                room = 4 * unit * exact + 2 * blur * abs(down - up) + blur**2 * curvature
                assert abs(Decimal(value) - exact) <= room
                room = 4 * unit * abs(down - up) + 2 * blur * curvature
                assert abs(Decimal(slope) - (down - up)) <= room


def test_tweedie_of_a_label_0_is_an_exponential():
    z = np.array([-2000.0, -1.0, 0.0, 1.0, 300.0])
    for power in (1.000001, 1.5, 1.999999):
        loss, y, rate = losses.Tweedie(power=power), np.zeros(5), np.exp((2 - power) * z)
        assert np.array_equal(loss.value(z, y), rate / (2 - power))
        assert np.allclose(loss.slope(z, y), rate, rtol=1e-15)


def test_a_label_that_is_nearly_0_makes_no_finite_loss_infinite():
    # exp(b t) is, at t = z - log y = 771, but y^b is small.
    loss, z, y = losses.Tweedie(power=1.01), np.array([80.0]), np.array([1e-300])
    value, slope = bound(loss, y).slopes(z)
    assert value == pytest.approx(np.exp(0.99 * 80) / 0.99, rel=1e-13)
    assert loss.value(z, y)[0] == pytest.approx(value, rel=1e-14)
    assert slope[0] == pytest.approx(np.exp(0.99 * 80), rel=1e-13)


@pytest.mark.parametrize("solver", ["auto", "bmrm", "sdca"])
@pytest.mark.parametrize("power", [1 + 1e-10, 1.000001, 1.999999])
def test_a_fit_with_a_power_near_1_or_2_is_verified(power, solver):
    X, _, y = claims()
    problem = fenchel.problem(
        X, y + (power > 1.5), loss="tweedie", power=power, strength=0.01, intercept=True
    )
    result = fenchel.minimize(problem, solver, gap=1e-6)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-6


@pytest.mark.parametrize(
    "power", [1 + 1e-10, 1.000001, 1.0001, 1.05, 1.5, 1.8, 1.9999, 1.999999, 2 - 1e-10]
)
def test_the_conjugate_of_tweedie_is_never_too_small_and_hardly_too_large(power):
    """Beside the supremum in 60 digits, over labels and dual variables of all sizes."""
    rng = np.random.default_rng(0)
    y = 10.0 ** rng.uniform(-8, 8, size=20)
    alpha = rng.choice([-1.0, 1.0], size=20) * 10.0 ** rng.uniform(-8, 8, size=20)
    alpha[:5] = 0.0
    alpha[15:] = y[15:] * rng.uniform(-0.9, 0.9, size=5)
    found = losses.Tweedie(power=power).conjugate(alpha, y)
    with localcontext(prec=60):
        a, b = Decimal(power) - 1, 2 - Decimal(power)
        for above, label, slope in zip(found, map(Decimal, y), map(Decimal, alpha), strict=True):
            log, level = label.ln(), label**b
            reach = (1 + abs(slope) / level).ln()
            low, high = -reach / a, reach / b
            for _ in range(130):  # bisection, as it cannot fail
                t = (low + high) / 2
                rise, fall = level * ((b * t).exp() - 1) / b, level * ((-a * t).exp() - 1) / a
                low, high = (t, high) if b * rise - a * fall < slope else (low, t)
            exact = slope * (log + t) - rise - fall
            scale = abs(slope * log) + abs(slope * t) + abs(rise) + abs(fall)
            digits = Decimal("1e-45") * level  # of this test
            assert -digits <= Decimal(above) - exact <= Decimal("1e-13") * scale + digits


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (fenchel.GammaRegressor(), linear_model.GammaRegressor()),
        (fenchel.TweedieRegressor(power=1.3), linear_model.TweedieRegressor(power=1.3, link="log")),
    ],
    ids=["gamma", "tweedie"],
)
def test_estimators_predict_and_score_as_scikit_learns(ours, theirs):
    X, _, y = claims()
    y = y + (type(ours) is fenchel.GammaRegressor)
    ours.set_params(alpha=0.1, tol=1e-10).fit(X, y)
    theirs.set_params(alpha=0.1, tol=1e-10, max_iter=10_000).fit(X, y)
    assert np.allclose(ours.predict(X), theirs.predict(X), rtol=1e-4)
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), rel=1e-6)
