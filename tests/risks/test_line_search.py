"""The exact line search against a fine grid and SciPy's, and the kernels against their formulas."""

import numpy as np
import pytest
from catalogue import LOSSES, ids, labels_for
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

import fenchel
from fenchel.losses.binding import bound
from fenchel.piecewise import Slope, crossing
from fenchel.regularizers import L1, L2, ElasticNet
from fenchel.solvers._line_search import Along, between_tangents, exact

PIECEWISE = [loss for loss in LOSSES if loss.pieces(np.zeros(1)) is not None]
SMALL = st.integers(-3, 3).map(float)  # few values, so that kinks coincide


def same_formula(loss):
    """The loss without its twin in C++."""
    kind = type(loss)
    return type(kind.__name__, (kind,), {})(**loss.settings())


@st.composite
def rows(draw):
    n = draw(st.integers(2, 8))
    column = st.lists(SMALL, min_size=n, max_size=n).map(np.array)
    return draw(column), draw(column), draw(st.integers(0, 99))


@pytest.mark.parametrize("loss", PIECEWISE, ids=ids)
@given(data=rows(), eta=st.sampled_from([0.0, 0.3, 1.0, 2.0]))
def test_pieces_and_kernels_agree_with_the_loss(loss, data, eta):
    z, q, seed = data
    y = labels_for(loss, np.random.default_rng(seed), len(z), z)
    s = np.random.default_rng(seed).uniform(0, 2, size=len(z))
    for weights in (None, s):
        native = bound(loss, y, weights).slope_along(z, q, eta)
        assert native == pytest.approx(bound(same_formula(loss), y, weights).slope_along(z, q, eta))
        found, formula = (
            bound(which, y, weights).kinks_along(z, q, 0.0, 3.0)
            for which in (loss, same_formula(loss))
        )
        assert np.sort(found, axis=0) == pytest.approx(np.sort(formula, axis=0))
    just_right = slope_by_difference(loss, z, q, y, eta)
    assert bound(loss, y).slope_along(z, q, eta)[0] == pytest.approx(just_right, abs=1e-4)


def slope_by_difference(loss, z, q, y, eta, h=1e-7):
    low, high = (np.sum(loss.value(z + step * q, y)) for step in (eta, eta + h))
    return (high - low) / h


@pytest.mark.parametrize("regularizer", [L2(), L1(), ElasticNet()], ids=ids)
@pytest.mark.parametrize("loss", PIECEWISE, ids=ids)
@given(seed=st.integers(0, 10_000), ties=st.booleans())
def test_the_exact_step_is_the_best(loss, regularizer, seed, ties):
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, size=(12, 3)).astype(float) if ties else rng.normal(size=(12, 3))
    y = labels_for(loss, rng, 12, X @ rng.normal(size=3))
    problem = fenchel.problem(X, y, loss=loss, regularizer=regularizer, strength=0.05)
    w = rng.integers(-1, 2, size=3).astype(float) if ties else rng.normal(size=3)
    along = Along(problem, problem.risk.at(w), rng.normal(size=3))
    if along.slope(0.0).slope >= 0:
        assert exact(along, 1.0) == 0.0
        return
    eta = exact(along, rng.uniform(0.01, 10))
    best = along(eta)[0]
    # J is convex along a line: if any other step is better, so are those between it and this one.
    grid = np.r_[0.0, eta * (1 + np.outer([-1, 1], 10.0 ** np.arange(-6, 1)).ravel()), 5 * eta]
    scipy = minimize_scalar(lambda step: along(step)[0], bounds=(0, 3 * eta), method="bounded")
    room = 1e-12 * (1 + abs(best))
    assert best <= min(along(step)[0] for step in grid) + room
    assert best <= scipy.fun + room
    assert along.slope(eta).slope >= -1e-9


@given(
    st.lists(st.tuples(st.integers(1, 6).map(float), st.integers(0, 3).map(float)), max_size=90),
    st.integers(0, 2).map(float),
)
def test_the_crossing_is_that_of_a_walk_over_sorted_kinks(jumps, curvature):
    kinks = np.array([(eta, jump, 0.0) for eta, jump in jumps]).reshape(-1, 3)
    found = crossing(Slope(-20.0, curvature), 0.0, kinks)
    assert found == pytest.approx(walked(-20.0, curvature, sorted(jumps)))


def walked(slope, curvature, jumps):
    """[Yu10] algorithm 3, line by line."""
    low = 0.0
    for eta, jump in jumps:
        if slope + curvature * (eta - low) >= 0:
            break
        slope, low = slope + curvature * (eta - low) + jump, eta
        if slope >= 0:
            return eta
    return low - slope / curvature if curvature else np.inf


def test_a_search_gives_up_a_slope_that_promises_too_much():
    """At 0 the function bends upwards; -1 is among its slopes there, but it falls nowhere."""
    trials = []

    def phi(eta):
        trials.append(eta)
        return 1.0 + 2.0 * eta, 2.0

    assert between_tangents(phi, 1.0, -1.0, 1.0) == 0.0
    assert len(trials) < 15


@pytest.mark.parametrize("kink", [1e-2, 1.0, 50.0])
def test_a_search_between_tangents_leaves_little(kink):
    def phi(eta):
        return abs(eta - kink) + 1e-3 * eta**2, np.sign(eta - kink) + 2e-3 * eta

    eta = between_tangents(phi, phi(0.0)[0], phi(0.0)[1], 1.0)
    assert phi(0.0)[0] - phi(eta)[0] >= 0.95 * (phi(0.0)[0] - phi(kink)[0])
