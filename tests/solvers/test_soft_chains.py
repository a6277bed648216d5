"""Accelerated methods on max-margin networks: soft maxima, and what they prove of the maxima."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from catalogue import ids

import fenchel
from fenchel import losses
from fenchel.errors import Incompatible, InvalidCertificate
from fenchel.losses import chain_formulas
from fenchel.risks.views.chain_dual import ChainDual, as_array
from fenchel.risks.views.soft_chains import SoftForm, most_entropy
from fenchel.verification.chain_cuts import ChainEvidence
from fenchel.witness import Tangency, Tilted

KINDS = {"m3n": losses.M3N, "crf": losses.CRF, "soft_m3n": losses.SoftM3N}


def problem_of(seed, loss="m3n", regularizer="l2", n=15, L=3, strength=0.1, **settings):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), np.append(np.arange(L), rng.integers(0, L, n - L))
    groups = np.sort(rng.integers(0, n // 3, n))
    kind = KINDS[loss](pairs="all", **settings)
    return fenchel.problem(
        X, y, loss=kind, groups=groups, regularizer=regularizer, strength=strength
    )


def labellings(problem, w):
    """(Delta and h of every labelling) of each sequence, by enumeration."""
    (shard,) = problem.risk.engine.shards
    Z, T = shard.rows.matrix() @ shard.pairs.states(w).toarray(), shard.pairs.transitions(w)
    L, costs = len(T), problem.risk.loss.costs(len(T))
    for i, j in itertools.pairwise(shard.starts):
        y, ends = shard.y[i:j], np.array([0, j - i])
        right = chain_formulas.gold_scores(Z[i:j].copy(), T, ends, y)
        found = []
        for codes in itertools.product(range(L), repeat=int(j - i)):
            labels = np.array(codes)
            delta = costs[labels, y].sum()
            score = chain_formulas.gold_scores(Z[i:j].copy(), T, ends, labels)
            found.append((delta, delta + (score - right)[0]))
        yield np.array(found).T


@pytest.mark.parametrize("mu", [0.03, 0.5, 4.0])
def test_soft_maximum_and_its_cut_are_those_of_all_labellings(mu):
    cost = np.array([[0.0, 2.0, 1.0], [0.5, 0.0, 3.0], [1.0, 1.0, 0.0]])
    problem = problem_of(0, cost=cost)
    w = np.random.default_rng(1).normal(size=problem.risk.n_parameters)
    soft = SoftForm(problem, mu).at(w)
    values, costs, lacks = [], [], []
    for delta, h in labellings(problem, w):
        p = np.exp((h - h.max()) / mu)
        p /= p.sum()
        values.append(h.max() + mu * np.log(np.mean(np.exp((h - h.max()) / mu))))
        costs.append(p @ delta)
        lacks.append(np.log(len(p)) + np.sum(p * np.log(np.maximum(p, 1e-300))))
    assert np.isclose(soft.value, np.mean(values)) and np.isclose(soft.cost, np.mean(costs))
    assert np.isclose(soft.lack, np.mean(lacks), atol=1e-9)
    R = problem.risk.at(w).value
    assert soft.value <= R <= soft.value + mu * most_entropy(problem.risk)
    step = 1e-5 * np.random.default_rng(2).normal(size=len(w))
    ahead, behind = (SoftForm(problem, mu).at(w + s).value for s in (step, -step))
    assert np.isclose(ahead - behind, 2 * soft.gradient @ step, rtol=1e-4)
    v = np.random.default_rng(3).normal(size=(20, len(w)))
    below = soft.cost + v @ soft.gradient
    assert all(below[k] <= problem.risk.at(v[k]).value + 1e-12 for k in range(20))


PRIMAL = [
    (name, {"form": form}) for name in ("agm-inf", "agm-1") for form in ("primal", "homotopy")
]
DUAL = [("agm-inf", {"form": "dual"}), ("agm-1", {"form": "dual"}), ("excessive-gap", {})]


@pytest.mark.parametrize("regularizer", ["l2", "elastic_net", "l1"])
@pytest.mark.parametrize(("name", "settings"), PRIMAL + DUAL, ids=ids)
def test_accelerated_methods_certify_the_maximum_itself(name, settings, regularizer):
    problem, solver = problem_of(4, regularizer=regularizer), fenchel.solver(name, **settings)
    if (name, settings) in DUAL and regularizer == "l1":
        assert "strongly convex" in solver.obstacle(problem)
        return
    result = fenchel.minimize(problem, solver, gap=1e-3)
    least = fenchel.minimize(problem, "bmrm", gap=1e-6)
    assert result.converged
    assert result.lower_bound <= least.objective and least.lower_bound <= result.objective
    assert fenchel.verify(result, problem).gap <= 1e-3
    assert fenchel.verify(result, problem, rigorous=True).gap <= 1.1e-3


@pytest.mark.parametrize("loss", ["m3n", "crf", "soft_m3n"])
@pytest.mark.parametrize("regularizer", ["l2", "l1"])
def test_bounds_enclose_the_minimum_over_all_labellings(loss, regularizer):
    """By CVXPY, with a term for each labelling of each sequence."""
    cvxpy = pytest.importorskip("cvxpy")
    problem = problem_of(5, loss, regularizer, n=9, L=2)
    (shard,), d = problem.risk.engine.shards, problem.risk.n_parameters
    X, w = shard.rows.matrix().toarray(), cvxpy.Variable(d)
    terms = []
    for i, j in itertools.pairwise(shard.starts):
        codes = [np.array(each) for each in itertools.product(range(2), repeat=int(j - i))]
        rows = np.array([_features(shard.pairs, X[i:j], each, d) for each in codes])
        right = _features(shard.pairs, X[i:j], shard.y[i:j], d)
        wrong = np.array([float(np.sum(each != shard.y[i:j])) for each in codes])
        h = (rows - right) @ w + (0.0 if loss == "crf" else wrong)
        terms.append(cvxpy.max(h) if loss == "m3n" else cvxpy.log_sum_exp(h))
    penalty = cvxpy.sum_squares(w) / 2 if regularizer == "l2" else cvxpy.norm1(w)
    J = problem.strength * penalty + sum(terms) / len(terms)
    least = cvxpy.Problem(cvxpy.Minimize(J)).solve(solver="CLARABEL")
    for name in ("agm-inf", "agm-1"):
        result = fenchel.minimize(problem, name, gap=1e-4)
        assert result.converged
        assert result.lower_bound - 1e-7 <= least <= result.objective + 1e-7


def _features(pairs, X, codes, d):
    """What each weight is multiplied by in the score of a labelling."""
    found = np.empty(d)
    for k, unit in enumerate(np.eye(d)):
        Z, ends = X @ pairs.states(unit).toarray(), np.array([0, len(codes)])
        found[k] = chain_formulas.gold_scores(Z, pairs.transitions(unit), ends, codes)[0]
    return found


def test_divergences_of_the_entropy_of_chains_are_those_of_all_labellings():
    """KL(p || q) = d(p) - d(q) - <grad d(q), p - q>, from the cuts of p and q alone."""
    problem = problem_of(0)
    D, rng = ChainDual(problem), np.random.default_rng(6)
    (v, w), (mu, nu) = rng.normal(size=(2, problem.risk.n_parameters)), (0.7, 2.0)
    p, q = D.soft.at(v, mu), D.soft.at(w, nu)
    x = D.ground(np.append(-3.0 * w, -1.0), 4 * nu, 3.0)  # at 3/4 w with the level nu
    at = np.append(w, 1.0) / nu
    divergence = p.lack - q.lack - at @ (as_array(p) - as_array(q))
    exact = []
    for (_, h), (_, g) in zip(labellings(problem, v), labellings(problem, w), strict=True):
        shares = [np.exp(each - np.logaddexp.reduce(each)) for each in (h / mu, g / nu)]
        exact.append(np.sum(shares[0] * np.log(shares[0] / shares[1])))
    assert divergence == pytest.approx(np.mean(exact), rel=1e-9)
    assert D.d_gradient(x) == pytest.approx(np.append(0.75 * w, 1.0) / nu)


def test_a_ground_problem_of_the_dual_is_least_among_distributions():
    problem, rng = problem_of(0), np.random.default_rng(7)
    D, d = ChainDual(problem), problem.risk.n_parameters
    s, c, A = np.append(rng.normal(size=d), -0.4), 0.8, 1.5
    x = D.ground(s, c, A)
    least = A * D.Psi(x) + c * D.d(x) + s @ x
    for mu, v in zip(rng.lognormal(size=20), rng.normal(size=(20, d)), strict=True):
        other = D.soft.at(v, mu)
        y = as_array(other)
        assert A * D.Psi(y) + c * other.lack + s @ y >= least - 1e-12


def test_the_excessive_gap_of_chains_is_kept():
    """J_mu(w) <= D(u) <= the least J, so that J(w) is no further from it than mu log |Y|."""
    problem = problem_of(4, strength=0.01)
    least = fenchel.minimize(problem, "bmrm", gap=1e-7)
    steps = fenchel.solver("excessive-gap").iterate(problem, np.zeros(problem.risk.n_parameters))
    next(steps)
    D, levels = ChainDual(problem), []
    for step in itertools.islice(steps, 80):
        state = step.state()
        w, u, mu = state["w"], state["u"], float(state["mu"])
        J_mu = SoftForm(problem, mu)
        dual = -D.value(D.imaged(u))
        assert J_mu.value(J_mu.imaged(w)) <= dual + 1e-9 and dual <= least.objective
        gap = problem.objective(problem.risk.at(w)) - dual
        assert gap <= mu * most_entropy(problem.risk) + 1e-9
        levels.append(mu)
    assert levels[-1] <= 30 * levels[0] / 80**2


def test_what_does_not_decompose_is_refused():
    with pytest.raises(Incompatible, match="agm-inf cannot"):
        fenchel.minimize(problem_of(0, rescaling="slack"), "agm-inf")
    with pytest.raises(Incompatible, match="knows no mu"):
        fenchel.minimize(problem_of(0), fenchel.solver("agm-inf", form="dual", mu=0.1))


@pytest.mark.parametrize("level", [0.0, -1.0, np.inf, np.nan])
def test_levels_that_are_none_prove_nothing(level):
    problem = problem_of(0)
    w = np.zeros(problem.risk.n_parameters)
    touch = Tangency(w, offsets=Tilted(np.empty(0), level, np.empty(0)))
    with pytest.raises(InvalidCertificate):
        ChainEvidence(problem.risk).at(touch)


def test_l1_chains_are_proved_by_means_of_gradients():
    problem = problem_of(2, loss="crf", regularizer="l1", n=60, strength=0.02)
    result = fenchel.minimize(problem, "owlqn", gap=1e-5)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1e-5
    assert len(result.witness.tangencies) > 1
