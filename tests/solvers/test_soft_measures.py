"""Accelerated methods on measures of all rows: soft maxima, and what they prove of the maxima."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from catalogue import ids

import fenchel
from fenchel import losses
from fenchel.errors import Incompatible, InvalidCertificate
from fenchel.losses import Labels
from fenchel.losses.multivariate_twins import twin
from fenchel.verification.rows import rows_of
from fenchel.witness import Tangency, Tilted, Witness

COST = [[0, 1, 3], [0, 0, 2], [0, 0, 0]]
SOFT = [
    losses.ROC(),
    losses.Ordinal(),
    losses.Ordinal(cost=COST),
    losses.RankHinge(),
    losses.FBeta(),
    losses.FBeta(0.5),
    losses.PrecisionAtK(3),
    losses.RecallAtK(7),
    losses.PRBEP(),
    losses.NDCG(3),
    losses.ERU(),
    losses.MRR(),
]
EVERY = pytest.mark.parametrize("loss", SOFT, ids=ids)


def drawn(loss, rng, n):
    """(z, its sample), with ties in every other one, and weights where they mean something."""
    z = rng.normal(size=n) * rng.choice([0.3, 3.0])
    if rng.random() < 0.5:
        z = np.round(z)
    binary = loss.labels is Labels.BINARY
    y = rng.choice([-1.0, 1.0], n) if binary else rng.integers(0, 3, n).astype(float)
    y[:3] = [1, -1, 1] if binary else [0, 1, 2]
    s = np.append(np.ones(3), rng.choice([0.0, 0.5, 3.0], n - 3)) if loss.weighted else None
    groups = np.append(np.zeros(4), np.sort(rng.integers(0, 3, n - 4))) if loss.grouped else None
    return z, loss.sample(y, s, groups)


def value(loss, z, sample):
    c, g = loss.tangent(z, sample)
    return c + g @ z


@EVERY
def test_soft_tangents_are_cuts_of_the_loss_and_gradients_of_its_soft_version(loss):
    rng = np.random.default_rng(0)
    for mu in (0.01, 0.1, 1.0) * 4:
        z, sample = drawn(loss, rng, int(rng.integers(8, 30)))
        c, g, lack = loss.soft_tangent(z, sample, mu)
        most = 6.0 if isinstance(loss, losses.FBeta) else 3.0  # of lack / mu
        exact, soft = value(loss, z, sample), c + g @ z - lack
        assert 0 <= lack <= most * mu and exact - most * mu <= soft <= exact + 1e-12
        for v in rng.normal(size=(10, len(z))) * rng.choice([0.3, 3.0], (10, 1)):
            assert c + g @ v <= value(loss, v, sample) + 1e-12
            ahead = loss.soft_tangent(v, sample, mu)  # L_mu is convex, and g a gradient
            assert ahead.c + ahead.g @ v - ahead.lack >= soft + g @ (v - z) - 1e-12
        p, h = rng.normal(size=len(z)), 1e-4 * mu
        there, here = (loss.soft_tangent(z + step * p, sample, mu) for step in (h, -h))
        rise = (there.c + there.g @ (z + h * p) - there.lack) - (
            here.c + here.g @ (z - h * p) - here.lack
        )
        assert here.g @ p - 1e-9 <= rise / (2 * h) <= there.g @ p + 1e-9


@EVERY
def test_the_kernels_are_the_formulas(loss):
    rng = np.random.default_rng(1)
    for mu, n in itertools.product((1e-3, 0.1), (40, 2000)):
        z, sample = drawn(loss, rng, n)
        c, g, lack = twin(loss, sample).soft_tangent(z, mu)
        formula = loss.soft_tangent(z, sample, mu)
        assert np.isclose(c, formula.c, atol=1e-12) and np.isclose(lack, formula.lack, atol=1e-12)
        assert np.allclose(g, formula.g, atol=1e-12)


@pytest.mark.parametrize("loss", [losses.FBeta(), losses.NDCG(3), losses.MRR()], ids=ids)
def test_scores_that_are_no_numbers_have_no_soft_tangent(loss):
    z, sample = drawn(loss, np.random.default_rng(4), 8)
    z[3] = np.inf
    c, g, lack = twin(loss, sample).soft_tangent(z, 0.1)
    assert np.isnan([c, lack]).all() and np.isnan(g).all()


def test_pairs_are_those_one_by_one():
    rng, loss, mu = np.random.default_rng(2), losses.Ordinal(cost=COST), 0.3
    z, sample = drawn(loss, rng, 12)
    c = lack = total = 0.0
    g = np.zeros(12)
    for i, j in itertools.product(range(12), repeat=2):
        if sample.y[i] < sample.y[j]:
            weight = sample.s[i] * sample.s[j]
            alpha = np.clip((1 + z[i] - z[j]) / (2 * mu), 0, 1)
            weighted = weight * COST[int(sample.y[i])][int(sample.y[j])]
            c, lack = c + weighted * alpha, lack + mu * weighted * alpha**2
            g[i], g[j], total = g[i] + weighted * alpha, g[j] - weighted * alpha, total + weight
    found = loss.soft_tangent(z, sample, mu)
    assert np.isclose(found.c, c / total) and np.isclose(found.lack, lack / total)
    assert np.allclose(found.g, g / total)


def test_f_beta_is_the_best_mean_of_labellings():
    """By CVXPY: over shares of the rows for each number of lost positives, and its distribution."""
    cvxpy = pytest.importorskip("cvxpy")
    loss, rng, mu = losses.FBeta(0.8), np.random.default_rng(3), 0.2
    z, sample = drawn(loss, rng, 8)
    right = sample.y > 0
    n, P = len(z), int(np.sum(right))
    step, nu, tau = 2 / n, mu * n / (4 * P), mu / (2 * np.log(P + 1))
    values = []
    for b in range(P + 1):
        u, v = cvxpy.Variable(P), cvxpy.Variable(n - P)
        lines = []
        for low in range(n - P):
            ends = loss._delta(np.array([b, b]), np.array([low, low + 1]), P)
            lines.append(ends[0] + (cvxpy.sum(v) - low) * (ends[1] - ends[0]))
        gained = v @ z[~right] - u @ z[right]
        gained -= nu / 2 * (cvxpy.sum_squares(u) + cvxpy.sum_squares(v))
        limits = [u >= 0, u <= 1, v >= 0, v <= 1, cvxpy.sum(u) == b]
        best = cvxpy.Maximize(cvxpy.min(cvxpy.hstack(lines)) + step * gained)
        values.append(cvxpy.Problem(best, limits).solve(solver="CLARABEL"))
    c, g, lack = loss.soft_tangent(z, sample, mu)
    scaled = np.array(values) / tau
    expected = tau * (np.log(np.mean(np.exp(scaled - scaled.max()))) + scaled.max())
    assert c + g @ z - lack == pytest.approx(expected, abs=1e-7)


def problem_of(loss, seed=0, n=60, **settings):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    z = X @ rng.normal(size=4) + rng.normal(size=n)
    binary = loss.labels is Labels.BINARY
    y = np.where(z > 0.5, 1.0, -1.0) if binary else np.clip(np.round(z) + 1, 0, 2)
    groups = np.arange(n) // 10 if loss.grouped else None
    return fenchel.problem(X, y, loss=loss, groups=groups, strength=0.05, **settings)


@EVERY
def test_accelerated_methods_certify_the_measure_itself(loss):
    problem = problem_of(loss)
    least = fenchel.minimize(problem, "bmrm", gap=1e-6)
    for name, form in (("agm-inf", "primal"), ("agm-inf", "homotopy"), ("agm-1", "primal")):
        result = fenchel.minimize(problem, fenchel.solver(name, form=form), gap=1e-3)
        assert result.converged
        assert result.lower_bound <= least.objective and least.lower_bound <= result.objective
        assert fenchel.verify(result, problem).gap <= 1e-3


@pytest.mark.parametrize("settings", [{"regularizer": "l1"}, {"intercept": True}], ids=ids)
def test_other_regularisers_and_an_intercept(settings):
    problem = problem_of(losses.FBeta(), **settings)
    least = fenchel.minimize(problem, "bmrm", gap=1e-5)
    result = fenchel.minimize(problem, "agm-inf", gap=1e-3)
    assert result.converged and least.lower_bound <= result.objective
    assert result.lower_bound <= least.objective
    assert fenchel.verify(result, problem).gap <= 1e-3


def test_what_has_no_soft_version_is_refused():
    with pytest.raises(Incompatible, match="agm-inf cannot"):
        fenchel.minimize(problem_of(losses.ROC()), fenchel.solver("agm-inf", form="dual"))


@pytest.mark.parametrize("level", [0.0, -1.0, np.inf, np.nan])
def test_levels_that_are_none_prove_nothing(level):
    problem = problem_of(losses.ROC())
    level = Tilted(np.empty(0), level, np.empty(0))
    witness = Witness([Tangency(np.zeros(4), offsets=level)], [1.0])
    with pytest.raises(InvalidCertificate):
        rows_of(problem.risk).cut(witness, problem, np.zeros(4), 0.0)
