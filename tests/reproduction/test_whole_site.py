"""The site that `make reproduce QUICK=1` has written, in a real browser; CI makes it before."""

from pathlib import Path

import pytest
from browser import opened

SITE = Path(__file__).parents[2] / "build" / "reproduction" / "quick"
BARE = """[...document.querySelectorAll('.panel svg')].filter(svg =>
    !svg.querySelector('g[data-run] path, g[data-run] circle') || svg.clientWidth < 100).length"""
PAGES = sorted(path.name for path in SITE.glob("*.html"))


@pytest.mark.skipif(not PAGES, reason="needs the site that make reproduce QUICK=1 writes")
@pytest.mark.parametrize("width, dark", [(390, True), (1200, False)])
def test_all_of_its_figures_are_drawn(width, dark):
    with opened(SITE / "index.html", width=width, dark=dark) as page:
        for name in PAGES:
            page.goto((SITE / name).as_uri())
            assert page.faults == [], name
            assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), name
            assert page.evaluate(BARE) == 0, name
