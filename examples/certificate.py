"""Draws docs/certificate.svg: both bounds of the minimum closing in on it.

FENCHEL_DATA=... python examples/certificate.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib.pyplot as plt

import fenchel

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "benchmarks"))

from data import a9a  # noqa: E402 - the benchmarks' loader

RUNS = {
    "bmrm": fenchel.solver("bmrm"),
    "bmrm as in the papers (step=1)": fenchel.solver("bmrm", step=1.0),
    "bmrm-noqp": fenchel.solver("bmrm-noqp"),
}


def main() -> None:
    X, y = a9a()
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-4)
    figure, (bounds, gaps) = plt.subplots(1, 2, figsize=(10, 3.6), layout="constrained")
    for label, solver in RUNS.items():
        history = fenchel.minimize(problem, solver, gap=1e-5, max_iterations=1500).history
        passes = [record.passes for record in history]
        (line,) = bounds.plot(passes, [record.objective for record in history], label=label)
        bounds.plot(
            passes, [record.lower_bound for record in history], color=line.get_color(), ls="--"
        )
        gaps.loglog(passes, [record.gap for record in history], color=line.get_color())
    bounds.set(ylim=(0.30, 0.42), xlim=(0, 600), xlabel="passes over X", ylabel="J")
    bounds.set_title("objective (solid) and proved lower bound (dashed)", fontsize=10)
    bounds.legend(fontsize=8, frameon=False)
    gaps.set(xlabel="passes over X", ylabel="gap")
    gaps.set_title("certified relative gap", fontsize=10)
    for axis in (bounds, gaps):
        axis.spines[["top", "right"]].set_visible(False)
    figure.savefig(ROOT / "docs" / "certificate.svg")


if __name__ == "__main__":
    main()
