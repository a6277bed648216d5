"""Exact line searches for vector losses: the maximum of lines ([Yu10] algorithms 4 and 5)."""

from fractions import Fraction

import numpy as np
import pytest
from catalogue import (
    VECTOR_LOSSES,
    class_costs,
    class_scores,
    ids,
    n_scores,
    targets_for,
    vector_problem_for,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import fenchel
from fenchel import losses
from fenchel.losses.binding import bound
from fenchel.piecewise import crossing
from fenchel.solvers._line_search import Along, exact

HINGES = [loss for loss in VECTOR_LOSSES if not loss.differentiable]
EVERY = pytest.mark.parametrize("loss", HINGES, ids=ids)

small = st.integers(-4, 4)
lines = st.lists(st.tuples(small, small), min_size=2, max_size=9)
ends = st.tuples(st.integers(0, 6), st.integers(1, 12)).map(
    lambda pair: (Fraction(pair[0], 2), Fraction(pair[0] + pair[1], 2))
)


def highest(lines, eta):
    """(value, slope just right of eta) of the maximum, in exact numbers."""
    value = max(b + eta * a for b, a in lines)
    return value, max(a for b, a in lines if b + eta * a == value)


def brute_force(lines, low, high):
    """{eta: jump} of the maximum of lines in (low, high], from all intersections."""
    meets = {Fraction(b - c, d - a) for b, a in lines for c, d in lines if a != d}
    before, jumps = highest(lines, low)[1], {}
    for eta in sorted(meet for meet in meets if low < meet <= high):
        after = highest(lines, eta)[1]
        if after != before:
            jumps[eta] = after - before
        before = after
    return jumps


def merged(kinks):
    """{eta: total jump} of the rows of kinks, steps that differ by round-off together."""
    jumps = {}
    for eta, jump, bend in kinks[np.argsort(kinks[:, 0])]:
        assert bend == 0
        near = [at for at in jumps if abs(at - eta) <= 1e-12 * (1 + abs(eta))]
        key = near[0] if near else eta
        jumps[key] = jumps.get(key, 0.0) + jump
    return {eta: jump for eta, jump in jumps.items() if abs(jump) > 1e-12}


def agree(kinks, expected):
    found = merged(kinks)
    assert len(found) == len(expected)
    for (eta, jump), (at, by) in zip(sorted(found.items()), sorted(expected.items()), strict=True):
        assert eta == pytest.approx(float(at), rel=1e-12, abs=1e-13)
        assert jump == pytest.approx(float(by), rel=1e-12)


def pieces_of(loss, z, q, y):
    """The pieces of one row along q as exact lines (offset, slope)."""
    z, q = (class_scores(loss, [Fraction(float(v)) for v in part]) for part in (z, q))
    K = len(z)
    cost = [[Fraction(float(c)) for c in row] for row in class_costs(loss, K)]
    if getattr(loss, "rescaling", "margin") == "slack":
        return [(cost[k][y] * (1 + z[k] - z[y]), cost[k][y] * (q[k] - q[y])) for k in range(K)]
    if loss.labels in (losses.Labels.CLASSES, losses.Labels.LEAVES):
        return [(cost[k][y] + z[k] - z[y], q[k] - q[y]) for k in range(K)]
    right, wrong = np.flatnonzero(y), np.flatnonzero(y == 0)
    pairs = [(cost[k][r] + z[k] - z[r], q[k] - q[r]) for k in wrong for r in right]
    return [(Fraction(0), Fraction(0)), *pairs]


@given(lines, ends)
def test_the_maximum_of_lines_is_segmented_as_by_brute_force(lines, ends):
    """Ties, parallel and equal lines included: the numbers are small and whole."""
    low, high = ends
    Z, Q = (np.array([[line[k] for line in lines]], dtype=float) for k in (0, 1))
    loss, y = losses.MulticlassHinge(cost=0.0), np.array([0])
    kinks = bound(loss, y).kinks_along(Z, Q, float(low), float(high))
    agree(kinks, brute_force(lines, low, high))
    for eta in (low, high):
        slope, curvature = bound(loss, y).slope_along(Z, Q, float(eta))
        assert (slope, curvature) == (highest(lines, eta)[1] - lines[0][1], 0.0)


@EVERY
@given(st.integers(0, 10_000), ends)
def test_a_row_is_segmented_as_by_brute_force(loss, seed, ends):
    rng, (low, high) = np.random.default_rng(seed), ends
    Z, Q = rng.integers(-3, 4, size=(2, 1, n_scores(loss))) / 2
    y = targets_for(loss, rng, 5, 3)[-1:]
    exactly = pieces_of(loss, Z[0], Q[0], y[0])
    kinks = bound(loss, y).kinks_along(Z, Q, float(low), float(high))
    slopes = [bound(loss, y).slope_along(Z, Q, float(eta))[0] for eta in (low, high)]
    assert np.sum(kinks[:, 1]) == pytest.approx(slopes[1] - slopes[0], abs=1e-12)
    if getattr(loss, "uniform", None) != 0.4:  # no binary fraction: kinks at `high` may move
        agree(kinks, brute_force(exactly, low, high))
        assert slopes == [float(highest(exactly, eta)[1]) for eta in (low, high)]


@pytest.mark.parametrize("K", [2, 5, 20, 60])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (losses.MulticlassHinge, {}),
        (losses.MulticlassHinge, {"rescaling": "slack"}),
        (losses.MultilabelHinge, {}),
        (losses.HierarchicalHinge, {}),
    ],
)
def test_many_rows_of_many_classes_agree_with_the_python_formula(kind, options, K):
    rng = np.random.default_rng(0)
    n, cost = 40, np.abs(np.subtract.outer(np.arange(K), np.arange(K))) / 4
    if kind is losses.HierarchicalHinge:  # leaves 0 .. K-1 below inner nodes by threes
        options = {
            "taxonomy": {k: K + k // 3 for k in range(K)} | {K + k: -1 for k in range((K + 2) // 3)}
        }
    for costs in ({}, {"cost": 2.5}, {"cost": cost}):
        loss = kind(**costs, **options)
        plain = type("Plain", (kind,), {})(**loss.settings())
        shape = n, n_scores(loss, K)
        Z, Q, s = rng.normal(size=shape), rng.normal(size=shape), rng.uniform(0, 2, size=n)
        y = targets_for(loss, rng, n, K)
        s[::5] = 0.0
        for low, high in ((0.0, 0.2), (0.0, 5.0), (0.3, 1e9)):
            slopes = [bound(loss, y, s).slope_along(Z, Q, eta)[0] for eta in (low, high)]
            kinks = bound(loss, y, s).kinks_along(Z, Q, low, high)
            expected = bound(plain, y, s).kinks_along(Z, Q, low, high)
            found, expected = ({k: v for k, v in merged(x).items()} for x in (kinks, expected))
            assert sorted(found) == pytest.approx(sorted(expected), rel=1e-9)
            assert [found[k] for k in sorted(found)] == pytest.approx(
                [expected[k] for k in sorted(expected)], rel=1e-9
            )
            assert sum(found.values()) == pytest.approx(slopes[1] - slopes[0], rel=1e-9)


@EVERY
def test_kinks_and_slopes_reconstruct_the_risk_along_a_ray(loss):
    problem = vector_problem_for(loss, weighted=True, n=60)
    rng = np.random.default_rng(0)
    w, p = rng.normal(size=(2, problem.risk.n_parameters))
    ray = problem.risk.at(w).towards(p)
    low, at, value = 0.0, ray.slope(0.0).slope, ray.at(0.0).value
    for eta, jump, _ in sorted(ray.kinks(0.0, 3.0).tolist()):
        value += at * (eta - low)
        at, low = at + jump, eta
        assert ray.at(eta).value == pytest.approx(value, rel=1e-10)
    assert at == pytest.approx(ray.slope(3.0).slope, rel=1e-10)


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("regularizer", ["l2", "l1"])
def test_the_exact_search_beats_every_other_step_and_scipy(loss, regularizer):
    """J is convex along a line: if any other step is better, so are those between it and this."""
    problem = vector_problem_for(loss, regularizer, strength=0.03, n=40)
    for seed in range(6):
        rng = np.random.default_rng(seed)
        point = problem.risk.at(rng.normal(size=problem.risk.n_parameters) * (seed % 3))
        p = -problem.subgradient(point) + 0.1 * rng.normal(size=problem.risk.n_parameters)
        along = Along(problem, point, p)
        eta = exact(along, 1.0)
        least = along(eta)[0]
        near = eta * (1 + np.outer([-1, 1], 10.0 ** np.arange(-6, 0.0, 0.25)).ravel())
        grid = np.r_[near, np.linspace(0.0, 2 * eta + 1.0, 101)]
        assert least <= min(along(step)[0] for step in grid) + 1e-12
        scipy = minimize_scalar(
            lambda step, along=along: along(step)[0], bounds=(0.0, 2 * eta + 1.0), method="bounded"
        )
        assert least <= scipy.fun + 1e-12
        assert least == pytest.approx(scipy.fun, rel=1e-4)


@pytest.mark.slow
@given(st.integers(0, 10_000))
def test_the_crossing_is_the_minimiser_of_a_sum_of_envelopes(seed):
    """Scores and directions of few values, so that kinks of many rows coincide."""
    rng = np.random.default_rng(seed)
    n, K = 6, 4
    Z, Q = rng.integers(-2, 3, size=(2, n, K)).astype(float)
    loss = losses.MulticlassHinge() if seed % 2 else losses.MultilabelHinge()
    y = targets_for(loss, rng, n, K)
    slope, curvature = bound(loss, y).slope_along(Z, Q, 0.0)
    kinks = bound(loss, y).kinks_along(Z, Q, 0.0, 50.0)
    strength = 0.5

    def J(eta):
        return strength * eta**2 / 2 + np.sum(loss.value(Z + eta * Q, y))

    start = fenchel.piecewise.Slope(slope, curvature + strength)
    eta = min(crossing(start, 0.0, kinks), 50.0)
    assert J(eta) <= min(J(step) for step in np.linspace(0, 50, 2001)) + 1e-12
