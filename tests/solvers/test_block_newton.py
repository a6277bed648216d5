"""Newton's method and the method of multipliers for several scores a row, in runs of a kernel."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue import VECTOR_LOSSES, ids, sample_weights, targets_for
from scipy import sparse
from sklearn.datasets import load_digits, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import scale

import fenchel
from fenchel import losses
from fenchel.losses.vector_rows import has_bends
from fenchel.regularizers import L2
from fenchel.solvers import NewtonCG, Polish

STEPPED = [loss for loss in VECTOR_LOSSES if has_bends(loss)]
STEPS = pytest.mark.parametrize("loss", STEPPED, ids=ids)
INTERCEPT = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
LAYOUTS = {
    "dense": np.asarray,
    "fortran, float32": lambda X: np.asfortranarray(X.astype(np.float32)),
    "sparse": sparse.csr_array,
}


def solver_of(loss):
    return NewtonCG() if loss.differentiable else Polish()


def example(loss, n=90, d=4, K=3, seed=3):
    """Empty rows, equal rows, labels that an offset explains in part."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)).astype(np.float32).astype(float)
    X[:4] = 0.0
    X[4:12] = X[12:20]
    y = targets_for(loss, rng, n, K, X @ rng.normal(size=(d, K)) + np.linspace(1, -1, K))
    return X, y


@STEPS
@INTERCEPT
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("weights", [None, [0.5, 1.0, 2.0, 3.0]])
def test_it_certifies_what_dual_ascent_finds(loss, intercept, layout, weights):
    X, y = example(loss)
    options = {"loss": loss, "regularizer": L2(weights=weights), "strength": 0.02}
    options |= {"intercept": intercept, "sample_weight": sample_weights(len(X))}
    problem = fenchel.problem(LAYOUTS[layout](X), y, **options)
    result = fenchel.minimize(problem, solver_of(loss), gap=1e-8, max_iterations=60)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-8
    other = fenchel.minimize(fenchel.problem(X, y, **options), "sdca", gap=1e-5)
    assert other.lower_bound <= result.objective <= other.objective * (1 + 1e-8)


@INTERCEPT
@pytest.mark.parametrize("costs", [None, [[0, 2, 1], [1, 0, 3], [0.5, 1, 0]]], ids=["", "costs"])
def test_the_multiclass_hinge_is_that_of_a_quadratic_programme(intercept, costs):
    loss = losses.MulticlassHinge() if costs is None else losses.MulticlassHinge(cost=costs)
    X, y = example(loss, n=40)
    s, strength, K = sample_weights(40), 0.05, 3
    problem = fenchel.problem(
        X, y, loss=loss, strength=strength, intercept=intercept, sample_weight=s
    )
    W, b, Delta = cp.Variable((4, K)), cp.Variable(K), loss.costs(K)[:, y].T
    Z = X @ W + (np.ones((40, 1)) @ cp.reshape(b, (1, K), "C") if intercept else 0)
    right = cp.sum(cp.multiply(Z, np.eye(K)[y]), axis=1)
    risk = s @ (cp.max(Z + Delta, axis=1) - right) / np.sum(s)
    least = cp.Problem(cp.Minimize(strength / 2 * cp.sum_squares(W) + risk)).solve(
        solver="CLARABEL"
    )
    for solver in ("polish", "sdca"):
        result = fenchel.minimize(problem, solver, gap=1e-7)
        assert result.converged
        assert result.lower_bound <= least * (1 + 1e-6)
        assert result.objective == pytest.approx(least, rel=1e-6)


@pytest.mark.parametrize("strength", [1e-2, 1e-4, 1e-6])
@INTERCEPT
def test_small_strengths_are_certified(strength, intercept):
    X, y = load_iris(return_X_y=True)
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=strength, intercept=intercept)
    result = fenchel.minimize(problem, "polish", gap=1e-6, max_iterations=60)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-6


def test_softmax_with_intercept_is_that_of_scikit_learn():
    X, y = load_iris(return_X_y=True)
    problem = fenchel.problem(X, y, loss="softmax", strength=1e-3, intercept=True)
    result = fenchel.minimize(problem, "newton-cg", gap=1e-9)
    assert result.converged
    peer = LogisticRegression(C=1 / (1e-3 * len(y)), tol=1e-6, max_iter=10**4).fit(X, y)
    np.testing.assert_allclose(result.w, peer.coef_, atol=1e-2)
    np.testing.assert_allclose(
        result.intercept - np.mean(result.intercept),
        peer.intercept_ - np.mean(peer.intercept_),
        atol=5e-2,
    )


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_few_runs_are_taken(loss):
    """Steps are a kernel's: from Python, where they take longer than a fit, there are few."""
    X, y = load_iris(return_X_y=True)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-3, intercept=True)
    solver = "polish" if loss == "multiclass_hinge" else "newton-cg"
    assert fenchel.minimize(problem, solver, gap=1e-4).iterations <= 4


def test_columns_that_say_nearly_the_same_take_few_products():
    """Systems are scaled by whole classes, not by single coordinates, which take 1500 passes."""
    rng = np.random.default_rng(0)
    X, K = rng.normal(size=(600, 60)), 6
    y = np.argmax(X[:, :K] + 0.7 * rng.normal(size=(600, K)), axis=1)
    turned, back = (np.linalg.qr(rng.normal(size=(60, 60)))[0] for _ in range(2))
    X = X @ (turned * np.geomspace(1, 0.01, 60) @ back)
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=1e-4, intercept=True)
    result = fenchel.minimize(problem, "polish", gap=1e-3)
    assert result.converged and result.passes < 700


@pytest.mark.parametrize("loss", ["multiclass_hinge", "softmax"])
def test_a_class_of_one_row(loss):
    X, y = load_digits(return_X_y=True)
    X, y = X[:200] / 16, np.where(np.arange(200) == 77, 10, y[:200])
    problem = fenchel.problem(X, y, loss=loss, strength=1e-3, intercept=True)
    solver = "polish" if loss == "multiclass_hinge" else "newton-cg"
    result = fenchel.minimize(problem, solver, gap=1e-6)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-6


@STEPS
def test_a_run_goes_on_from_its_checkpoint(loss, tmp_path, monkeypatch):
    monkeypatch.setattr(fenchel.risks.views.block_run, "_WORK", 1.0)  # few steps at a time
    X, y = example(loss)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-4, intercept=True)
    settings = {"gap": 1e-12, "max_iterations": 9}
    whole = fenchel.minimize(problem, solver_of(loss), **settings)
    fenchel.minimize(
        problem, solver_of(loss), gap=1e-12, max_iterations=4, checkpoint=tmp_path / "run"
    )
    rest = fenchel.minimize(problem, solver_of(loss), **settings, checkpoint=tmp_path / "run")
    assert np.array_equal(whole.w, rest.w) and np.array_equal(whole.intercept, rest.intercept)
    assert whole.lower_bound == rest.lower_bound


def test_multipliers_of_a_nearby_problem_save_passes():
    X, y = load_iris(return_X_y=True)
    far, near = (
        fenchel.problem(X, y, loss="multiclass_hinge", strength=each, intercept=True)
        for each in (1.05e-3, 1e-3)
    )
    first = fenchel.minimize(far, "polish", gap=1e-6)
    cold = fenchel.minimize(near, "polish", gap=1e-6)
    warm = fenchel.minimize(near, "polish", gap=1e-6, w0=first)
    assert warm.converged and warm.passes < cold.passes


@pytest.mark.parametrize(
    ("loss", "options"),
    [
        (losses.MulticlassHinge(rescaling="slack"), {}),
        (losses.MulticlassHinge(), {"regularizer": "l1"}),
        (losses.MulticlassHinge(), {"regularizer": "elastic_net"}),
        (losses.MulticlassHinge(), {"strength": 0.0}),
        (losses.Softmax(), {}),
    ],
    ids=["slack", "l1", "elastic net", "no strength", "smooth"],
)
def test_what_has_no_augmented_form_is_refused(loss, options):
    problem = fenchel.problem(*example(loss), **{"loss": loss, "strength": 0.1, **options})
    with pytest.raises(fenchel.Incompatible, match="several scores"):
        fenchel.minimize(problem, "polish")


def test_scores_far_apart_do_no_harm():
    """Columns of 1e6 and of 1e-3: round-off is what is left of the gap."""
    X, y = load_iris(return_X_y=True)
    X = X * [1e3, 1.0, 1e-3, 1.0]
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=1e-3, intercept=True)
    result = fenchel.minimize(problem, "polish", gap=1e-3, max_iterations=60)
    assert np.isfinite(result.w).all()
    assert fenchel.verify(result, problem).gap <= max(result.gap * 1.01, 1e-12)


def test_where_the_kernels_steps_end_single_steps_go_on():
    """Classes that are separated: the run's own search ends a tenth above the minimum."""
    X, y = load_iris(return_X_y=True)
    problem = fenchel.problem(scale(X), y == 0, loss="softmax", strength=1e-4, intercept=True)
    result = fenchel.minimize(problem, "newton-cg", gap=1e-6)
    assert result.converged and fenchel.verify(result, problem).gap <= 1e-6
    assert result.objective <= fenchel.minimize(problem, "lbfgs", gap=1e-6).objective * (1 + 1e-6)


@pytest.mark.parametrize("K", [4, 9, 13, 18, 22])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_taken_some_at_a_time_are_those_taken_one_by_one(K, layout):
    """Of 63 rows some are left over, whether four or two of them are taken at once."""
    X, y = example(losses.Softmax(), n=63, d=7, K=K)
    options = {"loss": "softmax", "strength": 0.01, "intercept": True}
    problem = fenchel.problem(LAYOUTS[layout](X), y, **options)
    result = fenchel.minimize(problem, "newton-cg", gap=1e-9)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-9
    assert result.objective == pytest.approx(
        fenchel.minimize(fenchel.problem(X, y, **options), "lbfgs", gap=1e-7).objective, rel=2e-7
    )


@INTERCEPT
def test_blocks_of_classes_save_products(intercept):
    """Scaled by the diagonal, conjugate gradients take three times as many passes on digits."""
    X, y = load_digits(return_X_y=True)
    problem = fenchel.problem(scale(X), y, loss="softmax", strength=1e-4, intercept=intercept)
    result = fenchel.minimize(problem, "newton-cg", gap=1e-6)
    assert result.converged and result.history[-1].passes < 300


def test_weights_that_all_classes_share_are_no_obstacle():
    """From a start whose weights have a mean over classes, which changes no probability."""
    X, y = example(losses.Softmax(), K=5)
    problem = fenchel.problem(X, y, loss="softmax", strength=1e-3)
    cold = fenchel.minimize(problem, "newton-cg", gap=1e-9)
    start = cold.w + np.linspace(-30, 50, X.shape[1])
    result = fenchel.minimize(problem, "newton-cg", gap=1e-9, w0=start)
    assert result.converged
    assert result.objective == pytest.approx(cold.objective, rel=2e-9)


@pytest.mark.parametrize("heavy", [1e3, 1e5, 1e7])
def test_a_class_with_nearly_all_the_weight_does_not_send_offsets_far_away(heavy):
    """A number added to all offsets changes nothing, and light rows hardly see how far they go."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 17)
    X = 20 * rng.normal(size=(len(y), 2))
    problem = fenchel.problem(
        X, y, loss="multiclass_hinge", strength=1e-4, intercept=True,
        sample_weight=np.where(y == 0, heavy, 1.0),
    )  # fmt: skip
    result = fenchel.minimize(problem, "polish", gap=1e-4)
    assert result.converged
    assert np.max(np.abs(result.intercept)) < 100
