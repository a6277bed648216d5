"""A run as it happens, on stderr: a live table on a terminal, lines at doubling intervals else."""

from __future__ import annotations

import bisect
import math
import time
from types import TracebackType
from typing import TYPE_CHECKING, NamedTuple

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fenchel.cli.signals import Interrupts
from fenchel.cli.terminal import Terminal, count, duration

if TYPE_CHECKING:
    from fenchel.result import Record


def progress(
    terminal: Terminal, interrupts: Interrupts, gap: float, n_rows: int, n_runs: int
) -> Silent:
    """A callback for `minimize`, to be used in a `with` block; true once the run shall end."""
    kind = Silent if terminal.quiet else Moving if terminal.live else ProgressLines
    return kind(terminal, interrupts, Pace(gap, n_rows, n_runs))


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


class _Column(NamedTuple):
    title: str
    width: int
    priority: int  # on a narrow terminal the largest go first


_COLUMNS = (
    _Column("iteration", 9, 2),
    _Column("objective", 12, 0),
    _Column("lower bound", 11, 3),
    _Column("gap", 8, 1),
    _Column("passes", 7, 5),
    _Column("rows/s", 8, 6),
    _Column("elapsed", 10, 4),
)
_BETWEEN = 2  # blanks between columns
_BAR, _LEAST_BAR = 24, 6


def _cells(pace: Pace) -> dict[str, str]:
    record = pace.last
    if record is None:
        return dict.fromkeys((column.title for column in _COLUMNS), "-")
    return {
        "iteration": f"{record.iteration:,}",
        "objective": f"{record.objective:.7g}",
        "lower bound": f"{record.lower_bound:.7g}",
        "gap": f"{record.gap:.1e}",
        "passes": f"{record.passes:,}",
        "rows/s": count(pace.rows_per_second),
        "elapsed": duration(pace.elapsed),
    }


def _fitting(width: int) -> list[_Column]:
    """The columns that a line of that width has room for, in their order."""
    chosen: list[_Column] = []
    for column in sorted(_COLUMNS, key=lambda column: column.priority):
        width -= column.width + _BETWEEN
        if width >= -_BETWEEN:
            chosen.append(column)
    return [column for column in _COLUMNS if column in chosen]


class Silent:
    """Keeps the pace and shows nothing."""

    def __init__(self, terminal: Terminal, interrupts: Interrupts, pace: Pace):
        self.terminal, self.interrupts, self.pace = terminal, interrupts, pace

    def __call__(self, record: Record) -> bool:
        """Takes a record; true once the run shall end."""
        self.pace.add(record)
        return self.interrupts.code is not None

    def __enter__(self) -> Silent:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        pass


class ProgressLines(Silent):
    """A line whenever the iterations have doubled, as Vowpal Wabbit has it; or one for each run."""

    _next = 1
    _printed: Record | None = None

    def __call__(self, record: Record) -> bool:
        """Prints the record if it is its turn."""
        begins = self.pace.starts(record)
        if begins:
            self._finish()
            self._next = 1
        stop = super().__call__(record)
        if self.pace.n_runs == 1 and record.iteration >= self._next:
            self._next = 2 * record.iteration
            self._print()
        return stop

    def __exit__(self, *_: object) -> None:
        """The last record, if it has not been seen."""
        self._finish()

    def _finish(self) -> None:
        if self.pace.last is not self._printed:
            self._print()

    def _print(self) -> None:
        several = self.pace.n_runs > 1
        if self._printed is None:
            self.terminal.note(
                ("run" if several else "").ljust(8 * several)
                + "".join(f"{column.title:>{column.width + _BETWEEN}}" for column in _COLUMNS)
                + f"{'left':>12}"
            )
        cells = _cells(self.pace)
        left = self.pace.seconds_left
        self.terminal.note(
            (f"{self.pace.run}/{self.pace.n_runs}" if several else "").ljust(8 * several)
            + "".join(f"{cells[column.title]:>{column.width + _BETWEEN}}" for column in _COLUMNS)
            + f"{duration(left) if left < math.inf else '-':>12}"
        )
        self._printed = self.pace.last


class Moving(Silent):
    """A table that changes in place, over a bar that fills as the gap closes."""

    def __enter__(self) -> Moving:
        self._over = False
        self._live = Live(
            console=self.terminal.console,
            get_renderable=self._render,
            refresh_per_second=10,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Leaves the last numbers on the screen, without the bar."""
        self._over = True
        self._live.stop()

    def _render(self) -> RenderableType:
        table = Table.grid(padding=(0, _BETWEEN, 0, 0))
        columns = _fitting(self.terminal.console.width)
        for column in columns:
            table.add_column(justify="right", min_width=column.width, no_wrap=True)
        cells = _cells(self.pace)
        table.add_row(*(Text(column.title, style="dim") for column in columns))
        table.add_row(*(Text(cells[column.title], style=_style(column)) for column in columns))
        return table if self._over else Group(table, self._foot())

    def _foot(self) -> RenderableType:
        if self.interrupts.code is not None:
            return Text("stopping after this iteration; Ctrl-C again quits at once", "yellow")
        several = f"run {self.pace.run}/{self.pace.n_runs}, " if self.pace.n_runs > 1 else ""
        left = self.pace.seconds_left
        aim = f"{several}gap to {self.pace.gap:.1e}"
        rest = f"{duration(left)} left" if left < math.inf else ""
        room = self.terminal.console.width - len(aim) - len(rest) - 2 * _BETWEEN
        if room < _LEAST_BAR:
            return Text(aim, style="dim", no_wrap=True, overflow="crop")
        line = Table.grid(padding=(0, _BETWEEN, 0, 0))
        bar = ProgressBar(1.0, self.pace.share, width=min(room, _BAR), complete_style="green")
        line.add_row(Text(aim, style="dim"), bar, Text(rest, style="dim"))
        return line


def _style(column: _Column) -> str:
    return "bold" if column.title == "gap" else ""
