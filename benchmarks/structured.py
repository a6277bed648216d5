"""Max-margin networks: passes and seconds to certified gaps of 1e-2 and 1e-3, by solver.

    FENCHEL_DATA=... python benchmarks/structured.py
    FENCHEL_DATA=... python benchmarks/pages.py docs/benchmarks/sequences.md --only structured

Arguments, by default all: `letters` (OCR letters, 626 words; two minutes), `chunks` (CoNLL-2000,
8,936 sentences, bmrm and bcfw; four), `soft` (the same by methods that make the maximum soft; four)
and `l1` (the gap of L1 chains under OWL-QN; one). A run gets LIMIT seconds of the processor, by
strength; a solver that does not come to the first gap at one strength is not run at smaller ones. A
pass is a product with the data, two an evaluation or a sweep with searches; sweeps of `bcfw` over
labellings that were found before are in the seconds alone.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
from typing import Any

import numpy as np
from chains import letters as words
from crfsuite import TUTORIAL, tagged

import fenchel
from fenchel import losses
from fenchel.engines import Serial

GAPS = (1e-2, 1e-3)
LIMIT = {
    "letters": {1e-2: 4.0, 1e-3: 8.0, 1e-4: 30.0},
    "chunks": {1e-2: 20.0, 1e-3: 50.0, 1e-4: 100.0},
    "soft": {1e-2: 20.0, 1e-3: 30.0, 1e-4: 30.0},
}
L1_LIMIT = 60.0
SOLVERS: dict[str, dict[str, Any]] = {
    "bmrm": {},
    "ls-bmrm": {},
    "bcfw": {},
    "agm-inf": {"form": "primal"},
    "agm-inf homotopy": {"form": "homotopy"},
    "agm-inf dual": {"form": "dual"},
    "agm-1 dual": {"form": "dual"},
    "excessive-gap": {},
}
FOR_CHUNKS = ("bmrm", "bcfw")
SOFT = ("agm-inf homotopy", "agm-inf dual", "excessive-gap")


class Reached:
    """A callback that notes when gaps are reached, and ends a run whose time is up."""

    def __init__(self, limit: float):
        self.started, self.limit = time.process_time(), limit
        self.found: dict[float, tuple[int, float]] = {}
        self.gap = np.inf

    def __call__(self, record: fenchel.Record) -> bool:
        seconds = time.process_time() - self.started
        self.gap = min(self.gap, record.gap)
        for gap in GAPS:
            if record.gap <= gap:
                self.found.setdefault(gap, (record.passes, seconds))
        return seconds > self.limit

    def cells(self) -> list[str]:
        """Passes and seconds to each gap, and the least."""
        found = [self.found.get(gap) for gap in GAPS]
        shown = ["-" if each is None else f"{each[0]} ({each[1]:.1f} s)" for each in found]
        return [*shown, f"{self.gap:.1e}"]


def compare(name: str, base: fenchel.Problem, solvers: Any) -> None:
    """A line for each strength and solver."""
    data = "chunks" if name == "soft" else name
    print(f"| {data}, strength | solver | to 1e-2 | to 1e-3 | least gap |")
    print("|---|---|---|---|---|")
    left = list(solvers)
    for strength, limit in LIMIT[name].items():
        for label in list(left):
            problem = dataclasses.replace(base, strength=strength)
            problem.risk.passes = 0
            reached = Reached(limit)
            solver = fenchel.solver(label.split()[0], **SOLVERS[label])
            fenchel.minimize(
                problem,
                solver,
                gap=GAPS[-1],
                max_iterations=10**6,
                callback=reached,
                verify=False,  # a proof of many soft maxima takes longer than the run
            )
            print(f"| {strength:g} | {label} | {' | '.join(reached.cells())} |", flush=True)
            if GAPS[0] not in reached.found:
                left.remove(label)
    print()


def letters() -> None:
    X, y = words("train")
    groups = np.repeat(np.arange(len(y)), [len(part) for part in y])
    loss = losses.M3N(pairs="all")
    problem = fenchel.problem(
        np.vstack(X), np.concatenate(y), loss=loss, groups=groups, strength=1.0, engine=Serial()
    )
    compare("letters", problem, SOLVERS)


def posed(loss: str, alpha: float, penalty: str) -> fenchel.Problem:
    """The problem of crfsuite's tutorial on CoNLL-2000."""
    X, y = tagged("conll2000", "train")
    model = fenchel.SequenceLabeler(
        template=TUTORIAL, loss=loss, alpha=alpha, penalty=penalty, n_jobs=1
    )
    (problem,) = model._posed(X, y).problems
    return problem


def chunks() -> None:
    compare("chunks", posed("m3n", 1e-2, "l2"), FOR_CHUNKS)


def soft() -> None:
    compare("soft", posed("m3n", 1e-2, "l2"), SOFT)


def l1() -> None:
    """The gap that is proved as OWL-QN goes on, c1 = 1."""
    n = len(tagged("conll2000", "train")[1])
    reached = Reached(L1_LIMIT)
    result = fenchel.minimize(
        posed("crf", 1.0 / n, "l1"),
        "owlqn",
        gap=1e-3,
        max_iterations=600,
        callback=reached,
        verify=False,
    )
    print(
        f"l1: after {result.iterations} iterations objective {n * result.objective:.1f}, gap "
        f"{result.gap:.1e}, {time.process_time() - reached.started:.0f} s of the processor"
    )


if __name__ == "__main__":
    os.environ.setdefault("FENCHEL_DATA", "data")
    for name in sys.argv[1:] or ("letters", "chunks", "soft", "l1"):
        {"letters": letters, "chunks": chunks, "soft": soft, "l1": l1}[name]()
