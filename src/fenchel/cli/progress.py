"""A run as it happens, on stderr: a live table on a terminal, lines at doubling intervals else."""

from __future__ import annotations

import math
from types import TracebackType
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from fenchel.cli.signals import Interrupts
from fenchel.cli.terminal import Terminal
from fenchel.watching import BETWEEN, COLUMNS, Column, LineWriter, Pace, cells, duration

if TYPE_CHECKING:
    from fenchel.result import Record


def progress(
    terminal: Terminal, interrupts: Interrupts, gap: float, n_rows: int, n_runs: int
) -> Silent:
    """A callback for `minimize`, to be used in a `with` block; true once the run shall end."""
    kind = Silent if terminal.quiet else Moving if terminal.live else ProgressLines
    return kind(terminal, interrupts, Pace(gap, n_rows, n_runs))


_BAR, _LEAST_BAR = 24, 6


def _fitting(width: int) -> list[Column]:
    """The columns that a line of that width has room for, in their order."""
    chosen: list[Column] = []
    for column in sorted(COLUMNS, key=lambda column: column.priority):
        width -= column.width + BETWEEN
        if width >= -BETWEEN:
            chosen.append(column)
    return [column for column in COLUMNS if column in chosen]


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
    """A line whenever the iterations have doubled, or one for each run."""

    def __init__(self, terminal: Terminal, interrupts: Interrupts, pace: Pace):
        super().__init__(terminal, interrupts, pace)
        self.lines = LineWriter(terminal.note, pace)

    def __call__(self, record: Record) -> bool:
        """Prints the record if it is its turn; true once the run shall end."""
        self.lines(record)
        return self.interrupts.code is not None

    def __exit__(self, *_: object) -> None:
        """The last record, if it has not been seen."""
        self.lines.finish()


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
        table = Table.grid(padding=(0, BETWEEN, 0, 0))
        columns = _fitting(self.terminal.console.width)
        for column in columns:
            table.add_column(justify="right", min_width=column.width, no_wrap=True)
        shown = cells(self.pace)
        table.add_row(*(Text(column.title, style="dim") for column in columns))
        table.add_row(*(Text(shown[column.title], style=_style(column)) for column in columns))
        return table if self._over else Group(table, self._foot())

    def _foot(self) -> RenderableType:
        if self.interrupts.code is not None:
            return Text("stopping after this iteration; Ctrl-C again quits at once", "yellow")
        several = f"run {self.pace.run}/{self.pace.n_runs}, " if self.pace.n_runs > 1 else ""
        left = self.pace.seconds_left
        aim = f"{several}gap to {self.pace.gap:.1e}"
        rest = f"{duration(left)} left" if left < math.inf else ""
        room = self.terminal.console.width - len(aim) - len(rest) - 2 * BETWEEN
        if room < _LEAST_BAR:
            return Text(aim, style="dim", no_wrap=True, overflow="crop")
        line = Table.grid(padding=(0, BETWEEN, 0, 0))
        bar = ProgressBar(1.0, self.pace.share, width=min(room, _BAR), complete_style="green")
        line.add_row(Text(aim, style="dim"), bar, Text(rest, style="dim"))
        return line


def _style(column: Column) -> str:
    return "bold" if column.title == "gap" else ""
