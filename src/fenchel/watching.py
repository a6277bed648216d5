"""A run as it happens: what it logs, how far it has come, and lines about it at doubling intervals.

Everything goes to the logger "fenchel", which says nothing unless it is asked to: the beginning and
end of a minimisation at the level INFO, each iteration at DEBUG.
"""

from __future__ import annotations

import bisect
import logging
import math
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fenchel.result import Record

LOG = logging.getLogger("fenchel")
LOG.addHandler(logging.NullHandler())


def log_step(record: Record) -> None:
    """An iteration, for those who want to know all."""
    if LOG.isEnabledFor(logging.DEBUG):
        LOG.debug(
            "iteration %d: %.9g <= min J <= %.9g, gap %.2e, %d passes, %.3f s",
            record.iteration,
            record.lower_bound,
            record.objective,
            record.gap,
            record.passes,
            record.seconds,
        )


class Pace:
    """How far the runs have come, and how fast the present one closes its gap."""

    def __init__(self, gap: float, n_rows: int, n_runs: int = 1):
        self.gap, self.n_rows, self.n_runs, self.run = gap, n_rows, n_runs, 0
        self.last: Record | None = None
        # (seconds, log gap); the thread that draws takes hold of the list once and reads only that
        self._fall: list[tuple[float, float]] = []
        self._seen = time.perf_counter()

    def starts(self, record: Record) -> bool:
        """Whether a record is the first of a run."""
        return self.last is None or record.iteration <= self.last.iteration

    def add(self, record: Record) -> None:
        """Takes the next record; one that counts from the start again begins the next run."""
        if self.starts(record):
            self.run += 1
            self._fall = []
        self.last, self._seen = record, time.perf_counter()
        if 0 < record.gap < math.inf:
            self._fall.append((record.seconds, math.log(record.gap)))

    @property
    def elapsed(self) -> float:
        """Seconds of this run up to now."""
        return self.last.seconds + time.perf_counter() - self._seen if self.last else 0.0

    @property
    def rows_per_second(self) -> float:
        """The mean rate of this run: a pass goes through all rows."""
        if not (self.last and self.last.seconds):
            return 0.0
        return self.n_rows * self.last.passes / self.last.seconds

    @property
    def share(self) -> float:
        """How much of the way from the first gap to the wanted one is done, in logarithms."""
        fall = self._fall
        if not fall:
            return 0.0
        first, last = fall[0][1], fall[-1][1]
        way = first - math.log(self.gap)
        return min(1.0, max(0.0, (first - last) / way)) if way > 0 else 1.0

    @property
    def seconds_left(self) -> float:
        """What is left at the pace of the second half of the time so far."""
        fall = self._fall
        if len(fall) < 4:
            return math.inf
        now, last = fall[-1]
        then, before = fall[bisect.bisect_left(fall, ((fall[0][0] + now) / 2,))]
        slope = (before - last) / ((now - then) or math.inf)
        return max(0.0, (last - math.log(self.gap)) / slope) if slope > 0 else math.inf


class Column(NamedTuple):
    """A number of a run, with its place in a table."""

    title: str
    width: int
    priority: int  # on a narrow terminal the largest go first


COLUMNS = (
    Column("iteration", 9, 2),
    Column("objective", 12, 0),
    Column("lower bound", 11, 3),
    Column("gap", 8, 1),
    Column("passes", 7, 5),
    Column("rows/s", 8, 6),
    Column("elapsed", 10, 4),
)
BETWEEN = 2  # blanks between columns


def cells(pace: Pace) -> dict[str, str]:
    """What stands under each title now."""
    record = pace.last
    if record is None:
        return dict.fromkeys((column.title for column in COLUMNS), "-")
    return {
        "iteration": f"{record.iteration:,}",
        "objective": f"{record.objective:.7g}",
        "lower bound": _short(record.lower_bound),
        "gap": f"{record.gap:.1e}",
        "passes": f"{record.passes:,}",
        "rows/s": count(pace.rows_per_second),
        "elapsed": duration(pace.elapsed),
    }


def _short(number: float) -> str:
    """Seven digits of a number, or as many as its column has room for."""
    text = f"{number:.7g}"
    return text if len(text) <= 12 else f"{number:.4g}"


class LineWriter:
    """A line whenever the iterations have doubled, as Vowpal Wabbit has it; or one for each run."""

    def __init__(
        self,
        write: Callable[[str], object],
        pace: Pace,
        more: tuple[str, Callable[[], str]] | None = None,
    ):
        self.write, self.pace, self.more = write, pace, more  # one column more, at the end
        self._next, self._printed = 1, None

    _printed: Record | None

    def __call__(self, record: Record) -> None:
        """Writes the record if it is its turn."""
        if self.pace.starts(record):
            self.finish()
            self._next = 1
        self.pace.add(record)
        if self.pace.n_runs == 1 and record.iteration >= self._next:
            self._next = 2 * record.iteration
            self._write()

    def finish(self) -> None:
        """The last record, if it has not been seen."""
        if self.pace.last is not self._printed:
            self._write()

    def _write(self) -> None:
        several, shown = self.pace.n_runs > 1, cells(self.pace)
        if self._printed is None:
            titles = {column.title: column.title for column in COLUMNS}
            title = "" if self.more is None else f"{self.more[0]:>12}"
            self.write(_line("run" if several else "", several, titles, "left") + title)
        left = self.pace.seconds_left
        run = f"{self.pace.run}/{self.pace.n_runs}" if several else ""
        time_left = duration(left) if left < math.inf else "-"
        more = "" if self.more is None else f"{self.more[1]():>12}"
        self.write(_line(run, several, shown, time_left) + more)
        self._printed = self.pace.last


def _line(run: str, several: bool, shown: dict[str, str], left: str) -> str:
    columns: Sequence[Column] = COLUMNS
    middle = "".join(f"{shown[column.title]:>{column.width + BETWEEN}}" for column in columns)
    return f"{run.ljust(8 * several)}{middle}{left:>12}"


def duration(seconds: float) -> str:
    """'0.26 s', '42 s', '3 min 20 s', '2 h 5 min'."""
    if seconds < 10:
        return f"{seconds:.2f} s"
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def count(number: float) -> str:
    """'812', '2.1 k', '35 M', '1.2 G'."""
    for unit in ("", " k", " M", " G"):
        if number < 999.5 or unit == " G":
            break
        number /= 1000
    return f"{number:.0f}{unit}" if number >= 9.95 or not unit else f"{number:.1f}{unit}"
