"""Makes the runs that are not kept yet, and says how long the rest will take."""

from __future__ import annotations

import math
import queue
import sys
import time
import traceback
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field, replace

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from fenchel.watching import duration
from reproduction import machine
from reproduction.cache import Cache
from reproduction.found import Found
from reproduction.shape import Check, Panel, Run, Script, Table, Verdict, verdict_of
from reproduction.worker import Worker

Made = dict[str, Found]  # by the digests of the runs
_EVERY = 30.0  # seconds between two lines where no bar can move


@dataclass(frozen=True)
class Outcome:
    """A script with what it drew and found; `fault` is the traceback of one that is broken."""

    script: Script
    quick: bool
    shown: Sequence[Panel | Table] = ()
    checks: Sequence[Check] = ()
    found: Mapping[Hashable, Found] = field(default_factory=dict)
    fault: str = ""
    missing: int = 0  # runs for which there was no time
    reason: Outcome | None = None  # of the experiment that shows why

    @property
    def verdict(self) -> Verdict:
        """What the checks come to."""
        if self.missing or (self.reason is not None and self.reason.missing):
            return "unfinished"
        return "broken" if self.broken else verdict_of(self.checks)

    @property
    def broken(self) -> bool:
        """Whether the script, its experiment, or one of the runs ended in an error."""
        if self.reason is not None and self.reason.broken:
            return True
        return bool(self.fault) or not all(found.final for found in self.found.values())


def reproduce(
    scripts: Sequence[Script], cache: Cache, *, quick: bool, jobs: int, minutes: float = math.inf
) -> list[Outcome]:
    """Makes all runs of some scripts, then draws and judges each of them.

    After so many minutes no run is begun any more: what then lacks some of its runs is unfinished.
    """
    asked: dict[str, Mapping[Hashable, Run]] = {}
    faults: dict[str, str] = {}
    for script in _with_reasons(scripts):
        try:
            asked[script.id] = script.runs(quick)
        except Exception:
            faults[script.id] = traceback.format_exc()
    results = make(asked, cache, jobs, time.monotonic() + 60 * minutes)
    outcomes: dict[str, Outcome] = {}
    for script in _with_reasons(scripts):
        own = asked.get(script.id, {})
        found = {key: results[run.key] for key, run in own.items() if run.key in results}
        if len(found) < len(own):
            outcomes[script.id] = Outcome(script, quick, missing=len(own) - len(found))
            continue
        outcomes[script.id] = _judged(script, quick, found, faults.get(script.id, ""))
    return [
        replace(outcomes[script.id], reason=script.reason and outcomes[script.reason.id])
        for script in scripts
    ]


def _with_reasons(scripts: Sequence[Script]) -> list[Script]:
    return [each for script in scripts for each in (script, script.reason) if each is not None]


def make(
    asked: Mapping[str, Mapping[Hashable, Run]], cache: Cache, jobs: int, until: float = math.inf
) -> Made:
    """What all runs give; those that are not in the cache are made, `jobs` at a time, each once.

    None is begun after the time `until`.
    """
    runs = {run.key: (name, run) for name, own in asked.items() for run in own.values()}
    results = {
        key: found for key, (_, run) in runs.items() if (found := cache.get(run)) is not None
    }
    missing = {key: each for key, each in runs.items() if key not in results}
    workers: queue.SimpleQueue[Worker] = queue.SimpleQueue()
    staff = [Worker(machine.bound(jobs)) for _ in range(jobs)]
    for worker in staff:
        workers.put(worker)
    pool = ThreadPoolExecutor(jobs)
    try:
        with Watch([name for name, _ in missing.values()], jobs) as watch:
            futures = {
                pool.submit(_made, workers, run, cache, until): name
                for name, run in missing.values()
            }
            for future in as_completed(futures):
                run, found = future.result()
                if found is not None:
                    results[run.key] = found
                    watch.done(futures[future], run, found)
        return results
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for worker in staff:
            worker.close()


def _made(
    workers: queue.SimpleQueue[Worker], run: Run, cache: Cache, until: float
) -> tuple[Run, Found | None]:
    if time.monotonic() >= until:
        return run, None
    worker = workers.get()
    try:
        found = worker.make(run)
    finally:
        workers.put(worker)
    cache.put(run, found)
    return run, found


def _judged(script: Script, quick: bool, found: dict[Hashable, Found], fault: str) -> Outcome:
    if fault:
        return Outcome(script, quick, fault=fault)
    try:
        return Outcome(script, quick, script.draw(found), script.verdict(found), found)
    except Exception:
        return Outcome(script, quick, found=found, fault=traceback.format_exc())


class Watch:
    """Progress with the time left: a bar on a terminal, a line now and then elsewhere."""

    def __init__(self, names: Sequence[str], jobs: int):
        self.left, self.jobs, self.n_runs = list(names), jobs, len(names)
        self.costs: dict[str, list[float]] = {}
        self.console = Console(stderr=True)
        self.told = time.monotonic()
        columns: Iterable[TextColumn | BarColumn] = (
            TextColumn("{task.completed:.0f}/{task.total:.0f} runs"),
            BarColumn(),
            TextColumn("{task.description}"),
        )
        self.bar = Progress(*columns, console=self.console, transient=True)
        self.task = self.bar.add_task("", total=self.n_runs)

    def __enter__(self) -> Watch:
        if self.console.is_terminal:
            self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()

    def done(self, name: str, run: Run, found: Found) -> None:
        """Takes note of a run."""
        self.left.remove(name)
        self.costs.setdefault(name, []).append(found.seconds_taken)
        if found.failed:
            self._tell(f"{name}: {run}: {found.failed}")
        state = f"{name}, about {duration(self.seconds_left)} left"
        self.bar.update(self.task, advance=1, description=state)
        if not self.console.is_terminal and time.monotonic() - self.told >= _EVERY:
            self.told = time.monotonic()
            self._tell(f"{self.n_runs - len(self.left)}/{self.n_runs} runs, {state}")

    @property
    def seconds_left(self) -> float:
        """From what the runs of the same figure cost so far, or else those of all figures."""
        known = [cost for costs in self.costs.values() for cost in costs]
        usual = sum(known) / max(1, len(known))
        means = {name: sum(costs) / len(costs) for name, costs in self.costs.items()}
        return sum(means.get(name, usual) for name in self.left) / self.jobs

    def _tell(self, line: str) -> None:
        (self.bar.console.print if self.console.is_terminal else _plainly)(line, highlight=False)


def _plainly(line: str, highlight: bool) -> None:
    print(line, file=sys.stderr, flush=True)
