"""Problems of rows known through a kernel: true minima, peers, bits and memory."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue import KERNEL_SOLVERS, ids
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC, SVR

import fenchel
from fenchel.features.choosing import KernelSettings
from fenchel.risks.views.kernel_dual import KernelColumns
from fenchel.solvers import BMRM, SMO, LineSearchBMRM

GAMMA, STRENGTH = 0.4, 0.02
EVERY = [*KERNEL_SOLVERS, BMRM(), LineSearchBMRM()]
MARGINS = ["hinge", "squared_hinge", "smoothed_hinge", "logistic", "exponential"]
RESIDUALS = ["squared_error", "absolute_error", "quantile", "expectile", "huber"]
RESIDUALS += ["epsilon_insensitive", "squared_epsilon_insensitive"]


def data(loss, n=40, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    f = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 - 1
    y = np.where(f > 0, 1, -1) if loss in MARGINS else f + 0.1 * rng.normal(size=n)
    return X, y, rng.uniform(0.5, 2.0, size=n)


def problem(loss, intercept=True, weighted=False, strength=STRENGTH, n=40, seed=0, **options):
    X, y, s = data(loss, n, seed)
    options = {"kernel": "rbf", "gamma": GAMMA, **options}
    s = s if weighted else None
    return fenchel.problem(
        X, y, loss=loss, strength=strength, intercept=intercept, sample_weight=s, **options
    )


def convex_loss(loss, z, y):
    """The losses of rows for CVXPY, written from their definitions."""
    r = z - y
    return {
        "hinge": lambda: cp.pos(1 - cp.multiply(y, z)),
        "squared_hinge": lambda: cp.square(cp.pos(1 - cp.multiply(y, z))) / 2,
        "smoothed_hinge": lambda: cp.huber(cp.pos(1 - cp.multiply(y, z)), 1.0) / 2,
        "logistic": lambda: cp.logistic(-cp.multiply(y, z)),
        "exponential": lambda: cp.exp(-cp.multiply(y, z)),
        "squared_error": lambda: cp.square(r) / 2,
        "absolute_error": lambda: cp.abs(r),
        "quantile": lambda: cp.abs(r) / 2,
        "expectile": lambda: cp.square(r) / 4,
        "huber": lambda: cp.huber(r, 1.0) / 2,
        "epsilon_insensitive": lambda: cp.pos(cp.abs(r) - 0.1),
        "squared_epsilon_insensitive": lambda: cp.square(cp.pos(cp.abs(r) - 0.1)) / 2,
    }[loss]()


def true_minimum(loss, intercept, weighted):
    X, y, s = data(loss)
    share = s / np.sum(s) if weighted else np.full(len(y), 1 / len(y))
    K = rbf_kernel(X, gamma=GAMMA)
    values, vectors = np.linalg.eigh(K)
    Phi = vectors * np.sqrt(np.maximum(values, 0.0))
    w, b = cp.Variable(len(y)), cp.Variable()
    z = Phi @ w + (b if intercept else 0)
    J = STRENGTH / 2 * cp.sum_squares(w) + share @ convex_loss(loss, z, y)
    return cp.Problem(cp.Minimize(J)).solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("loss", MARGINS + RESIDUALS)
@pytest.mark.parametrize(("intercept", "weighted"), [(True, False), (False, True)])
def test_every_solver_certifies_the_true_minimum(loss, intercept, weighted):
    posed, truth = problem(loss, intercept, weighted), true_minimum(loss, intercept, weighted)
    room = 1e-6 * (1 + abs(truth))
    able = [solver for solver in EVERY if solver.obstacle(posed) is None]
    assert len(able) >= 3
    for solver in able:
        result = fenchel.minimize(posed, solver, gap=1e-4)
        assert result.converged, (solver, result)
        assert result.lower_bound - room <= truth <= result.objective + room, (solver, truth)
        certificate = fenchel.verify(result, posed)
        assert certificate.source == "witness" and certificate.gap <= 1e-4


@pytest.mark.parametrize("loss", ["softmax", "multiclass_hinge"])
@pytest.mark.parametrize("intercept", [True, False])
def test_losses_of_several_scores_have_a_bundle(loss, intercept):
    X = data("hinge")[0]
    y = np.argmax(X, axis=1)
    posed = fenchel.problem(
        X, y, loss=loss, kernel="rbf", gamma=GAMMA, strength=0.05, intercept=intercept
    )
    found = [fenchel.minimize(posed, solver, gap=1e-4) for solver in ("bmrm", "ls-bmrm")]
    assert all(result.converged for result in found)
    assert found[0].lower_bound <= found[1].objective + 1e-12
    assert found[1].lower_bound <= found[0].objective + 1e-12
    assert fenchel.verify(found[0], posed).gap <= 1e-4
    features = np.linalg.cholesky(rbf_kernel(X, gamma=GAMMA) + 1e-12 * np.eye(len(X)))
    same = fenchel.problem(features, y, loss=loss, strength=0.05, intercept=intercept)
    assert fenchel.minimize(same, gap=1e-5).objective == pytest.approx(found[0].objective, rel=2e-4)


def test_it_is_svc():
    X, y, _ = data("hinge", 150)
    posed = problem("hinge", n=150)
    result = fenchel.minimize(posed, "smo", gap=1e-8)
    svc = SVC(C=1 / (STRENGTH * len(y)), gamma=GAMMA, tol=1e-9).fit(X, y)
    K = rbf_kernel(X, gamma=GAMMA)
    assert K @ result.w + result.intercept == pytest.approx(svc.decision_function(X), abs=1e-4)


def test_it_is_svr():
    X, y, _ = data("epsilon_insensitive", 150)
    posed = problem("epsilon_insensitive", n=150)
    result = fenchel.minimize(posed, "smo", gap=1e-8)
    svr = SVR(C=1 / (STRENGTH * len(y)), gamma=GAMMA, epsilon=0.1, tol=1e-9).fit(X, y)
    K = rbf_kernel(X, gamma=GAMMA)
    assert K @ result.w + result.intercept == pytest.approx(svr.predict(X), abs=1e-4)


@pytest.mark.parametrize("solver", ["kernel-newton", "smo"])
def test_it_is_kernel_ridge(solver):
    X, y, _ = data("squared_error", 100)
    posed = problem("squared_error", intercept=False, n=100)
    result = fenchel.minimize(posed, solver, gap=1e-10)
    ridge = KernelRidge(alpha=STRENGTH * len(y), kernel="rbf", gamma=GAMMA).fit(X, y)
    assert result.w == pytest.approx(ridge.dual_coef_, abs=1e-4)


@pytest.mark.parametrize("megabytes", [200, 0.05])  # all of K, and a few columns of it
@pytest.mark.parametrize("solver", ["smo", "kernel-newton", "ls-bmrm"])
def test_memory_changes_nothing_but_the_work(solver, megabytes):
    loss = "squared_hinge"
    posed = problem(loss, n=120, cache_size=megabytes)
    result = fenchel.minimize(posed, solver, gap=1e-6)
    whole = fenchel.minimize(problem(loss, n=120), solver, gap=1e-6)
    assert result.converged
    assert result.objective == pytest.approx(whole.objective, rel=1e-6)


def test_no_more_columns_are_kept_than_memory_is_granted():
    posed = problem("hinge", n=200, cache_size=0.08)  # 50 columns of 200 numbers
    columns = KernelColumns(posed.risk)
    assert columns.capacity == 50
    K = KernelSettings("rbf", GAMMA).gram(data("hinge", 200)[0])[0].block(slice(None))
    for start in (0, 30, 0, 90, 10):
        some = np.arange(start, start + 45)
        assert np.array(columns.take(some)) == pytest.approx(K[some], abs=1e-14)
    assert columns._kept.nbytes <= 80_000


def test_small_working_sets_find_the_same_minimum():
    for loss in ("hinge", "epsilon_insensitive"):
        posed = problem(loss, n=100, strength=1e-2, cache_size=0.03)
        wide = fenchel.minimize(problem(loss, n=100, strength=1e-2), "smo", gap=1e-5)
        small = fenchel.minimize(posed, SMO(size=16), gap=1e-5, max_iterations=100_000)
        assert small.converged and small.objective == pytest.approx(wide.objective, rel=1e-4)


@pytest.mark.parametrize("solver", EVERY, ids=ids)
def test_threads_do_not_change_a_bit(solver):
    # More rows than one shard takes.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1600, 2))
    y = np.where(X[:, 0] * X[:, 1] > 0, 1, -1)
    loss = "hinge" if solver.needs.differentiable is False else "squared_hinge"
    settings = {"loss": loss, "kernel": "rbf", "gamma": 1.0, "strength": 0.1, "intercept": True}
    runs = [
        fenchel.minimize(
            fenchel.problem(X, y, engine=engine, **settings), solver, gap=1e-2, max_iterations=6
        )
        for engine in (fenchel.engines.Serial(), fenchel.engines.Threads(2))
    ]
    assert len(fenchel.problem(X, y, **settings).risk.engine.shards) > 1
    assert np.array_equal(runs[0].w, runs[1].w) and runs[0].objective == runs[1].objective


@pytest.mark.parametrize("solver", EVERY, ids=ids)
def test_a_run_goes_on_from_its_checkpoint_bit_for_bit(solver, tmp_path):
    loss = "squared_hinge" if solver.needs.differentiable else "hinge"
    posed = problem(loss, n=60, strength=1e-4)
    whole = fenchel.minimize(posed, solver, gap=1e-9, max_iterations=12, checkpoint=tmp_path / "a")
    for most in (8, 12):
        parted = fenchel.minimize(
            posed, solver, gap=1e-9, max_iterations=most, checkpoint=tmp_path / "b"
        )
    assert np.array_equal(whole.w, parted.w) and whole.objective == parted.objective


def test_it_starts_from_a_result_at_another_strength():
    first = fenchel.minimize(problem("hinge", n=100), "smo", gap=1e-6)
    near = problem("hinge", n=100, strength=0.9 * STRENGTH)
    warm = fenchel.minimize(near, "smo", gap=1e-6, w0=first)
    cold = fenchel.minimize(near, "smo", gap=1e-6)
    assert warm.history[0].gap < cold.history[0].gap
    path = fenchel.path(problem("hinge"), strengths=[0.1, 0.03, 0.01])
    assert path.converged


def test_offsets_of_rows_are_added_to_their_scores():
    X, y, _ = data("squared_error")
    shift = np.linspace(-1, 1, len(y))
    settings = {"loss": "absolute_error", "kernel": "rbf", "gamma": GAMMA, "strength": STRENGTH}
    moved = fenchel.problem(X, y + shift, offset=shift, intercept=True, **settings)
    plain = fenchel.problem(X, y, intercept=True, **settings)
    for solver in ("smo", "ls-bmrm"):
        a, b = (fenchel.minimize(each, solver, gap=1e-7) for each in (moved, plain))
        assert a.objective == pytest.approx(b.objective, rel=1e-6)
        fenchel.verify(a, moved)


def test_rows_of_weight_0_are_not_there():
    X, y, s = data("hinge")
    s[::3] = 0.0
    settings = {"kernel": "rbf", "gamma": GAMMA, "strength": STRENGTH, "intercept": True}
    whole = fenchel.problem(X, y, sample_weight=s, **settings)
    part = fenchel.problem(X[s > 0], y[s > 0], sample_weight=s[s > 0], **settings)
    a, b = (fenchel.minimize(each, gap=1e-7) for each in (whole, part))
    assert not a.w[s == 0].any()
    assert a.objective == pytest.approx(b.objective, rel=1e-6)


def test_other_solvers_and_other_problems_are_refused():
    posed = problem("hinge")
    with pytest.raises(fenchel.Incompatible, match=r"kernel alone.*solvers that can: bmrm"):
        fenchel.minimize(posed, "lbfgs")
    X, y, _ = data("hinge")
    with pytest.raises(fenchel.Incompatible, match="known through a kernel"):
        fenchel.minimize(fenchel.problem(X, y), "smo")
    for bad in ({"regularizer": "l1"}, {"lower": 0.0}, {"strength": 0.0}, {"loss": "roc"}):
        with pytest.raises(fenchel.Incompatible):
            fenchel.problem(X, y, kernel="rbf", **bad)
