"""Newton's steps: the curvature of losses, the systems they make, and where they lead."""

from types import SimpleNamespace

import cvxpy as cp
import numpy as np
import pytest
from catalogue import (
    LOSSES,
    VECTOR_LOSSES,
    ids,
    labels_for,
    problem_for,
    sample_weights,
    targets_for,
    vector_problem_for,
)
from scipy import sparse

import fenchel
from fenchel import _kernels, losses
from fenchel.losses.scalar_rows import is_built_in, twin
from fenchel.regularizers import L2
from fenchel.risks import shardwork
from fenchel.risks.views import newton as views
from fenchel.risks.views.newton_system import NewtonSystem
from fenchel.risks.views.products import HessianProducts, is_curved
from fenchel.solvers import newton_cg

CURVED = [loss for loss in VECTOR_LOSSES if is_curved(loss)]
SMOOTH = [loss for loss in LOSSES if loss.differentiable and is_built_in(loss)]


def curvatures(loss, z, y, s, b):
    h, bent = np.empty(len(z)), np.empty(len(z), dtype=np.int32)
    n = _kernels.curvatures(twin(loss), z, y, s, b, h, bent)
    return h, bent[:n]


@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
@pytest.mark.parametrize("weighted", [False, True])
def test_a_curvature_is_the_slope_of_the_slope(loss, weighted):
    rng, n, b, step = np.random.default_rng(0), 500, 0.3, 1e-6
    z, y = 2 * rng.normal(size=n), labels_for(loss, rng, n)
    s = sample_weights(n) if weighted else None
    h, bent = curvatures(loss, z, y, s, b)
    by_difference = (loss.slope(z + b + step, y) - loss.slope(z + b - step, y)) / (2 * step)
    wanted = by_difference if s is None else s * by_difference
    np.testing.assert_allclose(h, wanted, rtol=1e-6, atol=1e-7)
    np.testing.assert_array_equal(bent, np.flatnonzero(h > 0))


@pytest.mark.parametrize(
    ("n", "d", "is_sparse"),
    [(60, 7, True), (60, 7, False), (7, 60, True), (7, 60, False), (3100, 3010, True)],
)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_system_is_solved_by_columns_by_rows_or_roughly(n, d, is_sparse, intercept):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, d))
    X[rng.uniform(size=(n, d)) > 5 / min(n, d)] = 0
    problem = fenchel.problem(
        sparse.csr_array(X) if is_sparse else X,
        rng.choice([-1, 1], size=n),
        loss="logistic",
        strength=0.1,
        intercept=intercept,
        engine="serial",
    )
    risk = problem.risk
    h = risk.engine.map(shardwork.weights)
    bent = risk.engine.map(_all_rows)
    diagonal, g = rng.uniform(0.5, 1, size=d), rng.normal(size=d)
    p, rate = NewtonSystem(risk, bent, h).solved(diagonal, g, 0.7)
    assert intercept or rate == 0
    z = X @ p + rate
    left = np.append(diagonal * p + X.T @ z - g, intercept * (1e-6 * n * rate + np.sum(z) - 0.7))
    assert np.linalg.norm(left) <= (1e-9 if min(n, d) < 3000 else 0.11) * np.linalg.norm(g)


def _all_rows(shard):
    return np.arange(shard.rows.n_rows, dtype=np.int32)


def test_columns_in_any_order_make_the_same_products():
    X = sparse.csr_array(np.random.default_rng(0).normal(size=(5, 4)))
    shuffled = X.copy()
    for k in range(5):
        row = slice(X.indptr[k], X.indptr[k + 1])
        shuffled.indices[row], shuffled.data[row] = X.indices[row][::-1], X.data[row][::-1]
    grams = []
    for each in (X, shuffled):
        G = np.zeros((5, 5))
        start, chosen = each.indptr.astype(np.int64), np.arange(5, dtype=np.int32)
        _kernels.csr_gram(start, each.indices.astype(np.int32), each.data, None, chosen, 5, G)
        grams.append(G)
    wanted = np.tril(np.column_stack([X.toarray(), np.ones(5)]).T @ np.c_[X.toarray(), np.ones(5)])
    for G in grams:
        np.testing.assert_allclose(G, wanted, atol=1e-12)


@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
@pytest.mark.parametrize("intercept", [False, True])
def test_few_steps_reach_any_gap(loss, intercept):
    if intercept and not loss.intercept:
        pytest.skip("no offset is the best")
    problem = problem_for(loss, intercept=intercept, weighted=True, strength=1e-4)
    result = fenchel.minimize(problem, "newton", gap=1e-9, max_iterations=60)
    assert result.converged
    fenchel.verify(result, problem)


def test_many_columns_and_rows_are_refused():
    X = sparse.random_array((3200, 3100), density=1e-3, rng=np.random.default_rng(0))
    problem = fenchel.problem(X, np.arange(3200) % 2, loss="logistic", strength=0.1)
    with pytest.raises(fenchel.Incompatible, match=r"at most 3000 columns or rows.*lbfgs"):
        fenchel.minimize(problem, "newton")


@pytest.mark.parametrize(
    ("solver", "loss", "scale"),
    [("newton", "logistic", 1.0), ("newton", "logistic", 1e7), ("polish", "hinge", 1e3)],
)
def test_equal_columns_have_a_step(solver, loss, scale):
    """Round-off leaves their Hessian no factor."""
    rng = np.random.default_rng(0)
    X = scale * rng.normal(size=(300, 3))
    y = X[:, 0] + scale * rng.normal(size=300) > 0
    problem = fenchel.problem(np.hstack([X, X]), y, loss=loss, strength=1e-6, intercept=True)
    result = fenchel.minimize(problem, solver, gap=1e-4)
    assert result.converged
    fenchel.verify(result, problem)


def test_columns_of_very_different_sizes_have_a_step():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 7)) * 10.0 ** np.arange(-6, 8, 2)
    problem = fenchel.problem(X, rng.normal(size=300), loss="squared_error", strength=1e-2)
    assert fenchel.minimize(problem, "newton", gap=1e-4).converged


@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
@pytest.mark.parametrize("intercept", [False, True])
def test_products_are_those_of_the_hessian(loss, intercept):
    """By differences of gradients, with the intercept moving along."""
    problem = problem_for(loss, intercept=intercept and loss.intercept, weighted=True)
    rng, step = np.random.default_rng(3), 1e-6
    w, v = 0.3 * rng.normal(size=(2, problem.risk.n_parameters))
    product = HessianProducts(problem.risk.at(w)) @ v
    ahead, behind = (problem.risk.at(w + eta * v).subgradient for eta in (step, -step))
    np.testing.assert_allclose(product, (ahead - behind) / (2 * step), rtol=2e-4, atol=1e-5)


@pytest.mark.parametrize("loss", CURVED, ids=ids)
@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array, np.float32])
def test_products_of_several_outputs_are_those_of_the_hessian(loss, layout):
    """By differences of gradients; and the diagonal is that of all products."""
    rng, step = np.random.default_rng(3), 1e-6
    X = layout(rng.normal(size=(30, 4)))
    y = targets_for(loss, rng, 30)
    problem = fenchel.problem(X, y, loss=loss, strength=0.1, sample_weight=sample_weights(30))
    w, v = 0.3 * rng.normal(size=(2, problem.risk.n_parameters))
    H = HessianProducts(problem.risk.at(w))
    ahead, behind = (problem.risk.at(w + eta * v).subgradient for eta in (step, -step))
    np.testing.assert_allclose(H @ v, (ahead - behind) / (2 * step), rtol=1e-5, atol=1e-7)
    units = np.eye(len(w))
    np.testing.assert_allclose(H.diagonal(), [unit @ (H @ unit) for unit in units], rtol=1e-6)


@pytest.mark.parametrize("loss", CURVED, ids=ids)
@pytest.mark.parametrize("weights", [None, [0.5, 1.0, 2.0, 3.0]])
@pytest.mark.parametrize("intercept", [False, True])
def test_newton_cg_certifies_several_outputs(loss, weights, intercept):
    options = {"weighted": True, "strength": 1e-4, "intercept": intercept}
    problem = vector_problem_for(loss, L2(weights=weights), **options)
    result = fenchel.minimize(problem, "newton-cg", gap=1e-8, max_iterations=60)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-8
    other = fenchel.minimize(problem, "lbfgs", gap=1e-8)
    assert result.objective == pytest.approx(other.objective, rel=2e-8)


@pytest.mark.parametrize("loss", CURVED, ids=ids)
def test_products_are_the_slopes_of_the_gradient_with_intercepts_that_follow(loss):
    problem = vector_problem_for(loss, weighted=True, strength=1e-4, intercept=True)
    risk, rng = problem.risk, np.random.default_rng(5)
    w, v = rng.normal(size=risk.n_parameters), rng.normal(size=risk.n_parameters)
    product = HessianProducts(risk.at(w)) @ v
    ahead, behind = (risk.at(w + eta * v).subgradient for eta in (1e-5, -1e-5))
    np.testing.assert_allclose(product, (ahead - behind) / 2e-5, atol=1e-6)


def test_newton_cg_refuses_a_loss_of_ones_own():
    class Mine(losses.Softmax):
        pass

    with pytest.raises(fenchel.Incompatible, match="softmax and multivariate_squared"):
        fenchel.minimize(vector_problem_for(Mine()), "newton-cg")


def test_newton_cg_takes_wide_data_that_newton_refuses():
    rng = np.random.default_rng(4)
    X = sparse.random_array((3200, 3100), density=2e-3, rng=rng, format="csr")
    y = np.sign(X @ rng.normal(size=3100) + 1e-3)
    problem = fenchel.problem(X, y, loss="logistic", strength=1e-6, intercept=True)
    assert "columns or rows" in fenchel.solver("newton").obstacle(problem)
    result = fenchel.minimize(problem, "newton-cg", gap=1e-6, max_iterations=40)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1e-6 * (1 + 1e-6)


def fitted(problem, monkeypatch=None, **settings):
    """The result of Newton's method; with `monkeypatch`, without the kernel's runs."""
    if monkeypatch is not None:
        monkeypatch.setattr(views, "_FEW_COLUMNS", 0)
        assert not views.Hessian(problem.risk).takes_runs
    result = fenchel.minimize(problem, "newton", **settings)
    if monkeypatch is not None:
        monkeypatch.undo()
    fenchel.verify(result, problem)
    return result


@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_run_of_steps_ends_where_single_steps_do(loss, intercept, weighted, monkeypatch):
    problem = problem_for(
        loss, intercept=intercept and loss.intercept, weighted=weighted, n=60, strength=1e-3
    )
    assert views.Hessian(problem.risk).takes_runs
    run, single = (fitted(problem, patch, gap=1e-9) for patch in (None, monkeypatch))
    assert run.converged and single.converged
    assert run.objective == pytest.approx(single.objective, rel=2e-9)
    assert run.lower_bound <= single.objective * (1 + 1e-14)
    assert single.lower_bound <= run.objective * (1 + 1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("layout", ["C", "F", "strided", "csr"])
@pytest.mark.parametrize("loss", ["logistic", "huber"])
def test_every_storage_of_rows_gives_the_same_model(dtype, layout, loss):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(90, 11)).astype(dtype)
    X[rng.uniform(size=X.shape) < 0.5] = 0
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=90))
    stored = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
        "csr": sparse.csr_array,
    }[layout](X)
    settings = {"loss": loss, "strength": 1e-2, "intercept": True}
    plain = fenchel.problem(X.astype(np.float64), y, **settings)
    result = fitted(fenchel.problem(stored, y, **settings), gap=1e-10)
    assert np.allclose(result.w, fitted(plain, gap=1e-10).w, atol=1e-5)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "huber", "expectile", "poisson"])
def test_agrees_with_an_interior_point_method(loss):
    rng = np.random.default_rng(11)
    X, strength = rng.normal(size=(40, 3)), 0.01
    score = X @ [1.0, -2.0, 0.5] + 1.0 + rng.normal(size=40)
    y = {"poisson": np.floor(np.exp(np.clip(score, -2, 2))), "huber": score, "expectile": score}
    y = y.get(loss, np.sign(score))
    w, b = cp.Variable(3), cp.Variable()
    z = X @ w + b
    losses = {
        "logistic": lambda: cp.logistic(cp.multiply(-y, z)),
        "squared_hinge": lambda: 0.5 * cp.square(cp.pos(1 - cp.multiply(y, z))),
        "huber": lambda: 0.5 * cp.huber(z - y),
        "expectile": lambda: 0.1 * cp.square(cp.pos(z - y)) + 0.4 * cp.square(cp.pos(y - z)),
        "poisson": lambda: (
            cp.exp(z) - cp.multiply(y, z) + np.where(y > 0, y * np.log(y + (y == 0)) - y, 0)
        ),
    }
    J = 0.5 * strength * cp.sum_squares(w) + cp.sum(losses[loss]()) / 40
    wanted = cp.Problem(cp.Minimize(J)).solve(solver="CLARABEL")
    options = {"expectile": 0.8} if loss == "expectile" else {}
    problem = fenchel.problem(X, y, loss=loss, strength=strength, intercept=True, **options)
    result = fitted(problem, gap=1e-9)
    assert result.objective == pytest.approx(wanted, rel=1e-6)
    assert np.allclose(result.w, w.value, atol=1e-3)
    assert result.intercept == pytest.approx(b.value, abs=1e-3)


def test_ridge_takes_one_step_whatever_the_gap():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(200, 20)) + 3.0
    y = X @ rng.normal(size=20) + 1e4
    problem = fenchel.problem(X, y, loss="squared_error", strength=0.1, intercept=True)
    result = fitted(problem, gap=1e-9)
    assert result.converged and result.iterations == 2
    Z, r = X - X.mean(axis=0), y - y.mean()
    w = np.linalg.solve(Z.T @ Z / 200 + 0.1 * np.eye(20), Z.T @ r / 200)
    assert np.allclose(result.w, w, atol=1e-8)
    assert result.intercept == pytest.approx(np.mean(y - X @ w))


@pytest.mark.parametrize("loss", [x for x in SMOOTH if x.intercept], ids=ids)
def test_rows_offsets_and_column_weights_are_those_of_the_problem(loss, monkeypatch):
    rng = np.random.default_rng(7)
    X, n = rng.normal(size=(50, 4)), 50
    y, offset = labels_for(loss, rng, n), rng.normal(size=n)
    penalty = fenchel.regularizers.L2(weights=[1.0, 0.1, 10.0, 2.0])
    problem = fenchel.problem(
        X, y, loss=loss, regularizer=penalty, strength=0.01, intercept=True, offset=offset
    )
    run, single = (fitted(problem, patch, gap=1e-9) for patch in (None, monkeypatch))
    assert run.objective == pytest.approx(single.objective, rel=2e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "poisson"])
def test_runs_have_the_same_bits_every_time_and_on_every_engine(loss):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 12))
    y = rng.poisson(2.0, size=300).astype(float) if loss == "poisson" else np.sign(X[:, 1] + 0.1)
    results = [
        fenchel.minimize(
            fenchel.problem(X, y, loss=loss, strength=1e-3, intercept=True, engine=engine), "newton"
        )
        for engine in ("serial", "serial", fenchel.engines.Threads(2))
    ]
    for other in results[1:]:
        assert np.array_equal(results[0].w, other.w)
        assert results[0].intercept == other.intercept
        assert results[0].lower_bound == other.lower_bound


@pytest.mark.parametrize("gap", [1e-2, 1e-6, 1e-12])
def test_a_run_ends_at_the_gap_that_is_asked_for(gap):
    problem = problem_for(fenchel.losses.Logistic(), intercept=True, n=80, strength=1e-4)
    result = fitted(problem, gap=gap)
    assert result.converged and result.gap <= gap and result.iterations <= 3


def test_a_gap_below_round_off_ends():
    problem = problem_for(fenchel.losses.Logistic(), intercept=True, n=80, strength=1e-4)
    result = fitted(problem, gap=1e-300)
    assert not result.converged and result.gap < 1e-10


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e60])
@pytest.mark.parametrize("loss", SMOOTH, ids=ids)
def test_columns_of_any_size_end_in_a_status(loss, scale):
    problem = problem_for(loss, intercept=loss.intercept, n=40)
    X = scale * problem.risk.engine.shards[0].rows.matrix()
    y = problem.risk.engine.shards[0].y
    scaled = fenchel.problem(X, y, loss=loss, strength=0.1, intercept=loss.intercept)
    result = fenchel.minimize(scaled, "newton", max_iterations=20)
    assert result.lower_bound <= result.objective


def test_a_dense_gram_is_that_of_its_rows():
    rng = np.random.default_rng(9)
    for n, d, dtype in (
        (1, 1, np.float64),
        (300, 7, np.float32),
        (129, 8, np.float64),
        (5, 30, float),
    ):
        for order in "CF":
            X = np.asarray(rng.normal(size=(n, d)), dtype=dtype, order=order)
            s, chosen = rng.uniform(size=n), np.arange(0, n, 2, dtype=np.int32)
            G = np.zeros((d + 1, d + 1))
            _kernels.dense_gram(X, s, chosen, len(chosen), G)
            Z = np.column_stack([X, np.ones(n)]).astype(float)[chosen]
            wanted = np.tril(Z.T @ (s[chosen, None] * Z))
            np.testing.assert_allclose(np.tril(G), wanted, atol=1e-12)
            assert not np.triu(G, 1).any()


def test_few_rows_of_many_columns_are_not_the_kernels():
    X = np.random.default_rng(10).normal(size=(20, 40))
    problem = fenchel.problem(X, X[:, 0] > 0, loss="logistic", strength=0.1, intercept=True)
    assert not views.Hessian(problem.risk).takes_runs
    assert fitted(problem, gap=1e-9).converged


@pytest.mark.parametrize(("n", "d"), [(20, 2), (5000, 50), (870, 299)])
def test_a_run_takes_milliseconds_so_that_a_clock_can_be_looked_at(n, d):
    problem = fenchel.problem(np.ones((n, d)), np.arange(n) % 2, loss="logistic", strength=0.1)
    hessian = views.Hessian(problem.risk)
    assert hessian.takes_runs
    assert hessian.at_once == 1 or hessian.at_once * n * d * d <= 2.5e8  # 30 products a nanosecond


def test_a_run_of_steps_is_cut_where_it_may_take_long(monkeypatch):
    """And goes on from there: what is certified is the same."""
    problem = problem_for(fenchel.losses.Logistic(), intercept=True, n=80, strength=1e-4)
    whole = fitted(problem, gap=1e-9)
    monkeypatch.setattr(views, "_STEPS", 1)
    cut = fitted(problem, gap=1e-9)
    assert cut.converged and cut.iterations > whole.iterations
    assert cut.objective == pytest.approx(whole.objective, rel=2e-9)


class Flat:
    """A Hessian that is 0, by round-off, say."""

    def diagonal(self):
        return np.zeros(2)

    def __matmul__(self, d):
        return np.zeros_like(d)


def test_where_no_curvature_is_seen_conjugate_gradients_give_steepest_descent():
    problem = SimpleNamespace(pulse=lambda: None, effort=SimpleNamespace(inner=0))
    b = np.array([3.0, -4.0])
    assert np.array_equal(newton_cg._solved(problem, np.zeros(2), Flat(), b, 0.1), b)


@pytest.mark.parametrize("sizes", [np.ones(100), np.geomspace(1e-3, 1e3, 100)], ids=["one", "many"])
def test_many_columns_of_any_sizes_are_minimised_along_a_path(sizes):
    """By steps of L-BFGS where they get on, and else by Newton's."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(400, 100))
    y = rng.poisson(np.exp(X @ rng.normal(size=100) / 20)).astype(float)
    problem = fenchel.problem(X * sizes, y, loss="poisson", intercept=True)
    for found in fenchel.path(problem, [1e-1, 1e-3], solver="newton", gap=1e-6):
        assert found.converged
    # Columns of other sizes and penalties the other way round are the same problem.
    same = fenchel.problem(
        X, y, loss="poisson", intercept=True, strength=1e-3, regularizer=L2(weights=1 / sizes**2)
    )
    assert found.objective == pytest.approx(fitted(same, gap=1e-9).objective, rel=2e-6)


def test_an_offset_that_moves_easily_costs_no_steps():
    """Columns that are small beside its ones: L-BFGS unaware of that takes 90 passes."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 100)) / 10
    y = rng.poisson(np.exp(0.5 + X @ rng.normal(size=100))).astype(float)
    problem = fenchel.problem(X, y, loss="poisson", intercept=True)
    (found,) = fenchel.path(problem, [1e-4], "newton")
    assert found.converged
    assert found.passes <= 50


def test_rows_of_two_shards_are_followed_and_proved_as_one():
    rng = np.random.default_rng(12)
    X = rng.normal(size=(3000, 100))
    problem = fenchel.problem(X, X[:, 0] > rng.normal(size=3000), loss="logistic", intercept=True)
    assert problem.risk.engine.n_shards == 2 and not views.Hessian(problem.risk).takes_runs
    model = fenchel.Classifier(loss="logistic", solver="newton").fit(X, X[:, 0] > 0.1)
    assert model.n_iter_ == 1 and model.gap_ <= 1e-4
    signs = fenchel.problem(X, X[:, 0] > 0.1, loss="logistic", intercept=True)
    assert fenchel.verify(model.result_, signs).gap <= 1e-4
