"""Accelerated gradient methods beside bundle and quasi-Newton methods.

[Zhang11] printed no experiments.


Three tables on one thread: passes and CPU seconds to certified gaps over strengths; the same
certified minimum as other solvers on many problems; and the estimate of L beside the true one.

    FENCHEL_DATA=... python benchmarks/accelerated.py [curvature|gaps|minima|plot]
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from data import a9a, news, real, two_classes
from scipy.sparse.linalg import svds
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_limits

import fenchel
from fenchel.losses import Quantile
from fenchel.risks.views.forms import PrimalForm
from fenchel.solvers import AGMInf, AGMOne, Solver

GAPS = (1e-2, 1e-3, 1e-4)
STRENGTHS = (1e-3, 1e-4, 1e-5, 1e-6)
ITERATIONS = 1000  # of a fit, at most
SECONDS = 10.0  # the same, for the table of gaps
PATIENT = 120.0  # and for that of minima
VARIANTS: dict[str, Solver] = {
    "agm-1 primal": AGMOne(),
    "agm-1 dual": AGMOne("dual"),
    "agm-1 homotopy": AGMOne("homotopy"),
    "primal, optimised widths": AGMInf(widths="optimised"),
    "homotopy, optimised widths": AGMInf("homotopy", widths="optimised"),
    "fista": fenchel.solver("fista"),
    "proximal-gradient": fenchel.solver("proximal-gradient"),
}
METHODS: dict[str, Solver] = {
    "agm-inf primal": AGMInf(),
    "agm-inf dual": AGMInf("dual"),
    "agm-inf homotopy": AGMInf("homotopy"),
    "excessive gap": fenchel.solver("excessive-gap"),
    "bmrm": fenchel.solver("bmrm"),
    "ls-bmrm": fenchel.solver("ls-bmrm"),
    "sublbfgs": fenchel.solver("sublbfgs"),
}


def w8a() -> tuple[Any, Any]:
    return real("w8a/w8a", 300)


def covtype() -> tuple[Any, Any]:
    X, y = real("covtype/covtype", 54)
    return MaxAbsScaler().fit_transform(X), two_classes(y, 2)


def regression(name: str, d: int) -> tuple[Any, Any]:
    X, y = real(f"{name}/{name}.svm", d)
    return MaxAbsScaler().fit_transform(X), (y - y.mean()) / y.std()


SETS = {"a9a": a9a, "w8a": w8a, "20news": news}


class Run:
    """A fit that stops at a gap, or when its iterations or its CPU seconds are used up."""

    def __init__(self, problem: fenchel.Problem, solver: Any, gap: float, seconds: float):
        self.clock: list[float] = []
        start = time.process_time()

        def late(record: fenchel.Record) -> bool:
            self.clock.append(time.process_time() - start)
            return self.clock[-1] > seconds

        self.result = fenchel.minimize(
            problem, solver, gap=gap, max_iterations=ITERATIONS, callback=late
        )

    def timed(self) -> fenchel.Result:
        """The result with CPU seconds in its history."""
        pairs = zip(self.result.history, self.clock, strict=True)
        history = [record._replace(seconds=clock) for record, clock in pairs]
        return replace(self.result, history=history, seconds=self.clock[-1])

    def reached(self, gap: float) -> str:
        """Passes and CPU seconds to a gap."""
        pairs = zip(self.result.history, self.clock, strict=True)
        found = ((record.passes, clock) for record, clock in pairs if record.gap <= gap)
        return next((f"{passes}, {clock:.1f} s" for passes, clock in found), "-")


def reached(problem: fenchel.Problem, solver: Solver) -> Iterator[str]:
    """Passes and seconds to each gap: of one run, or one each where mu follows the gap."""
    run = None
    own = getattr(solver, "form", None) == "primal" and solver.mu is None
    for gap in GAPS:
        if run is None or (own and run.result.converged):
            run = Run(problem, solver, gap if own else GAPS[-1], SECONDS)
        yield run.reached(gap)


def gaps() -> None:
    """Passes and CPU seconds to each gap, hinge loss."""
    for name, load in SETS.items():
        X, y = load()
        for strength in STRENGTHS:
            heads = [f"{name}, {strength:g}", *(f"{gap:g}" for gap in GAPS)]
            print("\n| " + " | ".join(heads) + " |")
            print("|---" * len(heads) + "|")
            problem = fenchel.problem(X, y, loss="hinge", strength=strength, engine="serial")
            first = VARIANTS if strength == STRENGTHS[0] else {}
            for method, solver in {**METHODS, **first}.items():
                print(f"| {method} | {' | '.join(reached(problem, solver))} |", flush=True)


def problems() -> Iterator[tuple[str, fenchel.Problem]]:
    """One or more for each kind and each set."""
    serial = {"engine": "serial"}
    for name, load in {**SETS, "covtype": covtype}.items():
        X, y = load()
        hinge = {"loss": "hinge", **serial}
        yield f"{name} hinge", fenchel.problem(X, y, strength=1e-3, **hinge)
        yield f"{name} hinge, bias", fenchel.problem(X, y, strength=1e-3, intercept=True, **hinge)
        yield (
            f"{name} L1 hinge",
            fenchel.problem(X, y, strength=1e-3, regularizer="l1", **hinge),
        )
        yield f"{name} logistic", fenchel.problem(X, y, loss="logistic", strength=1e-3, **serial)
    for name, d in (("mv", 12), ("abalone", 10)):
        X, y = regression(name, d)
        yield (
            f"{name} squares, elastic net",
            fenchel.problem(
                X, y, loss="squared_error", regularizer="elastic_net", strength=1e-3, **serial
            ),
        )
        yield (
            f"{name} quantile 0.9",
            fenchel.problem(X, y, loss=Quantile(0.9), strength=1e-3, **serial),
        )


def minima() -> None:
    """Whether the certified interval meets that of another solver; passes to a gap of 1e-4."""
    print("| problem | other | its minimum | solver | passes | seconds | gap | agrees |")
    print("|---|---|---|---|---|---|---|---|")
    for name, problem in problems():
        other = fenchel.minimize(problem, gap=1e-6, max_seconds=60)
        methods = (
            [AGMInf()] if problem.risk.facts.differentiable else [AGMInf(), AGMInf("homotopy")]
        )
        for solver in methods:
            run = Run(problem, solver, 1e-4, PATIENT)
            found, seconds = run.result, run.clock[-1]
            meets = found.lower_bound <= other.objective and other.lower_bound <= found.objective
            print(
                f"| {name} | {other.solver} | {other.objective:.6f} | agm-inf {solver.form} | "
                f"{found.passes} | {seconds:.1f} | {found.gap:.0e} | {'yes' if meets else 'NO'} |",
                flush=True,
            )


def curvature() -> None:
    """The median estimate of L over 200 iterations, relative to the true one."""
    print("| data | loss | form | L_k / L, median | least | largest | trials an iteration |")
    print("|---|---|---|---|---|---|---|")
    for name, load in (("a9a", a9a), ("w8a", w8a), ("20news", news)):
        X, y = load()
        longest = float(svds(X, k=1, return_singular_vectors=False)[0]) ** 2 / X.shape[0]
        for loss, mu in (("hinge", 1e-2), ("logistic", 0.0)):
            problem = fenchel.problem(X, y, loss=loss, strength=1e-4, engine="serial")
            J = PrimalForm(problem, mu)
            L = longest * (1 / mu if mu else problem.risk.loss.smoothness)
            before = problem.risk.passes
            steps = AGMInf().iterates(J, J.start(np.zeros(X.shape[1])), 0.05 * J.L)
            found = [it.L / L for it in itertools.islice(steps, 200)]
            trials = (problem.risk.passes - before) / 2 / len(found)
            print(
                f"| {name} | {loss}{f', mu = {mu:g}' if mu else ''} | primal | "
                f"{np.median(found):.3f} | {min(found):.3f} | {max(found):.3f} | {trials:.2f} |",
                flush=True,
            )


def plot() -> None:
    """Draws docs/accelerated-*.svg, in CPU seconds."""
    chosen = ("agm-inf primal", "agm-inf dual", "agm-inf homotopy", "excessive gap", "bmrm")
    docs = Path(__file__).parent.parent / "docs"
    for name, load in (("a9a", a9a), ("20news", news)):
        problem = fenchel.problem(*load(), loss="hinge", strength=1e-3, engine="serial")
        runs = {method: Run(problem, METHODS[method], 1e-4, PATIENT).timed() for method in chosen}
        title = f"{name}: hinge loss, strength 1e-3, CPU seconds"
        fenchel.plot(runs, docs / f"accelerated-{name}.svg", title=title)


if __name__ == "__main__":
    parts = {"curvature": curvature, "gaps": gaps, "minima": minima, "plot": plot}
    with threadpool_limits(1):
        for part in sys.argv[1:] or parts:
            parts[part]()
