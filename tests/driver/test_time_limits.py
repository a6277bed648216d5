"""Time limits inside the loops of solvers, by a clock that stands still until the data were used.

What counts is work, not seconds: how many calls of the engine and passes a run still makes once its
time is up. One evaluation of the risk, and the vector arithmetic of an accelerated method on a row
of numbers for each point it keeps, are all that may be left.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from catalogue import SOLVERS, ids, problem_for

import fenchel
from fenchel import losses
from fenchel.engines import Serial
from fenchel.regularizers import L2
from fenchel.result import Status
from fenchel.solvers import Newton, Pegasos, Solver, Step
from fenchel.solvers.base import Needs

LEFT_PASSES, LEFT_CALLS = 2, 50
SET_UP = 12  # passes that optimised widths take, once
RUN = 3 * 100 + 2  # passes of a run of Newton's steps in a kernel: milliseconds (test_newton.py)


class Worked:
    """How much work an engine has done, and when the time is up."""

    def __init__(self):
        self.calls, self.late, self.passes = 0, np.inf, np.nan


@pytest.fixture
def worked(monkeypatch):
    found = Worked()
    fake = SimpleNamespace(perf_counter=lambda: float(found.calls >= found.late))
    monkeypatch.setattr("fenchel.minimisation.time", fake)
    return found


def watched(loss, regularizer, worked, **options):
    """A problem whose engine counts."""

    class Counting(Serial):
        def map(self, task, *args):
            worked.calls += 1
            if worked.calls == worked.late:
                worked.passes = problem.risk.passes
            return super().map(task, *args)

    problem = problem_for(loss, regularizer, strength=1e-4, engine=Counting(), **options)
    return problem


CASES = [
    (solver, loss, regularizer)
    for solver in SOLVERS
    for loss, regularizer in [
        (losses.Hinge(), "l2"),
        (losses.Logistic(), "l2"),
        (losses.Logistic(), "l1"),
        (losses.Hinge(), "l1"),
    ]
    if solver.obstacle(problem_for(loss, regularizer)) is None
]


@pytest.mark.parametrize(("solver", "loss", "regularizer"), CASES, ids=ids)
@pytest.mark.parametrize("late", [9, 48])
def test_little_is_done_once_the_time_is_up(solver, loss, regularizer, late, worked):
    problem = watched(loss, regularizer, worked, n=90)
    worked.calls, worked.late = 0, late
    result = fenchel.minimize(problem, solver, gap=1e-14, max_seconds=1, max_iterations=20)
    if result.status is not Status.TIME_LIMIT:  # it had ended before
        assert worked.calls < late + LEFT_CALLS
        return
    assert worked.calls - late <= LEFT_CALLS
    left = LEFT_PASSES + (SET_UP if getattr(solver, "widths", None) == "optimised" else 0)
    left += RUN if isinstance(solver, Newton) else 0
    assert problem.risk.passes - worked.passes <= left
    assert result.passes == result.history[-1].passes and result.seconds == 1
    assert 0 <= result.lower_bound <= result.objective


def test_an_epoch_of_batches_is_left_in_the_middle(worked):
    weighted = L2(weights=np.ones(3))  # which the kernel leaves to single steps
    problem = watched(losses.Hinge(), weighted, worked, n=90, d=3)
    worked.late = 12
    result = fenchel.minimize(problem, Pegasos(batch=1), max_seconds=1)
    assert (result.status, result.iterations) == (Status.TIME_LIMIT, 1)
    assert worked.calls <= 13


class Endless(Solver):
    """One step, and then a loop that never ends."""

    name = "endless"
    needs = Needs()

    def iterate(self, problem, w, state=None):
        """The start, and nothing more."""
        point = problem.risk.at(w)
        problem.pulse()  # before the first step no run can end
        yield Step(point, problem.objective(point))
        while True:
            problem.pulse()


def test_a_loop_between_two_steps_ends_where_it_calls_pulse(clock):
    result = fenchel.minimize(problem_for(losses.Hinge()), Endless(), max_seconds=7)
    assert (result.status, result.iterations) == (Status.TIME_LIMIT, 1)
    assert result.seconds >= 7


def test_the_first_step_is_always_taken(clock):
    result = fenchel.minimize(problem_for(losses.Hinge()), Endless(), max_seconds=1e-9)
    assert (result.status, result.iterations) == (Status.TIME_LIMIT, 1)


@pytest.mark.parametrize("solver", ["ls-bmrm", "sublbfgs", "sdca"])
def test_a_limit_that_is_not_reached_changes_no_bit(solver):
    problem = problem_for(losses.Hinge(), strength=1e-3)
    free = fenchel.minimize(problem, solver, gap=1e-8)
    limited = fenchel.minimize(problem, solver, gap=1e-8, max_seconds=1e6)
    assert np.array_equal(free.w, limited.w) and free.iterations == limited.iterations


@pytest.mark.parametrize("solver", ["ls-bmrm", "pegasos", "bmrm"])
def test_a_run_cut_short_goes_on_from_its_checkpoint_to_the_same_bits(solver, worked, tmp_path):
    whole = problem_for(losses.Hinge(), strength=1e-4, n=90)
    through = fenchel.minimize(
        whole, solver, gap=1e-6, max_iterations=40, checkpoint=tmp_path / "whole"
    )
    problem = watched(losses.Hinge(), "l2", worked, n=90)
    worked.late = worked.calls + 60
    options = {"gap": 1e-6, "max_iterations": 40, "checkpoint": tmp_path / "cut"}
    short = fenchel.minimize(problem, solver, max_seconds=1, **options)
    assert short.status is Status.TIME_LIMIT
    worked.late = np.inf
    resumed = fenchel.minimize(problem, solver, **options)
    assert np.array_equal(resumed.w, through.w) and resumed.lower_bound == through.lower_bound
    assert resumed.iterations == through.iterations
