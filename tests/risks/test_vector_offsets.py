"""Intercepts of vector losses: the best of them, cuts that do not depend on them, certificates."""

import cvxpy as cp
import numpy as np
import pytest
from catalogue import TREE, VECTOR_LOSSES, ids, n_scores, vector_problem_for
from scipy.special import logsumexp, softmax

import fenchel
from fenchel import InvalidCertificate, losses
from fenchel.engines import Serial, Threads
from fenchel.losses import offset_rows
from fenchel.losses.offset_rows import takes_offsets
from fenchel.losses.vector_rows import NATIVE
from fenchel.risks.class_flows import ClassFlows
from fenchel.risks.linear import OffsetsRisk
from fenchel.verification.tilted_slopes import tilted_slopes

PROFILED = [loss for loss in VECTOR_LOSSES if takes_offsets(loss)]
COSTS = np.array([[0.0, 1.0, 2.0], [0.3, 0.0, 1.0], [0.7, 0.4, 0.0]])
EVERY = pytest.mark.parametrize("loss", PROFILED, ids=ids)


@pytest.fixture(autouse=True)
def hinges_too(monkeypatch):
    """The intercepts of hinges are profiled out under every regulariser here, for their laws."""
    monkeypatch.setattr("fenchel.posing.leaves_free", lambda penalty: False)


def mean_loss(problem, W, b):
    """The mean loss by the formula."""
    (shard,) = problem.risk.engine.shards
    share = (np.ones(len(shard.y)) if shard.s is None else shard.s) / problem.risk.weight
    return share @ problem.risk.loss.value(shard.rows.matrix() @ W + b, shard.y)


def posed(loss, seed=0, **options):
    problem = vector_problem_for(loss, intercept=True, weighted=True, seed=seed, **options)
    assert isinstance(problem.risk, OffsetsRisk)
    return problem, np.random.default_rng(100 + seed)


# ---- the kernels, and their equals in NumPy ------------------------------------------------------


def softened(loss, Z, y, s, mu):
    """(soft maximum, loss, mean of the pieces, slopes, C) of a loss, from its pieces alone."""
    pieces, start, units = pieces_at(loss, Z, y), pieces_at(loss, 0 * Z, y), np.eye(Z.shape[1])
    with np.errstate(invalid="ignore"):
        rises = [pieces_at(loss, 0 * Z + unit, y) - start for unit in units]
    G = np.nan_to_num(np.stack(rises, axis=2))  # row, piece, score
    p = softmax(pieces / mu, axis=1)
    a = np.einsum("ij,ijk->ik", p, G)
    second = np.einsum("i,ij,ijk,ijl->kl", s, p, G, G) - np.einsum("i,ik,il->kl", s, a, a)
    finite = np.where(np.isfinite(pieces), pieces, 0.0)
    soft = mu * logsumexp(pieces / mu, axis=1)
    sums = s @ soft, s @ np.max(pieces, axis=1), s @ np.sum(p * finite, axis=1)
    return sums, s[:, None] * a, -second / mu


def pieces_at(loss, Z, y):
    if isinstance(loss, losses.Softmax):
        return Z - Z[np.arange(len(y)), y][:, None]
    return loss.pieces(Z, y)


FLAT = [loss for loss in PROFILED if type(loss) in NATIVE]


@pytest.mark.parametrize("loss", FLAT, ids=ids)
@pytest.mark.parametrize("mu", [1.0, 0.1])
def test_sums_over_offsets_are_those_of_the_pieces(loss, mu):
    mu = 1.0 if isinstance(loss, losses.Softmax) else mu
    problem, rng = posed(loss)
    (shard,) = problem.risk.engine.shards
    Z, b = rng.normal(size=(len(shard.y), 3)), rng.normal(size=3)
    sums = offset_rows.offset_sums(shard.bound(problem.risk.loss), Z, b, mu)
    values, A, C = softened(loss, Z + b, shard.y, shard.s, mu)
    if isinstance(loss, losses.Softmax):
        values = (values[0],) * 3  # of softmax all three are the loss
    assert np.allclose(sums[:3], values, rtol=1e-12)
    assert np.allclose(sums[3:6], np.sum(A, axis=0), atol=1e-12)
    off = ~np.eye(3, dtype=bool)
    assert np.allclose(sums[6:].reshape(3, 3)[off], C[off], atol=1e-11)


@pytest.mark.parametrize("loss", [x for x in PROFILED if offset_rows.has_pairs(x)], ids=ids)
def test_tilted_slopes_are_those_of_the_verification(loss):
    problem, rng = posed(loss)
    (shard,) = problem.risk.engine.shards
    K = n_scores(loss)
    m = len(offset_rows.entered(problem.risk.loss, np.zeros(K)))
    Z, b, t = rng.normal(size=(len(shard.y), K)), rng.normal(size=m), 0.1 * rng.normal(size=m)
    mu = 1.0 if loss.differentiable else 0.2
    bound = shard.bound(problem.risk.loss)
    sums, A = offset_rows.tilted_sums(bound, Z, b, mu, t)
    nodes = [offset_rows.left(problem.risk.loss, each, K) for each in (b, t)]
    theirs = tilted_slopes(problem.risk.loss, Z + nodes[0], shard.y, mu, nodes[1])
    assert np.allclose(A, shard.s[:, None] * theirs, atol=1e-13)
    counted = shard.s > 0
    conjugate = problem.risk.loss.conjugate(theirs[counted], shard.y[counted])
    height = shard.s[counted] @ (np.sum(theirs * (Z + nodes[0]), axis=1)[counted] - conjugate)
    assert sums[0] <= height + 1e-12
    assert sums[0] == pytest.approx(height, abs=0.1)  # of softmax up to the square of the tilt


# ---- the best offsets and their cut --------------------------------------------------------------


@EVERY
@pytest.mark.parametrize("size", [0.0, 0.3, 3.0, 100.0])
def test_the_risk_is_the_least_over_the_offsets(loss, size):
    """No offsets are better, and the cut at W shows it: the two bounds meet."""
    problem, rng = posed(loss)
    K = n_scores(loss)
    W = size * rng.normal(size=(4, K))
    point = problem.risk.at(W.ravel())
    assert point.value == pytest.approx(mean_loss(problem, W, point.intercept), rel=1e-12)
    assert point.floor <= point.value <= point.floor + 1e-8 * abs(point.value) + 1e-12 * size
    for spread in (1e-3, 0.1, 1.0):
        b = point.intercept + spread * rng.normal(size=K)
        assert mean_loss(problem, W, b) >= point.floor


@EVERY
def test_cuts_are_below_the_loss_at_all_parameters_and_offsets(loss):
    problem, rng = posed(loss)
    K = n_scores(loss)
    for size in (0.3, 3.0):
        W = size * rng.normal(size=(4, K))
        point = problem.risk.at(W.ravel())
        duals = point.duals.reshape(-1, K)
        assert np.allclose(np.sum(duals, axis=0), 0.0, atol=1e-15)
        for _ in range(50):
            V, b = rng.normal(size=(4, K)) * rng.choice([0.1, 1, 10]), rng.normal(size=K)
            line = point.constant + point.subgradient @ V.ravel()
            value = mean_loss(problem, V, b * rng.choice([0.1, 1, 10]))
            assert line <= value + 1e-12 * (1 + abs(line))


@EVERY
def test_the_slopes_are_inside_their_domain(loss):
    """So their conjugate is finite, and says what the cut's height is."""
    problem, rng = posed(loss)
    (shard,) = problem.risk.engine.shards
    point = problem.risk.at(rng.normal(size=problem.risk.n_parameters))
    s = shard.s[shard.s > 0]
    a, y = point.slopes[0][shard.s > 0] / s[:, np.newaxis], shard.y[shard.s > 0]
    conjugate = float(s @ loss.for_classes(problem.risk.classes).conjugate(a, y))
    assert point.constant <= -conjugate / problem.risk.weight + 1e-12
    assert point.constant == pytest.approx(-conjugate / problem.risk.weight, abs=1e-9)


@EVERY
def test_slopes_along_a_ray_are_those_of_the_values(loss):
    problem, rng = posed(loss)
    n = problem.risk.n_parameters
    ray = problem.risk.at(0.3 * rng.normal(size=n)).towards(rng.normal(size=n))
    for eta in (0.0, 0.4, 1.3):
        value, slope = ray.along(eta)
        for step in (-1e-2, 1e-2):
            assert ray.along(eta + step)[0] >= value + step * slope - 1e-9 * abs(value)


def test_gradients_of_the_profiled_risk_are_those_of_differences():
    problem, rng = posed(losses.Softmax())
    w, p = rng.normal(size=(2, problem.risk.n_parameters))
    h = 1e-5
    values = [problem.risk.at(w + step * p).value for step in (-h, h)]
    slope = (values[1] - values[0]) / (2 * h)
    assert problem.risk.at(w).subgradient @ p == pytest.approx(slope, rel=1e-7)


def test_flows_take_residuals_off():
    """Where pairs lead from every class to every other, and only there."""
    rng = np.random.default_rng(0)
    ring = np.roll(np.eye(5), 1, axis=1)  # from each class to the next
    for N in (np.ones((5, 5)) - np.eye(5), ring, ring + 0.1 * rng.uniform(size=(5, 5))):
        flows = ClassFlows(N, np.ones((5, 5)))
        assert flows.connected
        for _ in range(20):
            r = rng.normal(size=5)
            r -= np.mean(r)
            f = N * flows.moves(r)
            assert np.allclose(np.sum(f, axis=1) - np.sum(f, axis=0), r)
            assert np.all(f >= 0) and np.sum(flows.moves(r)) == pytest.approx(flows.share(r))
    assert not ClassFlows(np.triu(np.ones((5, 5)), 1), np.ones((5, 5))).connected


# ---- certificates --------------------------------------------------------------------------------


def programme(loss, Z, y):
    """A loss of scores Z as CVXPY has it, for each row."""
    n, K = Z.shape
    if isinstance(loss, losses.MultivariateSquared):
        return 0.5 * cp.sum(cp.square(Z - y), axis=1)
    if isinstance(loss, losses.MultilabelHinge):
        rows = []
        for i in range(n):
            right, wrong = np.flatnonzero(y[i]), np.flatnonzero(1 - np.asarray(y[i]))
            rows.append(
                cp.pos(1 + cp.max(Z[i, wrong]) - cp.min(Z[i, right]))
                if len(right) and len(wrong)
                else cp.Constant(0)
            )
        return cp.hstack(rows)
    own = cp.sum(cp.multiply(np.eye(K)[y], Z), axis=1)
    if isinstance(loss, losses.Softmax):
        return cp.log_sum_exp(Z, axis=1) - own
    costs = loss.costs(K).T[y]
    if loss.rescaling == "slack":
        margins = 1 + Z - cp.reshape(own, (n, 1), order="C") @ np.ones((1, K))
        return cp.max(cp.multiply(costs, margins), axis=1)
    return cp.max(Z + costs, axis=1) - own


def penalty(name, W):
    if name == "l1":
        return cp.norm1(W)
    if name == "l2":
        return 0.5 * cp.sum_squares(W)
    return 0.5 * cp.norm1(W) + 0.25 * cp.sum_squares(W)


HARD = ["plain", "one row", "duplicates"]


def rows_of(kind, loss, K, rng):
    """Small data: weights and ties; a class with a single row; every row twice and integer."""
    n = 24
    X = rng.normal(size=(n, 3))
    if kind == "duplicates":
        X = np.round(X[np.arange(n) // 2])
    if isinstance(loss, losses.MultivariateSquared):
        return X, rng.normal(size=(n, K))
    if isinstance(loss, losses.MultilabelHinge):
        return X, (rng.uniform(size=(n, K)) < 0.5).astype(int)
    y = np.arange(n) % (K - 1 if kind == "one row" else K)
    y[-1] = K - 1
    return X, y


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("kind", HARD)
@pytest.mark.parametrize(
    ("loss", "K"),
    [
        (losses.Softmax(), 3),
        (losses.Softmax(), 2),
        (losses.MulticlassHinge(), 3),
        (losses.MulticlassHinge(), 2),
        (losses.MulticlassHinge(cost=COSTS), 3),
        (losses.MulticlassHinge(cost=COSTS, rescaling="slack"), 3),
        (losses.MultilabelHinge(), 3),
        (losses.MultivariateSquared(), 3),
    ],
    ids=lambda each: str(each).replace("\n", ""),
)
def test_certificates_enclose_the_minimum_that_cvxpy_finds(loss, K, kind, regularizer):
    rng = np.random.default_rng(3)
    X, y = rows_of(kind, loss, K, rng)
    s = rng.integers(1, 4, size=len(X)).astype(float)
    options = {"l1_ratio": 0.5} if regularizer == "elastic_net" else {}
    problem = fenchel.problem(
        X,
        y,
        loss=loss,
        regularizer=regularizer,
        strength=0.02,
        intercept=True,
        sample_weight=s,
        engine="serial",
        **options,
    )
    assert isinstance(problem.risk, OffsetsRisk)
    solver = "ls-bmrm"
    if loss.differentiable:
        solver = "lbfgs" if regularizer == "l2" else "owlqn"
    result = fenchel.minimize(problem, solver, gap=1e-6).raise_for_status()
    W, b = cp.Variable((3, K)), cp.Variable((1, K))
    each = programme(loss, X @ W + np.ones((len(X), 1)) @ b, y)
    J = 0.02 * penalty(regularizer, W) + (s / np.sum(s)) @ each
    least = cp.Problem(cp.Minimize(J)).solve(solver="CLARABEL")
    for certificate in (
        result.certificate,
        fenchel.verify(result, problem),
        fenchel.verify(result, problem, rigorous=True),
    ):
        assert certificate.lower_bound <= least + 1e-7
        assert certificate.upper_bound >= least - 1e-7
        assert certificate.gap <= 1.1e-6


@pytest.mark.parametrize("loss", [losses.Softmax(), losses.MulticlassHinge(cost=COSTS)], ids=ids)
def test_duals_that_do_not_balance_prove_less(loss):
    """A forged witness, whose slopes add up to something, is moved before anything is proved."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 40)), np.arange(9) % 3
    problem = fenchel.problem(X, y, loss=loss, strength=0.01, intercept=True)
    result = fenchel.minimize(problem, gap=1e-6).raise_for_status()
    alpha = result.witness.alpha.reshape(9, 3)
    assert np.allclose(np.sum(alpha, axis=0), 0.0, atol=1e-15)
    forged = np.zeros_like(alpha)
    forged[y == 0] = [-1.0, 1.0, 0.0]  # inside the domain, all on one side
    result.witness.alpha[:] = forged.ravel() / 9
    with pytest.raises(InvalidCertificate):
        fenchel.verify(result, problem)


def test_a_class_without_rows_is_certified_all_the_same():
    """No flow leads from it: its intercept is a coordinate of a column of ones."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 3)), np.arange(30) % 3
    s = np.where(y == 2, 0.0, 1.0)
    problem = fenchel.problem(
        X, y, loss="multiclass_hinge", intercept=True, sample_weight=s, strength=0.1
    )
    assert not isinstance(problem.risk, OffsetsRisk)
    fenchel.verify(fenchel.minimize(problem, gap=1e-4).raise_for_status(), problem)


# ---- what does not matter ------------------------------------------------------------------------


@pytest.mark.parametrize("loss", ["softmax", "multiclass_hinge"])
def test_the_order_of_the_classes_does_not_matter(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 4, size=60)
    order = np.array([2, 0, 3, 1])
    results = [
        fenchel.minimize(
            fenchel.problem(X, labels, loss=loss, intercept=True, strength=0.05), gap=1e-7
        ).raise_for_status()
        for labels in (y, order[y])
    ]
    assert results[0].objective == pytest.approx(results[1].objective, rel=3e-7)
    if loss == "softmax":
        assert np.allclose(results[0].w, results[1].w[order], atol=1e-3)
        assert np.allclose(results[0].intercept, results[1].intercept[order], atol=1e-3)


def test_intercepts_have_the_mean_0_where_a_constant_changes_nothing():
    problem, rng = posed(losses.Softmax())
    point = problem.risk.at(rng.normal(size=problem.risk.n_parameters))
    assert np.mean(point.intercept) == pytest.approx(0.0, abs=1e-14)
    near = problem.risk.point(problem.risk, point.w, point.z, point.intercept + 7.0)
    assert near.value == pytest.approx(point.value, rel=1e-12)
    assert np.allclose(near.intercept, point.intercept, atol=1e-6)


@pytest.mark.parametrize("loss", ["softmax", "multiclass_hinge"])
def test_shards_and_threads_do_not_matter(loss):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6000, 60)), rng.integers(0, 4, size=6000)
    results = []
    for engine in (Serial(), Threads(2), Threads(3)):
        problem = fenchel.problem(X, y, loss=loss, intercept=True, engine=engine)
        assert problem.risk.engine.n_shards > 1
        results.append(fenchel.minimize(problem, max_iterations=3))
    for result in results[1:]:
        assert np.array_equal(result.w, results[0].w)
        assert np.array_equal(result.intercept, results[0].intercept)
        assert result.lower_bound == results[0].lower_bound


def test_a_group_lasso_takes_intercepts():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.integers(0, 3, size=60)
    model = fenchel.Classifier(
        loss="softmax", penalty="group_l1", alpha=0.02, feature_groups=[0, 0, 1, 1], tol=1e-5
    )
    model.fit(X, y)  # a warning that it did not converge is an error here
    assert np.any(model.coef_)


@pytest.mark.parametrize("solver", ["fista", "proximal-gradient", "agm-inf"])
def test_duals_of_several_targets_are_balanced(solver):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 2)), rng.normal(size=(20, 3)) + 5.0
    problem = fenchel.problem(X, Y, loss="multivariate_squared", strength=0.1, intercept=True)
    result = fenchel.minimize(problem, solver, gap=1e-3)
    assert result.converged and fenchel.verify(result, problem).gap <= 1e-3


@pytest.mark.parametrize("solver", ["fista", "agm-inf"])
def test_duals_of_leaves_are_balanced(solver):
    problem = vector_problem_for(losses.HierarchicalSoftmax(taxonomy=TREE), intercept=True)
    result = fenchel.minimize(problem, solver, gap=1e-2, max_iterations=2000)
    assert result.converged and fenchel.verify(result, problem).gap <= 1e-2
