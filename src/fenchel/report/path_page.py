"""The page of a path: the same lines with tooltips, and every certificate. Needs altair."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import altair as alt

from fenchel.report.curves import PALETTE
from fenchel.report.lines import Lines, Scores, Stop
from fenchel.report.shell import composed, section, settings_section, table

_WIDTH = 800
_INK = PALETTE[-1]
_HINT = "<p>Click a name to see its line alone; shift-click to add another.</p>"


def compose(drawn: Lines, title: str, settings: Mapping[str, object]) -> str:
    """The page of a path."""
    return composed(
        title or f"fenchel: {drawn.summary}",
        section("Coefficients and gap", f"<p>{drawn.summary}</p>{_HINT}"),
        _chart(drawn),
        section("Certificates", _certificates(drawn)) + settings_section(settings),
    )


def _certificates(drawn: Lines) -> str:
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


def _chart(drawn: Lines) -> dict[str, Any]:
    panels = [_coefficients(drawn), *_scores(drawn), _gaps(drawn)]
    chart = alt.vconcat(*panels).configure_view(stroke=None)
    spec: dict[str, Any] = chart.configure_axis(
        grid=False, titleFontWeight="normal", titleFontSize=12, labelFontSize=11
    ).to_dict()
    return spec


def _coefficients(drawn: Lines) -> Any:
    """Lines, and points that are there only for the pointer."""
    values = [
        {"feature": line.name, "strength": strength, "coefficient": value, "crowd": line.crowd}
        for line in reversed(drawn.lines)  # the largest on top
        for strength, value in zip(drawn.strengths.tolist(), line.values.tolist(), strict=True)
        if math.isfinite(strength)
    ]
    chosen = alt.selection_point(name="chosen", fields=["feature"], bind="legend")
    base = alt.Chart(alt.InlineData(values=values), width=_WIDTH, height=320).encode(
        x=_x(drawn, title=None),
        y=alt.Y("coefficient:Q", title="coefficient"),
        color=alt.Color("feature:N", title=None, scale=_colours(drawn), legend=_legend(drawn)),
    )
    seen = base.mark_line().encode(
        opacity=alt.when(chosen).then(alt.value(1.0)).otherwise(alt.value(0.05)),
        strokeWidth=alt.when("datum.crowd").then(alt.value(0.6)).otherwise(alt.value(1.8)),
    )
    felt = base.mark_point(size=60, opacity=0).encode(
        tooltip=[
            alt.Tooltip("feature:N"),
            alt.Tooltip("strength:Q", format=".4g"),
            alt.Tooltip("coefficient:Q", format=".5g"),
        ]
    )
    return alt.layer(seen.add_params(chosen), felt)


def _colours(drawn: Lines) -> alt.Scale:
    return alt.Scale(
        domain=[line.name for line in drawn.lines], range=[line.colour for line in drawn.lines]
    )


def _legend(drawn: Lines) -> alt.Legend:
    named = [line.name for line in drawn.lines if not line.crowd]
    return alt.Legend(orient="top", columns=7, labelLimit=110, values=named, symbolOpacity=1)


def _scores(drawn: Lines) -> list[Any]:
    scores = drawn.scores
    if scores is None:
        return []
    base = alt.Chart(
        alt.InlineData(values=_score_values(drawn, scores)), width=_WIDTH, height=130
    ).encode(x=_x(drawn, title=None))
    band = base.mark_area(opacity=0.12, color=_INK).encode(
        y=alt.Y("low:Q", title=scores.name, scale=alt.Scale(zero=False)), y2="high:Q"
    )
    point = alt.OverlayMarkDef(color=_INK)
    line = base.mark_line(point=point, color=_INK, strokeWidth=1).encode(
        y=alt.Y("score:Q"),
        tooltip=[alt.Tooltip("strength:Q", format=".4g"), alt.Tooltip("score:Q", format=".6g")],
    )
    return [alt.layer(band, line)]


def _score_values(drawn: Lines, scores: Scores) -> list[dict[str, float]]:
    columns = zip(drawn.strengths.tolist(), scores.means.tolist(), scores.spreads, strict=True)
    return [
        {"strength": x, "score": mean, "low": mean - spread, "high": mean + spread}
        for x, mean, spread in columns
        if math.isfinite(x) and math.isfinite(mean)
    ]


def _gaps(drawn: Lines) -> Any:
    values = [
        {"strength": stop.strength, "gap": stop.gap, "status": stop.status.replace("_", " ")}
        for stop in drawn.stops
        if stop.strength > 0 and 0 < stop.gap < math.inf
    ]
    return (
        alt.Chart(alt.InlineData(values=values), width=_WIDTH, height=110)
        .mark_line(color=_INK, strokeWidth=1, point=alt.OverlayMarkDef(color=_INK))
        .encode(
            x=_x(drawn, title="strength"),
            y=alt.Y(
                "gap:Q",
                title="certified gap",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~e", tickCount=4),
            ),
            tooltip=[
                alt.Tooltip("strength:Q", format=".4g"),
                alt.Tooltip("gap:Q", format=".2e"),
                alt.Tooltip("status:N"),
            ],
        )
    )


def _x(drawn: Lines, title: str | None) -> alt.X:
    ends = [stop.strength for stop in drawn.stops if stop.strength > 0]
    scale = alt.Scale(type="log", reverse=True, nice=False)
    if len(ends) > 1:
        scale = alt.Scale(type="log", reverse=True, nice=False, domain=[ends[-1], ends[0]])
    return alt.X("strength:Q", title=title, scale=scale, axis=alt.Axis(format="~e", tickCount=8))
