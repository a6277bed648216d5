"""Draws docs/certificate.svg, both bounds of the minimum closing in on it, and docs/race.svg.

FENCHEL_DATA=... python examples/certificate.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import fenchel
from fenchel.report.curves import curves
from fenchel.report.plots import write_curves

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from data import a9a  # noqa: E402 - the benchmarks' loader

SOLVERS = (
    "polish",
    "sdca",
    "ls-bmrm",
    "bmrm",
    "sublbfgs",
    "hybrid",
    "agm-inf",
    "excessive-gap",
    "bmrm-noqp",
)


def main() -> None:
    problem = fenchel.problem(*a9a(), loss="hinge", strength=1e-4)
    fenchel.minimize(problem, max_iterations=1)  # so that the first run does not pay for imports
    runs = fenchel.race(problem, SOLVERS, gap=1e-5, max_iterations=3000, max_seconds=20.0)
    title = "Support vector machine on the Adult data (a9a, 32,561 rows), strength 1e-4"
    write_curves(curves(runs["bmrm"]), ROOT / "docs" / "certificate.svg", title=title)
    write_curves(curves(runs), ROOT / "docs" / "race.svg", title=title)


if __name__ == "__main__":
    main()
