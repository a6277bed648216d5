"""What a user's loss says of itself, looked at when a problem is posed and where a run stalls."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel import Labels, ScalarLoss
from fenchel.losses import Conjugable

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


class Flat(ScalarLoss):
    """A value that never moves, beside slopes that say it does."""

    nonnegative = differentiable = True

    def value(self, z, y):
        return np.ones_like(z)

    def slope(self, z, y):
        return z - y


@pytest.mark.parametrize("solver", ["lbfgs", "sublbfgs", "gd"])
def test_a_search_whose_values_do_not_follow_their_slopes_ends_the_run(solver):
    problem = fenchel.problem(X, Y, loss=Flat(), strength=1e-3)
    result = fenchel.minimize(problem, solver, verify=False)
    assert result.status is fenchel.Status.STALLED
    assert result.iterations <= 2
    assert "The loss is not convex, or its slope is no subgradient" in result.ending
    with pytest.raises(fenchel.InvalidCertificate, match="is above the loss at"):
        fenchel.minimize(problem, solver)
