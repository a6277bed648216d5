"""The page of a path: its lines, which answer to the pointer, and every certificate."""

from __future__ import annotations

from collections.abc import Mapping

from fenchel.report.lines import Lines, Stop, scene
from fenchel.report.shell import BOUNDS, charts, composed, section, settings_section, table


def compose(drawn: Lines, title: str, settings: Mapping[str, object]) -> str:
    """The page of a path."""
    return composed(
        title or f"fenchel: {drawn.summary}",
        BOUNDS,
        section("Coefficients and gap", f"<p>{drawn.summary}</p>{charts(scene(drawn, ''))}"),
        section("Certificates", certificates(drawn)),
        settings_section(settings),
    )


def certificates(drawn: Lines) -> str:
    """What was proved at each strength, and what it cost."""
    head = ["strength", "lower bound", "objective", "gap", "nonzeros", "passes", "time", "ended"]
    rows = [_cells(stop) for stop in drawn.stops]
    if drawn.scores is not None:
        head.append(drawn.scores.name)
        rows = [[*row, f"{s:.6g}"] for row, s in zip(rows, drawn.scores.means, strict=True)]
    return table(head, rows)


def _cells(stop: Stop) -> list[str]:
    return [
        f"{stop.strength:.6g}",
        f"{stop.lower_bound:.8g}",
        f"{stop.objective:.8g}",
        f"{stop.gap:.1e}",
        f"{stop.nonzeros:,}",
        f"{stop.passes:,}",
        f"{stop.seconds:.2g} s",
        stop.status.replace("_", " "),
    ]
