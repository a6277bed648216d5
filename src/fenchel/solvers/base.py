"""What a solver is: a generator of steps, and a statement of what it needs.

A solver sees a problem through its risk (risks/base.py) and its regulariser, and yields a `Step`
an iteration: where it is, and what it can prove. The loop that asks for steps, and decides when to
end, is the driver's. `Needs` says what a problem must have, so that one that has not is refused
before any work is done.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from fenchel.errors import Phrase
from fenchel.regularizers import lacking
from fenchel.risks.base import Array, Point, Problem, View
from fenchel.risks.base import State as State  # what solvers and the driver call it
from fenchel.settings import Configured
from fenchel.witness import Witness


@dataclass(frozen=True)
class Step:
    """One iteration: a point, J there, and the best lower bound proved by now.

    A bound is believed with its `witness` only; without, it is left out of the certificate.
    """

    point: Point
    objective: float
    lower_bound: float = float("-inf")
    witness: Callable[[], Witness] | None = None  # makes the evidence for lower_bound
    state: Callable[[], State] | None = None  # makes what `iterate` can go on from
    phase: int = 0  # of a solver that changes its method on the way


class Found(NamedTuple):
    """A minimiser and what its solver claims of it, of which nothing is verified.

    `alpha` makes the dual variables that prove the bound, where it is known how.
    """

    w: Array
    intercept: float | Array
    objective: float
    lower_bound: float
    alpha: Callable[[], Array] | None = None


@dataclass(frozen=True)
class Needs:
    """What a solver asks of a problem; everything else it must not rely on.

    `regularizer` names the methods of the regulariser that it calls and that must be written, and
    the claims that must hold of it (regularizers/base.py).
    """

    regularizer: tuple[str, ...] = ()
    differentiable: bool = False
    strongly_convex: bool = False
    positive_strength: bool = True
    views: tuple[type[View], ...] = ()  # of the risk


class Solver(Configured, ABC):
    """A method that minimises a problem, one `Step` at a time.

    It never tests for convergence, prints, times or keeps history: `minimize` does that for all.
    A generator that ends says that no further progress is possible.

    `minimize` believes the objective of each step, and a lower bound that comes with its evidence:
    a step's `witness` makes what `fenchel.verify` can recompute the bound from. A bound without
    one is left out of the certificate, with a warning, so that a run cannot converge by it. A bound
    above the objective ends in InvalidCertificate, and so does evidence of a user's solver that
    does not prove it: `minimize` verifies that before such a run converges
    (docs/how-to/own-solver.md).
    """

    name: ClassVar[str]
    needs: ClassVar[Needs]
    patience: ClassVar[int] = 50  # iterations without better bounds after which it is stalled
    takes_kernels: ClassVar[bool] = False  # rows may be known through a kernel alone
    takes_duals: ClassVar[bool] = False  # a state may be another problem's w, alpha and offset b

    @abstractmethod
    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """Steps from w towards the minimiser; the first is w itself.

        With a `state` that one of its steps made, the solver goes on with what it had learnt.
        """

    def aiming(self, gap: float) -> Solver:
        """The solver for a run that ends at this relative gap; most do not care."""
        return self

    def follow(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Found] | None:
        """The minimisers at strengths > 0 that decrease, for the gap that it aims at; or None.

        For solvers that know a way which takes less time than a run for each strength. One that
        falls short of the gap says so by its bounds, and the path goes on.
        """
        return None

    def _penalises_enough(self, problem: Problem) -> bool:
        """Whether the regulariser is as strongly convex as the solver needs it."""
        return problem.regularizer.strong_convexity > 0

    def obstacle(self, problem: Problem) -> str | None:
        """Why this solver cannot minimise this problem, or None."""
        needs, regularizer = self.needs, problem.regularizer
        if problem.risk.facts.by_kernel and not self.takes_kernels:
            return "it works on columns, but the rows are known through a kernel alone"
        if needs.strongly_convex and not self._penalises_enough(problem):
            return (
                "it needs a strongly convex regulariser, every coordinate penalised (weights > 0)"
            )
        for fact in needs.regularizer:
            if not regularizer.has(fact):
                return f"it needs {lacking(regularizer, fact)}"
        if needs.differentiable and not problem.risk.facts.differentiable:
            return "it needs a differentiable loss"
        if needs.positive_strength and problem.strength == 0:
            return Phrase.of("it needs {strength} > 0")
        obstacles = (view.obstacle(problem.risk) for view in needs.views)
        return next((found for found in obstacles if found is not None), None)
