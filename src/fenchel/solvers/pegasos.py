"""Pegasos: subgradient steps of length 1 / (lambda t) (Shalev-Shwartz et al. 2007).

    w_t+1 = (1 - eta_t lambda) w_t - eta_t a_t,    eta_t = 1 / (lambda t),

with a_t in dR(w_t), or an estimate of it from some of the rows; then w is brought back into the
ball lambda/2 ||w||^2 <= R(0), which holds the minimiser of a risk >= 0. [Smola07] compares the
bundle methods with it in the batch setting. Its subgradients bound J from below like any others.
"""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.views.sampling import Sampling
from fenchel.settings import whole
from fenchel.solvers._gradient_bound import GradientBound, many_subgradients
from fenchel.solvers.base import Needs, Solver, State, Step

Ends = npt.NDArray[np.int64]

# Numbers of X in one call of the kernel, which nothing can interrupt: a few hundredths of a second.
_AT_ONCE = 1 << 22


class Pegasos(Solver):
    """Subgradient descent with steps 1 / (lambda t).

    `batch` rows are drawn for each step, without repetition within an epoch, in an order set by
    `seed`; an iteration is an epoch, which ends at the mean of its steps. None takes all rows, and
    an iteration is a step.
    """

    name = "pegasos"
    needs = Needs(regularizer=("finite",), strongly_convex=True)
    # Its first 1 / lambda steps may all end above J(0), and their cuts prove nothing; but it is
    # never at rest, so that only a limit ends it.
    patience = sys.maxsize

    def __init__(self, batch: int | None = None, seed: int = 0):
        self.batch = None if batch is None else whole("batch", batch, least=1)
        self.seed = whole("seed", seed, least=0)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Steps, or epochs of them."""
        bound, t = many_subgradients(problem), 0
        if state is not None:
            bound.restore(state)
            t = int(state["t"])
        radius = _radius(problem)
        point = problem.risk.at(w)
        while True:
            state_here = functools.partial(_state, point.w, t, bound)
            yield Step(point, problem.objective(point), *bound.after(point), state_here)
            if self.batch is None:
                t += 1
                problem.effort.step = 1 / (problem.strength * t)
                w = _step(problem, point.w, point.subgradient, t, radius)
            else:
                w, t = self._epoch(problem, point, t, radius)
            point = problem.risk.at(w, near=point)

    def obstacle(self, problem: Problem) -> str | None:
        """Some rows say nothing of a loss of all of them."""
        found = super().obstacle(problem)
        if found is None and self.batch is not None:
            found = Sampling.obstacle(problem.risk)
        return found

    def _epoch(self, problem: Problem, point: Point, t: int, radius: float) -> tuple[Array, int]:
        """The mean of the steps over batches of all rows."""
        n, sampling = problem.risk.n_rows, Sampling(problem.risk)
        order = np.random.default_rng([self.seed, t]).permutation(n)
        ends = _ends(n, math.ceil(n / (self.batch or n)))
        at_once = sampling.batches_at_once(problem)
        if at_once is not None:
            return _in_kernel(problem, at_once, point, order, ends, t, radius)
        w, mean = point.w, np.zeros_like(point.w)
        for rows in np.split(order, ends[:-1]):
            problem.pulse()
            t += 1
            a = sampling.subgradient(w, point.intercept, np.sort(rows))
            w = _step(problem, w, a, t, radius)
            mean += w / len(ends)
        return mean, t


def _ends(n: int, n_batches: int) -> Ends:
    """Where batches of n rows end, as many as these and of nearly the same size."""
    sizes = np.full(n_batches, n // n_batches, dtype=np.int64)
    sizes[: n % n_batches] += 1
    return np.cumsum(sizes)


def _in_kernel(
    problem: Problem,
    at_once: Callable[..., int],
    point: Point,
    order: npt.NDArray[np.int64],
    ends: Ends,
    t: int,
    radius: float,
) -> tuple[Array, int]:
    """The same in a kernel, which returns so often that a limit of time or Ctrl-C is heard."""
    risk, w, total = problem.risk, point.w.copy(), np.zeros_like(point.w)
    numbers = max(risk.n_numbers, 1) / len(ends)  # of a batch
    first = 0
    for some in np.array_split(ends, math.ceil(len(ends) / max(1, int(_AT_ONCE / numbers)))):
        problem.pulse()
        rows, last = order[first : some[-1]], int(some[-1])
        t = at_once(rows, some - first, point.intercept, problem.strength, radius, t, w, total)
        first = last
    risk.passes += 2
    return total / len(ends), t


def _step(problem: Problem, w: Array, a: Array, t: int, radius: float) -> Array:
    g = problem.strength * problem.regularizer.subgradient(w) + a
    w = w - g / (problem.strength * problem.regularizer.strong_convexity * t)
    length = float(np.linalg.norm(w))
    return w * (radius / length) if length > radius else w


def _radius(problem: Problem) -> float:
    """A ball that holds the minimiser, where R >= 0: lambda m/2 ||w||^2 <= J(w) <= J(0) = R(0).

    Its radius is 0 if R(0) < 0; the driver refutes the claim that R >= 0 if round-off does not
    explain that.
    """
    if not problem.risk.facts.nonnegative:
        return math.inf
    R = problem.risk.at(np.zeros(problem.risk.n_parameters)).value
    return math.sqrt(2 * max(0.0, R) / (problem.strength * problem.regularizer.strong_convexity))


def _state(w: Array, t: int, bound: GradientBound) -> State:
    return {**bound.state(w), "t": np.array(t)}
