"""Plots: they show the history as it is, whatever it holds, and their files open anywhere."""

from __future__ import annotations

import html.parser
import io
import json
import math
import re
import sys
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fenchel
from fenchel import Certificate, Incompatible, InvalidData, Record, Result, Status
from fenchel.report import scene as scene_module
from fenchel.report.curves import DISTANCE, curves, scene
from fenchel.report.plots import check_path, write_curves
from fenchel.report.scene import kept, ticks
from fenchel.report.style import MOST
from fenchel.result import relative_gap

pytestmark = pytest.mark.slow

matplotlib_image = pytest.importorskip("matplotlib.image")


def result_of(rows, status=Status.CONVERGED, solver="bmrm"):
    """From rows of (objective, lower bound, passes, seconds)."""
    history = [
        Record(i + 1, u, b, relative_gap(u, b), passes, seconds)
        for i, (u, b, passes, seconds) in enumerate(rows)
    ]
    last = history[-1]
    return Result(
        w=np.zeros(2),
        intercept=0.0,
        certificate=Certificate(last.lower_bound, last.objective),
        status=status,
        iterations=len(history),
        passes=last.passes,
        seconds=last.seconds,
        history=history,
        solver=solver,
        reason="",
        witness=None,
    )


def closing_in(n=40, at=1.0, first_bound=-math.inf):
    i = np.arange(1, n + 1)
    lower = at - 3 / i**0.8
    lower[0] = first_bound
    rows = zip(at + 5 / i, lower, 2 * i, 1e-3 * i, strict=True)
    return result_of([(float(u), float(b), int(p), float(s)) for u, b, p, s in rows])


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    problem = fenchel.problem(X, np.sign(X[:, 0] + 0.3), loss="hinge", strength=1e-2)
    return fenchel.minimize(problem, "bmrm", gap=1e-4)


EDGES = {
    "one record": [(1.0, 0.5, 2, 0.1)],
    "no bound": [(1.0, -math.inf, 2, 0.0)],
    "no bound at first": [(2.0, -math.inf, 2, 0.1), (1.0, 0.5, 4, 0.2)],
    "nothing finite": [(math.inf, -math.inf, 0, 0.0)],
    "gap 0 at once": [(1.0, 1.0, 2, 0.0), (1.0, 1.0, 4, 0.0)],
    "gap 0 at the end": [(2.0, 0.0, 2, 0.1), (1.0, 1.0, 4, 0.2)],
    "negative": [(-1.0, -9.0, 2, 0.1), (-3.0, -4.0, 4, 0.2)],
    "through zero": [(1.0, -1.0, 2, 0.1), (0.0, -0.5, 4, 0.2), (-0.1, -0.2, 6, 0.3)],
    "all zero": [(0.0, 0.0, 0, 0.0)],
    "far apart": [(1e308, -1e308, 2, 0.1), (1e200, -1e200, 4, 0.2), (1.0, 0.9, 6, 0.3)],
    "tiny": [(1e-300, 0.0, 2, 1e-9), (1e-305, 9e-306, 4, 1e-3)],
}


# -- what the figure shows -----------------------------------------------------------------------


def test_the_lines_hold_the_history(fitted):
    figure = fitted.plot()
    for panel, x, ys in zip(
        figure.axes,
        ("seconds", "passes") * 2,
        [("objective", "lower_bound")] * 2 + [("gap",)] * 2,
        strict=True,
    ):
        drawn = panel.get_lines()
        assert len(drawn) == len(ys)
        for line, y in zip(drawn, ys, strict=True):
            assert list(line.get_xdata()) == [getattr(r, x) for r in fitted.history]
            assert list(line.get_ydata()) == [getattr(r, y) for r in fitted.history]
            assert line.get_drawstyle() == "steps-post"  # nothing is proved between two records


def test_axes_say_what_they_show_and_the_gap_is_on_a_log_scale(fitted):
    upper_left, _, lower_left, lower_right = fitted.plot().axes
    assert (lower_left.get_xlabel(), lower_right.get_xlabel()) == (
        "time (seconds)",
        "passes over the data",
    )
    assert upper_left.get_ylabel() == "bounds of min J"
    assert lower_left.get_ylabel() == "certified relative gap"
    assert [panel.get_yscale() for panel in (upper_left, lower_left)] == ["linear", "log"]


def test_everything_drawn_is_in_sight(fitted):
    for panel in fitted.plot().axes:
        (left, right), (low, high) = panel.get_xlim(), panel.get_ylim()
        for line in panel.get_lines():
            x, y = line.get_data()
            assert left <= min(x) and max(x) <= right
            assert low <= min(y) and max(y) <= high


def test_the_head_states_the_certificate(fitted):
    (text,) = fitted.plot().legends[0].get_texts()
    assert f"{fitted.lower_bound:.8g} ≤ min J ≤ {fitted.objective:.8g}" in text.get_text()
    assert f"gap {fitted.gap:.1e}" in text.get_text() and "converged" in text.get_text()


def test_several_runs_are_drawn_in_colours_of_their_own():
    runs = {f"run {k}": closing_in(20 + k) for k in range(7)}
    figure = fenchel.plot(runs, title="seven")
    gap_lines = figure.axes[2].get_lines()
    assert [line.get_label() for line in gap_lines] == list(runs)
    assert len({line.get_color() for line in gap_lines}) == 7
    assert figure.legends[0].get_title().get_text() == "seven"


def test_the_lines_of_many_runs_differ_in_colour_or_dashes():
    runs = {f"class {k}": closing_in(60 - k) for k in range(MOST)}
    figure = fenchel.plot(runs)
    looks = {(line.get_color(), str(line._dash_pattern)) for line in figure.axes[2].get_lines()}
    assert len(looks) == MOST >= 24
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(runs)


def test_of_too_many_runs_to_be_told_apart_the_slowest_stands_out():
    runs = {f"class {k}": closing_in(60 - k) for k in range(MOST + 2)}
    figure = fenchel.plot(runs)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts[0].startswith("class 0:") and texts[1] == f"{MOST + 1} other runs"
    assert len(figure.axes[2].get_lines()) == MOST + 2


def test_several_runs_are_measured_from_the_best_lower_bound_of_all():
    runs = {"short": closing_in(10), "long": closing_in(200)}
    panel = fenchel.plot(runs).axes[0]
    assert panel.get_ylabel() == DISTANCE and panel.get_yscale() == "log"
    for line, run in zip(panel.get_lines(), runs.values(), strict=True):
        best = runs["long"].lower_bound
        assert np.array_equal(line.get_ydata(), [r.objective - best for r in run.history])


def test_a_distance_is_no_less_than_the_true_one():
    """The minimum is 1 here, by construction."""
    runs = {"short": closing_in(10), "long": closing_in(200)}
    for curve in curves(runs):
        assert np.all(curve.column("distance") >= curve.column("objective") - 1.0)


def test_runs_whose_bounds_contradict_each_other_are_measured_by_their_own():
    runs = {"one": closing_in(at=1.0), "other": closing_in(at=100.0)}
    for curve, run in zip(curves(runs), runs.values(), strict=True):
        assert curve.column("distance")[-1] == pytest.approx(run.objective - run.lower_bound)
    same = {"one": closing_in(10), "other": closing_in(20)}
    apart = curves(same, one_problem=False)
    assert [curve.floor for curve in apart] == [run.lower_bound for run in same.values()]


def test_a_bound_that_starts_far_off_does_not_flatten_the_picture():
    low, high = closing_in(50, first_bound=-1e9).plot().axes[0].get_ylim()
    assert -50 < low < 0 and 6 < high < 12


def test_what_is_there_at_0_comes_in_from_the_left_of_a_log_axis():
    rows = [(1 + 1 / i, 1 - 1 / i, 2 * i, 0.1 * (i - 1)) for i in range(1, 50)]
    drawn = scene(curves(result_of(rows)), "").panels[0]
    assert drawn.x.log and drawn.x.limits[0] > 0.05
    assert drawn.x.shares(drawn.traces[0].x)[0] == -1.0


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["png", "svg", "pdf", "html"])
@pytest.mark.parametrize("rows", EDGES.values(), ids=EDGES)
def test_every_history_can_be_drawn(rows, suffix, tmp_path):
    path = tmp_path / f"plot.{suffix}"
    figure = result_of(rows, Status.STALLED).plot(path)
    assert len(figure.axes) == 4 and path.stat().st_size > 1000
    for panel in figure.axes:
        assert np.isfinite([*panel.get_xlim(), *panel.get_ylim()]).all()


bound = st.floats(-1e6, 1e6) | st.just(math.inf) | st.just(-math.inf)


@given(st.lists(st.tuples(bound, bound, st.integers(0, 10**6), st.floats(0, 1e4)), min_size=1))
def test_limits_are_finite_and_in_order_for_any_numbers(rows):
    result = result_of(rows)
    for shown in (result, {"a": result, "b": result_of(rows[:1])}):
        for panel in scene(curves(shown), "").panels:
            for axis in (panel.x, panel.y):
                low, high = axis.limits
                assert math.isfinite(low) and math.isfinite(high) and low < high
                assert low > 0 or not axis.log
                assert all(low <= value <= high for value, _ in ticks(axis))


# -- long histories ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long():
    return closing_in(100_000)


@pytest.mark.slow
def test_a_long_history_stays_small_on_disk(long, tmp_path):
    for name in ("plot.svg", "plot.png", "plot.pdf", "plot.html"):
        long.plot(tmp_path / name)
        assert (tmp_path / name).stat().st_size < 300_000


def test_a_page_of_many_long_runs_stays_below_300_kb(tmp_path):
    runs = {f"run {k}": closing_in(2000 + k, at=1 + k / 1e5) for k in range(9)}
    write_curves(curves(runs), tmp_path / "plot.html")
    assert (tmp_path / "plot.html").stat().st_size < 300_000


def test_a_long_history_looks_as_if_all_of_it_were_drawn(long, tmp_path, monkeypatch):
    thin = picture(long)
    monkeypatch.setattr(scene_module.kept, "__defaults__", (10**9,))
    assert (np.abs(thin - picture(long)).max(axis=2) > 0.5).mean() < 0.005


def picture(result):
    return matplotlib_image.imread(io.BytesIO(result.plot()._repr_png_()))[..., :3]


def test_thinning_keeps_the_ends_and_records_only():
    for panel in scene(curves(closing_in(5000)), "").panels:
        for trace in panel.traces:
            index = kept(panel, trace)
            assert index[0] == 0 and index[-1] == 4999 and np.all(np.diff(index) > 0)
            assert len(index) < 1700


def test_thinning_keeps_a_gap_that_leaps_up():
    """A gap is no monotone curve where the objective changes sign."""
    rows = [(1.0 - i / 5000, -2.0, i, i / 1000) for i in range(1, 10_000)]
    for panel in scene(curves(result_of(rows)), "").rows[1]:
        (trace,) = panel.traces
        heights = panel.y.shares(trace.y)
        assert np.nanmax(heights[kept(panel, trace)]) >= np.nanmax(heights) - 1 / 400


# -- files ---------------------------------------------------------------------------------------


def test_a_png_decodes(fitted, tmp_path):
    fitted.plot(tmp_path / "plot.PNG")
    height, width, channels = matplotlib_image.imread(tmp_path / "plot.PNG").shape
    assert (width, channels) == (1440, 4) and 800 < height < 1000


def test_an_svg_is_xml_with_letters_in_it_and_the_same_every_time(fitted, tmp_path):
    for name in ("one.svg", "two.svg"):
        fenchel.plot({"a < b & c": fitted}, tmp_path / name, title='<path d="1.23456"')
    root = ElementTree.parse(tmp_path / "one.svg").getroot()
    texts = "".join(root.itertext())
    assert root.tag.endswith("svg") and "prefers-color-scheme: dark" in texts
    assert "time (seconds)" in texts and "a < b & c" in texts and '<path d="1.23456"' in texts
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_a_pdf_is_one(fitted, tmp_path):
    fitted.plot(tmp_path / "plot.pdf")
    assert (tmp_path / "plot.pdf").read_bytes().startswith(b"%PDF-")


class Loads(html.parser.HTMLParser):
    """Collects what a page loads and what it says."""

    def __init__(self):
        super().__init__()
        self.loads, self.text, self.tags = [], [], []

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loads += [value for name, value in attributes if name in ("src", "href")]

    def handle_data(self, data):
        self.text.append(data)


def opened(path):
    page = Loads()
    page.feed(path.read_text(encoding="utf-8"))
    return page


def test_a_page_loads_nothing_and_says_everything(fitted, tmp_path):
    path = tmp_path / "plot.html"
    fenchel.plot({"bmrm": fitted}, path, title="a title", settings={"loss": "hinge"})
    page, text = opened(path), path.read_text(encoding="utf-8")
    assert page.loads == [] and "link" not in page.tags
    assert not re.search(r"""(import|from)\s*\(?["']https?:|@import|cdn\.|importScripts""", text)
    for said in ("a title", "loss", "hinge", f"{fitted.objective:.8g}", f"{fitted.gap:.1e}"):
        assert said in page.text


def test_a_page_holds_the_history(fitted, tmp_path):
    fitted.plot(tmp_path / "plot.html")
    panels = felt(tmp_path / "plot.html")
    fields = [("objective", "lower_bound")] * 2 + [("gap",)] * 2
    for panel, x, ys in zip(panels, ("seconds", "passes") * 2, fields, strict=True):
        for trace, y in zip(panel["traces"], ys, strict=True):
            assert trace["x"] == pytest.approx([getattr(r, x) for r in fitted.history], rel=1e-7)
            assert trace["y"] == pytest.approx([getattr(r, y) for r in fitted.history], rel=1e-7)


def felt(path):
    """What the script of a page knows of each panel."""
    text = path.read_text(encoding="utf-8")
    data = re.findall(r'<script type="application/json">(.*?)</script>', text)
    return [json.loads(each) for each in data]


def test_the_tables_of_a_page_have_a_cell_under_every_head(fitted, tmp_path):
    fenchel.plot({"a": fitted, "b": fitted}, tmp_path / "plot.html", settings={"loss": "hinge"})
    text = (tmp_path / "plot.html").read_text(encoding="utf-8")
    tables = re.findall(r"<table.*?</table>", text, re.DOTALL)
    assert len(tables) == 4
    for table in tables:
        widths = {len(re.findall(r"<t[hd]>", row)) for row in table.split("</tr>")[:-1]}
        assert len(widths) == 1 and "<td></td>" not in table


def test_pictures_and_pages_need_no_matplotlib(fitted, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # an import of it fails
    for name in ("p.svg", "p.html"):
        check_path(tmp_path / name)
        write_curves(curves(fitted), tmp_path / name)
        assert (tmp_path / name).stat().st_size > 1000


def test_names_cannot_break_out_of_a_page(fitted, tmp_path):
    name = "</script><img src=x>"
    fenchel.plot({name: fitted}, tmp_path / "p.html", title=name, settings={name: name})
    page = opened(tmp_path / "p.html")
    assert "img" not in page.tags and page.tags.count("script") == 1 + 4
    assert name in page.text


def test_a_failure_leaves_the_old_file_alone(fitted, tmp_path, monkeypatch):
    path = tmp_path / "plot.svg"
    path.write_text("before")

    def fail(*_, **__):
        raise OSError("no")

    monkeypatch.setattr("fenchel.report.svg.drawn", fail)
    with pytest.raises(OSError, match="no"):
        fitted.plot(path)
    assert path.read_text() == "before" and list(tmp_path.iterdir()) == [path]


# -- manners -------------------------------------------------------------------------------------


def test_pyplot_and_its_settings_are_left_alone(fitted, tmp_path):
    import matplotlib
    from matplotlib import pyplot

    before = dict(matplotlib.rcParams), pyplot.get_fignums(), matplotlib.get_backend()
    fitted.plot(tmp_path / "plot.svg")
    assert (dict(matplotlib.rcParams), pyplot.get_fignums(), matplotlib.get_backend()) == before


def test_a_notebook_shows_the_figure(fitted):
    assert fitted.plot()._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("name", ["plot", "plot.gif", "plot.svg.gz", ".png"])
def test_an_unknown_suffix_is_refused_with_those_that_work(fitted, name, tmp_path):
    with pytest.raises(InvalidData, match=r"\.png, \.svg, \.pdf, \.html"):
        fitted.plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_refused_before_the_work(tmp_path):
    with pytest.raises(FileNotFoundError):
        check_path(tmp_path / "no" / "plot.png")


@pytest.mark.parametrize("name", ["p.png", "p.pdf", "p.svg"])
def test_a_missing_extra_is_named(fitted, tmp_path, monkeypatch, name):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # an import of it fails
    with pytest.raises(ImportError, match=r'pip install "fenchel\[plot\]"'):
        fitted.plot(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("wrong", [None, 3, [], [1], {"a": 3}], ids=repr)
def test_what_is_no_result_is_refused(wrong):
    with pytest.raises(Incompatible, match="Result"):
        fenchel.plot(wrong)


def test_nothing_to_plot_is_said():
    with pytest.raises(InvalidData, match="empty"):
        fenchel.plot({})
