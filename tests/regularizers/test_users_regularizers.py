"""Regularisers of a user, as docs/how-to/own-regularizer.md writes them, under every solver."""

import doctest
import itertools
from pathlib import Path

import numpy as np
import pytest
from catalogue import BASELINES, SOLVERS, data_for, ids

import fenchel
from fenchel import losses
from fenchel.regularizers import (
    L2,
    Boxed,
    ElasticNet,
    GroupL1,
    Quadratic,
    Regularizer,
    SquaredPNorm,
)
from fenchel.solvers import BMRM, FISTA, LBFGS, AGMOne
from fenchel.solvers import SOLVERS as BY_NAME
from fenchel.solvers._quadratic_planes import QuadraticPlanes
from fenchel.witness import Witness

PAGE = Path(__file__).parent.parent.parent / "docs" / "how-to" / "own-regularizer.md"
D = 6
GROUPS = [slice(0, 2), slice(2, 4), slice(4, 6)]
Q = np.diff(np.eye(D), axis=0).T @ np.diff(np.eye(D), axis=0) + 0.1 * np.eye(D)
LOSSES = [losses.Hinge(), losses.Logistic(), losses.SquaredError()]


def classes_of_the_page():
    """The classes that the page defines, and nothing else of it."""
    namespace = {"np": np, "Regularizer": Regularizer}
    for example in doctest.DocTestParser().get_examples(PAGE.read_text()):
        if example.source.startswith("class "):
            exec(example.source, namespace)
    return namespace


WRITTEN = classes_of_the_page()


class Plain(Regularizer):
    """What must be written, and no more: sum_j |w_j|."""

    def value(self, w):
        return float(np.sum(np.abs(w)))

    def subgradient(self, w):
        return np.sign(w)


class WithProx(Plain):
    """The same with a prox."""

    def prox(self, v, step):
        return np.sign(v) * np.maximum(np.abs(v) - step, 0.0)


class Separable(WithProx):
    """The same, said to be a sum over coordinates."""

    separable = True


class Bowl(Regularizer):
    """1/2 ||w||^2 without its conjugate."""

    smooth = True

    def value(self, w):
        return float(w @ w) / 2

    def subgradient(self, w):
        return w


# With the built-in ones that are the same functions.
TWINS = [
    (WRITTEN["GroupLasso"](GROUPS), GroupL1([0, 0, 1, 1, 2, 2], [1.0, 1.0, 1.0])),
    (WRITTEN["Tied"](Q), Quadratic(Q)),
]
USERS = [user for user, _ in TWINS] + [
    WRITTEN["GroupElasticNet"](GROUPS),
    Plain(),
    WithProx(),
    Boxed(Separable(), lower=0.0, upper=[1.0] * 3 + [np.inf] * 3),
    Bowl(),
]
ABLE = {
    "GroupLasso": {"agm-inf", "agm-1", "fista", "pdhg", "proximal-gradient"},
    "GroupElasticNet": {"bmrm", "ls-bmrm", "pegasos", "excessive-gap"},
    "Tied": {"lbfgs", "bmrm-noqp", "sublbfgs", "subbfgs", "hybrid", "subgd", "gd"},
    "Plain": set(),
    "WithProx": {"agm-inf", "agm-1", "fista", "pdhg", "proximal-gradient"},
    "Boxed": {"agm-inf", "agm-1", "fista", "pdhg", "proximal-gradient"},
    "Bowl": {"lbfgs", "sublbfgs", "subbfgs", "subgd", "gd"},
}
ABLE["GroupElasticNet"] |= ABLE["GroupLasso"]
ABLE["Tied"] |= ABLE["GroupElasticNet"]


def name(regularizer):
    return type(regularizer).__name__


def problem_of(loss, regularizer, **options):
    X, y = data_for(loss, n=40, d=D)
    return fenchel.problem(X, y, loss=loss, regularizer=regularizer, strength=0.1, **options)


@pytest.mark.parametrize("regularizer", USERS, ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=ids)
def test_what_is_written_decides_which_solvers_can(loss, regularizer):
    problem = problem_of(loss, regularizer)
    able = {each for each, kind in BY_NAME.items() if kind().obstacle(problem) is None}
    needs_smoothness = set() if loss.differentiable else {"lbfgs"}
    assert able == ABLE[name(regularizer)] - needs_smoothness


@pytest.mark.parametrize("regularizer", USERS, ids=name)
@pytest.mark.parametrize("loss", LOSSES, ids=ids)
def test_every_solver_runs_or_says_what_is_missing(loss, regularizer):
    problem = problem_of(loss, regularizer)
    certified = regularizer.has("conjugate")
    objectives = []
    for solver in SOLVERS:
        if solver.obstacle(problem) is not None:
            with pytest.raises(fenchel.Incompatible, match=r"needs|cannot|knows"):
                fenchel.minimize(problem, solver)
            continue
        patience = 2000 if certified and not isinstance(solver, BASELINES) else 50
        result = fenchel.minimize(problem, solver, gap=2e-3, max_iterations=patience)
        assert fenchel.verify(result, problem).lower_bound <= result.objective
        if not isinstance(solver, BASELINES) and certified:
            assert result.converged, (solver, result)
            objectives.append(result.objective)
        if not certified:
            assert result.lower_bound == 0.0 and "nothing can be certified" in result.reason
    if objectives:
        assert max(objectives) <= min(objectives) * (1 + 4e-3)


@pytest.mark.parametrize(
    ("user", "built_in", "loss"),
    [(*twins, loss) for twins, loss in itertools.product(TWINS, LOSSES)],
    ids=lambda value: type(value).__name__,
)
def test_auto_finds_a_solver_and_the_built_in_minimum(user, built_in, loss):
    mine = fenchel.minimize(problem_of(loss, user), gap=1e-4, max_iterations=20_000)
    other = fenchel.minimize(problem_of(loss, built_in), gap=1e-4, max_iterations=20_000)
    # Block descent knows the groups of the library's own.
    assert mine.solver == other.solver or other.solver == "block-descent"
    assert mine.lower_bound <= other.objective and other.lower_bound <= mine.objective


def test_auto_says_that_nothing_suits_what_has_no_more_than_its_values():
    with pytest.raises(fenchel.Incompatible, match=r"needs Plain.prox, which is not written"):
        fenchel.minimize(problem_of(losses.Logistic(), Plain()))


def test_without_a_conjugate_only_the_sign_of_the_risk_is_proved():
    result = fenchel.minimize(problem_of(losses.Logistic(), WithProx()), max_iterations=300)
    truth = fenchel.minimize(problem_of(losses.Logistic(), "l1"), gap=1e-8)
    assert not result.converged and result.lower_bound == 0.0
    assert "nothing can be certified without WithProx.conjugate" in result.reason
    assert result.objective == pytest.approx(truth.objective, rel=1e-6)


def test_a_conjugate_needs_a_reach_or_an_argmax_to_prove_anything():
    class Unreached(WithProx):
        def conjugate(self, u):
            return 0.0 if np.all(np.abs(u) <= 1) else np.inf

    result = fenchel.minimize(problem_of(losses.Logistic(), Unreached()), max_iterations=20)
    assert result.lower_bound == 0.0
    assert "nothing can be certified without Unreached.reach" in result.reason


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ({}, "No lower bound but R >= 0 comes without Mine.conjugate, which is not written"),
        ({"conjugate": lambda self, u: 0.0 if np.all(np.abs(u) <= 1) else np.inf}, "Mine.reach"),
        (
            {"conjugate": lambda self, u: np.inf, "reach": lambda self, u, value: abs(value)},
            "Mine.conjugate is inf at half of Mine.subgradient(w)",
        ),
    ],
    ids=["conjugate", "reach", "inf"],
)
def test_a_run_that_stalls_for_what_is_not_written_says_so(written, told):
    Mine = type("Mine", (WithProx,), written)
    result = fenchel.minimize(problem_of(losses.Logistic(), Mine()))
    assert result.status is fenchel.Status.STALLED
    assert told in result.ending


def test_a_separable_regulariser_of_a_user_can_be_bounded():
    class Ridge(Bowl):
        separable = True

        def prox(self, v, step):
            return v / (1 + step)

        def conjugate_argmax(self, u):
            return u

        def conjugate(self, u):
            return float(u @ u) / 2

    for loss, solver in itertools.product(LOSSES, (AGMOne(), BMRM())):
        mine = fenchel.minimize(problem_of(loss, Boxed(Ridge(), lower=0.0)), solver, gap=1e-3)
        other = fenchel.minimize(problem_of(loss, L2(), lower=0.0), solver, gap=1e-3)
        assert mine.converged and mine.objective == pytest.approx(other.objective, rel=2e-3)


def test_bounds_around_a_prox_keep_the_minimum_and_name_what_a_certificate_would_need():
    for loss in LOSSES:
        mine = fenchel.minimize(problem_of(loss, Separable(), lower=0.0), max_iterations=2000)
        truth = fenchel.minimize(problem_of(loss, "l1", lower=0.0), gap=1e-5)
        assert mine.objective == pytest.approx(truth.objective, rel=1e-3)
        assert mine.lower_bound == 0.0 and not mine.converged
        assert "nothing can be certified without Separable.conjugate_argmax" in mine.reason
    with pytest.raises(fenchel.Incompatible, match=r"needs Separable.conjugate_argmax, which is"):
        fenchel.minimize(problem_of(losses.Hinge(), Separable(), lower=0.0), "bmrm")


def test_a_regulariser_of_fixed_slices_under_several_classes_is_told_what_w_is():
    X, _ = data_for(losses.SquaredError(), n=30, d=D)
    y = np.arange(30) % 3
    with pytest.raises(fenchel.InvalidData) as raised:
        fenchel.problem(X, y, loss="softmax", regularizer=WRITTEN["GroupLasso"](GROUPS))
    told = str(raised.value)
    assert "GroupLasso.subgradient gave an array of shape (6,) for a w of 18 numbers" in told
    assert "w holds 3 numbers, one for each class or target, for each of 6 columns" in told


@pytest.mark.parametrize(
    ("method", "answer", "told"),
    [
        ("value", lambda self, w: w, r"Odd.value gave .*shape \(6,\).* must give one number"),
        ("subgradient", lambda self, w: 1.0, r"Odd.subgradient gave an array of shape \(\)"),
        ("subgradient", lambda self, w: w[:9] @ np.eye(9), r"Odd.subgradient raised ValueError"),
        ("prox", lambda self, v, step: v[1:], r"Odd.prox gave an array of shape \(5,\)"),
        ("start", lambda self, n: np.zeros(n + 1), r"Odd.start gave an array of shape \(7,\)"),
    ],
)
@pytest.mark.parametrize("bounds", [{}, {"lower": 0.0}], ids=["", "bounds"])
def test_what_does_not_fit_w_is_said_when_the_problem_is_posed(method, answer, told, bounds):
    Odd = type("Odd", (Separable,), {method: answer})
    with pytest.raises(fenchel.InvalidData, match=told):
        problem_of(losses.Logistic(), Odd(), **bounds)


def test_bounds_need_a_separable_regulariser():
    with pytest.raises(fenchel.Incompatible, match=r"separable regulariser.*GroupL1 is none"):
        problem_of(losses.Hinge(), GroupL1([0] * D), lower=0.0)


def test_checkpoints_tell_a_users_settings_apart():
    from fenchel.checkpoint import _fingerprint

    prints = {
        _fingerprint(problem_of(losses.Hinge(), regularizer))
        for regularizer in (
            WRITTEN["Tied"](Q),
            WRITTEN["Tied"](2 * Q),
            WRITTEN["GroupLasso"](GROUPS),
            WRITTEN["GroupLasso"]([slice(0, 3), slice(3, 6)]),
            Boxed(L2(), lower=0.0),
            Boxed(L2(), lower=0.5),
            Boxed(ElasticNet(), lower=0.0),
            GroupL1([0, 0, 0, 1, 1, 1]),
            GroupL1([0, 0, 1, 1, 1, 1]),
        )
    }
    assert len(prints) == 9


@pytest.mark.parametrize("solver", [FISTA(), LBFGS(), BMRM()], ids=ids)
def test_runs_go_on_from_their_state(solver, tmp_path):
    problem = problem_of(losses.SquaredError(), WRITTEN["Tied"](Q))

    def run(n, file):
        options = {"gap": 1e-9, "max_iterations": n, "checkpoint": tmp_path / file}
        return fenchel.minimize(problem, solver, **options)

    whole = run(20, "whole")
    run(9, "parts")
    assert np.array_equal(whole.w, run(20, "parts").w)


def test_the_bundles_hessian_by_differences_is_the_written_one():
    class Unwritten(SquaredPNorm):
        conjugate_curvature = Regularizer.conjugate_curvature
        conjugate_coupling = Regularizer.conjugate_coupling

    written, by_differences = (
        QuadraticPlanes(problem_of(losses.Hinge(), kind(1.5)), max_cuts=20)
        for kind in (SquaredPNorm, Unwritten)
    )
    rng = np.random.default_rng(0)
    for a, b in zip(rng.normal(size=(5, D)), rng.normal(size=5), strict=True):
        for planes in (written, by_differences):
            planes.append(a, b, Witness())
    a = rng.dirichlet(np.ones(6)) @ written.A
    H, by_steps = (B @ B.T for B in (written._root(a), by_differences._root(a)))
    assert np.allclose(by_steps, H, rtol=1e-5, atol=1e-5 * np.max(H))
    for planes in (written, by_differences):
        planes.maximize()
    assert np.allclose(written.alpha, by_differences.alpha, atol=1e-4)
