"""Chunking CoNLL-2000 beside crfsuite: the same weights, the same objective, one run.

The 19 features of crfsuite's tutorial. Three contenders take turns, each in a process of its own:
crfsuite's lbfgs, and ours on one thread and on two. A line for each of them has the medians over
the rounds: seconds by the clock, and of the processor in brackets, to a relative 1e-3 and 1e-6 of
the least objective that any of them found, with the iterations; the peak of memory; and the F1 of
chunks on the test part. Arguments: `l2` (c2 = 1), `l1` (c1 = 1), both without; then the rounds, 3
without. `plot` compares once with c1 = 1 on 2,000 sentences, and draws docs/sparsity.svg: weights
that are not 0 and distances from the minimum against iterations, as figures 5 and 6 of [Andrew07]
have them, ours for two more c1.
"""

from __future__ import annotations

import multiprocessing
import os
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import fenchel
from fenchel.data.conll import Tokens, read_conll
from fenchel.estimators.chunks import agreement
from fenchel.estimators.sequences import named_tokens, split
from fenchel.report import scene, style, svg
from fenchel.solvers import LBFGS, OWLQN, Solver

TUTORIAL = "\n".join(
    [f"w[{k}]=%x[{k},0]" for k in range(-2, 3)]
    + ["w[-1]|w[0]=%x[-1,0]|%x[0,0]", "w[0]|w[1]=%x[0,0]|%x[1,0]"]
    + [f"pos[{k}]=%x[{k},1]" for k in range(-2, 3)]
    + [f"pos[{k}]|pos[{k + 1}]=%x[{k},1]|%x[{k + 1},1]" for k in range(-2, 2)]
    + [f"pos[{k}..]=%x[{k},1]|%x[{k + 1},1]|%x[{k + 2},1]" for k in range(-2, 1)]
)
TARGETS = (1e-3, 1e-6)
ITERATIONS = {"l2": 220, "l1": 600}
SOME = 2000  # sentences of the plot
PATIENT = 5


class Mark(NamedTuple):
    """Where a solver is after an iteration."""

    clock: float
    cpu: float
    J: float
    nonzeros: int


class Run(NamedTuple):
    """What a solver did: iterations, the peak of memory in MB, F1, and the gap it proved."""

    marks: list[Mark]
    memory: float
    f1: float
    gap: float = np.inf


def tagged(name: str, part: str, most: int | None = None) -> tuple[Tokens, list[list[str]]]:
    """The tokens of a part of a data set, of so many sequences, and their tags."""
    tokens = read_conll(Path(os.environ["FENCHEL_DATA"]) / name / f"{part}.txt.xz")
    starts = tokens.starts[: None if most is None else most + 1]
    tokens = Tokens([column[: starts[-1]] for column in tokens.columns], starts)
    return tokens._replace(columns=tokens.columns[:-1]), split(tokens.columns[-1], tokens.starts)


def alone(work: Callable[..., Run], *args: Any) -> Run:
    """The work in a process of its own, for its peak of memory."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(work, args)


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


class Clock:
    """Seconds by the clock and of the processor since it was made."""

    def __init__(self) -> None:
        self.clock, self.cpu = time.perf_counter(), time.process_time()

    def mark(self, J: float, nonzeros: int) -> Mark:
        clock, cpu = time.perf_counter() - self.clock, time.process_time() - self.cpu
        return Mark(clock, cpu, J, nonzeros)


def watched(base: type[Solver], marks: list[Mark], n: int) -> Solver:
    """The solver, leaving a mark at each step; n times J is crfsuite's objective."""

    class Watched(base):  # type: ignore[misc, valid-type]  # a base known at run time
        def iterate(self, *args: Any) -> Iterator[Any]:
            clock = Clock()
            for step in super().iterate(*args):
                marks.append(clock.mark(n * step.objective, np.count_nonzero(step.point.w)))
                yield step

    return Watched()


def ours(penalty: str, c: float, most: int | None, threads: int, patience: int = 1) -> Run:
    (X, y), (X_test, gold) = tagged("conll2000", "train", most), tagged("conll2000", "test")
    marks: list[Mark] = []
    model = fenchel.SequenceLabeler(
        template=TUTORIAL,
        penalty=penalty,
        alpha=(2 if penalty == "l2" else 1) * c / len(y),
        solver=watched(LBFGS if penalty == "l2" else OWLQN, marks, len(y)),
        tol=1e-6,
        max_iter=patience * ITERATIONS[penalty],
        n_jobs=threads,
    )
    model.fit(X, y)
    memory = peak()
    return Run(marks, memory, agreement(gold, model.predict(X_test)).f1, model.gap_)


def crfsuite(penalty: str, c: float, most: int | None) -> Run:
    import pycrfsuite

    (X, y), (X_test, gold) = tagged("conll2000", "train", most), tagged("conll2000", "test")

    def items(tokens: Tokens) -> Iterator[list[list[str]]]:
        named = named_tokens(tokens, TUTORIAL)
        names, rows = named.names, named.column.reshape(named.n_tokens, -1)
        for i, j in zip(named.starts[:-1], named.starts[1:], strict=True):
            yield [[names[k] for k in row] for row in rows[i:j].tolist()]

    marks: list[Mark] = []

    class Watched(pycrfsuite.Trainer):
        text = ""

        def message(self, text: str) -> None:
            self.text += text
            if "L-BFGS optimization" in self.text:
                self.clock, self.text = Clock(), ""
            done = re.search(
                r"Loss: (\S+)(?s:.*?)Active features: (\d+)(?s:.*?)this iteration: \S+", self.text
            )
            if done:
                marks.append(self.clock.mark(float(done[1]), int(done[2])))
                self.text = ""

    trainer = Watched(verbose=True)
    other = "c1" if penalty == "l2" else "c2"
    trainer.set_params(
        {
            "c2" if penalty == "l2" else "c1": c,
            other: 0.0,
            "max_iterations": ITERATIONS[penalty],
            "epsilon": 1e-9,
            "delta": 1e-9,
        }
    )
    for sequence, tags in zip(items(X), y, strict=True):
        trainer.append(sequence, tags)
    with tempfile.NamedTemporaryFile() as file:
        trainer.train(file.name)
        memory = peak()
        tagger = pycrfsuite.Tagger()
        tagger.open(file.name)
        return Run(marks, memory, agreement(gold, [tagger.tag(each) for each in items(X_test)]).f1)


def compare(
    penalty: str, c: float, rounds: int, threads: tuple[int, ...], most: int | None = None
) -> dict[str, list[Run]]:
    """The contenders' runs, of which a table is printed."""
    contenders: dict[str, tuple[Any, ...]] = {"crfsuite": (crfsuite, penalty, c, most)}
    for n in threads:
        contenders[f"fenchel, {n} thread{'s' * (n > 1)}"] = (ours, penalty, c, most, n)
    runs: dict[str, list[Run]] = {name: [] for name in contenders}
    for _ in range(rounds):
        for name, (work, *args) in contenders.items():
            runs[name].append(alone(work, *args))
            last = runs[name][-1].marks[-1]
            print(f"# {name}: {last}; load {os.getloadavg()[0]:.1f}", file=sys.stderr, flush=True)
    least = least_of(runs)
    print(f"conll2000, {penalty}, c = {c:g}, {rounds} rounds: least objective found {least:.4f}")
    for name, mine in runs.items():
        shown = [_reached(mine, least * (1 + target)) for target in TARGETS]
        last = mine[0].marks[-1]
        print(
            f"  {name:18} {'  '.join(shown)}  last {last.J / least - 1:.1e} above, "
            f"{last.nonzeros:,} not 0  {statistics.median(run.memory for run in mine):4.0f} MB  "
            f"F1 {100 * mine[0].f1:.2f}",
            flush=True,
        )
    return runs


def least_of(runs: dict[str, list[Run]]) -> float:
    return min(mark.J for each in runs.values() for run in each for mark in run.marks)


def _reached(runs: list[Run], J: float) -> str:
    """The medians of the seconds until J is reached, and the iterations."""
    at = [next((k for k, mark in enumerate(run.marks) if mark.J <= J), None) for run in runs]
    if None in at:
        return f"{'-':>25}"
    marks = [run.marks[k] for run, k in zip(runs, at, strict=True) if k is not None]
    clock, cpu = (statistics.median(each) for each in list(zip(*marks, strict=True))[:2])
    return f"{clock:6.1f} s ({cpu:6.1f}) {at[0]:4} it"


def plot() -> None:
    """Draws docs/sparsity.svg: about ten minutes.

    J* is the objective of a run of OWL-QN that goes on until it is PATIENT times as long, not the
    best that was compared; below its certified gap, distances are from that run.
    """
    both = compare("l1", 1.0, 1, (1,), SOME)
    minimum = min(least_of(both), alone(ours, "l1", 1.0, SOME, 2, PATIENT).marks[-1].J)
    runs = {f"{name.split(',')[0]}, c1 = 1": run for name, (run,) in both.items()}
    for c in (0.1, 10.0):
        runs[f"fenchel, c1 = {c:g}"] = run = alone(ours, "l1", c, SOME, 1)
        print(f"c1 = {c:g}: {run.marks[-1].nonzeros:,} not 0, F1 {100 * run.f1:.2f}", flush=True)
    inks = dict(zip(runs, style.inks(len(runs)), strict=True))
    left = _panel("weights that are not 0", runs, inks, lambda mark: mark.nonzeros)
    compared = {name: run for name, run in runs.items() if name.endswith("c1 = 1")}
    right = _panel("(J \N{MINUS SIGN} J*) / J*", compared, inks, lambda mark: mark.J / minimum - 1)
    entries = [scene.Entry(name, ink, name) for name, ink in inks.items()]
    title = f"{SOME:,} sentences of CoNLL-2000, L1"
    drawn = svg.drawn(scene.Scene(title, [[left, right]], entries))
    (Path(__file__).parent.parent / "docs" / "sparsity.svg").write_text(drawn, encoding="utf-8")


def _panel(
    label: str, runs: dict[str, Run], inks: dict[str, Any], value: Callable[[Mark], float]
) -> scene.Panel:
    traces = []
    for name, run in runs.items():
        y = np.array([value(mark) for mark in run.marks])
        traces.append(scene.Trace(name, np.arange(1.0, len(y) + 1), y, inks[name]))
    x = scene.across("iterations", [trace.x for trace in traces], whole=True)
    return scene.Panel(x, scene.logarithmic(label, [trace.y for trace in traces]), traces)


if __name__ == "__main__":
    given = sys.argv[1:]
    if "plot" in given:
        plot()
    else:
        rounds = int(next((word for word in given if word.isdigit()), "3"))
        for penalty in [word for word in given if word in ITERATIONS] or ITERATIONS:
            compare(penalty, 1.0, rounds, (1, 2))
