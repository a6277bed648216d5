"""The split of Kazama and Tsujii, the baseline of [Andrew07]: L1 as bounds.

    w = w+ - w-,  w+ >= 0, w- >= 0,    Omega = sum_j c_j (w+_j + w-_j)

is smooth, and SciPy's L-BFGS-B minimises it over twice as many variables. SciPy's routine cannot be
paused, so it runs in bursts: a `Step` is a burst of many iterations of L-BFGS-B, which then starts
anew without its memory. Passes are counted as they are made, two for each evaluation.

With `burst=None` it is left running, as [Andrew07] had it: in a thread of its own, which waits
after each of its iterations until the next `Step` is asked for, so that never two of them run.
"""

from __future__ import annotations

import contextvars
import functools
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator

import numpy as np
from scipy import optimize

from fenchel.risks.base import Array, Point, Problem
from fenchel.settings import whole
from fenchel.solvers import _scaled_dual
from fenchel.solvers._scaled_dual import ScaledDual
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.solvers.owlqn import smooth_part

_EVERY = 5  # iterations from one lower bound to the next where it is left running
_FOR_EVER = 10**6  # iterations


class KTSplit(Solver):
    """L-BFGS-B on the positive and negative parts, `burst` iterations a step.

    None leaves it running, an iteration a step.
    """

    name = "kt-split"
    needs = Needs(regularizer=("support", "orthant_curvature"), differentiable=True)

    def __init__(self, memory: int = 10, burst: int | None = 100):
        self.memory = whole("memory", memory, least=1)
        self.burst = None if burst is None else whole("burst", burst, least=1)

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """L-BFGS-B, until a burst or an iteration leaves w as it was."""
        bound = ScaledDual(problem, every=1 if self.burst else _EVERY)
        point = problem.risk.at(w)
        J = problem.objective(point)
        yield Step(point, J, *bound.after(point, J), functools.partial(_state, point.w))
        for new in self._bursts(problem, point) if self.burst else self._running(problem, point):
            if np.array_equal(new.w, point.w):
                return
            point, J = new, problem.objective(new)
            yield Step(point, J, *bound.after(point, J), functools.partial(_state, point.w))

    def _bursts(self, problem: Problem, point: Point) -> Iterator[Point]:
        while True:
            w = self._run(problem, point.w, self.burst or 1, lambda point: None)
            yield (point := problem.risk.at(w, near=point))

    def _running(self, problem: Problem, point: Point) -> Iterator[Point]:
        return _paused(functools.partial(self._run, problem, point.w, _FOR_EVER))

    def _run(self, problem: Problem, w: Array, n: int, callback: Callable[[Point], None]) -> Array:
        """Up to n iterations from w; the callback has the point that each ends at."""
        d, quadratic = len(w), smooth_part(problem)
        last: deque[Point] = deque(maxlen=1)  # an iteration ends where it has evaluated last
        # What is left of Omega without the elastic net's quadratic is linear.
        linear = problem.strength * problem.regularizer.support(np.zeros(d), np.ones(d))

        def objective(x: Array) -> tuple[float, Array]:
            problem.pulse()
            problem.effort.evaluations += 1
            w = x[:d] - x[d:]
            point = problem.risk.at(w)
            last.append(point)
            g = point.subgradient + quadratic * w
            smooth = point.value + 0.5 * float(np.dot(quadratic * w, w))
            return smooth + float(linear @ (x[:d] + x[d:])), np.append(linear + g, linear - g)

        done = optimize.minimize(
            objective,
            np.append(np.maximum(w, 0.0), np.maximum(-w, 0.0)),
            jac=True,
            method="L-BFGS-B",
            bounds=optimize.Bounds(0.0, np.inf),
            callback=lambda x: callback(last[0]),
            options={"maxiter": n, "maxcor": self.memory, "maxfun": 20 * n}
            | {"ftol": 0.0, "gtol": 0.0},
        )
        problem.effort.inner += int(done.nit)
        split: Array = done.x[:d] - done.x[d:]
        return split

    def obstacle(self, problem: Problem) -> str | None:
        """What it needs, and what its certificate needs."""
        return super().obstacle(problem) or _scaled_dual.obstacle(problem)


def _paused(run: Callable[[Callable[[Point], None]], object]) -> Iterator[Point]:
    """What `run` gives its callback, one at a time: it waits in its thread until more is wanted."""
    found: queue.SimpleQueue[Point | BaseException | None] = queue.SimpleQueue()
    wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()

    def give(point: Point) -> None:
        found.put(point)
        if not wanted.get():
            raise StopIteration

    def work() -> None:
        try:
            if wanted.get():
                run(give)
            found.put(None)
        except BaseException as error:  # goes on where it is waited for
            found.put(error)

    within = contextvars.copy_context()  # NumPy's way with overflows, among others
    thread = threading.Thread(target=within.run, args=(work,), daemon=True)
    thread.start()
    try:
        while True:
            wanted.put(True)
            got = found.get()
            if isinstance(got, BaseException):
                raise got
            if got is None:
                return
            yield got
    finally:
        wanted.put(False)
        thread.join()


def _state(w: Array) -> State:
    return {"w": w}
