"""Block-coordinate Frank-Wolfe: the minimum of max-margin networks, its shares and its evidence."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.engines import Serial, Threads
from fenchel.errors import Incompatible, InvalidCertificate
from fenchel.losses import chain_formulas
from fenchel.risks.views.blocks import BlockDual
from fenchel.solvers import bcfw
from fenchel.verification.chain_cuts import ChainEvidence
from fenchel.witness import Ties, Witness


def sequences(seed, n=14, L=3, d=2, **settings):
    """A problem of sequences of one to four tokens."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, d)), np.append(np.arange(L), rng.integers(0, L, n - L))
    groups = np.sort(rng.integers(0, n // 3, n))
    loss = losses.M3N(pairs="all", **settings.pop("loss", {}))
    return fenchel.problem(X, y, loss=loss, groups=groups, strength=0.1, **settings), (X, y, groups)


def planes(problem, X, y, groups):
    """psi and Delta of every labelling of every sequence, by enumeration."""
    pairs, loss, L = problem.risk.pairs, problem.risk.loss, problem.risk.pairs.n_labels
    for group in np.unique(groups):
        x, gold = X[groups == group], y[groups == group]
        starts, one = np.array([0, len(gold)]), np.ones(len(gold))
        right = chain_formulas.counted(gold, starts, one, L)
        found = []
        for labels in itertools.product(range(L), repeat=len(gold)):
            codes = np.array(labels)
            states, steps = (
                ours - theirs
                for ours, theirs in zip(
                    chain_formulas.counted(codes, starts, one, L), right, strict=True
                )
            )
            psi, cost = pairs.gathered(x.T @ states, steps), float(np.sum(codes != gold))
            if loss.rescaling == "slack":
                psi = cost * psi
            found.append((psi, cost))
        yield np.array([psi for psi, _ in found]), np.array([cost for _, cost in found])


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("weighted", [False, True])
def test_minimum_is_that_of_all_planes(rescaling, weighted):
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(5)
    problem, data = sequences(3, loss={"rescaling": rescaling})
    groups = data[2]
    each = rng.integers(1, 4, len(np.unique(groups))).astype(float)
    if weighted:
        s = each[np.unique(groups, return_inverse=True)[1]]
        problem, _ = sequences(3, loss={"rescaling": rescaling}, sample_weight=s)
    else:
        each[:] = 1.0
    w = cvxpy.Variable(problem.risk.n_parameters)
    parts = zip(each, planes(problem, *data), strict=True)
    risk = sum(s * cvxpy.max(psi @ w + cost) for s, (psi, cost) in parts) / each.sum()
    least = cvxpy.Problem(cvxpy.Minimize(0.05 * cvxpy.sum_squares(w) + risk)).solve(
        solver=cvxpy.CLARABEL
    )
    result = fenchel.minimize(problem, "bcfw", gap=1e-7)
    assert result.converged
    assert result.lower_bound <= least * (1 + 1e-6) and result.objective >= least * (1 - 1e-6)
    assert fenchel.verify(result, problem).gap <= 1e-7
    assert fenchel.verify(result, problem, rigorous=True).gap <= 2e-7


def test_costs_of_labels_count():
    cost = np.array([[0.0, 2.0, 1.0], [0.5, 0.0, 3.0], [1.0, 1.0, 0.0]])
    problem, _ = sequences(1, n=30, loss={"cost": cost})
    ours, theirs = (fenchel.minimize(problem, name, gap=1e-6) for name in ("bcfw", "bmrm"))
    assert abs(ours.objective - theirs.objective) <= 2e-6 * theirs.objective
    assert fenchel.verify(ours, problem).gap <= 1e-6


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_dual_never_falls_and_its_w_follows(rescaling):
    problem, _ = sequences(2, n=40, loss={"rescaling": rescaling})
    dual, strength = BlockDual(problem), problem.strength

    def value():
        a, b = dual.plane()
        assert np.allclose(dual.w, -a / strength, atol=1e-10)
        return b - float(a @ a) / (2 * strength)

    last = 0.0
    for k in range(6):
        dual.search([0, k], strength, dual.w)
        between = value()
        assert between >= last - 1e-12
        dual.exchange([0, k], strength, dual.w, most=3, enough=0.0)
        last = value()
        assert last >= between - 1e-12


@pytest.mark.parametrize("rescaling", ["margin", "slack"])
@pytest.mark.parametrize("pairs", ["all", "observed"])
def test_shares_of_outputs_in_use_are_the_best_there_are(rescaling, pairs):
    """Against CVXPY: the same programme from the planes of the labellings, pulled to a point."""
    cvxpy = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(8)
    X, y, groups = rng.normal(size=(20, 2)), rng.integers(0, 3, 20), np.repeat(range(5), 4)
    loss = losses.M3N(pairs=pairs, rescaling=rescaling)
    problem = fenchel.problem(X, y, loss=loss, groups=groups, strength=0.1)
    dual, pull = BlockDual(problem), 0.2
    v = rng.normal(size=problem.risk.n_parameters)
    w, strength = pull * v / (0.1 + pull), 0.1 + pull
    for k in range(4):
        dual.search([0, k], strength, w)
    dual.exchange([0], strength, w, most=300, enough=0.0)
    listed, inside = dual.state(), np.repeat(range(5), 4)
    labels = listed["labels"].reshape(-1, 4)
    x = cvxpy.Variable(len(w))
    risk = 0
    for i in range(5):
        gold, tokens, ours = y[inside == i], X[inside == i], labels[listed["sequence"] == i]
        planes = []
        for one in ours:
            counts = [
                chain_formulas.counted(codes.astype(np.int64), np.array([0, 4]), np.ones(4), 3)
                for codes in (one, gold)
            ]
            states, steps = (a - b for a, b in zip(*counts, strict=True))
            psi, cost = problem.risk.pairs.gathered(tokens.T @ states, steps), sum(one != gold)
            planes.append((cost if rescaling == "slack" else 1) * psi @ x + cost)
        risk += cvxpy.max(cvxpy.hstack(planes)) / 5
    objective = 0.05 * cvxpy.sum_squares(x) + 0.5 * pull * cvxpy.sum_squares(x - v) + risk
    cvxpy.Problem(cvxpy.Minimize(objective)).solve(solver=cvxpy.CLARABEL)
    assert np.allclose(w, x.value, atol=1e-4)
    a = dual.plane()[0]
    assert np.allclose(w, (pull * v - a) / strength, atol=1e-10)


def test_pulled_rounds_are_fewer_than_plain_ones(monkeypatch):
    rounds = []
    for pull in (bcfw._PULL, 0.0):
        monkeypatch.setattr(bcfw, "_PULL", pull)
        problem, _ = sequences(7, n=120, L=4, d=6)
        result = fenchel.minimize(replace(problem, strength=1e-4), "bcfw", gap=1e-4)
        assert result.converged and fenchel.verify(result, problem=replace(problem, strength=1e-4))
        rounds.append(result.passes)
    assert rounds[0] < 0.7 * rounds[1]


def test_steps_that_are_too_long_are_shortened(monkeypatch):
    monkeypatch.setattr(bcfw, "_PULL", 1e4)
    problem, _ = sequences(7, n=120, L=4, d=6)
    assert fenchel.minimize(problem, "bcfw", gap=1e-4, max_iterations=500).converged


def test_same_bits_in_any_number_of_threads_and_after_a_pause(tmp_path, monkeypatch):
    monkeypatch.setattr("fenchel.data.sequences.NUMBERS_PER_SHARD", 40)
    (one, _), (many, _) = (sequences(4, n=60, engine=engine) for engine in (Serial(), Threads(2)))
    whole, other = (fenchel.minimize(p, "bcfw", gap=1e-5) for p in (one, many))
    assert np.array_equal(whole.w, other.w) and whole.lower_bound == other.lower_bound
    path = tmp_path / "pause"
    part = fenchel.minimize(one, "bcfw", gap=1e-5, max_iterations=3, checkpoint=path)
    rest = fenchel.minimize(one, "bcfw", gap=1e-5, checkpoint=path)
    assert not part.converged and np.array_equal(rest.w, whole.w)
    assert rest.lower_bound == whole.lower_bound


def test_refuses_what_it_does_not_know():
    _, (X, y, groups) = sequences(0)
    refused = [("crf", "l2"), ("m3n", "l1"), ("m3n", "elastic_net")]
    for loss, regularizer in refused:
        problem = fenchel.problem(X, y, loss=loss, groups=groups, regularizer=regularizer)
        with pytest.raises(Incompatible, match="bcfw cannot"):
            fenchel.minimize(problem, "bcfw")


@pytest.mark.parametrize("fault", ["share", "label", "row", "all", "half"])
def test_evidence_that_was_tampered_with_proves_no_more(fault):
    problem, _ = sequences(6, n=30)
    result = fenchel.minimize(problem, "bcfw", gap=1e-6)
    touch = result.witness.tangencies[0]
    rows, slopes = touch.ties.rows.copy(), touch.ties.slopes.copy()
    if fault == "share":
        slopes[:, 1] *= 1.5
    elif fault == "label":
        slopes[0, 0] = 3
    elif fault == "row":
        rows[1:] = rows[:-1]
    elif fault == "all":
        slopes[:, 1] = 1.0
    else:
        rows, slopes = rows[: len(rows) // 2], slopes[: len(rows) // 2]
    forged = Witness([touch._replace(ties=Ties(rows, slopes))], [1.0])
    with pytest.raises(InvalidCertificate):
        fenchel.verify(replace(result, witness=forged), problem)


def test_labellings_without_a_share_count_nothing():
    """Rounded down, a share of 0 was a unit below it: a false bound, by 1e-6 of a minimum of 2e-10.

    Found by the campaign against false certificates.
    """
    problem, _ = sequences(6, n=30)
    result = fenchel.minimize(problem, "bcfw", gap=1e-6)
    touch = result.witness.tangencies[0]
    evidence = ChainEvidence(problem.risk)
    n = int(np.diff(evidence.starts)[0])
    rows = np.concatenate([np.arange(n), touch.ties.rows])
    slopes = np.vstack([np.column_stack([np.ones(n), np.zeros(n)]), touch.ties.slopes])
    more = touch._replace(ties=Ties(rows.astype(np.intp), slopes))
    units = evidence.grid.units(evidence.s).astype(np.float64)
    assert evidence._named(more, units).units[0] == 0
    ours, theirs = evidence.at(more), evidence.at(touch)
    assert ours[1] == theirs[1] and np.array_equal(ours[0].lo, theirs[0].lo)
