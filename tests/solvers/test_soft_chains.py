"""Accelerated methods on max-margin networks: soft maxima, and what they prove of the maxima."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.errors import Incompatible, InvalidCertificate
from fenchel.losses import chain_formulas
from fenchel.risks.views.soft_chains import SoftForm, most_entropy
from fenchel.verification.chain_cuts import ChainEvidence
from fenchel.witness import Tangency, Tilted


def problem_of(seed, loss="m3n", regularizer="l2", n=15, L=3, strength=0.1, **settings):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, 2)), np.append(np.arange(L), rng.integers(0, L, n - L))
    groups = np.sort(rng.integers(0, n // 3, n))
    kind = losses.M3N(pairs="all", **settings) if loss == "m3n" else losses.CRF(pairs="all")
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


@pytest.mark.parametrize("regularizer", ["l2", "elastic_net", "l1"])
@pytest.mark.parametrize("form", ["primal", "homotopy"])
@pytest.mark.parametrize("name", ["agm-inf", "agm-1"])
def test_accelerated_methods_certify_the_maximum_itself(name, form, regularizer):
    problem = problem_of(4, regularizer=regularizer)
    result = fenchel.minimize(problem, fenchel.solver(name, form=form), gap=1e-3)
    least = fenchel.minimize(problem, "bmrm", gap=1e-6)
    assert result.converged
    assert result.lower_bound <= least.objective and least.lower_bound <= result.objective
    assert fenchel.verify(result, problem).gap <= 1e-3
    assert fenchel.verify(result, problem, rigorous=True).gap <= 1.1e-3


def test_what_does_not_decompose_is_refused():
    with pytest.raises(Incompatible, match="agm-inf cannot"):
        fenchel.minimize(problem_of(0, rescaling="slack"), "agm-inf")
    with pytest.raises(Incompatible, match="agm-inf cannot"):
        fenchel.minimize(problem_of(0), fenchel.solver("agm-inf", form="dual"))


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
