"""The documentation site that `make docs` has built: links, what the API pages hold, a browser."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from browser import opened
from pages import ROOT

import fenchel

SITE = ROOT / "build" / "site"
pytestmark = pytest.mark.skipif(not (SITE / "index.html").exists(), reason="needs `make docs`")


class Page(HTMLParser):
    """The anchors of a page, its links, and what it loads."""

    def __init__(self, path: Path):
        super().__init__()
        self.path, self.anchors = path, set[str]()
        self.links, self.loads = list[str](), list[str]()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = {name: value for name, value in attributes if value}
        self.anchors |= {found[name] for name in ("id", "name") if name in found}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        elif tag in ("script", "img", "iframe") and "src" in found:
            self.loads.append(found["src"])
        elif tag == "link" and found.get("rel") != "canonical" and "href" in found:
            self.loads.append(found["href"])


@pytest.fixture(scope="module")
def pages() -> dict[Path, Page]:
    return {path: Page(path) for path in SITE.rglob("*.html") if path.name != "404.html"}


def dead(page: Page, pages: dict[Path, Page]) -> Iterator[str]:
    """Links and loads of this site that lead nowhere."""
    for link in page.links + page.loads:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc or link.startswith("data:"):
            continue
        target = (page.path.parent / unquote(parts.path)).resolve() if parts.path else page.path
        anchor = unquote(parts.fragment)
        if not target.exists():
            yield link
        elif anchor and target in pages and anchor not in pages[target].anchors:
            yield link


def test_every_link_leads_somewhere(pages):
    assert {str(path): found for path in pages if (found := list(dead(pages[path], pages)))} == {}


def test_products_of_vectors_are_no_tags(pages):
    assert [path for path in pages if re.search(r"<\w+, [^<>]+>", path.read_text())] == []


def test_nothing_is_loaded_from_elsewhere(pages):
    assert [load for page in pages.values() for load in page.loads if urlsplit(load).netloc] == []


def test_every_public_name_is_documented(pages):
    anchors = set().union(*(page.anchors for page in pages.values()))
    named = {name: getattr(fenchel, name) for name in fenchel.__all__}
    paths = {
        name: {f"fenchel.{name}", f"{found.__module__}.{name}"}
        for name, found in named.items()
        if hasattr(found, "__module__")
    }
    assert sorted(name for name, possible in paths.items() if not possible & anchors) == []


SHOWN = ("index", "reference/api/estimators", "benchmarks/small-fits", "reference/commands")


@pytest.mark.slow
@pytest.mark.parametrize("width, dark", [(1280, False), (400, True)])
@pytest.mark.parametrize("name", SHOWN)
def test_a_page_opens_in_a_browser(name, width, dark):
    with opened(SITE / f"{name}.html", width=width, dark=dark) as page:
        assert page.faults == []
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert page.evaluate(wide) <= 0
        assert page.locator("h1").count() == 1


@pytest.mark.slow
def test_search_works_without_a_server():
    with opened(SITE / "index.html") as page:
        page.locator(".md-search__input").fill("quantile")
        page.locator(".md-search-result__item").first.wait_for(state="attached", timeout=60_000)
        assert page.faults == []


@pytest.mark.slow
def test_code_is_copied_without_prompts():
    with opened(SITE / "how-to" / "own-loss.html") as page:
        code = page.locator(".highlight code").first
        code.evaluate("element => element.setAttribute('data-md-copying', '')")
        copied = code.inner_text()
        assert "import numpy as np" in copied and ">>>" not in copied and "\n..." not in copied
