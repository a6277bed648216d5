"""What is proved of kernel problems: false claims are refused, and so is what is no kernel."""

import dataclasses

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

import fenchel
from fenchel.features import gram
from fenchel.result import Certificate
from fenchel.verification import recompute
from fenchel.witness import Witness


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, np.where(X[:, 0] * X[:, 1] > 0, 1, -1)


def posed(strength=0.01, n=60, **settings):
    X, y = data(n)
    settings = {"kernel": "rbf", "gamma": 0.5, "intercept": True, **settings}
    return fenchel.problem(X, y, strength=strength, **settings)


def test_the_bound_is_the_dual_in_the_kernels_norm():
    problem = posed()
    result = fenchel.minimize(problem, gap=1e-6)
    X, y = data()
    K, alpha = rbf_kernel(X, gamma=0.5), result.witness.alpha
    dual = -float(y @ alpha) - float(alpha @ K @ alpha) / (2 * 0.01)  # l*(a) = y a of the hinge
    found = recompute(result, problem)
    assert found.lower_bound <= dual and found.lower_bound == pytest.approx(dual, rel=1e-9)


@pytest.mark.parametrize("change", ["bound", "objective", "witness", "w"])
def test_false_claims_are_refused(change):
    problem = posed()
    result = fenchel.minimize(problem, gap=1e-5)
    lower, upper = result.lower_bound, result.objective
    forged = {
        "bound": {"certificate": Certificate(lower * 1.001, upper)},
        "objective": {"certificate": Certificate(lower, upper * 0.999)},
        "witness": {"witness": Witness(alpha=1.1 * result.witness.alpha)},
        "w": {"w": 1.01 * result.w},
    }[change]
    with pytest.raises(fenchel.InvalidCertificate):
        fenchel.verify(dataclasses.replace(result, **forged), problem)


def test_a_bound_from_any_dual_point_is_below_every_objective():
    problem = posed(loss="squared_hinge")
    rng = np.random.default_rng(0)
    y = data()[1]
    result = fenchel.minimize(problem, gap=1e-6)
    for scale in (1e-3, 0.3, 1.0, 5.0):
        alpha = -y * rng.uniform(0, scale / len(y), len(y))
        other = dataclasses.replace(result, witness=Witness(alpha=alpha))
        assert recompute(other, problem).lower_bound <= result.objective


def test_an_indefinite_matrix_of_many_rows_is_found_when_it_matters(monkeypatch):
    monkeypatch.setattr(gram, "_FACTORED", 0)  # as if there were more rows than are factored
    X, y = data()
    K = rbf_kernel(X, gamma=0.5)
    _, vectors = np.linalg.eigh(K)
    K -= 3 * np.outer(vectors[:, -1], vectors[:, -1]) * np.max(np.linalg.eigvalsh(K))
    np.fill_diagonal(K, np.abs(np.diag(K)))
    problem = fenchel.problem(K, y, kernel="precomputed", strength=0.01)
    for solver in ("smo", "ls-bmrm"):
        with pytest.raises(fenchel.InvalidData, match="not positive semidefinite"):
            fenchel.minimize(problem, solver, max_iterations=50)


def test_round_off_of_large_rows_is_charged():
    X, y = data()
    near = fenchel.problem(X, y, kernel="rbf", gamma=0.5, strength=0.01)
    far = fenchel.problem(X + 1e4, y, kernel="rbf", gamma=0.5, strength=0.01)
    assert far.risk.gram.doubt > 1e6 * near.risk.gram.doubt
    truth = fenchel.minimize(near, gap=1e-8).objective
    result = fenchel.minimize(far, gap=1e-2)
    found = recompute(result, far)
    assert found.lower_bound <= truth + 1e-12


def test_a_rigorous_proof_is_refused():
    problem = posed()
    result = fenchel.minimize(problem)
    with pytest.raises(fenchel.Incompatible):
        fenchel.verify(result, problem, rigorous=True)
