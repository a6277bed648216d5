"""Accelerated and primal-dual methods beside bundles and ascent: docs/benchmarks/accelerated.md.

[Zhang11] printed no experiments. One thread; passes and CPU seconds to certified gaps:

    gaps       the hinge at several strengths, on the sets that geometries and constants were
               chosen on
    others     the same at one strength on sets that nothing was chosen on, quantiles included
    kinds      L1, an intercept, entropy, a ball, several classes
    measures   ROC area, F1 and the break-even point of precision and recall
    geometry   agm-inf and pdhg in each geometry
    curvature  the estimate of L beside the true one
    plot       docs/accelerated-*.svg

    FENCHEL_DATA=... python benchmarks/accelerated.py [--write] [part ...]

`--write` puts the tables into the page, between their marks. All of it is bounded to ten minutes or
so: a run ends after SECONDS of processor time.
"""

from __future__ import annotations

import itertools
import re
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from data import a9a, imdb, news, real, table, two_classes
from scipy import sparse
from scipy.sparse.linalg import svds
from sklearn.preprocessing import MaxAbsScaler, scale
from threadpoolctl import threadpool_limits

import fenchel
from fenchel.losses import Quantile
from fenchel.regularizers import ElasticNetBall, Entropy
from fenchel.risks.views.forms import PrimalForm
from fenchel.solvers import PDHG, AGMInf, AGMOne, Solver

GAPS = (1e-2, 1e-3)
STRENGTHS = (1e-3, 1e-4, 1e-5)
SECONDS = 1.5  # of a run, at most
PAGE = Path(__file__).parent.parent / "docs/benchmarks/accelerated.md"
METHODS: dict[str, Callable[[], Solver]] = {
    "agm-inf primal": AGMInf,
    "agm-inf dual": lambda: AGMInf("dual"),
    "agm-inf homotopy": lambda: AGMInf("homotopy"),
    "agm-1 primal": AGMOne,
    "excessive-gap": lambda: fenchel.solver("excessive-gap"),
    "pdhg": PDHG,
    "bmrm": lambda: fenchel.solver("bmrm"),
    "ls-bmrm": lambda: fenchel.solver("ls-bmrm"),
    "sdca": lambda: fenchel.solver("sdca"),
}
SHORT = ("agm-inf primal", "agm-inf homotopy", "pdhg", "bmrm", "ls-bmrm", "sdca")


def w8a() -> tuple[Any, Any]:
    return real("w8a/w8a", 300)


def covtype() -> tuple[Any, Any]:
    X, y = real("covtype/covtype", 54)
    rows = np.random.default_rng(0).permutation(len(y))[:100_000]
    return MaxAbsScaler().fit_transform(X[rows]), two_classes(y[rows], 2)


def counts() -> tuple[Any, Any]:
    """Movie reviews as counts of words, each column over its largest."""
    X, y = imdb()
    return MaxAbsScaler().fit_transform(X), two_classes(y, 1)


def regression(name: str, d: int | None = None) -> tuple[Any, Any]:
    X, y = table(name) if d is None else real(f"{name}/{name}.svm", d)
    X = MaxAbsScaler().fit_transform(X)
    return sparse.csr_array(X) if sparse.issparse(X) else X, (y - y.mean()) / y.std()


SETS = {"a9a": a9a, "w8a": w8a, "20news": news}


class Run:
    """A fit that stops at a gap, or when its CPU seconds are used up."""

    def __init__(self, problem: fenchel.Problem, solver: Any, gap: float, seconds: float = SECONDS):
        self.clock: list[float] = []
        start, before = time.process_time(), problem.risk.passes

        def late(record: fenchel.Record) -> bool:
            self.clock.append(time.process_time() - start)
            return self.clock[-1] > seconds

        self.result = fenchel.minimize(
            problem, solver, gap=gap, max_iterations=10**6, callback=late
        )
        self.before = before

    def timed(self) -> fenchel.Result:
        """The result with CPU seconds in its history."""
        pairs = zip(self.result.history, self.clock, strict=True)
        history = [record._replace(seconds=clock) for record, clock in pairs]
        return replace(self.result, history=history, seconds=self.clock[-1])

    def reached(self, gap: float) -> tuple[str, str]:
        """Passes and CPU seconds to a gap."""
        pairs = zip(self.result.history, self.clock, strict=True)
        found = ((record.passes, clock) for record, clock in pairs if record.gap <= gap)
        return next(((f"{passes}", f"{clock:.1f}") for passes, clock in found), ("-", "-"))


def reached(problem: fenchel.Problem, solver: Solver) -> str:
    """Passes to each gap, and seconds: of one run, or one each where mu follows the gap."""
    obstacle = solver.obstacle(problem)
    if obstacle is not None:
        return "cannot"
    own = getattr(solver, "form", None) == "primal" and not problem.risk.facts.differentiable
    run, cells = None, []
    for gap in GAPS:
        if run is None or (own and run.result.converged):
            run = Run(problem, solver, gap if own else GAPS[-1])
        cells.append(run.reached(gap))
    passes, seconds = (" / ".join(each) for each in zip(*cells, strict=True))
    return "-" if passes == "- / -" else f"{passes} ({seconds} s)"


def lines(head: str, columns: list[str], rows: Iterator[tuple[str, list[str]]]) -> Iterator[str]:
    """A table in Markdown, line by line as it is made."""
    yield f"| {head} | " + " | ".join(columns) + " |"
    yield "|---" * (len(columns) + 1) + "|"
    for name, cells in rows:
        yield f"| {name} | " + " | ".join(cells) + " |"


def gaps() -> Iterator[str]:
    """Passes and CPU seconds to each gap, hinge loss."""
    for name, load in SETS.items():
        X, y = load()
        problems = [
            fenchel.problem(X, y, loss="hinge", strength=strength, engine="serial")
            for strength in STRENGTHS
        ]
        rows = ((m, [reached(p, make()) for p in problems]) for m, make in METHODS.items())
        yield from lines(name, [f"{strength:g}" for strength in STRENGTHS], rows)
        yield ""


def others() -> Iterator[str]:
    """Sets that nothing was chosen on."""
    serial = {"engine": "serial"}
    made: dict[str, fenchel.Problem] = {}
    for name, load in (("covtype", covtype), ("imdb", counts)):
        made[f"{name} hinge"] = fenchel.problem(*load(), loss="hinge", strength=1e-4, **serial)
    for name, d in (("cpusmall", None), ("cal_housing", None), ("fried", None)):
        X, y = regression(name, d)
        made[f"{name} quantile"] = fenchel.problem(
            X, y, loss=Quantile(0.9), strength=1e-4, **serial
        )
    rows = ((n, [reached(p, METHODS[m]()) for m in SHORT]) for n, p in made.items())
    yield from lines("strength 1e-4", list(SHORT), rows)


def kinds() -> Iterator[str]:
    """Other regularisers, an intercept, several classes."""
    made: dict[str, fenchel.Problem] = {}
    for name, load in (("a9a", a9a), ("20news", news)):
        X, y = load()
        hinge: dict[str, Any] = {"loss": "hinge", "engine": "serial"}
        made[f"{name}, entropy, 1e-2"] = fenchel.problem(
            X, y, strength=1e-2, regularizer=Entropy(), **hinge
        )
        made[f"{name}, ball of 10"] = fenchel.problem(
            X, y, strength=1e-3, regularizer=ElasticNetBall(10.0, 0.5), **hinge
        )
        made[f"{name}, l1, 1e-3"] = fenchel.problem(X, y, strength=1e-3, regularizer="l1", **hinge)
        made[f"{name}, intercept, 1e-4"] = fenchel.problem(
            X, y, strength=1e-4, intercept=True, **hinge
        )
    X, y = real("letter/letter", 16)
    made["letter, multiclass hinge, 1e-4"] = fenchel.problem(
        X, y, loss="multiclass_hinge", strength=1e-4, engine="serial"
    )
    rows = ((n, [reached(p, METHODS[m]()) for m in SHORT]) for n, p in made.items())
    yield from lines("problem", list(SHORT), rows)


def measures() -> Iterator[str]:
    """Measures of all rows, their maxima made soft."""
    X, y = table("mammography")
    sets = {"a9a": a9a(), "w8a": w8a(), "mammography": (scale(X), y)}
    chosen = ("agm-inf primal", "agm-inf homotopy", "bmrm", "ls-bmrm")
    made = {
        f"{name}, {loss}, {strength:g}": fenchel.problem(
            *rows, loss=loss, strength=strength, engine="serial"
        )
        for loss in ("roc", "fbeta", "prbep")
        for name, rows in sets.items()
        for strength in (1e-3, 1e-5)
    }
    found = ((n, [reached(p, METHODS[m]()) for m in chosen]) for n, p in made.items())
    yield from lines("problem", list(chosen), found)


def geometry() -> Iterator[str]:
    """Each prox-function."""
    problems = {
        f"{name} hinge": fenchel.problem(*load(), loss="hinge", strength=1e-4, engine="serial")
        for name, load in SETS.items()
    }
    X, y = regression("mv", 12)
    problems["mv quantile"] = fenchel.problem(
        X, y, loss=Quantile(0.9), strength=1e-3, engine="serial"
    )
    cases = itertools.product((PDHG, AGMInf), ("own", "columns", "whitened"))
    rows = (
        (f"{kind.name}, {prox}", [reached(p, kind(prox=prox)) for p in problems.values()])
        for kind, prox in cases
    )
    yield from lines("", list(problems), rows)


def curvature() -> Iterator[str]:
    """The median estimate of L over 200 iterations, relative to the true one."""
    yield "| data | loss | L_k / L: median | least | largest | L tried an iteration |"
    yield "|---|---|---|---|---|---|"
    for name, load in SETS.items():
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
            yield (
                f"| {name} | {loss}{f', mu = {mu:g}' if mu else ''} | {np.median(found):.3f} | "
                f"{min(found):.3f} | {max(found):.3f} | {trials:.2f} |"
            )


def plot() -> Iterator[str]:
    """Draws docs/accelerated-*.svg, in CPU seconds."""
    chosen = ("agm-inf primal", "agm-inf dual", "pdhg", "bmrm", "ls-bmrm")
    for name, load in (("a9a", a9a), ("20news", news)):
        problem = fenchel.problem(*load(), loss="hinge", strength=1e-4, engine="serial")
        runs = {method: Run(problem, METHODS[method](), 1e-4, 5).timed() for method in chosen}
        title = f"{name}: hinge loss, strength 1e-4, CPU seconds"
        fenchel.plot(runs, PAGE.parent.parent / f"accelerated-{name}.svg", title=title)
        yield f"accelerated-{name}.svg"


PARTS = {
    "gaps": gaps,
    "others": others,
    "kinds": kinds,
    "measures": measures,
    "geometry": geometry,
    "curvature": curvature,
    "plot": plot,
}


def put(part: str, table: list[str]) -> None:
    """The table in the page, between its marks."""
    text, marks = PAGE.read_text(), (f"<!-- {part} -->", f"<!-- end of {part} -->")
    block = "\n".join([marks[0], "", *table, "", marks[1]])
    pattern = re.escape(marks[0]) + ".*?" + re.escape(marks[1])
    PAGE.write_text(re.sub(pattern, lambda _: block, text, flags=re.DOTALL))


if __name__ == "__main__":
    wanted = [name for name in sys.argv[1:] if name in PARTS] or list(PARTS)
    with threadpool_limits(1):
        for part in wanted:
            made = []
            for line in PARTS[part]():
                print(line, flush=True)
                made.append(line)
            if "--write" in sys.argv:
                put(part, made)
