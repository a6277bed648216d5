"""What a path of strengths costs beside its hardest single fit, cold, in the same run.

For each data set and loss: CPU seconds (one thread) and passes over X of 30 strengths from 1e-1 to
1e-6, each to a certified gap of 1e-4; of the same fits without a warm start; and of the hardest of
those. Medians over repeats. Usage: paths.py [set ...] [--losses hinge ...] [--repeats 3]
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import time
from collections.abc import Callable
from typing import Any

import data
import numpy as np

import fenchel

SETS: dict[str, Callable[[], tuple[Any, Any]]] = {"a9a": data.a9a, "20news": data.news}
LOSSES = ("hinge", "squared_hinge", "logistic")
STRENGTHS = np.geomspace(1e-1, 1e-6, 30)


def cpu_seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.process_time()
    done = work()
    return time.process_time() - begin, done


def measured(problem: fenchel.Problem, gap: float, solver: str) -> tuple[list[float], int]:
    """Seconds and passes of the path, of all cold fits, of the hardest; how many fell short."""
    path_seconds, path = cpu_seconds(lambda: fenchel.path(problem, STRENGTHS, solver, gap=gap))
    cold = [
        cpu_seconds(lambda at=at: fenchel.minimize(at, solver, gap=gap))
        for at in (dataclasses.replace(problem, strength=strength) for strength in STRENGTHS)
    ]
    seconds, passes = [each for each, _ in cold], [result.passes for _, result in cold]
    path_passes = sum(result.passes for result in path)
    short = sum(not result.converged for result in [*path, *(result for _, result in cold)])
    figures = [path_seconds, sum(seconds), max(seconds), path_passes, sum(passes), max(passes)]
    return figures, short


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--losses", nargs="+", default=LOSSES)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--gap", type=float, default=1e-4)
    parser.add_argument("--solver", default="auto")
    options = parser.parse_args()
    print("| data | loss | solver | path s | 30 cold s | hardest s | path / hardest | in passes |")
    print("|---|---|---|---|---|---|---|---|")
    for name in options.sets:
        X, y = SETS[name]()
        for loss in options.losses:
            problem = fenchel.problem(X, y, loss=loss, engine="serial")
            fenchel.minimize(problem, options.solver, max_iterations=3)  # warms caches and clocks
            runs = [measured(problem, options.gap, options.solver) for _ in range(options.repeats)]
            path, cold, hardest, path_n, _, hardest_n = (
                statistics.median(figures[k] for figures, _ in runs) for k in range(6)
            )
            ratio = statistics.median(figures[0] / figures[2] for figures, _ in runs)
            short = f" ({runs[0][1]} short)" if runs[0][1] else ""
            print(
                f"| {name} | {loss} | {options.solver}{short} | {path:.2f} | {cold:.2f} "
                f"| {hardest:.2f} | {ratio:.1f} | {path_n:.0f} / {hardest_n:.0f} "
                f"= {path_n / hardest_n:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
