"""Accelerated methods on hinges of K scores: soft maxima, and what they prove of the maxima."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import ids, sample_weights

import fenchel
from fenchel import losses
from fenchel.errors import Incompatible
from fenchel.losses import Labels
from fenchel.risks.views.forms import PrimalForm
from fenchel.risks.views.smoothing import SmoothedRisk, roughness

COST = [[0, 1, 3, 2], [1, 0, 2, 0], [0.5, 2, 0, 1], [1, 1, 4, 0]]
TREE = {"a": "left", "b": "left", "c": "right", "d": "deep", "deep": "right"}
TREE |= {"left": "top", "right": "top"}
HINGES = [
    losses.MulticlassHinge(),
    losses.MulticlassHinge(cost=COST),
    losses.MulticlassHinge(cost=COST, rescaling="slack"),
    losses.MultilabelHinge(),
    losses.HierarchicalHinge(taxonomy=TREE),
]
EVERY = pytest.mark.parametrize("loss", HINGES, ids=ids)


def problem_of(loss, n=40, **settings):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 3))
    Z = X @ rng.normal(size=(3, 4)) + rng.normal(size=(n, 4))
    y = np.argmax(Z, axis=1)
    if loss.labels is Labels.SETS:
        y = (Z > 0.3).astype(np.uint8)
    if loss.labels is Labels.LEAVES:
        y = np.array(["a", "b", "c", "d"])[y]
    settings = {"strength": 0.05, "sample_weight": sample_weights(n), **settings}
    return fenchel.problem(X, y, loss=loss, **settings)


@pytest.mark.parametrize("mu", [1e-3, 0.5])
@EVERY
def test_the_soft_maximum_is_that_of_all_pieces_with_a_gradient(loss, mu):
    problem = problem_of(loss)
    risk, rng = problem.risk, np.random.default_rng(4)
    w, p = rng.normal(size=(2, risk.n_parameters))
    z = risk.lazy_at(w).z
    at, smooth = SmoothedRisk(risk, mu).at(z), SmoothedRisk(risk, mu)
    (shard,), (Z,) = risk.engine.shards, z
    pieces = risk.loss.pieces(Z, shard.y)
    top = np.max(pieces, axis=1)
    count = np.sum(np.isfinite(pieces), axis=1)
    assert np.array_equal(count, risk.loss.n_pieces(shard.y, Z.shape[1]))
    each = np.exp((pieces - top[:, np.newaxis]) / mu)
    expected = top + mu * np.log(np.sum(each, axis=1) / count)
    assert at.value == pytest.approx(shard.s @ expected / np.sum(shard.s), rel=1e-12)
    assert 0 <= risk.at(w).value - at.value <= mu * roughness(risk) + 1e-12
    shares = each / np.sum(each, axis=1, keepdims=True)
    lack = shard.s @ (np.log(count) + np.sum(shares * np.log(np.maximum(shares, 1e-300)), axis=1))
    assert smooth.d2(at.u) == pytest.approx(lack / np.sum(shard.s), rel=1e-9, abs=1e-12)
    conjugate, _ = shard.bound(risk.loss).conjugates(at.u[0])  # Fenchel-Young with mu d2
    product = shard.s @ np.sum(at.u[0] * Z, axis=1)
    dual = (product - conjugate) / np.sum(shard.s) - mu * smooth.d2(at.u)
    assert at.value == pytest.approx(dual, rel=1e-9)
    J, eta = PrimalForm(problem, mu), 1e-5 * mu
    ahead, behind = (J.f(J.imaged(w + t * p)) for t in (eta, -eta))
    assert J.tangent(J.imaged(w)).gradient @ p == pytest.approx((ahead - behind) / (2 * eta), 1e-4)


@EVERY
def test_the_slopes_change_no_faster_than_is_said(loss):
    problem, mu, rng = problem_of(loss), 0.3, np.random.default_rng(5)
    smooth = SmoothedRisk(problem.risk, mu)
    for w, p in rng.normal(size=(40, 2, problem.risk.n_parameters)):
        z, ahead = (problem.risk.lazy_at(v).z for v in (w, w + 0.1 * p))
        u, moved = smooth.at(z).u[0], smooth.at(ahead).u[0]
        change = np.linalg.norm(moved - u, axis=1)
        assert np.all(change <= smooth.smoothness * np.linalg.norm(ahead[0] - z[0], axis=1) + 1e-12)


@pytest.mark.parametrize("settings", [{}, {"intercept": True, "regularizer": "entropy"}], ids=ids)
@EVERY
def test_accelerated_methods_certify_the_hinge_itself(loss, settings):
    problem = problem_of(loss, **settings)
    least = fenchel.minimize(problem, "bmrm", gap=1e-6)
    for name, form in (("agm-inf", "primal"), ("agm-inf", "homotopy"), ("agm-1", "primal")):
        result = fenchel.minimize(problem, fenchel.solver(name, form=form), gap=1e-3)
        assert result.converged
        assert result.lower_bound <= least.objective and least.lower_bound <= result.objective
        assert fenchel.verify(result, problem).gap <= 1e-3


def test_sets_with_several_costs_have_no_dual_variables_and_are_refused():
    with pytest.raises(Incompatible, match="agm-inf cannot"):
        fenchel.minimize(problem_of(losses.MultilabelHinge(cost=COST)), "agm-inf")
