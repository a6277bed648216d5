"""The site in a real browser: every panel is drawn, nothing complains, nothing is too wide."""

import dataclasses
from pathlib import Path

import pytest
from browser import opened

from reproduction import Check, Panel, Series, Table
from reproduction.entries import kept
from reproduction.found import Found
from reproduction.registry import identifiers
from reproduction.runner import Outcome
from reproduction.shape import Script
from reproduction.site import write


def outcome(paper: str, name: str, holds: tuple[bool, ...]) -> Outcome:
    series = [
        Series("measured </script>", [1e-3, 1e-2, 1e-1], [3.0, float("inf"), 1.0]),
        Series("theory", [1e-3, 1e-1], [4.0, 2.0], "dashed"),
        Series("steps", [1e-3, 1e-1], [4.0, 2.0], "steps"),
        Series("contour", [1e-3, 1e-1], [5.0, 1.0], "faint"),
    ]
    by_name = [Series("ours", ["a9a", "w8a"], [3, 4], "points")]
    shown = [
        Panel("a9a <b>", "strength", "seconds", series, log="xy"),
        Panel("counts", "set", "passes", by_name),
        Table(
            "costs",
            ["set", "passes"],
            [["a9a", 3], ["<i>", 4], ["w8a", 123.0], [0.1 + 0.2, 2e5 / 3]],
        ),
    ]
    script = Script(
        name, paper, f"Figure of {name}", "did", "claim", "here", "why", *[lambda *_: {}] * 3
    )
    checks = [Check(f"statement {k} < {k + 1}", each, "1 of 2") for k, each in enumerate(holds)]
    return Outcome(script, True, shown, checks, {("a9a", 1e-3): Found(objective=1.0)})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    outcomes = [
        outcome("Yu10", "yu10-1", (True, True)),
        outcome("Yu10", "yu10-2", (True, False)),
        outcome("Teo07", "teo07-3", (False,)),
    ]
    return write(outcomes, folder).parent


@pytest.mark.parametrize("width, dark", [(380, True), (1200, False)])
def test_every_panel_is_drawn_without_a_network(folder: Path, width: int, dark: bool) -> None:
    with opened(folder / "yu10.html", width=width, dark=dark) as page:
        assert page.locator(".panel svg").count() == 4
        lines = page.locator(".panel:first-child svg g[data-run] path.line")
        assert all(line.get_attribute("d").count("L") + 1 for line in lines.all())
        assert "a9a <b>: seconds" in page.locator(".panel text").first.text_content()
        assert page.locator(".panel circle.f0").count() >= 4  # 2 points of the line, of each figure
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.faults == []


def test_a_panel_answers_to_the_pointer(folder: Path) -> None:
    with opened(folder / "yu10.html") as page:
        dot = page.locator(".panel circle.f0").first
        dot.scroll_into_view_if_needed()
        place = dot.bounding_box()
        page.mouse.move(place["x"] + 2, place["y"] + 2)
        assert "measured </script>" in page.locator(".tip").first.inner_text()
        assert page.faults == []


def test_numbers_in_tables_are_as_people_read_them(folder: Path) -> None:
    text = (folder / "yu10.html").read_text()
    assert "<td>w8a</td><td>123</td>" in text and "<td>0.3</td><td>66,667</td>" in text


def test_the_index_counts_verdicts_and_gives_reasons(folder: Path) -> None:
    with opened(folder / "index.html", width=380) as page:
        rows = [row.split() for row in page.locator("table").first.locator("tr").all_inner_texts()]
        assert rows[1:] == [["[Yu10]", "1", "1", "0"], ["[Teo07]", "0", "0", "1"]]
        assert page.locator(".verdict.partly").count() == 1
        assert "why" in page.locator("tr", has_text="Figure of teo07-3").inner_text()
        page.click("text=Figure of yu10-2")
        assert page.url.endswith("yu10.html#yu10-2")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.faults == []


def test_one_figure_is_renewed_and_all_others_stay(tmp_path: Path) -> None:
    first = [outcome("Yu10", "yu10-1", (True, True)), outcome("Yu10", "yu10-2", (True, False))]
    write([*first, outcome("Teo07", "teo07-3", (False,))], tmp_path)
    before = kept(tmp_path, quick=True)
    assert [entry.verdict for entry in before.values()] == ["reproduced", "partly", "not"]
    renewed = dataclasses.replace(first[1], reason=outcome("Yu10", "yu10-2-why", (True,)))
    write([renewed], tmp_path, before)
    after = kept(tmp_path, quick=True)
    assert list(after) == list(before)
    assert all(after[name] == before[name] for name in ("yu10-1", "teo07-3"))
    assert after["yu10-2"].section.count('class="checks"') == 2
    assert after["yu10-2"].section.count('class="panels') == 2
    assert 'href="#yu10-1"' in (tmp_path / "yu10.html").read_text()
    write([Outcome(first[0].script, True, missing=3)], tmp_path, after)
    assert kept(tmp_path, quick=True) == after  # what is unfinished replaces nothing
    assert kept(tmp_path, quick=False) == {}  # nor do quick and whole runs share a page


def test_the_committed_site_has_every_figure() -> None:
    entries = kept(Path(__file__).parents[2] / "docs" / "reproduction", quick=False)
    assert list(entries) == identifiers()
    assert {entry.verdict for entry in entries.values()} == {"reproduced", "partly", "not"}
