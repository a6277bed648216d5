"""OWL-QN, OWL-QN* and the split of Kazama and Tsujii: sparse, monotone, certified, right."""

import dataclasses
import itertools

import cvxpy as cp
import numpy as np
import pytest
from catalogue import LOSSES, N_FEATURES, data_for, ids, problem_for, sample_weights
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import fenchel
from fenchel import losses
from fenchel.losses import ScalarLoss
from fenchel.paths import vanishing
from fenchel.regularizers import L1, ElasticNet
from fenchel.solvers import OWLQN, KTSplit, OWLQNStar
from fenchel.solvers._scaled_dual import ScaledDual

ORTHANTWISE = [OWLQN(), OWLQNStar()]
SPARSE = [*ORTHANTWISE, KTSplit()]
SMOOTH = [loss for loss in LOSSES if loss.differentiable]
PENALTIES = [
    L1(),
    L1(weights=[0.5, 1.0, 2.0, 3.0]),
    ElasticNet(l1_ratio=0.9),
    ElasticNet(weights=[3.0, 1.0, 0.3, 1.0]),
]


def steps_of(solver, problem, n, w=None):
    w = np.zeros(problem.risk.n_parameters) if w is None else w
    return list(itertools.islice(solver.iterate(problem, w), n))


def sparse_problem(*, n=120, d=40, strength=0.03, seed=0, **options):
    """Two classes that five of d columns tell apart, the columns of very different scale."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10 ** rng.uniform(-1, 1, size=d)
    w = np.where(np.arange(d) < 5, 1.0, 0.0) / np.std(X, axis=0)
    y = np.where(X @ w + rng.normal(size=n) > 0, 1.0, -1.0)
    return fenchel.problem(
        X, y, loss="logistic", regularizer="l1", strength=strength, engine="serial", **options
    )


@pytest.mark.parametrize("regularizer", PENALTIES, ids=ids)
@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
@pytest.mark.parametrize("solver", ORTHANTWISE, ids=ids)
def test_the_objective_never_rises(solver, loss, regularizer):
    problem = problem_for(loss, regularizer, intercept=True, weighted=True, strength=0.02)
    w0 = np.array([1.0, -2.0, 0.0, 0.5])
    J = [step.objective for step in steps_of(solver, problem, 60, w0)]
    assert all(b <= a + 1e-15 * abs(a) for a, b in itertools.pairwise(J))
    assert J[-1] < J[0]


@pytest.mark.parametrize("solver", ORTHANTWISE, ids=ids)
@pytest.mark.parametrize("seed", range(5))
def test_steps_stay_in_an_orthant(solver, seed):
    """No coordinate changes its sign without being exactly 0 in between."""
    problem = sparse_problem(seed=seed)
    w0 = np.random.default_rng(seed).normal(size=problem.risk.n_parameters)
    w = [step.point.w for step in steps_of(solver, problem, 80, w0)]
    assert all(np.all(a * b >= 0) for a, b in itertools.pairwise(w))
    assert np.count_nonzero(w[-1]) < np.count_nonzero(w0)


@pytest.mark.parametrize("solver", SPARSE, ids=ids)
def test_zeros_are_exact_and_are_those_of_liblinear(solver):
    problem = sparse_problem()
    # SciPy's line search gives up at a gap of some 1e-8.
    result = fenchel.minimize(problem, solver, gap=1e-7 if isinstance(solver, KTSplit) else 1e-9)
    shard = problem.risk.engine.shards[0]
    peer = LogisticRegression(
        l1_ratio=1.0,
        solver="liblinear",
        fit_intercept=False,
        C=1 / (120 * problem.strength),
        tol=1e-10,
        max_iter=10_000,
    ).fit(shard.rows.matrix(), shard.y)
    assert result.converged
    assert np.array_equal(np.flatnonzero(result.w), np.flatnonzero(peer.coef_[0]))
    assert 0 < np.count_nonzero(result.w) < 40
    assert np.allclose(result.w, peer.coef_[0], rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("solver", SPARSE, ids=ids)
def test_a_penalty_that_keeps_w_at_zero_is_certified_at_once(solver):
    problem = sparse_problem(strength=100.0)
    result = fenchel.minimize(problem, solver, gap=1e-12)
    assert (result.converged, result.iterations) == (True, 1)
    assert not result.w.any()


@pytest.mark.parametrize("solver", ORTHANTWISE, ids=ids)
def test_two_passes_an_iteration(solver):
    problem = sparse_problem(n=300)
    result = fenchel.minimize(problem, solver, gap=1e-6)
    assert result.converged
    assert result.passes <= 2.4 * result.iterations + 4  # a few steps are tried twice


@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
def test_every_bound_on_the_way_is_below_the_minimum(loss, intercept):
    """With every bound computed, those that the solver leaves out included."""
    problem = problem_for(loss, L1(), intercept=intercept, weighted=True, strength=0.05)
    truth = fenchel.minimize(problem, "bmrm", gap=1e-9).objective
    for solver in SPARSE:
        for step in steps_of(solver, problem, 40):
            proved, _ = ScaledDual(problem, every=1).after(step.point, step.objective)
            assert step.lower_bound <= proved
            assert proved <= truth * (1 + 1e-9)


@pytest.mark.parametrize("solver", SPARSE, ids=ids)
def test_weights_of_the_penalty_scale_the_columns(solver):
    """c_j |w_j| with column x_j is |u_j| with column x_j / c_j, u_j = c_j w_j."""
    X, y = data_for(losses.Logistic(), n=60)
    c = np.array([0.5, 1.0, 2.0, 3.0])
    options = {"loss": "logistic", "strength": 0.02}
    weighted = fenchel.problem(X, y, regularizer=L1(weights=c), **options)
    scaled = fenchel.problem(X / c, y, regularizer="l1", **options)
    one, other = (fenchel.minimize(p, solver, gap=1e-10) for p in (weighted, scaled))
    assert one.objective == pytest.approx(other.objective, rel=1e-9)
    assert np.allclose(c * one.w, other.w, atol=1e-4)


@pytest.mark.parametrize("solver", SPARSE, ids=ids)
def test_the_elastic_net_agrees_with_an_interior_point_method(solver):
    X, y = data_for(losses.Logistic(), n=60)
    s = sample_weights(60)
    problem = problem_for(
        losses.Logistic(), ElasticNet(l1_ratio=0.7), intercept=True, weighted=True, n=60
    )
    w, b = cp.Variable(N_FEATURES), cp.Variable()
    risk = (s / np.sum(s)) @ cp.logistic(-cp.multiply(y, X @ w + b))
    omega = 0.7 * cp.norm1(w) + 0.15 * cp.sum_squares(w)
    truth = cp.Problem(cp.Minimize(0.1 * omega + risk)).solve(solver=cp.CLARABEL)
    result = fenchel.minimize(problem, solver, gap=1e-8)
    assert result.converged
    assert result.objective == pytest.approx(truth, rel=1e-7)
    assert np.allclose(result.w, w.value, atol=1e-3)
    assert fenchel.verify(result, problem).gap <= 1.01e-8


@pytest.mark.parametrize("solver", ORTHANTWISE, ids=ids)
@pytest.mark.parametrize("scale", [1e-6, 1e6])
def test_the_scale_of_the_data_does_not_matter(scale, solver):
    X, y = data_for(losses.Logistic(), n=60)
    problem = fenchel.problem(
        scale * X, y, loss="logistic", regularizer="l1", strength=scale * 0.02
    )
    result = fenchel.minimize(problem, solver, gap=1e-7)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-7


class Shifted(ScalarLoss):
    """l(z, y) = (z - y)^2 / 2 - 1: a user's smooth loss that may be negative."""

    differentiable = True

    def value(self, z, y):
        return 0.5 * (z - y) ** 2 - 1.0

    def slope(self, z, y):
        return z - y


@pytest.mark.parametrize("solver", SPARSE, ids=ids)
def test_what_cannot_be_certified_is_refused(solver):
    free = problem_for(losses.Logistic(), L1(weights=[1.0, 0.0, 1.0, 1.0]))
    with pytest.raises(fenchel.Incompatible, match=r"unpenalised.*solvers that can: .*bmrm"):
        fenchel.minimize(free, solver)
    with pytest.raises(fenchel.Incompatible, match="nonnegative = True"):
        fenchel.minimize(problem_for(Shifted(), L1()), solver)
    with pytest.raises(fenchel.Incompatible, match="differentiable"):
        fenchel.minimize(problem_for(losses.Hinge(), L1()), solver)
    with pytest.raises(fenchel.Incompatible, match=r"L2.orthant_curvature.*l1, elastic_net have"):
        fenchel.minimize(problem_for(losses.Logistic(), "l2"), solver)


@pytest.mark.parametrize("solver", SPARSE, ids=ids)
def test_a_loss_that_may_be_negative_is_certified_under_the_elastic_net(solver):
    problem = problem_for(Shifted(), ElasticNet(), strength=0.01)
    shifted = problem_for(losses.SquaredError(), ElasticNet(), strength=0.01)
    truth = fenchel.minimize(shifted, solver, gap=1e-9).objective - 1.0
    result = fenchel.minimize(problem, solver, gap=1e-7)
    assert result.converged
    assert result.lower_bound <= truth + 1e-9 <= result.objective + 2e-9
    fenchel.verify(result, problem)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("owlqn", {"memory": 0}),
        ("owlqn-star", {"memory": 1.5}),
        ("kt-split", {"memory": 0}),
        ("kt-split", {"burst": 0}),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, options):
    with pytest.raises(fenchel.InvalidData, match=next(iter(options))):
        fenchel.solver(name, **options)


@pytest.mark.parametrize("regularizer", PENALTIES, ids=ids)
def test_auto_prefers_column_descent_where_the_loss_is_smooth_and_says_why(regularizer):
    smooth = fenchel.minimize(problem_for(losses.Logistic(), regularizer))
    kinked = fenchel.minimize(problem_for(losses.Hinge(), regularizer))
    assert smooth.converged and kinked.converged
    assert (smooth.solver, kinked.solver) == ("column-descent", "polish")
    assert "better than owlqn" in smooth.reason and "better than ls-bmrm" in kinked.reason


def at_random(kind, seed=0):
    """The solver, started from random elements of dJ(w), not the steepest ([Yu10] fig. 17)."""
    rng = np.random.default_rng(seed)

    class Random(kind):
        def subgradient(self, problem, point):
            p = rng.uniform(-1, 1, size=len(point.w))
            kinks = np.where(point.w == 0, np.abs(p), 1.0)
            return point.subgradient + problem.strength * kinks * problem.regularizer.support(
                point.w, p
            )

    return Random()


@pytest.mark.parametrize("seed", range(3))
def test_algorithm_2_recovers_from_random_subgradients(seed):
    problem = sparse_problem(seed=seed)
    truth = fenchel.minimize(problem, "owlqn", gap=1e-9).objective
    star = fenchel.minimize(problem, at_random(OWLQNStar, seed), gap=1e-6, max_iterations=400)
    plain = fenchel.minimize(problem, at_random(OWLQN, seed), gap=1e-6, max_iterations=400)
    assert star.objective <= truth * (1 + 1e-3)
    assert not plain.converged and plain.objective > truth * (1 + 1e-2)


@pytest.mark.parametrize("name", ["a9a", "w8a"])
@pytest.mark.parametrize("solver", ORTHANTWISE, ids=ids)
def test_real_data_give_the_minimum_and_the_support_of_liblinear(real, name, solver):
    X, y = real(name)
    problem = fenchel.problem(X, y, loss="logistic", regularizer="l1", strength=1e-3)
    result = fenchel.minimize(problem, solver, gap=1e-7)
    peer = LogisticRegression(
        l1_ratio=1.0, solver="liblinear", fit_intercept=False, C=1e3 / len(y), tol=1e-8
    ).fit(X, y)
    J = problem.objective(problem.risk.at(peer.coef_[0]))
    assert result.converged and fenchel.verify(result, problem).gap <= 1.01e-7
    assert result.lower_bound <= J and result.objective <= J * (1 + 1e-7)
    differs = (result.w != 0) != (peer.coef_[0] != 0)
    assert np.all(np.abs(result.w - peer.coef_[0])[differs] < 1e-3)  # ties: columns alike


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("solver", ["owlqn", "owlqn-star", "kt-split"])
@pytest.mark.parametrize("regularizer", ["l1", "elastic_net"])
def test_softmax_is_certified_too(solver, regularizer, weighted):
    X, y = load_iris(return_X_y=True)
    s = sample_weights(len(y)) if weighted else None
    problem = fenchel.problem(
        X, y, loss="softmax", regularizer=regularizer, strength=1e-2, sample_weight=s
    )
    bundle = fenchel.minimize(problem, "bmrm", gap=1e-4)
    result = fenchel.minimize(problem, solver, gap=1e-5)
    assert result.converged and result.w.shape == (3, 4)
    assert result.lower_bound <= bundle.objective and bundle.lower_bound <= result.objective
    fenchel.verify(result, problem)


@pytest.mark.parametrize("solver", ORTHANTWISE, ids=ids)
@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_over_in_a_few_steps_is_certified_where_it_ends(solver, seed):
    """With few weights at work the minimum is met exactly, between two lower bounds."""
    problem = problem_for(losses.SquaredError(), L1(), intercept=True, seed=seed)
    largest = vanishing(problem)
    for share in (0.95, 0.8, 0.5):
        at = dataclasses.replace(problem, strength=share * largest)
        assert fenchel.minimize(at, solver, gap=1e-9).converged
