"""Lower bounds where nothing is penalised: never above the minimum, and close to it nearby."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel import losses
from fenchel.result import Certificate, Status
from fenchel.verification.curvature import curvature, curvature_bound, least_curvature
from fenchel.verification.row_data import RowEvidence
from fenchel.verification.softmax_curvature import softmax_bound

SMOOTH = [
    losses.SquaredError(),
    losses.Logistic(),
    losses.Exponential(),
    losses.Poisson(),
    losses.Gamma(),
    losses.Tweedie(1.3),
    losses.Huber(0.7),
    losses.Expectile(0.8),
    losses.SquaredEpsilonInsensitive(0.2),
    losses.SquaredHinge(),
    losses.SmoothedHinge(0.5),
]


def rows(loss, n=160, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = 0.6 * X @ rng.normal(size=d) + 0.2
    kinds = {
        losses.Labels.BINARY: np.sign(z + rng.logistic(size=n)),
        losses.Labels.REAL: z + rng.normal(size=n),
        losses.Labels.COUNT: rng.poisson(np.exp(z)).astype(float),
        losses.Labels.POSITIVE: np.exp(z) * rng.gamma(2.0, size=n),
    }
    return X, kinds[loss.labels], rng


def unpenalised(loss, X, y, **options):
    given = {"intercept": True, "engine": "serial"} | options
    return fenchel.problem(X, y, loss=loss, strength=0, **given)


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
@pytest.mark.parametrize("intercept", [True, False])
def test_no_bound_is_above_the_minimum_and_that_at_the_minimiser_is_it(loss, intercept):
    X, y, rng = rows(loss)
    weights = rng.integers(0, 3, size=len(y)).astype(float)
    problem = unpenalised(loss, X, y, intercept=intercept, sample_weight=weights)
    result = fenchel.minimize(problem, gap=1e-10)
    assert result.converged and result.solver == "newton"
    data = RowEvidence(problem.risk)
    for size in (0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0):
        w = result.w + size * rng.normal(size=X.shape[1])
        b = result.intercept + size * rng.normal() * intercept
        bound, value = curvature_bound(data, w, b), data.value(w, b)
        assert bound <= result.objective
        if size <= 1e-4:
            assert value - bound <= 2.5 * (value - result.lower_bound) + 1e-11


@pytest.mark.parametrize("loss", SMOOTH, ids=repr)
def test_curvatures_are_the_slopes_of_slopes(loss):
    _, y, rng = rows(loss)
    z, step = rng.normal(size=len(y)), 1e-6
    slope = (loss.slope(z + step, y) - loss.slope(z - step, y)) / (2 * step)
    if loss.pieces(y) is None:
        assert np.allclose(curvature(loss, z, y), slope, rtol=1e-5, atol=1e-8)
        for move in (-0.3, 0.3):
            kept = np.exp(-0.3) * curvature(loss, z, y)
            assert np.all(curvature(loss, z + move, y) >= kept * (1 - 1e-12))
        return
    inside = [rng.uniform(-0.4, 0.4, size=len(y)) for _ in range(20)]
    each = [(loss.slope(z + u + step, y) - loss.slope(z + u, y)) / step for u in inside]
    least = least_curvature(loss, z, y, 0.4 + step)
    assert np.all(least <= np.min(each, axis=0) + 1e-6)
    assert np.allclose(least_curvature(loss, z, y, 0.0), slope, atol=1e-5)


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredError()], ids=repr)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_columns_that_depend_exactly_change_nothing_but_w(loss, layout):
    X, y, rng = rows(loss)
    categories = np.eye(3)[rng.integers(0, 3, size=len(y))]
    copies = np.hstack([X, categories, 2 * X[:, :1], np.zeros((len(y), 1))])
    fewer = np.hstack([X, categories[:, :2]])
    results = [fenchel.minimize(unpenalised(loss, layout(Z), y)) for Z in (copies, fewer)]
    assert all(result.converged for result in results)
    assert results[0].objective == pytest.approx(results[1].objective, rel=1e-12)


def test_columns_that_depend_up_to_round_off_are_named_and_nothing_is_proved():
    X, y, rng = rows(losses.Logistic())
    categories = np.eye(3)[rng.integers(0, 3, size=len(y))]
    scaled = (categories - categories.mean(axis=0)) / categories.std(axis=0)
    problem = unpenalised(losses.Logistic(), np.hstack([X, scaled]), y)
    result = fenchel.minimize(problem)
    assert result.status is Status.STALLED and result.lower_bound == 0
    assert "Column 6 of X (counted from 0) is a combination" in result.ending


@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Poisson()], ids=repr)
def test_verify_proves_a_result_and_refuses_more(loss):
    X, y, _ = rows(loss)
    problem = unpenalised(loss, X, y)
    result = fenchel.minimize(problem)
    assert fenchel.verify(result, problem).gap <= 1e-10
    forged = Certificate(result.objective, result.objective)
    worse = replace(result, w=result.w * 0.9)
    with pytest.raises(fenchel.InvalidCertificate):
        fenchel.verify(worse, problem)
    worse = replace(worse, certificate=Certificate(0.0, problem.risk.at(worse.w).value))
    moved = replace(result, w=worse.w, certificate=replace(forged, upper_bound=worse.objective))
    with pytest.raises(fenchel.InvalidCertificate):
        fenchel.verify(moved, problem)


def test_rows_in_many_shards_and_with_offsets_are_proved_alike():
    X, y, rng = rows(losses.Poisson(), n=3000)
    offset = rng.normal(size=len(y))
    options = {"offset": offset, "engine": fenchel.engines.Threads(2)}
    result = fenchel.minimize(unpenalised(losses.Poisson(), X, y, **options), gap=1e-10)
    assert result.converged
    alone = fenchel.minimize(unpenalised(losses.Poisson(), X, y, offset=offset), gap=1e-10)
    assert np.allclose(alone.w, result.w, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_of_softmax_no_bound_is_above_the_minimum_either(intercept):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    X = np.hstack([X, X[:, :1]])
    y = (X @ rng.normal(size=(4, 4)) + rng.gumbel(size=(200, 4))).argmax(axis=1)
    problem = fenchel.problem(X, y, loss="softmax", strength=0, intercept=intercept)
    result = fenchel.minimize(problem, gap=1e-10)
    assert result.converged and result.solver == "newton-cg"
    assert fenchel.verify(result, problem).gap <= 1e-10
    data = RowEvidence(problem.risk)
    for size in (0.0, 1e-6, 1e-4, 1e-2, 0.1, 1.0):
        moved = replace(result, w=result.w + size * rng.normal(size=result.w.shape))
        w, b = data.parameters(moved)
        bound, value = softmax_bound(data, w, b), data.value(w, b)
        assert bound <= result.objective
        if size <= 1e-4:
            assert value - bound <= 2.5 * (value - result.lower_bound) + 1e-11
