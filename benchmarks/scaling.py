"""T(n) of [Teo07] figure 6: an iteration of BMRM with one Dask worker and with two.

FENCHEL_DATA=... python benchmarks/scaling.py

About three minutes. Median and range of three runs of 25 iterations each, in ms. `compute` is the
CPU time of the busier worker in an iteration, `driver` that of the solver and of all it does with
the sums, `messages` what is left of the time: sending, waiting and dispatch.
"""

from __future__ import annotations

import statistics
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from reproduction.figures.teo07_6 import LOSSES
from reproduction.scaling import scaled

STRENGTH, WORKERS, ITERATIONS, RUNS = 1e-3, [1, 2], 25, 3
PARTS = ("seconds", "busy", "driver")


def main() -> None:
    print("| loss | data | shards | workers | T | compute | driver | messages |")
    print("|---|---|---|---|---|---|---|---|")
    for loss, data in LOSSES.items():
        runs = [scaled(loss, data, STRENGTH, None, WORKERS, ITERATIONS) for _ in range(RUNS)]
        for k, n in enumerate(WORKERS):
            whole, busy, own = ([1e3 * run[key][k] for run in runs] for key in PARTS)
            left = [max(T - t - s, 0.0) for T, t, s in zip(whole, busy, own, strict=True)]
            cells = " | ".join(map(spread, (whole, busy, own, left)))
            print(f"| {loss} | {data} | {runs[0]['shards']} | {n} | {cells} |", flush=True)


def spread(ms: list[float]) -> str:
    """The median and the range."""
    return f"{statistics.median(ms):.1f} ({min(ms):.1f}-{max(ms):.1f})"


if __name__ == "__main__":
    main()
