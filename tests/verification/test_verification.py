"""Verification shares nothing with what it verifies, and so finds out when that is wrong."""

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest
from catalogue import (
    LOSSES,
    MULTIVARIATE_LOSSES,
    REGULARIZERS,
    VECTOR_LOSSES,
    ids,
    multivariate_problem_for,
    problem_for,
    vector_problem_for,
)
from scipy import sparse
from structures import CASES

import fenchel
from fenchel import InvalidCertificate, _kernels, losses, regularizers, verification
from fenchel.regularizers import L1, L2, Entropy, Regularizer
from fenchel.verification import penalties, products
from fenchel.verification.checked_cut import CheckedCut
from fenchel.verification.coupled_penalties import COUPLED
from fenchel.verification.duals import RowCut
from fenchel.verification.row_data import RowEvidence

FOLDER = Path(verification.__file__).parent

FORBIDDEN = (
    "fenchel._kernels",
    "fenchel.solvers",
    "fenchel.driver",
    "fenchel.minimisation",
    "fenchel.engines",
    "fenchel.risks.views",
    "fenchel.risks.shardwork",
    "fenchel.risks.point",
    "fenchel.risks.kinks",
    "fenchel.losses.scalar_rows",
    "fenchel.losses.vector_rows",
    "fenchel.losses.multivariate_twins",
)


def imported(path):
    """The modules and names that a file imports, dotted."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.py")), ids=lambda path: path.stem)
def test_it_imports_no_arithmetic_of_the_product(path):
    names = list(imported(path))
    assert not [name for name in names if name.startswith(FORBIDDEN)]
    classes = [name.rsplit(".")[-1] for name in names if name.startswith("fenchel.risks")]
    assert all(name[0].isupper() for name in classes), "functions of risks are not to be used"


def problems():
    yield from (problem_for(loss, intercept=True) for loss in LOSSES)
    yield from (vector_problem_for(loss) for loss in VECTOR_LOSSES)
    yield from (multivariate_problem_for(loss) for loss in MULTIVARIATE_LOSSES[::3])
    yield from (problem_for(losses.Logistic(), omega) for omega in REGULARIZERS)
    yield from (problem_for(losses.Logistic(), omega, d=40) for omega in ("l2", "l1"))
    yield problem_for(losses.NuHinge(0.3), intercept=True)
    for _, loss, X, y, groups in CASES.values():
        yield fenchel.problem(X, y, loss=loss, groups=groups, strength=0.02)


def test_it_runs_without_a_single_kernel(monkeypatch):
    pairs = [(problem, fenchel.minimize(problem, max_iterations=20)) for problem in problems()]

    def broken(*args, **options):
        raise AssertionError("verification called a kernel")

    for name in dir(_kernels):
        if not name.startswith("__"):
            monkeypatch.setattr(_kernels, name, broken)
    for problem, result in pairs:
        assert fenchel.verify(result, problem).gap <= result.gap + 1e-8


# Regularisers.


class SoftAbsolute(losses.ScalarLoss):
    """l(z, y) = sqrt(1 + (z - y)^2) - 1: without a conjugate a witness proves its cuts, no more."""

    nonnegative = True
    differentiable = True

    def value(self, z, y):
        return np.hypot(1.0, z - y) - 1.0

    def slope(self, z, y):
        return (z - y) / np.hypot(1.0, z - y)


def test_every_regulariser_of_ours_has_formulas():
    ours = {*penalties.FORMULAS, *COUPLED}
    assert ours == {*regularizers.REGULARIZERS.values(), regularizers.Boxed}


@pytest.mark.parametrize("omega", REGULARIZERS, ids=ids)
@pytest.mark.parametrize("size", [1e-3, 1.0, 50.0])
def test_its_formulas_are_those_of_the_product(omega, size):
    rng = np.random.default_rng(5)
    for _ in range(20):
        u = size * rng.normal(size=4)
        u[omega.free(4)] = 0.0
        w = omega.start(4) if isinstance(omega, Entropy) else rng.normal(size=4)
        assert penalties.value(omega, w) == pytest.approx(omega.value(w), rel=1e-12)
        assert np.array_equal(penalties.free(omega, 4), omega.free(4))
        conjugate = penalties.known(omega).conjugate(omega, u)
        assert conjugate == pytest.approx(omega.conjugate(u), rel=1e-12, abs=1e-13)


@pytest.mark.parametrize("omega", REGULARIZERS, ids=ids)
def test_a_conjugate_is_above_every_line(omega):
    """<u, w> <= Omega(w) + Omega*(u)."""
    rng = np.random.default_rng(6)
    formulas = penalties.known(omega)
    for _ in range(50):
        u, w = 2 * rng.normal(size=4), omega.prox(rng.normal(size=4), 0.3)
        u[omega.free(4)] = 0.0
        assert u @ w <= formulas.value(omega, w) + formulas.conjugate(omega, u) + 1e-9


@pytest.mark.parametrize(
    "omega",
    [omega for omega in REGULARIZERS if omega.has("conjugate_argmax") or isinstance(omega, L1)],
    ids=ids,
)
def test_a_wrong_conjugate_of_the_product_is_found_out(omega, monkeypatch):
    problem = problem_for(SoftAbsolute(), omega)
    kind = type(omega)
    right = kind.conjugate
    monkeypatch.setattr(kind, "conjugate", lambda self, u: right(self, u) - 1e-5)
    wrong = fenchel.minimize(problem, "bmrm", gap=1e-2, max_iterations=200, verify=False)
    assert wrong.lower_bound > 0
    with pytest.raises(InvalidCertificate, match="proves"):
        fenchel.verify(wrong, problem)


@pytest.mark.parametrize("omega", [L2(), L1(), Entropy()], ids=ids)
def test_a_wrong_value_of_the_product_is_found_out(omega, monkeypatch):
    problem = problem_for(losses.Logistic(), omega)
    right = type(omega).value
    monkeypatch.setattr(type(omega), "value", lambda self, w: right(self, w) - 0.01)
    result = fenchel.minimize(problem, "bmrm", max_iterations=3, verify=False)
    with pytest.raises(InvalidCertificate, match="the objective at w"):
        fenchel.verify(result, problem)


def test_a_form_whose_terms_cancel_is_not_negative_and_its_doubt_is_that_of_its_terms():
    """No Omega is below 0; where w'Qw is 0, what is left of it is round-off of |w|'|Q||w|."""
    rng = np.random.default_rng(7)
    for _ in range(200):
        A = rng.integers(-2, 3, size=(6, 5)).astype(float)
        omega = regularizers.Quadratic(A @ A.T)
        w = rng.normal() * np.linalg.svd(A @ A.T)[0][:, -1]  # in the null space of Q
        value = penalties.value(omega, w)
        size = penalties.size(omega, w, value)
        assert 0.0 <= value <= 1e-15 * size
    assert np.isnan(penalties.value(omega, np.full(6, np.nan)))


def test_evidence_of_nothing_proves_nothing_where_slopes_must_be_0():
    """No tangents are no error of slopes in an unpenalised coordinate, but duals may be one."""
    X = np.diag([3.5e5, 1.0])
    problem = fenchel.problem(
        X,
        np.array([-5.0, -3.0]),
        loss="absolute_error",
        regularizer=L2([0.0, 1.0]),
        intercept=False,
    )
    result = fenchel.minimize(problem, "bmrm", gap=1e-3)
    forged = dataclasses.replace(result, witness=fenchel.Witness(alpha=np.array([0.1, 0.0])))
    with pytest.raises(InvalidCertificate, match="unpenalised"):
        fenchel.verify(forged, problem)


def test_a_regulariser_of_a_user_is_asked():
    class Doubled(L2):
        """w'w."""

        def value(self, w):
            return 2 * super().value(w)

        def subgradient(self, w):
            return 2 * super().subgradient(w)

        def conjugate(self, u):
            return super().conjugate(u) / 2

        def conjugate_argmax(self, u):
            return super().conjugate_argmax(u) / 2

    assert issubclass(Doubled, Regularizer) and Doubled not in penalties.FORMULAS
    problem = problem_for(losses.Logistic(), Doubled(), strength=0.1)
    same = problem_for(losses.Logistic(), L2(), strength=0.2)
    result = fenchel.minimize(same, "lbfgs", gap=1e-8)
    asked, known = fenchel.verify(result, problem), fenchel.verify(result, same)
    assert asked.lower_bound == pytest.approx(known.lower_bound, rel=1e-14)
    assert asked.upper_bound == known.upper_bound


# Losses of users, whose formulas nobody else knows.


class Twice(SoftAbsolute):
    """A slope that is twice as large as it should be."""

    def slope(self, z, y):
        return 2 * super().slope(z, y)


class Welsch(SoftAbsolute):
    """1 - exp(-(z - y)^2 / 2), which is not convex."""

    def value(self, z, y):
        return 1 - np.exp(-((z - y) ** 2) / 2)

    def slope(self, z, y):
        return (z - y) * np.exp(-((z - y) ** 2) / 2)


@pytest.mark.parametrize(("loss", "solver"), [(Twice(), "lbfgs"), (Welsch(), "owlqn")], ids=str)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_false_claim_of_a_loss_that_did_not_contradict_itself_is_found_out(
    loss, solver, intercept
):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    truth = 2 * rng.normal(size=4)
    y = X @ truth + rng.normal(size=60)
    # With 1e-2 of L1 the run itself comes upon a J below its bound: the gradients' means prove more
    # than each of them (solvers/_scaled_hull.py).
    penalty, strength = ("l1", 6e-2) if solver == "owlqn" else ("l2", 1e-2)
    problem = fenchel.problem(
        X, y, loss=loss, regularizer=penalty, strength=strength, intercept=intercept
    )
    result = fenchel.minimize(problem, solver, gap=1e-2, verify=False)
    assert result.converged
    if solver == "owlqn":
        assert problem.objective(problem.risk.at(truth)) < result.lower_bound - 0.05
    with pytest.raises(InvalidCertificate, match="above the loss"):
        fenchel.verify(result, problem)
    with pytest.raises(InvalidCertificate, match=r"above the loss|not convex"):
        fenchel.minimize(problem, solver, gap=1e-2)


class TwiceAsSteep(losses.VectorLoss):
    """1/2 |z - e_y|^2, with a slope that is twice as large as it should be."""

    labels = losses.Labels.CLASSES
    nonnegative = True
    differentiable = True
    factor = 2.0

    def value(self, Z, y):
        return np.sum((Z - np.eye(Z.shape[1])[y]) ** 2, axis=1) / 2

    def slope(self, Z, y):
        return self.factor * (Z - np.eye(Z.shape[1])[y])


def test_a_wrong_slope_of_several_scores_is_found_out(monkeypatch):
    problem = vector_problem_for(TwiceAsSteep())
    result = fenchel.minimize(problem, "lbfgs", max_iterations=3, verify=False)
    with pytest.raises(InvalidCertificate, match="above the loss"):
        fenchel.verify(result, problem)
    monkeypatch.setattr(TwiceAsSteep, "factor", 1.0)
    fenchel.verify(fenchel.minimize(problem, "lbfgs"), problem)


# Risks that are asked.


def test_an_oracle_is_asked_by_verification_itself(monkeypatch):
    _, loss, X, y, _ = CASES["oracle"]
    problem = fenchel.problem(X, y, loss=loss, strength=0.02)
    result = fenchel.minimize(problem, "bmrm", gap=1e-3)
    monkeypatch.setattr(type(problem.risk), "at", None)
    assert fenchel.verify(result, problem).lower_bound == pytest.approx(result.lower_bound)
    certificate = dataclasses.replace(result.certificate, lower_bound=result.objective)
    with pytest.raises(InvalidCertificate, match="proves"):
        fenchel.verify(dataclasses.replace(result, certificate=certificate), problem)


def test_of_a_run_without_a_finite_objective_there_is_nothing_to_verify():
    problem = problem_for(losses.Logistic())
    result = fenchel.minimize(problem, gap=1e-3)
    ended = dataclasses.replace(
        result,
        status=fenchel.Status.NONFINITE,
        certificate=fenchel.Certificate(0.0, np.inf),
    )
    for each in (ended, dataclasses.replace(ended, witness=None)):
        with pytest.raises(InvalidCertificate, match="nothing to verify: the run ended NONFINITE"):
            fenchel.verify(each, problem)


class Numbered(losses.Huber):
    """Huber's loss in Python, whose domain is said by two numbers instead of two arrays."""

    def domain(self, y):
        return -self.delta, self.delta


@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
def test_the_ends_of_a_domain_may_be_numbers(intercept):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), rng.normal(size=60)
    for regularizer in ("l2", "l1"):
        problem = fenchel.problem(
            X, y, loss=Numbered(), regularizer=regularizer, strength=0.01, intercept=intercept
        )
        result = fenchel.minimize(problem, gap=1e-6)
        assert result.converged and fenchel.verify(result, problem).gap <= 1e-6


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_length_of_an_error_is_no_less_than_that_of_its_coordinates(layout):
    """And what it takes off the bound of |u|^2 / 2 no less than what they do."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(70, 5)) * (rng.random((70, 5)) < 0.6) * 10.0 ** rng.integers(-9, 9, 5)
    problem = fenchel.problem(layout(X), rng.integers(0, 4, 70), loss="softmax", strength=0.1)
    evidence = RowEvidence(problem.risk)
    line = RowCut(rng.normal(size=(70, 4)), 1.0, np.zeros(1), 0.0)
    a, error = evidence.adjoint(line.alpha), evidence.adjoint_error(line.alpha, np.zeros(1))
    length = products.error_length(evidence.shards, line)
    assert np.linalg.norm(error) <= length < 100 * np.linalg.norm(error)
    each = penalties.bound(problem, CheckedCut(a, 1.0, error, 0.0), True)
    together = penalties.bound(problem, CheckedCut(a, 1.0, np.zeros(1), 0.0, length), True)
    assert together <= each <= penalties.bound(problem, CheckedCut(a, 1.0, 0 * a, 0.0), True)
    doubtful = line._replace(alpha_error=np.full(1, 1e-9))
    assert products.error_length(evidence.shards, doubtful) == np.inf
