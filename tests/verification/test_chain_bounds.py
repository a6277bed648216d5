"""Bounds of chains hold in exact arithmetic: against all labellings, in rationals."""

import dataclasses
import itertools
from fractions import Fraction

import numpy as np
import pytest
import rationals
from catalogue import CHAIN_LOSSES, ids

import fenchel
from fenchel import InvalidCertificate, losses
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.verification import tables, walks
from fenchel.verification.chain_cuts import ChainEvidence
from fenchel.verification.chain_losses import losses_above
from fenchel.verification.enclosed_chains import ExactChains
from fenchel.verification.intervals import exact
from fenchel.witness import Tangency, Ties, Witness

F = Fraction
OMEGAS = [L2(), L1(), ElasticNet(0.3)]
U = F(1, 2**53)


def chain_problem(loss, *, seed=0, regularizer="l2", strength=1e-2, weighted=False, spread=0.0):
    """Four sequences of one to four tokens with three labels; values over so many decades."""
    rng = np.random.default_rng(seed)
    groups = np.repeat([0, 1, 2, 3], [1, 4, 2, 3])
    X = rng.normal(size=(10, 2)) * 10.0 ** rng.uniform(-spread, spread, size=2)
    y = np.r_[0, 1, 2, rng.integers(0, 3, 7)]
    s = np.repeat(10.0 ** rng.uniform(-spread - 1, 1, size=4), [1, 4, 2, 3]) if weighted else None
    return fenchel.problem(
        X, y, loss=loss, regularizer=regularizer, strength=strength, groups=groups, sample_weight=s
    )


def exact_risk(data, w):
    """S R(w)."""
    W = data.pairs.states(w).toarray()
    T = [rationals.rationals(row) for row in data.pairs.transitions(w)]
    X = np.concatenate([block.toarray() for block in data.blocks])
    Z = [
        [sum(F(a) * F(b) for a, b in zip(x, column, strict=True)) for column in W.T.tolist()]
        for x in X.tolist()
    ]
    total = F(0)
    for s, first, end in zip(data.s.tolist(), data.starts[:-1], data.starts[1:], strict=True):
        total += F(s) * rationals.chain_loss(data.loss, Z[first:end], T, data.y[first:end].tolist())
    return total


def exact_objective(problem, data, w):
    mean = exact_risk(data, w) / sum(rationals.rationals(data.s))
    return (
        F(problem.strength) * rationals.penalty(problem.regularizer, rationals.rationals(w)) + mean
    )


def cut_below(cut, v):
    """The least that an enclosed cut may be at v."""
    a, c = cut
    ends = zip(a.lo.tolist(), a.hi.tolist(), v.tolist(), strict=True)
    return F(c) + sum(min(F(lo) * F(x), F(hi) * F(x)) for lo, hi, x in ends)


def test_tables_err_no_more_than_they_say():
    rng = np.random.default_rng(0)
    edges = np.r_[
        1.0, 0.5, 2.0, np.nextafter([1.0, 1.0, 0.5], [0, 2, 0]), 0.5 + np.arange(9) / 2048
    ]
    x = np.r_[10.0 ** rng.uniform(-300, 300, 200), rng.uniform(0.4, 2.1, 200), edges]
    for value, found in zip(x.tolist(), tables.log(x).tolist(), strict=True):
        true = rationals.log(F(value))
        assert abs(F(found) - true) <= F(tables.LOG) * (1 + abs(true))
    z = np.r_[rng.uniform(-700, 0, 200), -(10.0 ** rng.uniform(-20, 0, 100)), 0.0, -700.0]
    for value, found in zip(z.tolist(), tables.exp(z).tolist(), strict=True):
        true = rationals.exp(F(value))
        assert abs(F(found) - true) <= F(tables.EXP) * true
    assert np.all(tables.exp(np.array([-701.0, -1e300, -np.inf])) == tables.exp(np.array([-700.0])))


@pytest.mark.parametrize("scale", [0.1, 3.0, 40.0, 1e6, 1e307])
def test_walks_are_distributions_whose_entropy_is_not_overstated(scale):
    rng = np.random.default_rng(1)
    starts, L = np.array([0, 1, 4, 6]), 3
    Z, T = scale * rng.normal(size=(6, L)), scale * rng.normal(size=(L, L))
    units = np.array([2.0**52, 2.0**52 - 1, 5.0])
    found = walks.walks(Z, T, starts, units)
    sums = np.add.reduceat(found.labels, starts[:-1]) / np.diff(starts)[:, np.newaxis]
    assert np.all(found.labels >= 0) and np.all(found.labels == np.rint(found.labels))
    for i, (first, end) in enumerate(itertools.pairwise(starts)):
        assert all(sum(row) == units[i] for row in found.labels[first:end].astype(int).tolist())
    assert np.sum(sums) == pytest.approx(np.sum(units))
    steps = found.transitions.high.astype(object) * 2**26 + found.transitions.low
    assert np.sum(steps) == sum(int(u) * n for u, n in zip(units, (0, 2, 1), strict=True))
    assert 0 <= found.entropy <= float(units @ np.diff(starts)) * np.log(L)


def test_the_entropy_of_a_walk_is_that_of_its_steps():
    rng = np.random.default_rng(2)
    for scale in (0.1, 5.0, 30.0):
        units = np.floor(2.0**52 * rng.random((4, 3)))
        P = np.exp(scale * rng.normal(size=(4, 3, 3)))
        E = walks.parted(units, P / np.sum(P, axis=2, keepdims=True))
        true = [
            -sum(
                F(e) * rationals.log(F(e) / F(n))
                for n, row in zip(N, rows, strict=True)
                for e in row
                if e
            )
            for N, rows in zip(units.tolist(), E.tolist(), strict=True)
        ]
        assert np.all(np.sum(E, axis=2) == units)
        for found, H in zip(walks._entropies(units, E).tolist(), true, strict=True):
            assert H * (1 - 200 * U) - 200 * U * 2**54 <= F(found) <= H


@pytest.mark.parametrize("loss", CHAIN_LOSSES, ids=ids)
@pytest.mark.parametrize("spread", [0.0, 3.0])
def test_cuts_are_below_the_risk_and_losses_above(loss, spread):
    """At points of all lengths, and for labels and distributions of others."""
    for seed in range(2):
        problem = chain_problem(loss, seed=seed, weighted=bool(seed), spread=spread)
        data, rng = ChainEvidence(problem.risk), np.random.default_rng(seed)
        points = [10.0**k * rng.normal(size=data.shape) for k in (-1, 0, 2, 6)]
        true = [exact_risk(data, w) for w in points]
        for k, w in enumerate(points):
            cut = data.at(Tangency(w))
            assert all(cut_below(cut, v) <= R for v, R in zip(points, true, strict=True))
            size = F(float(data.size * np.linalg.norm(w) + 1)) * F(float(data.S.hi))
            assert np.all(cut[0].hi - cut[0].lo <= 1e-15 * cut[0].size)
            assert true[k] - cut_below(cut, w) <= 1000 * U * size  # and touches it there
            above = F(ExactChains(data).value_above(w, 0.0)) * sum(rationals.rationals(data.s))
            assert 0 <= above - true[k] <= 1000 * U * size


@pytest.mark.parametrize("omega", OMEGAS, ids=ids)
@pytest.mark.parametrize("loss", CHAIN_LOSSES, ids=ids)
def test_bounds_enclose_the_minimum_and_lose_little(loss, omega):
    problem = chain_problem(loss, seed=3, regularizer=omega, weighted=True)
    result = fenchel.minimize(problem, gap=1e-4, max_iterations=60)
    data = ChainEvidence(problem.risk)
    J = exact_objective(problem, data, np.asarray(result.w))
    plain, found = fenchel.verify(result, problem), fenchel.verify(result, problem, rigorous=True)
    assert found.source == "witness, in exact arithmetic"
    assert F(found.lower_bound) <= J <= F(found.upper_bound)
    assert F(plain.lower_bound) <= J
    assert found.lower_bound == pytest.approx(plain.lower_bound, rel=1e-12)
    assert found.upper_bound == pytest.approx(float(J), rel=1e-13)


def test_cold_temperatures_and_weak_strengths_prove_no_more_than_is_true():
    """Where w is long, a slope's round-off would count for much in a cut that touches at w."""
    for seed in range(6):
        loss = losses.SoftM3N(temperature=0.0038, pairs="all")
        problem = chain_problem(loss, seed=seed, strength=1e-13, spread=5.0)
        rough, good = (
            fenchel.minimize(problem, solver, gap=1e-7, max_iterations=n)
            for solver, n in (("bmrm", 8), ("lbfgs", 300))
        )
        J = exact_objective(problem, ChainEvidence(problem.risk), np.asarray(good.w))
        for result, rigorous in itertools.product((rough, good), (False, True)):
            assert F(fenchel.verify(result, problem, rigorous=rigorous).lower_bound) <= J


@pytest.mark.parametrize("loss", [losses.CRF(), losses.M3N()], ids=ids)
def test_forged_witnesses_prove_nothing(loss):
    problem = chain_problem(loss)
    result = fenchel.minimize(problem, gap=1e-3, max_iterations=60)
    touches, w = result.witness.tangencies, np.asarray(result.w)
    n = len(touches)
    forged = [
        Witness(touches, [2.0 / n] * n),
        Witness([*touches, touches[0]], [*result.witness.weights, -0.5]),
        Witness([Tangency(w[:-1])], [1.0]),
        Witness(touches, result.witness.weights, alpha=np.zeros(10)),
        Witness(),
    ]
    if isinstance(loss, losses.M3N):
        labels = np.arange(10, dtype=np.float64)
        forged.append(Witness([Tangency(w, ties=Ties(np.arange(10), labels))], [1.0]))
    for witness, rigorous in itertools.product(forged, (False, True)):
        with pytest.raises(InvalidCertificate):
            claim = dataclasses.replace(result, witness=witness)
            fenchel.verify(claim, problem, rigorous=rigorous)


def test_a_witness_of_any_points_is_true():
    """Whatever a witness says, points that are no numbers included, the bound is below J."""
    problem = chain_problem(losses.CRF())
    data, rng = ChainEvidence(problem.risk), np.random.default_rng(0)
    result = fenchel.minimize(problem, gap=1e-6)
    boast = fenchel.Certificate(0.0, result.objective)
    J = exact_objective(problem, data, np.asarray(result.w))
    for w in (rng.normal(size=data.shape), np.full(data.shape, np.nan), np.full(data.shape, 1e300)):
        claim = dataclasses.replace(
            result, witness=Witness([Tangency(w)], [1.0]), certificate=boast
        )
        assert 0 <= fenchel.verify(claim, problem, rigorous=True).lower_bound <= J


def test_weights_of_a_mixture_add_up_to_no_more_than_one():
    data = ChainEvidence(chain_problem(losses.CRF()).risk)
    touch = Tangency(np.random.default_rng(0).normal(size=data.shape))
    mixed = data.mixed(Witness([touch, touch], [0.7, 0.3 + 1e-11]))
    assert cut_below(mixed, touch.w) <= exact_risk(data, touch.w)


def test_losses_that_overflow_are_above_all():
    Z, T = np.array([[0.0, 1e308], [1e308, 0.0]]), np.full((2, 2), -1e308)
    y, starts = np.array([0, 1]), np.array([0, 2])
    T[0, 0] = 1e308
    for loss in (losses.CRF(), losses.M3N(), losses.M3N(rescaling="slack")):
        found = losses_above(loss, exact(Z), T, y, starts)
        assert F(1e308) <= (found[0] if found[0] == np.inf else F(float(found[0])))
