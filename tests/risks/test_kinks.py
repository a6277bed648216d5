"""Cuts of rows that lie on a kink up to round-off: whichever slopes they take, R is never below.

A row counts as on a kink where its score is a little off it; a slope of the kink's other side is
then no subgradient at the score. That may be worth little, but it is worth all of the minimum where
the data can be fitted without loss and the strength is small.
"""

import itertools
import math

import numpy as np
import pytest
from catalogue import _COSTS, LOSSES, VECTOR_LOSSES, ids

import fenchel
from fenchel import losses
from fenchel.losses import Labels, ScalarLoss
from fenchel.losses.vector import CostLoss
from fenchel.verification.row_data import RowEvidence
from fenchel.witness import Tangency, Witness

KINKED = [loss for loss in LOSSES if not loss.differentiable]
OFF = 5e-12  # of a kink, within the tolerance of a tie
N = 8


class Anonymous(ScalarLoss):
    """|z - y| as a user may write it: with its kink, without a conjugate."""

    nonnegative = True

    def value(self, z, y):
        return np.abs(z - y)

    def slope(self, z, y):
        return np.sign(z - y)

    def kinks(self, y):
        return np.asarray(y, dtype=float)[np.newaxis]


def labels(loss, rng):
    if loss.labels is Labels.BINARY:
        return np.where(np.arange(N) % 2, 1.0, -1.0)
    return rng.normal(size=N)


def assert_below(point, risk, places):
    """The cut at a point is below R, but for the last bits of numbers of the size of 1."""
    for v in places:
        R = risk.at(v).value
        assert point.subgradient @ v + point.constant <= R + 4 * np.finfo(float).eps * (1 + R)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("loss", [*KINKED, Anonymous()], ids=ids)
def test_a_cut_of_slopes_chosen_at_a_kink_is_below_the_risk(loss, intercept):
    if intercept and not loss.intercept:
        pytest.skip("the loss has no use for an intercept")
    rng = np.random.default_rng(0)
    y = labels(loss, rng)
    problem = fenchel.problem(np.eye(N), y, loss=loss, strength=1e-9, intercept=intercept)
    kinks = loss.kinks(y)[0]
    for _ in range(20):
        w = kinks + OFF * rng.uniform(-1, 1, N)
        chosen = problem.risk.at(w).steepest(rng.normal(size=N))
        assert_below(chosen, problem.risk, [kinks, w, kinks - OFF, kinks + OFF])


def tied_scores(loss, y, rng):
    """Scores at which at least two pieces of every row are about the highest."""
    Z = np.zeros((len(y), 3))
    for i in range(len(y)):
        own = y[i : i + 1]
        z = rng.normal(size=(1, 3))
        value = loss.pieces(z, own)[0]
        first, second = np.argsort(-value)[:2]
        rise = [
            loss.pieces(z + np.eye(3)[k : k + 1], own)[0][[first, second]] - value[[first, second]]
            for k in range(3)
        ]
        apart = np.array([up - down for up, down in rise])  # how the two move apart
        if value[second] > -math.inf and apart.any():
            z = z - (value[first] - value[second]) * apart / (apart @ apart)
        Z[i] = z[0] + OFF * rng.uniform(-1, 1, 3)
    return Z


@pytest.mark.parametrize(
    "loss", [loss for loss in VECTOR_LOSSES if isinstance(loss, CostLoss)], ids=ids
)
def test_a_cut_of_pieces_chosen_at_a_tie_is_below_the_risk(loss):
    rng = np.random.default_rng(1)
    y = np.arange(N) % 3
    if isinstance(loss, losses.MultilabelHinge):
        y = np.eye(3)[y] + np.eye(3)[(y + np.arange(N) // 4) % 3] > 0
    problem = fenchel.problem(np.eye(N), y, loss=loss, strength=1e-9)
    risk = problem.risk
    for _ in range(20):
        w = tied_scores(loss, np.asarray(y), rng).ravel()
        near = [w + OFF * rng.uniform(-1, 1, w.size) for _ in range(5)]
        chosen = risk.at(w).steepest(rng.normal(size=w.size))
        assert_below(chosen, risk, [w, *near])


CASES = list(
    itertools.product(["hinge", "absolute_error", "quantile"], [7.3e-10, 1e-6], range(1), [8, 5])
)


@pytest.mark.parametrize(("loss", "strength", "seed", "n"), CASES)
def test_no_bound_of_wide_or_separable_data_is_above_the_minimum(loss, strength, seed, n):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8))
    y = np.where(np.arange(n) % 2, 1.0, -1.0) if loss == "hinge" else rng.normal(size=n)
    problem = fenchel.problem(X, y, loss=loss, strength=strength)
    best = fenchel.minimize(problem, "ls-bmrm", gap=1e-9, max_iterations=500).objective
    for solver in ("sublbfgs", "subbfgs", "subgd", "hybrid"):
        result = fenchel.minimize(problem, solver, gap=1e-6, max_iterations=40, verify=False)
        assert result.lower_bound <= best * (1 + 1e-9), solver


def test_a_risk_small_beside_its_scores_takes_its_cut_from_the_conjugate():
    """R = 1e-12 with scores near 1: their round-off alone is 1e-16, or 1e-4 of R."""
    X = np.eye(2)
    problem = fenchel.problem(X, [1.0, -1.0], loss="hinge", strength=1e-12)
    point = problem.risk.at(np.array([1.0 - 1e-12, -1.0 + 1e-12]))
    exact = problem.risk.at(np.array([1.0, -1.0]))
    assert exact.value == 0.0
    assert point.subgradient @ exact.w + point.constant == 0.0


@pytest.mark.parametrize("loss", [Anonymous(), losses.MultilabelHinge(cost=_COSTS)], ids=ids)
def test_verification_does_not_take_a_tie_for_exact_either(loss):
    """Without a conjugate it goes by the slopes that the witness chose, at scores off the kink."""
    rng = np.random.default_rng(2)
    y = rng.normal(size=N) if isinstance(loss, ScalarLoss) else np.eye(3)[np.arange(N) % 3] > 0
    problem = fenchel.problem(np.eye(N), y, loss=loss, strength=1e-9)
    evidence = RowEvidence(problem.risk)
    for _ in range(20):
        if isinstance(loss, ScalarLoss):
            w = loss.kinks(y)[0] + OFF * rng.uniform(-1, 1, N)
        else:
            w = tied_scores(loss, y, rng).ravel()
        point = problem.risk.at(w).steepest(rng.normal(size=w.size))
        cut = evidence.cut(Witness([Tangency(w, ties=point._ties())], [1.0]), problem, w, 0.0)
        for v in (w, *(w + OFF * rng.uniform(-1, 1, w.size) for _ in range(3))):
            R = problem.risk.at(v).value
            assert cut.a @ v + cut.c - cut.c_error <= R + 4 * np.finfo(float).eps * (1 + R)
