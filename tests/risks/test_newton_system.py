"""Newton's systems in threads: the same bits whatever their number, and what they should be."""

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel.engines import Serial, Threads
from fenchel.risks import shardwork
from fenchel.risks.views import factored, newton_system
from fenchel.risks.views.newton_system import NewtonSystem
from fenchel.verification import products


def positive_definite(n):
    A = np.random.default_rng(0).normal(size=(n, n))
    return A @ A.T / n + np.eye(n)


@pytest.mark.parametrize("n", [5, 1000])
def test_a_factor_is_one_and_has_the_same_bits_in_threads(n):
    H = positive_definite(n)
    L = np.tril(factored.factor(H, 1))
    np.testing.assert_allclose(L @ L.T, H, atol=1e-13)
    np.testing.assert_array_equal(np.tril(factored.factor(H, 3)), L)
    g = np.arange(n, dtype=float)
    np.testing.assert_allclose(H @ factored.solved(H.copy(), g, 2), g, atol=1e-9 * n)


def test_a_matrix_without_a_factor_gets_a_ridge():
    H = np.ones((900, 900))
    with pytest.raises(np.linalg.LinAlgError):
        factored.factor(H - np.eye(900), 2)
    x = factored.solved(H, np.ones(900), 2)
    assert np.isfinite(x).all() and abs(np.sum(x) - 1) < 1e-6


@pytest.mark.parametrize("dense", [False, True])
def test_products_of_rows_are_those_of_the_matrices(dense):
    X = sparse.random_array((300, 70), density=0.2, format="csr", rng=np.random.default_rng(1))
    scale = np.random.default_rng(2).uniform(0.5, 2, size=70)
    whole = X.toarray()
    H = [newton_system._row_products(whole if dense else X, scale, each) for each in (1, 3)]
    np.testing.assert_array_equal(*H)
    np.testing.assert_allclose(np.tril(H[0]), np.tril(whole * scale @ whole.T), atol=1e-13)


@pytest.mark.parametrize("most", [0, 3000])
def test_a_step_has_the_same_bits_in_threads(monkeypatch, most):
    """By conjugate gradients, and by as many unknowns as rows."""
    monkeypatch.setattr(newton_system, "MOST_UNKNOWNS", most)
    rng = np.random.default_rng(3)
    X = sparse.random_array((900, 1500), density=0.25, format="csr", rng=rng)
    y, g = np.sign(rng.normal(size=900)), rng.normal(size=1500)
    steps = []
    for engine in (Serial(), Threads(2)):
        risk = fenchel.problem(X, y, loss="logistic", strength=0.1, engine=engine).risk
        assert risk.engine.n_shards == 2
        bent = risk.engine.map(lambda shard: np.arange(0, shard.rows.n_rows, 2, dtype=np.int32))
        system = NewtonSystem(risk, bent, risk.engine.map(shardwork.weights))
        steps.append(system.solved(np.full(1500, 5.0), g, 0.0)[0])
        assert risk.passes > (5 if most == 0 else 0)  # two for each product with half of the rows
    np.testing.assert_array_equal(*steps)


def test_what_proofs_multiply_has_the_same_bits_in_threads():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(4000, 100)), np.sign(rng.normal(size=4000))
    found = []
    for engine in (Serial(), Threads(2)):
        engine = fenchel.problem(X, y, engine=engine).risk.engine
        z = products.by_rows(engine, products.scores, X[0])
        found.append((z, products.by_columns(engine, products.magnitude, z)))
    for alone, together in zip(*found, strict=True):
        np.testing.assert_array_equal(alone, together)
    np.testing.assert_allclose(found[0][1], np.abs(X).T @ np.abs(X @ X[0]), rtol=1e-12)
