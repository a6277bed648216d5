"""Prox-functions: their steps minimise what they say, against a conic solver; their constants."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel import regularizers
from fenchel.regularizers import L1, L2, Boxed, ElasticNet, Entropy, GroupL1, Quadratic
from fenchel.risks.views.prox_functions import (
    ColumnScales,
    OwnGeometry,
    Whitened,
    centred_gram,
    obstacle,
    prox_function,
)

UNEVEN = [0.5, 2.0, 1.0, 3.0]
FORM = np.diag(UNEVEN) + 0.3
CASES = [
    ("own", Entropy()),
    ("own", GroupL1([0, 0, 1, 1])),
    ("columns", L2()),
    ("columns", L2(weights=UNEVEN)),
    ("columns", L1()),
    ("columns", L1(weights=UNEVEN)),
    ("columns", ElasticNet(0.3)),
    ("columns", ElasticNet(0.3, weights=UNEVEN)),
    ("columns", Boxed(ElasticNet(0.3), lower=-0.1, upper=[0.2, np.inf, 0.0, 1.0])),
    ("whitened", L2()),
    ("whitened", L2(weights=UNEVEN)),
    ("whitened", L2(weights=[0.0, 1.0, 1.0, 2.0])),
    ("whitened", Quadratic(FORM)),
]


def problem_of(regularizer, *, intercept=False, stored=np.asarray, weighted=True):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 4)) * [1e-2, 1.0, 30.0, 5.0] + [0.0, 3.0, 10.0, 0.0]
    s = rng.uniform(0.2, 2.0, size=60) if weighted else None
    y = np.sign(rng.normal(size=60))
    return fenchel.problem(
        stored(X),
        y,
        loss="hinge",
        regularizer=regularizer,
        strength=0.1,
        intercept=intercept,
        sample_weight=s,
    )


def omega(regularizer, x):
    """The regulariser as the conic solver takes it, with its constraints."""
    if isinstance(regularizer, Boxed):
        value, _ = omega(regularizer.inner, x)
        n = x.shape[0]
        low, high = (np.broadcast_to(b, n) for b in (regularizer.lower, regularizer.upper))
        kept = [x[j] >= low[j] for j in range(n) if np.isfinite(low[j])]
        return value, kept + [x[j] <= high[j] for j in range(n) if np.isfinite(high[j])]
    c = np.ones(x.shape[0]) if regularizer.weights is None else regularizer.weights
    rho = {L2: 0.0, L1: 1.0}.get(type(regularizer), getattr(regularizer, "l1_ratio", None))
    if isinstance(regularizer, Quadratic):
        return cp.quad_form(x, regularizer.Q) / 2, []
    if isinstance(regularizer, GroupL1):
        return np.sqrt(2) * (cp.norm(x[:2]) + cp.norm(x[2:])), []
    if isinstance(regularizer, Entropy):
        n = x.shape[0]
        return -cp.sum(cp.entr(x)) + np.log(n) * cp.sum(x), [cp.sum(x) == 1]
    return rho * (c @ cp.abs(x)) + (1 - rho) / 2 * (c @ cp.square(x)), []


def distance(prox, regularizer, x):
    """The prox-function as the conic solver takes it."""
    if isinstance(regularizer, Entropy):
        return omega(regularizer, x)[0]
    basis = np.eye(x.shape[0])
    M = np.array([prox.d_gradient(e) for e in basis])
    return cp.quad_form(x, cp.psd_wrap((M + M.T) / 2)) / 2


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize(("kind", "regularizer"), CASES, ids=repr)
def test_ground_minimises(kind, regularizer, intercept):
    prox = prox_function(problem_of(regularizer, intercept=intercept), kind)
    rng = np.random.default_rng(1)
    for c, weight in ((1.0, 0.1), (0.3, 2.0)):
        s = rng.normal(size=4)
        got, x = prox.ground(s, c, weight), cp.Variable(4)
        value, kept = omega(regularizer, x)
        J = weight * value + c * distance(prox, regularizer, x) + s @ x
        best = cp.Problem(cp.Minimize(J), kept).solve(solver="CLARABEL")
        x.value = got
        assert J.value <= best + 1e-6 * (1 + abs(best))


@pytest.mark.parametrize(("kind", "regularizer"), CASES, ids=repr)
def test_the_constants_of_a_prox_function(kind, regularizer):
    """d's gradient; the norm; Omega - convexity d is convex; a mean square is at most stretch."""
    problem = problem_of(regularizer)
    prox, rng = prox_function(problem, kind), np.random.default_rng(2)
    for _ in range(20):
        x, y = rng.dirichlet(np.ones(4), size=2)
        x, y = (0.2 * x, 0.2 * y) if isinstance(regularizer, Boxed) else (x, y)
        x, y = (
            (np.minimum(x, [0.2, 1, 0, 1]), np.minimum(y, [0.2, 1, 0, 1]))
            if isinstance(regularizer, Boxed)
            else (x, y)
        )
        between = prox.d(y) - prox.d(x) - prox.d_gradient(x) @ (y - x)
        assert between >= 0.5 * prox.norm(y - x) ** 2 * (1 - 1e-9) - 1e-12
        middle = (x + y) / 2
        bent = [regularizer.value(v) - prox.convexity * prox.d(v) for v in (x, y, middle)]
        assert bent[2] <= (bent[0] + bent[1]) / 2 + 1e-9
        point = problem.risk.lazy_at(x - y)
        z, s = (np.concatenate(list(each)) for each in (point.z, problem.risk.engine.map(_weights)))
        assert (s @ z**2) / np.sum(s) <= prox.stretch * prox.norm(x - y) ** 2 * (1 + 1e-9)


def _weights(shard):
    return shard.s


@pytest.mark.parametrize("stored", [np.asarray, sparse.csr_array])
def test_the_gram_matrix_is_about_the_means_where_there_is_an_intercept(stored):
    problem = problem_of(L2(), intercept=True, stored=stored)
    (shard,) = problem.risk.engine.shards
    X = shard.rows.matrix()
    X = X.toarray() if sparse.issparse(X) else X
    expected = np.cov(X.T, aweights=shard.s, bias=True)
    assert np.allclose(centred_gram(problem.risk), expected, rtol=1e-9, atol=1e-9)


def test_auto_takes_the_finest_that_the_problem_has():
    for regularizer, kind in ((L2(), Whitened), (L1(), ColumnScales), (Entropy(), OwnGeometry)):
        assert type(prox_function(problem_of(regularizer), "auto")) is kind
    wide = fenchel.problem(sparse.random_array((5, 400), rng=0).tocsr(), [1, -1, 1, -1, 1])
    assert type(prox_function(wide, "auto")) is ColumnScales
    assert "300 columns" in obstacle(wide, "whitened")


def test_a_users_regulariser_that_inherits_steps_keeps_its_own_geometry():
    class Mine(regularizers.L2):
        def prox(self, v, step):
            return v / (1 + 2 * step)

        def value(self, w):
            return 2 * super().value(w)

    assert obstacle(problem_of(Mine()), "columns") is not None
