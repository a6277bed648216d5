"""The bundle method's dual: optimality, warm starts, degeneracy and scale."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from fenchel._kernels import SimplexQP

EPS = np.finfo(float).eps


def objective(Q, b, alpha):
    return 0.5 * alpha @ Q @ alpha - b @ alpha


def rounding(Q, b, alpha):
    """What rounding alone may do to the gap: |Q_ij| is at most r_i r_j."""
    r = np.sqrt(np.maximum(np.diag(Q), 0.0))
    return EPS * ((r @ alpha) * (r @ alpha + r.max()) + 2.0 * np.abs(b).max())


def assert_feasible(alpha):
    assert alpha.min() >= 0.0
    assert abs(alpha.sum() - 1.0) <= 1e-14


def assert_optimal(Q, b, qp, gap, tolerance=1e-12):
    alpha = qp.weights
    assert_feasible(alpha)
    g = Q @ alpha - b
    f = objective(Q, b, alpha)
    noise = rounding(Q, b, alpha)
    assert alpha @ (g - g.min()) <= max(1.01 * tolerance * abs(f), 30.0 * noise)
    assert abs(gap - alpha @ (g - g.min())) <= 30.0 * noise
    assert abs(qp.objective - f) <= 30.0 * noise


def solved(Q, b, alpha=None, tolerance=1e-12):
    qp = SimplexQP()
    qp.assign(Q, b, alpha)
    gap = qp.solve(tolerance)
    assert_optimal(Q, b, qp, gap, tolerance)
    return qp


def gaussian(rng, n, k):
    return rng.normal(size=(n, k))


def zero_cut(rng, n, k):
    A = rng.normal(size=(n, k))
    A[0] = 0.0
    return A


def duplicates(rng, n, k):
    return rng.normal(size=(n, k))[rng.integers(0, n, size=n)]


def integers(rng, n, k):
    return np.round(rng.normal(size=(n, k)))


def zeros(rng, n, k):
    return np.zeros((n, k))


def graded(rng, n, k):
    return rng.normal(size=(n, k)) * 10.0 ** rng.uniform(-4, 2, size=(n, 1))


def clustered(rng, n, k):
    return rng.normal(size=k) + 1e-3 * rng.normal(size=(n, k))


CUTS = [gaussian, zero_cut, duplicates, integers, zeros, graded, clustered]


@pytest.mark.parametrize("cuts", CUTS, ids=lambda f: f.__name__)
def test_optimal_cold_warm_and_with_a_new_linear_term(cuts):
    rng = np.random.default_rng(0)
    for _ in range(400):
        n, k = int(rng.integers(1, 60)), int(rng.integers(1, 40))
        A = cuts(rng, n, k)
        b = rng.normal(size=n) * 10.0 ** rng.uniform(-4, 4)
        if cuts is integers:
            b = np.round(b)
        scale = 10.0 ** rng.uniform(-12, 12)
        Q = scale * (A @ A.T)
        if rng.random() < 0.5:
            b *= scale
        cold = solved(Q, b)
        qp = solved(Q, b, rng.random(n) * (rng.random(n) < 0.5))
        noise = rounding(Q, b, cold.weights) + rounding(Q, b, qp.weights)
        assert abs(qp.objective - cold.objective) <= 2e-12 * abs(cold.objective) + 60.0 * noise
        b = b * rng.uniform(0.5, 1.5, size=n)
        qp.set_linear(b)
        assert_optimal(Q, b, qp, qp.solve())


def test_agrees_with_an_interior_point_method():
    clarabel = pytest.importorskip("clarabel")
    sparse = pytest.importorskip("scipy.sparse")
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    rng = np.random.default_rng(1)
    for trial in range(60):
        n, k = int(rng.integers(2, 25)), int(rng.integers(1, 20))
        A = CUTS[trial % 4](rng, n, k)
        Q, b = A @ A.T, rng.normal(size=n)
        constraints = sparse.vstack([np.ones((1, n)), -sparse.identity(n)], format="csc")
        bounds = np.concatenate([[1.0], np.zeros(n)])
        cones = [clarabel.ZeroConeT(1), clarabel.NonnegativeConeT(n)]
        solver = clarabel.DefaultSolver(
            sparse.csc_matrix(np.triu(Q)), -b, constraints, bounds, cones, settings
        )
        expected = solver.solve().obj_val
        assert solved(Q, b).objective == pytest.approx(expected, rel=1e-6, abs=1e-6)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_integer_problems_with_many_ties(data):
    n, k = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    A = data.draw(arrays(np.int64, (n, k), elements=st.integers(-2, 2))).astype(float)
    b = data.draw(arrays(np.int64, n, elements=st.integers(-2, 2))).astype(float)
    alpha = data.draw(arrays(np.int64, n, elements=st.integers(0, 2))).astype(float)
    cold, warm = solved(A @ A.T, b), solved(A @ A.T, b, alpha)
    assert cold.objective == pytest.approx(warm.objective, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("scale", [1e8, 1e-10, 1e100, 1e-100])
def test_scaling_everything_changes_nothing(scale):
    rng = np.random.default_rng(2)
    for n in (1, 5, 40, 120):
        A = zero_cut(rng, n, 30)
        Q, b = A @ A.T, rng.normal(size=n)
        ratio = solved(scale * Q, scale * b).objective / scale
        assert ratio == pytest.approx(solved(Q, b).objective, rel=1e-11, abs=1e-13)


@pytest.mark.parametrize("scale", [1e12, 1e-12])
def test_scaling_the_matrix_alone(scale):
    rng = np.random.default_rng(3)
    for _ in range(50):
        n = int(rng.integers(2, 80))
        A = zero_cut(rng, n, 20)
        solved(scale * (A @ A.T), rng.normal(size=n))


def test_without_a_matrix_it_is_a_linear_programme():
    qp = solved(np.zeros((4, 4)), np.array([1.0, 3.0, 2.0, 3.0]))
    assert qp.objective == -3.0
    qp.set_linear(np.array([5.0, 3.0, 2.0, 3.0]))
    assert qp.solve() == 0.0
    np.testing.assert_array_equal(qp.weights, [1.0, 0.0, 0.0, 0.0])


def test_one_variable_and_none():
    qp = SimplexQP()
    assert qp.size == 0
    assert qp.solve() == 0.0
    assert qp.objective == 0.0
    qp.append(np.zeros(0), 4.0, 1.0)
    assert qp.solve() == 0.0
    assert qp.objective == 1.0
    np.testing.assert_array_equal(qp.weights, [1.0])
    qp.remove(np.array([0]))
    assert qp.size == 0
    qp.append(np.zeros(0), 2.0, 0.0)
    assert qp.objective == 1.0


def test_known_answer():
    # The nearest point to the origin of the segment from (1, 0) to (0, 1), far from (3, 3).
    A = np.array([[1.0, 0.0], [3.0, 3.0], [0.0, 1.0]])
    np.testing.assert_allclose(solved(A @ A.T, np.zeros(3)).weights, [0.5, 0, 0.5], atol=1e-15)


def test_starts_are_clipped_and_normalised():
    Q, b = np.eye(3), np.zeros(3)
    qp = SimplexQP()
    qp.assign(Q, b, np.array([-1.0, 3.0, 1.0]))
    np.testing.assert_array_equal(qp.weights, [0.0, 0.75, 0.25])
    for hopeless in ([0.0, 0.0, 0.0], [-1.0, -2.0, np.nan], [np.inf, 0.0, 1.0]):
        qp.assign(Q, np.array([0.0, 1.0, 0.0]), np.array(hopeless))
        np.testing.assert_array_equal(qp.weights, [0.0, 1.0, 0.0])


def test_weights_are_a_copy():
    qp = solved(np.eye(3), np.zeros(3))
    qp.weights[:] = 7.0
    assert_feasible(qp.weights)


def test_never_worse_than_the_start_however_few_the_steps():
    rng = np.random.default_rng(4)
    for trial in range(300):
        n = int(rng.integers(1, 60))
        A = CUTS[trial % len(CUTS)](rng, n, 15)
        Q, b = A @ A.T, rng.normal(size=n)
        qp = SimplexQP()
        qp.assign(Q, b, rng.random(n))
        before = qp.objective
        for _ in range(6):
            gap = qp.solve(0.0, max_steps=int(rng.integers(0, 6)))
            alpha = qp.weights
            assert_feasible(alpha)
            noise = 30.0 * rounding(Q, b, alpha)
            assert qp.objective <= before + noise
            g = Q @ alpha - b
            assert abs(gap - alpha @ (g - g.min())) <= noise
            before = qp.objective


def test_not_a_number_ends():
    Q = np.eye(3)
    Q[1, 2] = Q[2, 1] = np.nan
    qp = SimplexQP()
    qp.assign(Q, np.zeros(3))
    qp.solve()
    assert_feasible(qp.weights)
    qp.assign(np.eye(3), np.array([0.0, np.nan, 0.0]), np.ones(3))
    assert not qp.solve() <= 1.0
    assert_feasible(qp.weights)


@pytest.mark.parametrize("cuts", CUTS, ids=lambda f: f.__name__)
def test_append_and_remove_in_any_order(cuts):
    rng = np.random.default_rng(5)
    for _ in range(15):
        A = cuts(rng, 60, int(rng.integers(1, 25)))
        Q, b = A @ A.T, rng.normal(size=60)
        qp, kept = SimplexQP(), np.zeros(0, dtype=np.int64)
        for i in range(60):
            before = qp.objective
            qp.append(Q[i, kept], Q[i, i], b[i])
            kept = np.append(kept, i)
            part = Q[np.ix_(kept, kept)]
            gap = qp.solve()
            assert_optimal(part, b[kept], qp, gap)
            if kept.size > 1:
                assert qp.objective <= before + 30.0 * rounding(part, b[kept], qp.weights)
            if rng.random() < 0.3:  # idle ones only: nothing changes
                idle = np.flatnonzero((qp.weights == 0.0) & (rng.random(kept.size) < 0.5))
                expected = np.delete(qp.weights, idle)
                qp.remove(idle)
                kept = np.delete(kept, idle)
                np.testing.assert_array_equal(qp.weights, expected)
            if rng.random() < 0.1:  # any: what is left is scaled up
                some = np.flatnonzero(rng.random(kept.size) < 0.5)
                left = np.delete(qp.weights, some)
                qp.remove(rng.permutation(some))
                kept = np.delete(kept, some)
                if left.sum() > 0.0:
                    np.testing.assert_allclose(qp.weights, left / left.sum(), rtol=1e-14)
            assert qp.size == kept.size
            if kept.size:
                assert_feasible(qp.weights)


def hinge_cut(X, y, w):
    margin = 1.0 - y * (X @ w)
    a = -((margin > 0.0) * y) @ X / len(y)
    return a, np.maximum(margin, 0.0).mean() - a @ w


@pytest.mark.parametrize("strength", [1e-2, 1e-3, 1e-4, 1e-5])
@pytest.mark.parametrize("dimension", [20, 60, 130])
@pytest.mark.parametrize("limit", [None, 15])
def test_every_solve_of_a_bundle_method(dimension, strength, limit):
    rng = np.random.default_rng(dimension)
    X = rng.normal(size=(400, dimension)) * np.exp(rng.normal(size=dimension))
    y = np.sign(X @ rng.normal(size=dimension) + 2.0 * rng.normal(size=400))
    A, b, idle = np.zeros((1, dimension)), np.zeros(1), np.zeros(1, dtype=int)
    w, lower = np.zeros(dimension), 0.0
    qp = SimplexQP()
    qp.append(np.zeros(0), 0.0, 0.0)
    for iteration in range(250):
        a, offset = hinge_cut(X, y, w)
        qp.append(A @ a / strength, a @ a / strength, offset)
        A, b, idle = np.vstack([A, a]), np.append(b, offset), np.append(idle, 0)
        gap = qp.solve()
        alpha = qp.weights
        assert_feasible(alpha)
        w = -A.T @ alpha / strength
        if iteration % 5 == 0:
            Q = A @ A.T / strength
            noise = 30.0 * rounding(Q, b, alpha)
            assert_optimal(Q, b, qp, gap)
            assert -qp.objective >= lower - noise
            lower = -qp.objective
        if iteration % 25 == 0:
            cold = solved(Q, b).objective
            assert abs(qp.objective - cold) <= 2e-12 * abs(cold) + noise
        if limit is not None:
            idle = np.where(alpha > 0.0, 0, idle + 1)
            old = np.flatnonzero(idle > limit)
            qp.remove(old)
            A, b, idle = np.delete(A, old, axis=0), np.delete(b, old), np.delete(idle, old)


def test_large_problem():
    rng = np.random.default_rng(6)
    A = rng.normal(size=(1500, 100))
    solved(A @ A.T, rng.normal(size=1500))


def test_wrong_lengths_name_both_numbers():
    qp = SimplexQP()
    with pytest.raises(ValueError, match=r"2.*0"):
        qp.append(np.zeros(2), 1.0, 0.0)
    with pytest.raises(ValueError, match=r"3.*2"):
        qp.assign(np.zeros((3, 2)), np.zeros(2))
    with pytest.raises(ValueError, match=r"3.*2"):
        qp.assign(np.zeros((2, 3)), np.zeros(2))
    with pytest.raises(ValueError, match=r"3.*2"):
        qp.assign(np.zeros((2, 2)), np.zeros(2), np.zeros(3))
    qp.assign(np.eye(2), np.zeros(2))
    with pytest.raises(ValueError, match=r"1.*2"):
        qp.set_linear(np.zeros(1))
    for index in (-1, 2):
        with pytest.raises(ValueError, match=rf"{index}.*2"):
            qp.remove(np.array([index]))
    assert qp.size == 2


@pytest.mark.parametrize("q", np.logspace(-25, 25, 101))
def test_weights_stay_on_the_simplex_when_q_and_b_differ_by_many_orders(q):
    qp = SimplexQP()
    qp.append(np.zeros(0), 0.0, 0.0)
    qp.append(np.zeros(1), q, 1.7819932763715802)
    qp.solve(1e-13)
    expected = min(1.0, 1.7819932763715802 / q)
    np.testing.assert_allclose(qp.weights, [1 - expected, expected], rtol=1e-9, atol=1e-15)


def test_a_call_that_ran_out_of_steps_says_so_and_the_next_goes_on():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 40))
    qp, whole = SimplexQP(), SimplexQP()
    for each in (qp, whole):
        each.assign(A @ A.T, np.arange(30.0))
    calls = 1
    qp.solve(1e-12, max_steps=1)
    assert not qp.finished
    while not qp.finished:
        qp.solve(1e-12, max_steps=4)
        calls += 1
    whole.solve(1e-12)
    assert whole.finished and calls > 2
    assert qp.objective == pytest.approx(whole.objective, rel=1e-10)
