"""Plots of paths: they show coefficients and gaps as they are, and their files open anywhere."""

from __future__ import annotations

import dataclasses
import json
import math
import re

import numpy as np
import pytest

import fenchel
from fenchel import Certificate, InvalidData, Path, Status
from fenchel.report import path_page
from fenchel.report.figure import draw
from fenchel.report.lines import Scores, lines, scene

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def path():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 12))
    y = np.sign(X @ np.linspace(-1, 1, 12) + 0.3 * rng.standard_normal(80))
    problem = fenchel.problem(X, y, loss="logistic", regularizer="l1")
    return fenchel.path(problem, 6)


def panels(figure):
    return {panel.get_ylabel(): panel for panel in figure.axes}


def test_the_lines_hold_the_coefficients_and_gaps(path):
    drawn = panels(path.plot())
    by_name = {line.get_label(): line for line in drawn["coefficient"].get_lines()}
    for j in range(12):
        assert np.array_equal(by_name[f"x{j}"].get_ydata(), path.coefficients[j])
        assert np.array_equal(by_name[f"x{j}"].get_xdata(), path.strengths)
    gaps = drawn["certified gap"].get_lines()[0].get_ydata()
    assert np.array_equal(gaps, np.where(path.gaps > 0, path.gaps, np.nan), equal_nan=True)


def test_strengths_fall_from_left_to_right_on_a_log_scale(path):
    panel = path.plot().axes[-1]
    left, right = panel.get_xlim()
    assert left > right and panel.get_xscale() == "log" and panel.get_xlabel() == "strength"


def test_the_largest_coefficients_are_named_and_the_rest_counted(path):
    texts = [text.get_text() for text in path.plot().legends[0].get_texts()]
    peaks = np.abs(path.coefficients).max(axis=1)
    assert texts[:7] == [f"x{j}" for j in np.argsort(-peaks)[:7]]
    assert texts[7] == f"{np.count_nonzero(peaks) - 7} others"


def test_the_best_score_is_marked(path):
    means = np.array([0.5, 0.6, 0.9, 0.8, 0.7, math.nan])
    drawn = lines(path, scores=Scores("accuracy", means, np.full(6, 0.01)))
    figure = draw(scene(drawn, ""))
    assert drawn.best == path.strengths[2]
    for panel in figure.axes:
        assert [path.strengths[2]] * 2 in [list(line.get_xdata()) for line in panel.get_lines()]
    assert f"best accuracy at {path.strengths[2]:.3g}" in figure.legends[0].get_title().get_text()


def test_what_fell_short_is_hollow_and_counted(path):
    short = [dataclasses.replace(result, status=Status.STALLED) for result in path[:2]]
    mixed = Path(path.strengths, [*short, *path[2:]])
    filled, hollow = panels(mixed.plot())["certified gap"].get_lines()
    assert np.array_equal(hollow.get_xdata(), path.strengths[:2])
    assert hollow.get_markerfacecolor() == "#FFFFFF" != filled.get_markerfacecolor()
    assert "6 strengths, 2 not converged" in mixed.plot().legends[0].get_title().get_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"w": np.zeros(12)},
        {"certificate": Certificate(-math.inf, 1.0)},
        {"certificate": Certificate(1.0, 1.0)},
    ],
    ids=["no weights", "no bounds", "no gaps"],
)
def test_whatever_a_path_holds_is_drawn(path, change):
    edge = Path(path.strengths, [dataclasses.replace(result, **change) for result in path])
    for drawn in (edge, edge[:1], Path(np.append(path.strengths[:-1], 0.0), edge.results)):
        drawn.plot().canvas.draw()
        assert f"{len(drawn)} strengths" in path_page.compose(lines(drawn), "", {})


@pytest.mark.slow
def test_a_page_holds_the_lines_and_every_certificate(path, tmp_path):
    file = tmp_path / "path.html"
    fenchel.plot(path, file, title="</script><img>", settings={"loss": "logistic"})
    text = file.read_text(encoding="utf-8")
    assert "<img>" not in text and "logistic" in text
    for result in path:
        assert f"<td>{result.objective:.8g}</td><td>{result.gap:.1e}</td>" in text
    panel = json.loads(re.search(r'"application/json">(.*?)</script>', text)[1])
    shown = {trace["name"]: trace["y"] for trace in panel["traces"]}
    for j in range(12):
        assert shown[f"x{j}"] == pytest.approx(path.coefficients[j].tolist(), rel=1e-7)


def test_an_empty_path_is_refused(path):
    with pytest.raises(InvalidData, match="empty"):
        path[:0].plot()
