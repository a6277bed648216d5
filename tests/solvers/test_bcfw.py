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
from fenchel.solvers.bcfw import extrapolate, on_simplices
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


def test_dual_never_falls_and_its_w_follows():
    problem, _ = sequences(2, n=40)
    dual = BlockDual(problem)

    def value():
        a, b = dual.plane()
        assert np.allclose(dual.w, -a / problem.strength, atol=1e-10)
        return b - float(a @ a) / (2 * problem.strength)

    last = 0.0
    for k in range(6):
        dual.sweep([0, k, 0], searching=True)
        assert value() >= last - 1e-12
        ends = []
        for j in range(3):
            ends.append((dual.shares.weight, dual.w.copy()))
            dual.sweep([0, k, j + 1], searching=False)
        before = value()
        extrapolate(dual, ends)
        last = value()
        assert last >= before - 1e-12


def test_nearest_points_on_simplices():
    rng = np.random.default_rng(0)
    v, starts = 3 * rng.normal(size=12), np.array([0, 1, 5, 12])
    found = on_simplices(v, starts)
    for i, j in itertools.pairwise(starts):
        x = found[i:j]
        assert np.isclose(x.sum(), 1.0) and (x >= 0).all()
        theta = (v[i:j] - x)[x > 0]
        assert np.allclose(theta, theta[0]) and (v[i:j][x == 0] <= theta[0] + 1e-12).all()


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
