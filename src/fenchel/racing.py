"""`fenchel.race`: several solvers on one problem, and who certified what first."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from fenchel.driver import minimize
from fenchel.errors import Incompatible, InvalidData
from fenchel.milestones import FIRSTS, Milestone, cells, milestones
from fenchel.notebook import table
from fenchel.result import Record, Result, Status, relative_gap
from fenchel.risks.base import Problem
from fenchel.settings import understood
from fenchel.solvers import SOLVERS, Solver, chosen

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Solvers = str | Sequence[str | Solver] | Mapping[str, str | Solver]


class Race(Mapping[str, Result]):
    """The results of several solvers on one problem, by their names; `plot` draws them."""

    def __init__(self, problem: Problem, results: Mapping[str, Result]):
        self.problem, self._results = problem, dict(results)

    def __getitem__(self, name: str) -> Result:
        return self._results[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._results)

    def __len__(self) -> int:
        return len(self._results)

    @property
    def lower_bound(self) -> float:
        """The best of all bounds, by which every run can be judged: they have one minimum."""
        return max(result.lower_bound for result in self.values())

    @property
    def objective(self) -> float:
        """The least J that any of them found."""
        return min(result.objective for result in self.values())

    def excess(self, name: str) -> float:
        """How far a solver's objective is above the best bound of all, relatively."""
        return relative_gap(self[name].objective, self.lower_bound)

    @property
    def milestones(self) -> list[Milestone]:
        """Who certified 0.1, 0.01 and so on first, down to the smallest gap of any run."""
        return milestones(self)

    def plot(self, path: str | os.PathLike[str] | None = None, **options: Any) -> Figure:
        """Draws bounds and gaps against passes and seconds; see `fenchel.plot`."""
        from fenchel.report.plots import plot

        return plot(self, path, **options)

    def _repr_html_(self) -> str:
        first = [(f"{m.gap:g}", *cells(m)) for m in self.milestones]
        return table(repr(self.problem), STANDINGS, self.standings()) + table(
            "Who certified what first", FIRSTS, first
        )

    def standings(self) -> list[tuple[str, ...]]:
        """A line of text for each solver, as `STANDINGS` heads them."""
        return [
            (
                name,
                f"{result.lower_bound:.8g}",
                f"{result.objective:.8g}",
                f"{result.gap:.1e}",
                f"{self.excess(name):.1e}",
                f"{result.iterations:,}",
                f"{result.passes:,}",
                f"{result.seconds:.2f}",
                result.status.name.lower().replace("_", " "),
            )
            for name, result in self.items()
        ]

    def __repr__(self) -> str:
        ends = self.milestones
        first = f"; {ends[-1].by_seconds[0]} first at {ends[-1].gap:g}" if ends else ""
        done = sum(result.converged for result in self.values())
        return (
            f"Race({len(self)} solvers, {done} converged: "
            f"{self.lower_bound:.8g} <= min J <= {self.objective:.8g}{first})"
        )


STANDINGS = tuple(
    "solver,lower bound,objective,gap,above best bound,iterations,passes,seconds,ended".split(",")
)


@understood
def race(
    problem: Problem,
    solvers: Solvers = "all",
    *,
    gap: float = 1e-4,
    atol: float = 0.0,
    max_iterations: int = 10_000,
    max_seconds: float | None = 60.0,
    w0: npt.ArrayLike | None = None,
    callback: Callable[[str, Record], Any] | None = None,
) -> Race:
    """Runs solvers one after the other on a problem, each until it certifies the gap.

    `solvers` are names or instances, or a mapping from names of your choice to them; "all" takes
    every one that can. They start from the same point, and have `max_seconds` each. What the
    problem keeps for all, such as the lengths of its rows, is computed before and counts for none.

    `callback` sees the solver's name and a `Record` after each iteration; if it returns true, or at
    Ctrl-C, the race ends with the run that is under way. A solver that cannot minimise the problem
    is an error before any of them starts.
    """
    if not isinstance(problem, Problem):
        raise Incompatible(
            f"race needs a Problem, made by fenchel.problem(X, y); got {type(problem).__name__}"
        )
    wanted = entered(solvers, problem)
    for method in wanted.values():
        chosen(method, problem)  # refuses what cannot be done
    _ = problem.risk.length, problem.risk.curvature()  # kept by the risk
    results: dict[str, Result] = {}
    for name, method in wanted.items():
        results[name] = minimize(
            problem,
            method,
            gap=gap,
            atol=atol,
            max_iterations=max_iterations,
            max_seconds=max_seconds,
            w0=w0,
            callback=None if callback is None else _named(callback, name),
        )
        if results[name].status is Status.INTERRUPTED:
            break
    return Race(problem, results)


def _named(callback: Callable[[str, Record], Any], name: str) -> Callable[[Record], Any]:
    return lambda record: callback(name, record)


def label(solver: str | Solver) -> str:
    """The solver's name, with those of its settings that are not the usual ones."""
    if isinstance(solver, str):
        return solver
    kind = type(solver)
    usual = {name: p.default for name, p in inspect.signature(kind.__init__).parameters.items()}
    given = {k: v for k, v in solver.settings().items() if k not in usual or v != usual[k]}
    changed = ", ".join(f"{name}={value!r}" for name, value in given.items())
    return f"{solver.name}({changed})" if changed else solver.name


def entered(solvers: Solvers, problem: Problem) -> dict[str, str | Solver]:
    """The solvers by their names; instances of one solver are told apart by their settings."""
    if isinstance(solvers, Mapping):
        found = {str(name): solver for name, solver in solvers.items()}
    elif isinstance(solvers, str):
        able = [name for name, kind in SOLVERS.items() if kind().obstacle(problem) is None]
        found = {name: name for name in able} if solvers == "all" else {solvers: solvers}
    else:
        found = {label(each): each for each in solvers}
        if len(found) < len(solvers):
            raise InvalidData("the same solver is entered twice: give a mapping from names to them")
    if not found:
        raise InvalidData("no solver is entered")
    return found
