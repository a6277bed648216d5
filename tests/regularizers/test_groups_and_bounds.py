"""Group lasso, bounds and quadratic forms: how they are posed and refused, and others' results."""

import warnings

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from catalogue import N_FEATURES, REGULARIZERS, data_for, ids, problem_for, vector_problem_for
from scipy.optimize import minimize, nnls
from scipy.sparse import csr_array

import fenchel
from fenchel import InvalidData, losses
from fenchel.regularizers import L1, L2, Boxed, ElasticNet, GroupL1, Quadratic
from fenchel.solvers import FISTA
from fenchel.verification.coupled_penalties import COUPLED

GROUPS = [0, 0, 1, 1]


# Groups


def test_a_group_lasso_of_single_columns_is_l1():
    for loss in (losses.Logistic(), losses.SquaredError()):
        alone = fenchel.minimize(problem_for(loss, GroupL1([0, 1, 2, 3])), gap=1e-7)
        l1 = fenchel.minimize(problem_for(loss, L1()), gap=1e-7)
        assert alone.lower_bound <= l1.objective and l1.lower_bound <= alone.objective


def test_whole_groups_are_zero():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 6))
    y = X[:, 0] - 2 * X[:, 1] + 0.1 * rng.normal(size=200)
    problem = fenchel.problem(
        X,
        y,
        loss="squared_error",
        strength=0.1,
        regularizer="group_l1",
        feature_groups=[0, 0, 1, 1, 2, 2],
    )
    result = fenchel.minimize(problem, gap=1e-8)
    assert result.converged and np.all(result.w[:2] != 0) and np.all(result.w[2:] == 0)


def test_a_groups_weight_is_the_root_of_its_size():
    w = np.array([3.0, 4.0, 2.0, 0.0])
    assert GroupL1([0, 0, 1, 1]).value(w) == pytest.approx(2**0.5 * 7)
    assert GroupL1([0, 0, 1, 1], group_weights=[1.0, 3.0]).value(w) == pytest.approx(11)


def test_groups_are_named_by_the_columns_of_a_table():
    X, y = data_for(losses.SquaredError())
    table = pd.DataFrame(X, columns=["a", "b", "c", "d"])

    def posed(groups, weights=None):
        options = {"feature_groups": groups, "group_weights": weights}
        return fenchel.problem(
            table, y, loss="squared_error", regularizer="group_l1", **options
        ).regularizer

    w = np.array([1.0, -2.0, 3.0, 0.5])
    assert posed([["d", "a"], ["b", "c"]]).value(w) == GroupL1([0, 1, 1, 0]).value(w)
    assert posed([["c", "a"]]).value(w) == GroupL1([0, 1, 0, 2]).value(w)
    assert posed([["c", "a"]], [5.0]).value(w) == GroupL1([0, 1, 0, 2], [5.0, 1, 1]).value(w)
    with pytest.raises(InvalidData, match="name a column 'e', which X has not"):
        posed([["a", "e"]])
    with pytest.raises(InvalidData, match="'a' is in two"):
        posed([["a"], ["a", "b"]])
    with pytest.raises(InvalidData, match="X has none"):
        fenchel.problem(X, y, loss="squared_error", regularizer=GroupL1([["a"]]))


@pytest.mark.parametrize(
    ("groups", "weights", "message"),
    [
        (None, None, "needs feature_groups"),
        ([0, 2, 2, 0], None, "no column in group 1"),
        ([0, -1, 1, 0], None, "a number below 0"),
        ([0.5, 1, 1, 0], None, "number of each column's group"),
        ([[0, 1], [2]], None, "lists of other things"),
        (GROUPS, [1.0], "2 groups of columns but 1 group_weights"),
        (GROUPS, [1.0, -1.0], "group_weights must be finite and >= 0"),
        (GROUPS, [1.0, 0.0], r"group_weights must be > 0; group_weights\[1\] is 0.0"),
        ([0, 0, 1], None, "3 numbers but X has 4 columns"),
    ],
)
def test_bad_groups_are_refused(groups, weights, message):
    with pytest.raises(InvalidData, match=message):
        problem_for(losses.SquaredError(), GroupL1(groups, weights))


def test_a_columns_coefficients_of_all_classes_are_in_its_group():
    problem = vector_problem_for(losses.Softmax(), GroupL1(GROUPS), strength=0.15)
    result = fenchel.minimize(problem, gap=1e-6)
    assert result.converged and result.w.shape == (3, N_FEATURES)
    norms = [np.linalg.norm(result.w[:, GROUPS.index(g) : GROUPS.index(g) + 2]) for g in (0, 1)]
    assert problem.regularizer.value(result.w.T.ravel()) == pytest.approx(2**0.5 * sum(norms))


@pytest.mark.parametrize("n", [3, 8, 30])
@pytest.mark.parametrize("regularizer", [L1(), ElasticNet(0.5), GroupL1(range(10))], ids=ids)
@pytest.mark.parametrize("intercept", [False, True])
def test_sparse_softmax_is_cvxpys(regularizer, n, intercept):
    """A column twice, one of zeros, and fewer rows than columns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    X[:, 1], X[:, 2] = X[:, 0], 0.0
    y = np.arange(n) % 3
    W, b = cp.Variable((10, 3)), cp.Variable(3) if intercept else np.zeros(3)
    Z = X @ W + np.ones((len(X), 1)) @ cp.reshape(b, (1, 3), order="C")
    right = cp.sum(cp.multiply(np.eye(3)[y], Z), axis=1)
    if isinstance(regularizer, GroupL1):
        penalty = cp.sum(cp.norm(W, 2, axis=1))
    else:
        ratio = 1.0 if isinstance(regularizer, L1) else 0.5
        penalty = ratio * cp.sum(cp.abs(W)) + (1 - ratio) / 2 * cp.sum_squares(W)
    J = 0.03 * penalty + cp.sum(cp.log_sum_exp(Z, axis=1) - right) / len(X)
    least = cp.Problem(cp.Minimize(J)).solve(solver="CLARABEL")
    problem = fenchel.problem(
        X, y, loss="softmax", regularizer=regularizer, strength=0.03, intercept=intercept
    )
    result = fenchel.minimize(problem, gap=1e-6)
    assert result.converged and fenchel.verify(result, problem).source == "witness"
    assert result.lower_bound - 1e-7 <= least <= result.objective + 1e-7
    assert not np.any(result.w[:, 2])


def test_momentum_that_ends_in_time_saves_passes():
    problem = vector_problem_for(losses.Softmax(), GroupL1(GROUPS), strength=1e-3)
    plain, restarted = (
        fenchel.minimize(problem, FISTA(restart=restart), gap=1e-5) for restart in (False, True)
    )
    assert restarted.converged and restarted.passes < plain.passes
    assert plain.lower_bound <= restarted.objective
    assert restarted.lower_bound <= plain.objective


# Bounds


@pytest.mark.parametrize("strength", [1e-3, 0.1])
@pytest.mark.parametrize("solver", ["auto", "bmrm", "agm-1", "agm-inf", "fista"])
def test_nonnegative_least_squares_are_scipys(solver, strength):
    """0.5 mean (Xw - y)^2 + strength/2 ||w||^2 is the least squares of a longer matrix."""
    X, y = data_for(losses.SquaredError(), n=60, d=8)
    longer = np.vstack([X / np.sqrt(60), np.sqrt(strength) * np.eye(8)])
    w, _ = nnls(longer, np.append(y / np.sqrt(60), np.zeros(8)))
    problem = fenchel.problem(X, y, loss="squared_error", strength=strength, lower=0.0)
    result = fenchel.minimize(problem, solver, gap=1e-8, max_iterations=5000)
    assert result.converged
    assert np.all(result.w >= 0) and np.allclose(result.w, w, atol=1e-2)
    truth = strength / 2 * w @ w + 0.5 * np.mean((X @ w - y) ** 2)
    assert result.lower_bound - 1e-12 <= truth <= result.objective + 1e-12
    assert fenchel.verify(result, problem).source == "witness"


@pytest.mark.parametrize("regularizer", [L2(), ElasticNet(), L1()], ids=ids)
def test_bounded_logistic_regression_is_scipys(regularizer):
    X, y = data_for(losses.Logistic(), n=60, d=8)
    low, high = np.linspace(-0.5, 0.3, 8), np.linspace(0.0, 0.9, 8)

    def objective(split):  # w = p - q with p, q >= 0, in which |w| = p + q is smooth
        w = split[:8] - split[8:]
        l1 = {L1: 1.0, L2: 0.0}.get(type(regularizer), 0.5)
        penalty = l1 * np.sum(split) + (1 - l1) / 2 * w @ w
        return 0.02 * penalty + np.mean(np.logaddexp(0, -y * (X @ w)))

    signs = [(max(a, 0), max(b, 0)) for a, b in zip(low, high, strict=True)]
    signs += [(max(-b, 0), max(-a, 0)) for a, b in zip(low, high, strict=True)]
    truth = minimize(objective, np.array(signs).mean(axis=1), method="L-BFGS-B", bounds=signs).fun
    problem = fenchel.problem(
        X, y, loss="logistic", strength=0.02, regularizer=regularizer, lower=low, upper=high
    )
    result = fenchel.minimize(problem, gap=1e-7)
    assert result.converged
    assert result.lower_bound <= truth + 1e-9 and result.objective <= truth + 1e-6
    assert np.all(result.w >= low - 1e-9) and np.all(result.w <= high + 1e-9)


def test_bounds_are_those_of_all_classes_and_of_no_intercept():
    problem = vector_problem_for(losses.Softmax(), "l2", intercept=True, lower=[-0.1, 0, 0, -9])
    result = fenchel.minimize(problem, gap=1e-4)
    assert result.converged and result.w.shape == (3, N_FEATURES)
    assert np.all(result.w >= np.array([-0.1, 0, 0, -9]) - 1e-9)
    assert np.min(result.intercept) < -1e-3
    plain = vector_problem_for(losses.Softmax(), "l2", intercept=True)
    assert fenchel.minimize(plain, gap=1e-4).objective < result.objective


def test_a_coefficient_may_be_fixed():
    result = fenchel.minimize(
        problem_for(losses.Hinge(), lower=[0.3, -np.inf, 0, 0], upper=[0.3, np.inf, 0, 1]), gap=1e-6
    )
    assert result.converged and result.w[0] == pytest.approx(0.3, abs=1e-12) and result.w[2] == 0


def test_a_start_outside_the_bounds_is_refused():
    problem = problem_for(losses.Hinge(), lower=0.0)
    with pytest.raises(InvalidData, match=r"within the bounds; w0\[1\] = -1.0"):
        fenchel.minimize(problem, w0=[0.0, -1.0, 0.0, 0.0])


@pytest.mark.parametrize(
    ("bounds", "message"),
    [
        ({"lower": 1.0, "upper": 0.0}, "lower must be <= upper"),
        ({"lower": [0, 0, 1, 0], "upper": 0.5}, "larger in column 2"),
        ({"lower": [0.0, 0.0]}, "lower has 2 bounds but X has 4 columns"),
        ({"lower": [0.0, 0.0], "upper": [1.0]}, "lower has 2 bounds and upper 1"),
        ({"upper": np.nan}, "upper must be a number"),
        ({"lower": np.inf}, "not nan or inf"),
        ({"lower": "zero"}, "lower must be a number"),
        ({"lower": [[0.0]]}, "lower must be a number"),
    ],
)
def test_bad_bounds_are_refused(bounds, message):
    with pytest.raises(InvalidData, match=message):
        problem_for(losses.Hinge(), **bounds)


# Quadratic forms


def test_a_diagonal_q_is_weighted_l2():
    c = np.array([0.5, 1.0, 2.0, 3.0])
    for Q in (np.diag(c), csr_array(np.diag(c))):
        form, l2 = Quadratic(Q), L2(c)
        assert form.strong_convexity == pytest.approx(0.5) and form.strong_convexity <= 0.5
        for w in np.random.default_rng(0).normal(size=(5, 4)):
            assert form.value(w) == pytest.approx(l2.value(w))
            assert form.conjugate(w) == pytest.approx(l2.conjugate(w))
            assert np.allclose(form.prox(w, 0.7), l2.prox(w, 0.7))


def test_a_singular_q_can_be_minimised_though_not_certified():
    Q = np.outer([1.0, -1.0, 0, 0], [1.0, -1.0, 0, 0])
    problem = problem_for(losses.SquaredError(), Quadratic(Q))
    assert Quadratic(Q).strong_convexity == 0 and Quadratic(Q).conjugate(np.ones(4)) == np.inf
    result = fenchel.minimize(problem, max_iterations=200)
    X, y = data_for(losses.SquaredError())
    w = np.linalg.solve(0.1 * Q + X.T @ X / len(y), X.T @ y / len(y))
    assert result.solver == "lbfgs" and np.allclose(result.w, w, atol=1e-6)


@pytest.mark.parametrize(
    ("Q", "message"),
    [
        (None, "needs Q"),
        (np.ones((2, 3)), "square"),
        (np.triu(np.ones((4, 4))), "symmetric"),
        (-np.eye(4), "smallest eigenvalue is -1"),
        (np.full((4, 4), np.nan), "nan"),
        (np.eye(3), "3 rows and columns, but X has 4"),
        ("Q", "matrix of numbers"),
    ],
)
def test_bad_matrices_are_refused(Q, message):
    with pytest.raises(InvalidData, match=message):
        problem_for(losses.SquaredError(), Quadratic(Q))


def test_each_output_has_its_own_quadratic_form():
    Q = np.diag([1.0, 2.0, 3.0, 4.0]) + 0.5
    problem = vector_problem_for(losses.MultivariateSquared(), Quadratic(Q))
    result = fenchel.minimize(problem, gap=1e-8)
    total = sum(w @ Q @ w for w in result.w) / 2
    assert problem.regularizer.value(result.w.T.ravel()) == pytest.approx(total)
    assert result.converged


# Verification


@pytest.mark.parametrize("regularizer", [x for x in REGULARIZERS if type(x) in COUPLED], ids=ids)
def test_verification_has_conjugates_of_its_own(regularizer):
    for u in 3 * np.random.default_rng(0).normal(size=(50, N_FEATURES)):
        for v in (u, regularizer.dual_scale(u) * u):
            theirs = COUPLED[type(regularizer)][1](regularizer, v)
            assert theirs == pytest.approx(regularizer.conjugate(v), rel=1e-12, abs=1e-13)


def test_a_witness_outside_the_domain_of_the_conjugate_proves_nothing():
    problem = problem_for(losses.SquaredError(), GroupL1(GROUPS))
    result = fenchel.minimize(problem, gap=1e-6)
    forged = Boxed(L2(), lower=-0.01, upper=0.01)
    with pytest.raises(fenchel.InvalidCertificate):
        fenchel.verify(result, problem_for(losses.SquaredError(), forged))


@pytest.mark.parametrize("inner", [L2, L1])
def test_an_unpenalised_coefficient_with_one_bound_is_warned_of_and_with_two_certified(inner):
    penalty = inner(weights=[1.0, 0.0, 1.0, 1.0])
    with pytest.warns(fenchel.FenchelWarning, match="coefficient 1 has a weight of 0 and one"):
        problem_for(losses.SquaredError(), Boxed(penalty, lower=-9.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for lower, upper in ((-9.0, 9.0), ([0, -np.inf, 0, 0], None)):
            problem = problem_for(losses.SquaredError(), Boxed(penalty, lower, upper))
            assert fenchel.minimize(problem).converged


def test_bounds_need_a_strength():
    with pytest.raises(fenchel.Incompatible, match=r"bounds .* need strength > 0"):
        problem_for(losses.SquaredError(), Boxed(L2(), lower=0.0), strength=0.0)
