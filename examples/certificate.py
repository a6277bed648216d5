"""Draws docs/certificate.svg: both bounds of the minimum closing in on it.

FENCHEL_DATA=... python examples/certificate.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import fenchel

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from data import a9a  # noqa: E402 - the benchmarks' loader

SOLVERS = {
    "bmrm": fenchel.solver("bmrm"),
    "bmrm as in the papers (step=1)": fenchel.solver("bmrm", step=1.0),
    "bmrm-noqp": fenchel.solver("bmrm-noqp"),
}


def main() -> None:
    problem = fenchel.problem(*a9a(), loss="hinge", strength=1e-4)
    fenchel.minimize(problem, max_iterations=1)  # so that the first run does not pay for imports
    runs = {
        name: fenchel.minimize(problem, solver, gap=1e-5, max_iterations=1500)
        for name, solver in SOLVERS.items()
    }
    fenchel.plot(runs, ROOT / "docs" / "certificate.svg", title="a9a: hinge loss, strength 1e-4")


if __name__ == "__main__":
    main()
