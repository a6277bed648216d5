"""The best mean of the dual points so far, which [Zhang11]'s own mean is no match for.

A dual point u proves what its cut a = X'u, b = -R*(u) proves, and so does any mean of dual points.
[Zhang11] weighs them by its a_i (eq. 22, 35), for which theorems 10 and 18 bound the gap. The
weights

    argmax over t in the simplex of  sum_i t_i b_i - lambda Omega*(-sum_i t_i a_i / lambda)

prove no less, as -R* is concave. That is the dual of the cutting-plane model of these cuts
([Smola07] theorem 2), and no pass. Under L1, Omega* is finite in a box only, into which a dual
point has to be scaled, and the first ones spoil [Zhang11]'s mean for long: on a9a at strength 1e-3,
1,240 passes leave 7e-2 of the minimum unproved by [Zhang11]'s weights, and 6e-5 by the best. Under
L2 it is a tenth.

In bounded memory, the points are the means of stretches: where there are too many, the two
neighbours of the least weight, by [Zhang11]'s weights, are made one.
"""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

import numpy as np

from fenchel.risks.base import Array, Problem
from fenchel.risks.views.forms import DualPoint, LinearForm
from fenchel.risks.views.images import X, Y
from fenchel.solvers._ball_planes import BallPlanes
from fenchel.solvers._cutting_planes import InnerFailure
from fenchel.solvers._linear_planes import LinearPlanes
from fenchel.solvers._quadratic_planes import QuadraticPlanes
from fenchel.solvers.bmrm import has_model
from fenchel.witness import Witness

_MANY = 30  # stretches; 60 hardly prove more
_MANY_L1 = 60  # the same under L1: 30 take a third more passes on a9a, and two thirds on w8a
_ANEW = 0.5  # the share of the first point after a new start, that others may keep some weight


@dataclass
class _Stretch:
    """The mean of some points in a row."""

    weight: float
    mean: DualPoint

    def joined(self, other: _Stretch) -> _Stretch:
        weight = self.weight + other.weight
        share = self.weight / weight if weight > 0 else 0.0  # weights of old points may underflow
        return _Stretch(weight, share * self.mean + (1 - share) * other.mean)


class DualHull:
    """Dual points, and the best mean of them."""

    def __init__(self, problem: Problem):
        self.problem = problem
        self._stretches: list[_Stretch] = []
        regularizer = problem.regularizer
        self._kind = LinearPlanes if LinearPlanes.suit(problem) else QuadraticPlanes
        self._max_stretches = _MANY_L1 if self._kind is LinearPlanes else _MANY
        bounded = problem.risk.facts.nonnegative or regularizer.strong_convexity > 0
        is_slow = BallPlanes.suit(problem)  # the model takes many multipliers
        self._has_model = has_model(problem) and bounded and not is_slow
        self._takes_newest = not has_model(problem)

    @property
    def is_empty(self) -> bool:
        """No dual point has been met yet."""
        return not self._stretches

    def add(self, dual: DualPoint, share: float) -> None:
        """A point, and its share of [Zhang11]'s weights so far."""
        stretches = self._stretches
        if share == 1 and stretches:
            share = _ANEW
        for stretch in stretches:
            stretch.weight *= 1 - share
        stretches.append(_Stretch(share, dual))
        if len(stretches) > self._max_stretches:
            weights = np.array([stretch.weight for stretch in stretches])
            i = int(np.argmin(weights[1:] + weights[:-1]))
            stretches[i : i + 2] = [stretches[i].joined(stretches[i + 1])]

    def best(self, J: LinearForm[X, Y]) -> DualPoint:
        """The mean that proves most; where there is no model to tell, [Zhang11]'s.

        Where there can be none, as under a group lasso, a dual point is scaled into the domain of
        Omega*: of the newest more is left than of a mean with older ones.
        """
        if self._takes_newest:
            return self._stretches[-1].mean
        weights = self._model_weights(J) if self._has_model else None
        return self.mixed(self.weights if weights is None or not weights.any() else weights)

    @property
    def weights(self) -> Array:
        """The weights that [Zhang11] gives the stretches."""
        return np.array([stretch.weight for stretch in self._stretches])

    def mixed(self, weights: Array) -> DualPoint:
        """The mean of the stretches with these weights."""
        used = np.flatnonzero(weights)
        parts = [float(weights[i]) * self._stretches[i].mean for i in used]
        mean: DualPoint = functools.reduce(operator.add, parts)
        return mean

    def _model_weights(self, J: LinearForm[X, Y]) -> Array | None:
        """They may add up to less than 1: what is missing is the weight of R >= 0."""
        model = self._kind(self.problem, max_cuts=2 * self._max_stretches)
        means = J.measured([stretch.mean for stretch in self._stretches])
        for stretch, mean in zip(self._stretches, means, strict=True):
            stretch.mean = mean
            model.append(stretch.mean.image, stretch.mean.height, Witness())
        try:
            model.maximize()
        except InnerFailure:
            return None
        return model.alpha[-len(self._stretches) :]
