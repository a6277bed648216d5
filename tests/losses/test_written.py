"""What a user's loss says of itself, looked at when a problem is posed and where a run stalls."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel import Labels, ScalarLoss
from fenchel.losses import Conjugable, ConjugableVector

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = X @ [1.0, -2.0, 0.0] + RNG.normal(size=60)


class Squared(Conjugable):
    """(z - y)^2 / 2."""

    nonnegative = differentiable = True

    def value(self, z, y):
        return (z - y) ** 2 / 2

    def slope(self, z, y):
        return z - y

    def domain(self, y):
        return -np.inf, np.inf

    def conjugate(self, alpha, y):
        return alpha * y + alpha**2 / 2


class Absolute(Squared):
    """|z - y|: all slopes are its domain's ends."""

    differentiable = False

    def value(self, z, y):
        return np.abs(z - y)

    def slope(self, z, y):
        return np.sign(z - y)

    def domain(self, y):
        return -1.0, 1.0

    def conjugate(self, alpha, y):
        return self.within(alpha, y, alpha * y)


class Barrier(Squared):
    """-log(z): inf where z <= 0, with a slope that is there nan."""

    nonnegative = False
    labels = Labels.REAL

    def value(self, z, y):
        return np.where(z > 0, -np.log(z), np.inf)

    def slope(self, z, y):
        return np.where(z > 0, -1 / z, np.nan)

    def domain(self, y):
        return -np.inf, 0.0

    def conjugate(self, alpha, y):
        return -1 - np.log(-alpha)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("loss", [Squared(), Absolute(), Barrier()], ids=repr)
def test_a_right_conjugate_is_taken(loss, scale):
    fenchel.problem(X, scale * Y, loss=loss, strength=1e-2)
    fenchel.problem(X, scale * Y, loss=loss, strength=1e-2, kernel="linear")


@pytest.mark.parametrize(
    ("of", "method", "answer", "told"),
    [
        (Squared, "conjugate", lambda self, a, y: -a * y + a**2 / 2, "a z - l(z) = "),
        (Squared, "conjugate", lambda self, a, y: a * y + a**2, "conjugate(a, y) gave "),
        (Squared, "conjugate", lambda self, a, y: a * y, "Mine.slope is no slope of it"),
        (Squared, "conjugate", lambda self, a, y: np.full_like(a, np.nan), "gave nan"),
        (Squared, "conjugate", lambda self, a, y: 0.0, "an array of shape ()"),
        (Squared, "slope", lambda self, z, y: 2 * (z - y), "or Mine.slope is no slope of it"),
        (Absolute, "domain", lambda self, y: (0.0, 1.0), "[0, 1] for y = "),
    ],
)
def test_a_wrong_one_is_refused_with_slope_point_and_numbers(of, method, answer, told):
    Mine = type("Mine", (of,), {method: answer})
    for kernel in (None, "linear"):
        with pytest.raises(fenchel.InvalidData) as raised:
            fenchel.problem(X, Y, loss=Mine(), strength=1e-2, kernel=kernel)
        assert "Mine." in str(raised.value) and told in str(raised.value)


class Apart(ConjugableVector):
    """max over k of z_k - z_y, and |z|^2 / 2: the conjugate is a squared distance."""

    labels = Labels.CLASSES
    differentiable = False

    def value(self, Z, y):
        return np.max(Z, axis=1) - Z[np.arange(len(y)), y] + np.sum(Z**2, axis=1) / 2

    def slope(self, Z, y):
        top, own = np.eye(Z.shape[1])[np.argmax(Z, axis=1)], np.eye(Z.shape[1])[y]
        return top - own + Z

    def conjugate(self, alpha, y):
        """The least |alpha - p + e_y|^2 / 2 over p in the simplex."""
        v = alpha + np.eye(alpha.shape[1])[y]
        ordered = -np.sort(-v, axis=1)
        over = (np.cumsum(ordered, axis=1) - 1) / np.arange(1, v.shape[1] + 1)
        last = np.count_nonzero(ordered > over, axis=1) - 1
        p = np.maximum(v - over[np.arange(len(y)), last][:, np.newaxis], 0.0)
        return np.sum((v - p) ** 2, axis=1) / 2

    def feasible(self, alpha, y):
        return alpha


class Targets(ConjugableVector):
    """|z - y|^2 / 2 for several targets."""

    labels = Labels.VECTORS
    differentiable = True

    def value(self, Z, y):
        return np.sum((Z - y) ** 2, axis=1) / 2

    def slope(self, Z, y):
        return Z - y

    def conjugate(self, alpha, y):
        return np.sum(alpha * y + alpha**2 / 2, axis=1)

    def feasible(self, alpha, y):
        return alpha


CLASSES = np.arange(60) % 3
SEVERAL = np.column_stack([Y, -Y])
KERNELS = [None, "linear"]


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("loss", "y"), [(Apart(), CLASSES), (Targets(), SEVERAL)])
def test_a_right_conjugate_of_several_scores_is_taken(loss, y, kernel):
    fenchel.problem(X, y, loss=loss, strength=1e-2, kernel=kernel)


@pytest.mark.parametrize(
    ("of", "y", "method", "answer", "told"),
    [
        (Apart, CLASSES, "conjugate", lambda self, a, y: np.zeros(len(a)), "<a, z> - l(z) = "),
        (Apart, CLASSES, "conjugate", lambda self, a, y: 0 * a, "an array of shape (33, 3)"),
        (Apart, CLASSES, "feasible", lambda self, a, y: np.maximum(a, 0), "Mine.slope is ["),
        (Apart, CLASSES, "feasible", lambda self, a, y: a[:, 0], "Mine.feasible gave an array"),
        (Targets, SEVERAL, "conjugate", lambda self, a, y: (a**2).sum(axis=1), "gave "),
        (Targets, SEVERAL, "slope", lambda self, Z, y: y - Z, "or Mine.slope is no slope of it"),
    ],
)
@pytest.mark.parametrize("kernel", KERNELS)
def test_a_wrong_one_of_several_scores_is_refused(of, y, method, answer, told, kernel):
    Mine = type("Mine", (of,), {method: answer})
    with pytest.raises(fenchel.InvalidData) as raised:
        fenchel.problem(X, y, loss=Mine(), strength=1e-2, kernel=kernel)
    assert "Mine." in str(raised.value) and told in str(raised.value)


class Flat(ScalarLoss):
    """A value that never moves, beside slopes that say it does."""

    nonnegative = differentiable = True

    def value(self, z, y):
        return np.ones_like(z)

    def slope(self, z, y):
        return z - y


@pytest.mark.parametrize("solver", ["lbfgs", "sublbfgs", "gd", "hybrid"])
def test_a_search_whose_values_do_not_follow_their_slopes_ends_the_run(solver):
    problem = fenchel.problem(X, Y, loss=Flat(), strength=1e-3)
    result = fenchel.minimize(problem, solver, verify=False)
    assert result.status is fenchel.Status.STALLED
    assert result.iterations <= 2
    assert "The loss is not convex, or its slope is no subgradient" in result.ending
    with pytest.raises(fenchel.InvalidCertificate, match="is above the loss at"):
        fenchel.minimize(problem, solver)


@pytest.mark.parametrize(
    ("solver", "iterations"),
    [("bmrm", 100), ("ls-bmrm", 2), ("agm-1", 1100), ("agm-inf", 1100), ("fista", 1100)],
)
def test_whatever_a_solver_makes_of_such_a_loss_it_comes_to_an_end(solver, iterations):
    problem = fenchel.problem(X, Y, loss=Flat(), strength=1e-3)
    result = fenchel.minimize(problem, solver, verify=False)
    assert result.status is fenchel.Status.STALLED
    assert result.iterations <= iterations
    assert "The loss is not convex, or its slope is no subgradient" in result.ending
