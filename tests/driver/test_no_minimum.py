"""Runs without a minimum to find, or with one that round-off hides, end soon and say why."""

import numpy as np
import pytest

import fenchel
from fenchel import losses
from fenchel.result import Status
from fenchel.solvers import GD, LBFGS, Pegasos, SubBFGS, SubGD, SubLBFGS


def rows(*, separable=True, seed=0, n=50, d=5):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    z = X @ rng.normal(size=d) + (0.0 if separable else 2.0) * rng.normal(size=n)
    return X, np.where(z > 0, 1.0, -1.0)


def unpenalised(loss, *, intercept=False, **options):
    X, y = rows(**options)
    return fenchel.problem(X, y, loss=loss, strength=0, intercept=intercept, engine="serial")


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", [LBFGS(), SubLBFGS(), SubBFGS(), SubGD(), GD()], ids=repr)
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.Exponential()], ids=repr)
def test_a_loss_that_is_never_0_has_no_minimiser_on_separable_rows(loss, solver, intercept):
    result = fenchel.minimize(unpenalised(loss, intercept=intercept), solver)
    assert result.status is Status.UNBOUNDED and result.iterations <= 32
    assert result.lower_bound == 0 < result.objective
    with pytest.raises(fenchel.NotConverged, match=r"separates the classes.*raise `strength`"):
        result.raise_for_status()


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", [SubLBFGS(), SubBFGS(), SubGD()], ids=repr)
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.SquaredHinge()], ids=repr)
def test_a_hinge_is_0_on_separable_rows_where_w_is_long_enough(loss, solver, intercept):
    problem = unpenalised(loss, intercept=intercept)
    result = fenchel.minimize(problem, solver)
    assert result.converged and result.iterations <= 33
    assert result.objective == result.lower_bound == 0
    assert problem.risk.at(result.w).value == 0
    assert fenchel.verify(result, problem).lower_bound == 0


@pytest.mark.parametrize("solver", [LBFGS(), SubLBFGS()], ids=repr)
def test_rows_that_are_not_separable_have_their_minimum(solver):
    problem = unpenalised(losses.Logistic(), separable=False)
    result = fenchel.minimize(problem, solver, max_iterations=200)
    assert result.status is Status.STALLED  # these solvers prove nothing at strength 0
    assert np.linalg.norm(problem.risk.at(result.w).subgradient) <= 1e-6


def test_one_row_on_the_wrong_side_is_enough():
    X, y = rows()
    weights = np.ones(len(y))
    X, y, weights = np.vstack([X, X[:1]]), np.append(y, -y[0]), np.append(weights, 1e-9)
    problem = fenchel.problem(X, y, loss="logistic", strength=0, sample_weight=weights)
    result = fenchel.minimize(problem, "lbfgs", max_iterations=64)
    assert result.status is not Status.UNBOUNDED


def test_subgradients_too_small_for_their_squares_are_no_error():
    """s'y / y'y with y'y = 0 was a ZeroDivisionError."""
    X = np.array([[1e-150], [-1e-150]])
    problem = fenchel.problem(X, [1, -1], loss="logistic", strength=0, engine="serial")
    for solver in (SubLBFGS(), SubBFGS()):
        assert fenchel.minimize(problem, solver, w0=[1e150]).iterations >= 1


@pytest.mark.parametrize("strength", [1e-12, 1e-6])
@pytest.mark.parametrize("batch", [None, 10])
def test_pegasos_is_ended_by_its_limit_and_never_called_stalled(strength, batch):
    """Its first steps are far too long: J stays above J(0), which says nothing of what follows."""
    X, y = rows(separable=False)
    problem = fenchel.problem(X, y, loss="logistic", strength=strength, engine="serial")
    result = fenchel.minimize(problem, Pegasos(batch=batch), gap=1e-9, max_iterations=120)
    assert (result.status, result.iterations) == (Status.MAX_ITERATIONS, 120)


@pytest.mark.parametrize("solver", ["auto", "bmrm"])
def test_a_column_too_large_for_the_strength_is_named(solver):
    X, y = rows(separable=False)
    X[:, 2] *= 1e8
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, engine="serial")
    result = fenchel.minimize(problem, solver, gap=1e-6)
    assert result.status is Status.STALLED and result.lower_bound <= result.objective
    with pytest.raises(fenchel.NotConverged, match=r"column 2 of X.*Rescale the columns"):
        result.raise_for_status()


def test_columns_of_moderate_size_are_not_complained_about():
    X, y = rows(separable=False)
    X[:, 2] *= 1e4
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, engine="serial")
    assert fenchel.minimize(problem, gap=1e-6).converged
    assert not fenchel.minimize(problem, gap=1e-16).advice


def part_separated(loss="logistic"):
    """Ten rows have a column of their own, and one label."""
    X, y = rows(separable=False, n=200)
    own = np.zeros((len(y), 1))
    own[:10] = 1.0
    y[:10] = 1.0
    counts = np.where(np.arange(len(y)) < 10, 0.0, np.arange(len(y)) % 4)
    return np.hstack([X, own]), (counts if loss == "poisson" else y)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "poisson", "tweedie"])
@pytest.mark.parametrize("solver", ["auto", "lbfgs"])
def test_rows_that_are_separated_in_part_have_no_minimiser_and_the_column_is_named(loss, solver):
    kind = "poisson" if loss in ("poisson", "tweedie") else loss
    X, y = part_separated(kind)
    problem = fenchel.problem(X, y, loss=loss, strength=0, intercept=True)
    result = fenchel.minimize(problem, solver)
    assert result.status is Status.UNBOUNDED and result.iterations <= 128
    assert "separated by the coefficients of column 5 (counted from 0)" in result.ending


def test_a_row_of_the_other_label_in_the_same_column_is_enough():
    X, y = part_separated()
    y[0] = -1.0
    result = fenchel.minimize(fenchel.problem(X, y, loss="logistic", strength=0, intercept=True))
    assert result.converged


@pytest.mark.parametrize("loss", ["hinge", "absolute_error"])
def test_what_cannot_be_proved_without_a_penalty_says_so(loss):
    X, y = rows(separable=False)
    result = fenchel.minimize(fenchel.problem(X, y, loss=loss, strength=0))
    assert result.status is Status.STALLED
    assert "has no curvature to prove a bound from: use strength > 0" in result.ending
