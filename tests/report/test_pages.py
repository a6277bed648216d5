"""Pages in a real browser: they are whole, answer to the pointer, and fit every screen."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from browser import opened

import fenchel
from fenchel.report.curves import curves
from fenchel.report.lines import lines
from fenchel.report.plots import write_curves, write_lines

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = np.sign(X[:, 0] + 0.3)
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-2)
    runs = {name: fenchel.minimize(problem, name, gap=1e-4) for name in ("bmrm", "ls-bmrm", "sdca")}
    write_curves(curves(runs), folder / "runs.html", title="runs", settings={"loss": "hinge"})
    sparse = fenchel.problem(X, y, loss="logistic", regularizer="l1")
    write_lines(lines(fenchel.path(sparse, 6)), folder / "path.html")
    return folder


@pytest.mark.parametrize(("width", "dark"), [(380, True), (1200, False)])
@pytest.mark.parametrize("name", ["runs", "path"])
def test_a_page_fits_its_window_and_has_no_faults(
    pages: Path, name: str, width: int, dark: bool
) -> None:
    with opened(pages / f"{name}.html", width=width, dark=dark) as page:
        assert page.locator(".panel svg").count() == (6 if name == "runs" else 2)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (ground == "rgb(255, 255, 255)") != dark
        assert page.faults == []


def test_the_pointer_is_told_what_it_is_on(pages: Path) -> None:
    with opened(pages / "runs.html") as page:
        dot = page.locator(".panel").nth(2).locator("g[data-run=sdca] circle")
        dot.scroll_into_view_if_needed()
        dot = dot.bounding_box()
        page.mouse.move(dot["x"] + 2, dot["y"] + 2)
        tip = page.locator(".panel").nth(2).locator(".tip")
        tip.wait_for(state="visible")
        assert tip.inner_text().startswith("sdca\ncertified relative gap: ")
        page.mouse.move(2, 2)
        tip.wait_for(state="hidden")


def test_a_name_chooses_its_run_and_another_click_lets_go(pages: Path) -> None:
    with opened(pages / "runs.html") as page:
        away = page.locator("g[data-run].away")
        page.click("button.chip[data-name=sdca]")
        assert away.count() == 4 * 2
        page.click("button.chip[data-name=bmrm]", modifiers=["Shift"])
        assert away.count() == 4
        page.click("button.chip[data-name=bmrm]")
        page.click("button.chip[data-name=bmrm]")
        assert away.count() == 0 and page.faults == []


def test_the_page_of_the_demo_shows_each_picture_with_its_proof(tmp_path: Path) -> None:
    from demo_page import write

    write(tmp_path / "demo.html", ("problem", "ms"), [("one", "2.0")])
    assert (tmp_path / "demo.html").stat().st_size < 300_000
    with opened(tmp_path / "demo.html", width=380) as page:
        assert page.locator("section").count() == 5
        assert page.locator(".proof").count() == 4
        proofs = "\n".join(page.locator(".proof").all_inner_texts())
        assert proofs.count("from the witness, in exact arithmetic") == 3
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert page.faults == []
