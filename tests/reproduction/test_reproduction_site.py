"""The site in a real browser: every panel is drawn, nothing complains, nothing is too wide."""

from pathlib import Path

import pytest
from browser import opened

from reproduction import Check, Panel, Series, Table
from reproduction.found import Found
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
        Table("costs", ["set", "passes"], [["a9a", 3], ["<i>", 4]]),
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
