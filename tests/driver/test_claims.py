"""What a run may claim: bounds that agree with each other, and none without evidence."""

import dataclasses
import math

import numpy as np
import pytest
from catalogue import (
    LOSSES,
    MULTIVARIATE_LOSSES,
    SOLVERS,
    VECTOR_LOSSES,
    ids,
    multivariate_problem_for,
    problem_for,
    vector_problem_for,
)
from structures import CASES

import fenchel
from fenchel import FenchelWarning, InvalidCertificate, Status, losses, proving
from fenchel.losses import ScalarLoss
from fenchel.minimisation import Minimisation
from fenchel.regularizers import Boxed, Regularizer
from fenchel.risks.base import Problem
from fenchel.solvers import AGMInf, Needs, Solver, Step
from fenchel.stopping import Tolerance


class Welsch(ScalarLoss):
    """l(z, y) = 1 - exp(-(z - y)^2 / 2), which is not convex."""

    nonnegative = True
    differentiable = True
    smoothness = 1.0

    def value(self, z, y):
        return 1.0 - np.exp(-((z - y) ** 2) / 2)

    def slope(self, z, y):
        return (z - y) * np.exp(-((z - y) ** 2) / 2)


class SoftAbsolute(ScalarLoss):
    """l(z, y) = sqrt(1 + (z - y)^2) - 1: convex, without a conjugate."""

    nonnegative = True
    differentiable = True

    def value(self, z, y):
        return np.hypot(1.0, z - y) - 1.0

    def slope(self, z, y):
        return (z - y) / np.hypot(1.0, z - y)


class Uphill(ScalarLoss):
    """The squared error with its slope's sign turned."""

    nonnegative = True
    differentiable = True
    smoothness = 1.0

    def value(self, z, y):
        return (z - y) ** 2 / 2

    def slope(self, z, y):
        return y - z


class Lowered(SoftAbsolute):
    """SoftAbsolute less 5, which is negative in places, though it says that it is not."""

    def value(self, z, y):
        return super().value(z, y) - 5.0


def wrong_problem(loss, regularizer="l2", intercept=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    y = 2 * X @ rng.normal(size=4) + rng.normal(size=60)
    return fenchel.problem(
        X, y, loss=loss, regularizer=regularizer, strength=1e-2, intercept=intercept
    )


def able(problem):
    return [solver for solver in SOLVERS if solver.obstacle(problem) is None]


# Contradictions.


@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("regularizer", ["l2", "l1"])
@pytest.mark.parametrize("loss", [Welsch(), Uphill()], ids=ids)
def test_no_solver_claims_a_bound_above_the_objective(loss, regularizer, intercept):
    problem = wrong_problem(loss, regularizer, intercept)
    caught = 0
    for solver in able(problem):
        try:
            result = fenchel.minimize(problem, solver, max_iterations=100)
        except InvalidCertificate as error:
            assert "not convex" in str(error) and "subgradient" in str(error)
            caught += 1
        else:
            assert result.lower_bound <= result.objective
            assert all(record.lower_bound <= record.objective for record in result.history)
    # With an intercept Uphill's mean falls for ever, and no solver gets anywhere.
    assert caught or (isinstance(loss, Uphill) and (intercept or regularizer == "l1"))


@pytest.mark.parametrize(
    "solver",
    ["bmrm", "ls-bmrm", "bmrm-noqp", "lbfgs", AGMInf(prox="own"), AGMInf(prox="columns"), "fista"],
    ids=str,
)
def test_a_loss_that_is_not_convex_ends_in_an_error(solver):
    with pytest.raises(InvalidCertificate, match=r"min J >= 0\.\d+ .* J is 0\.\d+ .*not convex"):
        fenchel.minimize(wrong_problem(Welsch()), solver)


def test_a_loss_that_is_not_convex_ends_in_an_error_where_no_bound_is_above_j():
    """Whitened, agm-inf ends with bounds that agree with J, and it is their proof that fails."""
    problem = wrong_problem(Welsch())
    assert fenchel.minimize(problem, AGMInf(prox="whitened"), verify=False).converged
    with pytest.raises(InvalidCertificate, match=r"tangent .* above the loss .*not convex"):
        fenchel.minimize(problem, AGMInf(prox="whitened"))


def test_a_loss_that_is_negative_against_its_word_ends_in_an_error():
    problem = wrong_problem(Lowered())
    assert "pegasos" in [solver.name for solver in able(problem)]
    for solver in able(problem):
        with pytest.raises(InvalidCertificate, match="nonnegative = True"):
            fenchel.minimize(problem, solver, max_iterations=100)


def test_the_contradiction_is_found_with_a_callback_that_stops_the_run():
    with pytest.raises(InvalidCertificate, match="not convex"):
        fenchel.minimize(
            wrong_problem(Welsch()), "bmrm", callback=lambda record: record.gap <= 1e-4
        )


class Scripted(Solver):
    """Stays at 0 and claims bounds above J by some fractions of it."""

    name = "scripted"
    needs = Needs()

    def __init__(self, excesses):
        self.excesses = excesses

    def iterate(self, problem, w, state=None):
        point = problem.risk.at(w)
        J = problem.objective(point)
        for excess in self.excesses:
            yield Step(point, J, (1 + excess) * J, fenchel.Witness)


def test_a_contradiction_within_round_off_widens_the_gap_by_as_much():
    problem = problem_for(losses.Logistic())
    run = Minimisation(problem, Tolerance(1e-9), 10, math.inf, None)
    run.begin(50)
    w = np.zeros(problem.risk.n_parameters)
    result = run.result(run.through(Scripted([1e-10]), w, None), "scripted", "")
    assert result.converged
    assert result.gap == pytest.approx(1e-10, rel=1e-3)
    assert result.lower_bound < result.objective == math.log(2)
    run = Minimisation(problem, Tolerance(1e-12), 10, math.inf, None)
    run.begin(50)
    assert run.through(Scripted([1e-10] * 3), w, None) is Status.STALLED


@pytest.mark.parametrize("excess", [1e-5, 1.0, math.inf])
def test_a_contradiction_beyond_round_off_is_an_error(excess):
    with pytest.raises(InvalidCertificate, match=r"contradict .* scripted gives a Step") as told:
        fenchel.minimize(problem_for(losses.Logistic()), Scripted([excess]))
    assert "not convex" not in str(told.value)  # the loss is ours


class Overrated(Regularizer):
    """1/2 ||w||^2 with a conjugate that is too low."""

    strong_convexity = 1.0
    separable = True

    def value(self, w):
        return w @ w / 2

    def prox(self, v, step):
        return v / (1 + step)

    def subgradient(self, w):
        return w

    def conjugate(self, u):
        return u @ u / 4

    def conjugate_argmax(self, u):
        return u


def test_a_contradiction_names_what_its_user_wrote():
    with pytest.raises(InvalidCertificate, match=r"Overrated\.conjugate is too low") as told:
        fenchel.minimize(wrong_problem("squared_error", Overrated()), "bmrm")
    assert "slope(z)" not in str(told.value) and "ours" not in str(told.value)
    boxed = Boxed(Overrated(), lower=0.0)
    both = proving.contradiction(wrong_problem(Welsch(), boxed), 2.0, 1.0)
    assert "the loss is not convex" in both and "Overrated.conjugate" in both
    assert "fault is ours" in proving.contradiction(problem_for(losses.Hinge()), 2.0, 1.0)


class Line(ScalarLoss):
    """l(z) = z."""

    differentiable = True

    def value(self, z, y):
        return z

    def slope(self, z, y):
        return np.ones_like(z)


def test_a_difference_of_large_terms_may_be_off_by_their_round_off():
    # J(w) = w^2 + w is about -1e-9, the difference of two terms near 1.
    problem = fenchel.problem(np.ones((1, 1)), np.zeros(1), loss=Line(), strength=2.0)
    run = Minimisation(problem, Tolerance(1e-12), 10, math.inf, None)
    run.begin(50)
    point = problem.risk.at(np.array([-1 + 1e-9]))
    J = problem.objective(point)
    assert abs(J) < 2e-9
    assert run.take(Step(point, J, J + 1e-12, fenchel.Witness)) is None
    with pytest.raises(InvalidCertificate):
        run.take(Step(point, J, J + 1e-5, fenchel.Witness))


@pytest.mark.parametrize("loss", [*LOSSES, *VECTOR_LOSSES], ids=ids)
def test_honest_runs_to_the_last_digit_never_contradict_themselves(loss):
    problem = (problem_for if isinstance(loss, ScalarLoss) else vector_problem_for)(loss)
    for solver in ("auto", "bmrm"):
        result = fenchel.minimize(problem, solver, gap=1e-15, max_iterations=300)
        assert result.lower_bound <= result.objective


# Evidence.


class Boaster(Solver):
    """Claims, without any evidence, that its first point is the best."""

    name = "boaster"
    needs = Needs()

    def iterate(self, problem, w, state=None):
        point = problem.risk.at(w)
        J = problem.objective(point)
        for _ in range(3):
            yield Step(point, J, J)


def test_a_bound_without_evidence_is_not_believed():
    problem = problem_for(losses.Logistic())
    with pytest.warns(FenchelWarning, match="without a witness") as warned:
        result = fenchel.minimize(problem, Boaster())
    assert len(warned) == 1
    assert result.status is Status.STALLED
    assert result.lower_bound == 0.0 and result.witness == fenchel.Witness()  # the loss is >= 0
    assert fenchel.verify(result, problem).lower_bound == 0.0


def test_a_bound_without_evidence_does_not_hide_one_with_it():
    problem = problem_for(losses.Logistic())
    point = problem.risk.at(np.zeros(problem.risk.n_parameters))
    best = problem.risk.at(fenchel.minimize(problem, gap=1e-3).w)
    J, proved = problem.objective(point), problem.tangent_bound(best)

    class Both(Boaster):
        def iterate(self, problem, w, state=None):
            yield Step(point, J, J)
            yield Step(point, J, proved, lambda: best.witness)

    with pytest.warns(FenchelWarning):
        result = fenchel.minimize(problem, Both())
    assert result.lower_bound == proved
    assert fenchel.verify(result, problem).lower_bound == pytest.approx(proved)


class Forger(Boaster):
    """Claims the same with evidence of something else."""

    name = "forger"

    def __init__(self, witness):
        self.witness = witness

    def iterate(self, problem, w, state=None):
        for step in super().iterate(problem, w):
            yield dataclasses.replace(step, witness=lambda: self.witness, state=lambda: {"w": w})


@pytest.mark.parametrize(
    ("witness", "found"),
    [
        (fenchel.Witness(), r"the witness proves min J >= 0.0, but the result claims 0.69"),
        (fenchel.Witness(alpha=np.full(60, 1e9)), r""),
        (None, r"its witness is None, not a fenchel.Witness"),
        ("trust me", r"its witness is 'trust me', not"),
    ],
    ids=["empty", "outside", "none", "words"],
)
@pytest.mark.parametrize("saved", [False, True], ids=["", "checkpoint"])
def test_evidence_of_something_else_does_not_converge(witness, found, saved, tmp_path):
    problem = problem_for(losses.Logistic())
    file = tmp_path / "file" if saved and isinstance(witness, fenchel.Witness) else None
    for _ in range(2):  # the second goes on from the first's file, where there is one
        with pytest.raises(InvalidCertificate, match=f"forger has not proved .*{found}"):
            fenchel.minimize(problem, Forger(witness), checkpoint=file)


def test_a_bound_of_an_honest_solver_converges():
    class Tangent(Boaster):
        def iterate(self, problem, w, state=None):
            best = problem.risk.at(fenchel.minimize(problem, gap=1e-6).w)
            bound = problem.tangent_bound(best)
            yield Step(best, problem.objective(best), bound, lambda: best.witness)

    for loss in (losses.Logistic(), losses.SquaredError()):
        assert fenchel.minimize(problem_for(loss), Tangent()).converged


@pytest.mark.parametrize("saved", [False, True], ids=["", "checkpoint"])
def test_a_solver_without_a_step_is_refused(saved, tmp_path):
    class Idle(Boaster):
        name = "idle"

        def iterate(self, problem, w, state=None):
            return iter(())

    with pytest.raises(fenchel.Incompatible, match=r"idle took no step.* must yield"):
        fenchel.minimize(
            problem_for(losses.Logistic()), Idle(), checkpoint=tmp_path / "f" if saved else None
        )


def problems():
    yield problem_for(losses.Hinge(), intercept=True)
    yield problem_for(losses.Poisson(), "l1")
    yield problem_for(losses.Logistic(), "elastic_net", d=40)
    yield problem_for(SoftAbsolute())  # no conjugate
    yield vector_problem_for(losses.MulticlassHinge(rescaling="slack"))
    yield multivariate_problem_for(MULTIVARIATE_LOSSES[0])
    for name in ("crf", "m3n", "oracle"):
        _, loss, X, y, groups = CASES[name]
        yield fenchel.problem(X, y, loss=loss, groups=groups, strength=0.02)


@pytest.mark.parametrize("solver", SOLVERS, ids=ids)
def test_every_bound_of_our_solvers_has_its_evidence(solver):
    for problem in problems():
        if solver.obstacle(problem) is not None:
            continue
        method = solver.aiming(1e-6)
        steps = method.iterate(problem, problem.regularizer.start(problem.risk.n_parameters))
        for step, _ in zip(steps, range(12), strict=False):
            assert step.witness is not None or step.lower_bound == -math.inf


def test_bmrm_without_qp_proves_its_bounds_without_a_conjugate():
    problem = problem_for(SoftAbsolute())
    result = fenchel.minimize(problem, "bmrm-noqp", gap=1e-3)
    assert result.converged and len(result.witness.tangencies) <= result.iterations
    assert fenchel.verify(result, problem).source == "witness"
    forged = dataclasses.replace(result, witness=fenchel.Witness())
    with pytest.raises(InvalidCertificate):
        fenchel.verify(forged, problem)


# What is claimed is what is proved.


class Boastful(Problem):
    """A problem whose bounds are a tenth too high."""

    def bound(self, a, b, sizes):
        return 1.1 * super().bound(a, b, sizes)


def boastful(problem):
    return Boastful(problem.risk, problem.regularizer, problem.strength)


@pytest.mark.parametrize("solver", ["bmrm", "lbfgs", "sdca", "agm-inf", "newton"])
def test_a_claim_beyond_its_proof_is_not_believed(solver):
    problem = problem_for(losses.SquaredHinge(), intercept=True)
    asked = fenchel.minimize(boastful(problem), solver, gap=1e-3, max_iterations=300)
    proved = fenchel.verify(asked, problem).lower_bound
    assert asked.lower_bound <= proved <= asked.objective
    assert asked.converged == (asked.gap <= 1e-3)
    assert asked.certificate.source == "witness" and asked.proof_passes > 0
    believed = fenchel.minimize(boastful(problem), solver, gap=1e-3, verify=False)
    assert believed.certificate.source == "solver" or believed.lower_bound <= proved
    assert believed.proof_passes == 0 or believed.lower_bound <= believed.objective


def test_a_run_whose_claim_is_not_proved_goes_on_until_one_is():
    """Claims that are a tenth too high are taken for what the last proof left of them."""
    problem = problem_for(losses.Logistic())
    result = fenchel.minimize(boastful(problem), "bmrm", gap=0.02)
    shortest = fenchel.minimize(problem, "bmrm", gap=0.02)
    assert result.converged and result.iterations >= shortest.iterations
    assert fenchel.verify(result, problem).gap <= 0.02


def test_evidence_that_is_refused_is_not_handed_on(monkeypatch):
    """What is left is R >= 0, with the evidence that this needs: none."""

    def refusing(claim, problem):
        if claim.witness.tangencies or claim.witness.alpha is not None:
            raise InvalidCertificate("the witness leaves a slope in an unpenalised coordinate")
        return recompute(claim, problem)

    recompute = proving.recompute
    monkeypatch.setattr(proving, "recompute", refusing)
    problem = problem_for(losses.Logistic())
    result = fenchel.minimize(problem, "bmrm", gap=1e-3, max_iterations=5)
    assert result.lower_bound == 0 and result.witness == fenchel.Witness()
    assert fenchel.verify(result, problem).lower_bound == 0


@pytest.mark.parametrize("solver", SOLVERS, ids=ids)
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Logistic(), losses.Huber()], ids=ids)
def test_no_result_claims_more_than_is_verified(loss, solver):
    problem = problem_for(loss, intercept=True)
    if solver.obstacle(problem) is not None:
        pytest.skip(solver.obstacle(problem))
    result = fenchel.minimize(problem, solver, gap=1e-2, max_iterations=60)
    certificate = fenchel.verify(result, problem)
    assert result.lower_bound <= certificate.lower_bound


def test_a_w_that_is_not_finite_is_no_best_iterate():
    class Lost(Solver):
        name = "lost"
        needs = Needs()

        def iterate(self, problem, w, state=None):
            yield Step(problem.risk.at(w), problem.objective(problem.risk.at(w)))
            point = problem.risk.at(w)
            point.w = np.full_like(w, math.nan)
            yield Step(point, 0.0)

    problem = problem_for(losses.Logistic())
    result = fenchel.minimize(problem, Lost())
    assert result.status is Status.NONFINITE
    assert np.isfinite(result.w).all() and result.objective > 0
