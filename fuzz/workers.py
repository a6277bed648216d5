"""Processes that judge problems, each killed where it does not answer; verdicts in order of seeds.

A worker says which solver it starts. One that then works without a word for `SILENT` times what a
run may take, because native code hangs, is killed, and one that dies is noticed; either is a fault
of that solver, and a new worker takes the seeds that are left.
"""

from __future__ import annotations

import multiprocessing
import os
import time
import warnings
from collections.abc import Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import judging
import threadpoolctl
from conic import EVERY, conic_value
from draws import Draw, describe, draw, posed
from judging import Run, judged
from tally import Line, Verdict

from fenchel.errors import FenchelError

SILENT = 4.0  # times what a run may take at most, of processor time: Python is not reached
ONLY: list[str] | None = None  # the solvers of a campaign; all
ASLEEP = 900.0  # seconds of the wall clock, for a worker that waits for ever
_CONTEXT = multiprocessing.get_context("fork")


def verdict(seed: int, announce: Any = lambda name: None) -> Verdict:
    """The verdict on the problem of a seed."""
    drawn = draw(seed)
    made = Verdict(seed, drawn.loss, drawn.regularizer, describe(drawn))
    announce("fenchel.problem")
    try:
        problem = posed(drawn)
    except Exception as error:  # what users must never see
        detail = f"fenchel.problem: {type(error).__name__}: {error}"
        made.lines.append(Line("none", "raw", 0.0, False, False, [("raw", detail)]))
        return made
    if isinstance(problem, FenchelError):
        made.refused = True
        return made
    made.conic = seed % EVERY == 0
    runs = judged(problem, drawn, ONLY, conic_value if made.conic else None, announce)
    made.lines = [_line(run) for run in runs]
    return made


def _line(run: Run) -> Line:
    faults = [(fault.kind, fault.detail) for fault in run.faults]
    return Line(run.solver, run.outcome, run.seconds, run.verified is not None, run.short, faults)


def _work(home: Connection) -> None:
    warnings.simplefilter("ignore")
    threadpoolctl.threadpool_limits(1)
    while (seed := home.recv()) is not None:
        home.send(verdict(seed, home.send))


class _Worker:
    def __init__(self) -> None:
        self.pipe, theirs = _CONTEXT.Pipe()
        self.process = _CONTEXT.Process(target=_work, args=(theirs,), daemon=True)
        self.process.start()
        theirs.close()
        self.seed = -1
        self.hear("")

    def hear(self, solver: str) -> None:
        self.solver, self.heard, self.spent = solver, time.monotonic(), self._processor_time()

    def _processor_time(self) -> float:
        try:
            stat = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:  # it is gone, which its pipe will tell
            return 0.0
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def give(self, seed: int) -> None:
        self.seed = seed
        self.hear("")
        self.pipe.send(seed)

    def answer(self) -> Verdict | None:
        """A verdict, if one is there; None while it works."""
        while self.pipe.poll():
            try:
                said = self.pipe.recv()
            except (EOFError, ConnectionResetError):
                return self._lost("the process died")
            if isinstance(said, Verdict):
                return said
            self.hear(said)
        worked, waited = self._processor_time() - self.spent, time.monotonic() - self.heard
        if worked > SILENT * judging.SLOW or waited > ASLEEP:
            return self._lost(f"no answer, {worked:.0f} s of processor time, {waited:.0f} s in all")
        return None

    def _lost(self, why: str) -> Verdict:
        self.process.kill()
        self.process.join()
        drawn: Draw = draw(self.seed)
        made = Verdict(self.seed, drawn.loss, drawn.regularizer, describe(drawn))
        detail = f"{why} (exit code {self.process.exitcode})"
        made.lines.append(Line(self.solver, "lost", 0.0, False, False, [("lost", detail)]))
        return made

    def end(self) -> None:
        if self.process.is_alive():
            self.pipe.send(None)
            self.process.join(5.0)
            self.process.kill()


def verdicts(seeds: Iterator[int], jobs: int) -> Iterator[Verdict]:
    """Verdicts in the order of seeds, whatever the number of processes."""
    order: list[int] = []
    done: dict[int, Verdict] = {}
    workers = [_Worker() for _ in range(jobs)]
    busy: list[_Worker] = []
    idle = list(workers)
    try:
        while True:
            while idle and (seed := next(seeds, None)) is not None:
                worker = idle.pop(0)
                worker.give(seed)
                order.append(seed)
                busy.append(worker)
            if not busy:
                break
            wait([worker.pipe for worker in busy], timeout=1.0)
            for worker in list(busy):
                found = worker.answer()
                if found is None:
                    continue
                done[worker.seed] = found
                busy.remove(worker)
                if not worker.process.is_alive():
                    workers[workers.index(worker)] = worker = _Worker()
                idle.append(worker)
            while order and order[0] in done:
                yield done.pop(order.pop(0))
    finally:
        for worker in workers:
            worker.end()
