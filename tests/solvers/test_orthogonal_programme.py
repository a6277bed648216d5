"""The bundle's programme by orthogonal factors: where the Gram matrix is exact, and where not."""

from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

import fenchel
from fenchel import _kernels, losses, regularizers
from fenchel.solvers import LineSearchBMRM
from fenchel.solvers._orthogonal_programme import solved


def dual(B, b, alpha):
    return b @ alpha - 0.5 * np.sum((alpha @ B) ** 2)


@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (9, 3), (30, 4), (12, 40)])
@pytest.mark.parametrize("seed", range(4))
def test_it_finds_what_the_gram_matrix_gives(shape, seed):
    rng = np.random.default_rng(seed)
    B, b = rng.normal(size=shape), rng.normal(size=shape[0])
    B[-1] = B[0]  # affinely dependent cuts
    qp = _kernels.SimplexQP()
    qp.assign(B @ B.T, b, None)
    qp.solve(1e-13, 10_000)
    alpha, x = solved(B, b, np.eye(len(b))[0], lambda: None)
    assert np.min(alpha) >= 0 and np.sum(alpha) == pytest.approx(1.0, abs=1e-14)
    assert dual(B, b, alpha) == pytest.approx(dual(B, b, qp.weights), abs=1e-11)
    np.testing.assert_allclose(x, -(alpha @ B), atol=1e-11)
    primal = 0.5 * x @ x + np.max(B @ x + b)
    assert primal == pytest.approx(dual(B, b, alpha), abs=1e-11)


@pytest.mark.parametrize("scales", [(1e11, 1e11, 1e11), (1e11, 1.0, 1e4)])
def test_the_point_is_known_though_nothing_is_left_of_the_weights_sum(scales):
    """Terms of 1e11 cancel to one of the size 1: -B'alpha has five digits, x all of them."""
    rng = np.random.default_rng(1)
    B, b = rng.normal(size=(40, 3)) * np.array(scales), rng.uniform(size=40)
    alpha, x = solved(B, b, np.eye(40)[0], lambda: None)
    primal = 0.5 * x @ x + np.max(B @ x + b)
    assert primal == pytest.approx(dual(B, b, alpha), rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", ["auto", "bmrm"])
def test_columns_of_1e8_are_certified(intercept, solver):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 5))
    y = np.where(X @ rng.normal(size=5) + rng.normal(size=200) > 0, 1.0, -1.0)
    X *= np.array([1e8, 1.0, 1e4, 1e-2, 1e8])
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-2, intercept=intercept)
    result = fenchel.minimize(problem, solver, max_iterations=300)
    assert result.status is fenchel.Status.CONVERGED
    assert fenchel.verify(result, problem).lower_bound >= (1 - 2e-4) * result.objective


def test_unpenalised_columns_are_certified_at_a_weak_strength():
    """Multipliers alone get nowhere: their stiffness, of the strength's size, is that of noise."""
    rng = np.random.default_rng(3)
    X = 1e4 * rng.normal(size=(30, 4))
    y = np.where(X[:, 0] + 1e4 * rng.normal(size=30) > 0, 1.0, -1.0)
    penalty = regularizers.L2(np.array([1.0, 0.0, 300.0, 0.0]))
    problem = fenchel.problem(X, y, loss="hinge", regularizer=penalty, strength=1e-5)
    assert fenchel.minimize(problem, "bmrm", max_iterations=200).status is fenchel.Status.CONVERGED


def test_a_programme_that_gains_nothing_ends():
    """Each model takes few calls, where one after the other changed nothing but round-off."""
    X = np.array(
        [
            [3.7e-3, 1e-3, 1.3e-2, 8e-4],
            [158.66, 43.655, 571.07, 34.37],
            [2.3e-3, 3e-3, -2.6e-5, -1.8e-3],
            [1.5e-4, 1.9e-4, -1.7e-6, -1.2e-4],
        ]
    )
    y = np.array([16.302327, 16.266331, 16.302328, 16.302329])
    problem = fenchel.problem(
        X,
        y,
        loss=losses.Huber(delta=85.0),
        regularizer=regularizers.SquaredPNorm(2.0),
        strength=1.4e-13,
        intercept=True,
        sample_weight=np.array([0.0, 81.6, 16.5, 2e-3]),
    )
    calls = []
    counted = replace(problem, pulse=lambda: calls.append(None))
    steps = LineSearchBMRM().iterate(counted, np.zeros(problem.risk.n_parameters))
    assert len(list(islice(steps, 30))) == 30
    assert len(calls) < 1500


def test_supports_that_come_back_end_the_exchanges():
    """By round-off: these five cuts went round until their steps were used up."""
    B = np.array(
        [
            [
                0.0037415554097866635,
                -11727374771.547255,
                -4922164311.761206,
                158.0209656776508,
                -0.014406189220609439,
            ],
            [
                0.0037616538098974492,
                -8837671007.406298,
                11832590392.438993,
                178.73917560649386,
                -0.01420937582208944,
            ],
            [
                0.0039632909239189894,
                46115192011.179184,
                -46841398667.05105,
                -989.7881948237695,
                -0.03054686181906047,
            ],
            [
                0.0037485587836602937,
                -3434880172.8214226,
                -4528745971.213125,
                177.36647900587593,
                -0.014186020035072364,
            ],
            [
                0.003976385950156144,
                40712401176.5943,
                -30480062303.398926,
                -988.4154982231516,
                -0.030570217606077543,
            ],
        ]
    )
    b = np.array(
        [
            0.6786703601108033,
            0.6731301939058172,
            0.6731301939058172,
            0.6759002770083102,
            0.6703601108033241,
        ]
    )
    start = np.array(
        [0.05595595308930552, 0.6707846485551509, 0.151826292701228, 0.12143310565431564, 0.0]
    )
    steps = []
    alpha, x = solved(B, b, start, lambda: steps.append(1))
    assert len(steps) <= 10 and x is not None
    assert np.min(alpha) >= 0 and np.sum(alpha) == pytest.approx(1.0)
