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
    bars = [Series("ours", ["a9a", "w8a"], [3, 4], "bars")]
    shown = [
        Panel("a9a <b>", "strength", "seconds", series, log="xy"),
        Panel("counts", "set", "passes", bars),
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
    write(outcomes, folder / "whole")
    write(outcomes, folder / "small", small=True)
    return folder


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [380, 1200])
def test_every_panel_is_drawn_without_a_network(folder: Path, width: int, dark: bool) -> None:
    with opened(folder / "whole" / "yu10.html", width=width, dark=dark) as page:
        page.evaluate("drawAll()")
        panels = page.locator(".panel")
        assert panels.count() == 4
        assert page.locator(".panel svg").count() == 4
        assert page.locator(".panel svg .mark-line path").count() >= 6
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.faults == []


def test_panels_are_drawn_as_they_come_near(folder: Path) -> None:
    with opened(folder / "whole" / "yu10.html") as page:
        page.locator(".panel svg").first.wait_for()
        assert page.faults == []


def test_the_small_site_needs_no_script(folder: Path) -> None:
    pages = sorted((folder / "small").iterdir())
    assert [page.name for page in pages] == ["index.html", "teo07.html", "yu10.html"]
    assert all("<script" not in page.read_text() for page in pages)
    with opened(folder / "small" / "yu10.html", width=380) as page:
        assert page.locator(".panel svg").count() == 4
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.faults == []


def test_the_index_counts_verdicts_and_gives_reasons(folder: Path) -> None:
    with opened(folder / "whole" / "index.html", width=380) as page:
        rows = [row.split() for row in page.locator("table").first.locator("tr").all_inner_texts()]
        assert rows[1:] == [["[Yu10]", "1", "1", "0"], ["[Teo07]", "0", "0", "1"]]
        assert page.locator(".verdict.partly").count() == 1
        assert "why" in page.locator("tr", has_text="Figure of teo07-3").inner_text()
        page.click("text=Figure of yu10-2")
        assert page.url.endswith("yu10.html#yu10-2")
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.faults == []
