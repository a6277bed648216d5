"""The pages of the docs, and README, do what they say (tests/pages.py says how they are run)."""

import re
import sys
import tomllib

import pytest
from commands import Command
from pages import DOCS, PAGES, ROOT, Runner, blocks, named

from fenchel.solvers import SOLVERS

NEEDED = {"how-to/devices": "array_api_strict"}  # by pages whose packages only tests have


def test_the_pages_are_found():
    assert len(PAGES) >= 30 and sum(bool(blocks(page)) for page in PAGES) >= 20


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=named)
def test_the_blocks_of_a_page_run_when_pasted_in_order(
    page, tmp_path, monkeypatch, run: Command, own_module
):
    pytest.importorskip(NEEDED.get(named(page), "fenchel"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    runner = Runner(page, run)
    try:
        for block in blocks(page):
            runner(block)
    finally:
        runner.close()


def test_the_blocks_of_the_readme_run_when_pasted_in_order(
    tmp_path, capsys, run: Command, own_module
):
    runner = Runner(ROOT / "README.md", run)
    shown = blocks(ROOT / "README.md")
    assert [block.language for block in shown] == ["python", "python", "console", "python"]
    told = ""
    for block in shown:
        runner(block)
        told += capsys.readouterr().out
    first, *_, last = [line for line in told.splitlines() if "min J" in line]
    assert first.startswith("Result(converged by") and last.startswith("Certificate(")
    assert (tmp_path / "cancer.html").stat().st_size < 300_000


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=str)
def test_links_to_pages_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


@pytest.mark.parametrize("page", [*PAGES, *sorted(ROOT.glob("*.md"))], ids=str)
def test_no_marks_of_a_merge_are_left(page):
    assert not re.search(r"^(?:<{7}|={7}|>{7})(?: |$)", page.read_text(), re.MULTILINE)


# Words of those who wrote the pages, which a reader cannot know: a machine that did something else,
# numbers of papers and of issues.
INTERNAL = r"busy|under (?:a )?load|\bhelper\b|\bissue \d|(?<![\d.,_])00\d\b"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_speaks_to_strangers(page):
    assert re.findall(f".*(?:{INTERNAL}).*", page.read_text(), re.IGNORECASE) == []


def test_the_links_of_the_readme_are_absolute_on_a_package_index():
    hooks = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["metadata"]
    text = (ROOT / "README.md").read_text()
    for each in hooks["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)]+)\)", text)
    assert len(links) > 20 and all(link.startswith("https://") for _, link in links)
    assert all("//raw." in link for image, link in links if image)


def test_the_page_of_solvers_has_them_all():
    page = (DOCS / "reference" / "solvers.md").read_text()
    assert [name for name in SOLVERS if f"`{name}`" not in page] == []


def commands(page):
    """The scripts of a page's tables, with their arguments."""
    return re.findall(r"<!-- figures: (\S+).*? -->\n.*?<!-- /figures -->", page, re.DOTALL)


def test_tables_of_figures_come_from_scripts_that_are_there():
    pages = [page.read_text() for page in PAGES if page.parent.name == "benchmarks"]
    scripts = [script for page in pages for script in commands(page)]
    assert len(scripts) >= 5 and all((ROOT / script).exists() for script in scripts)
    assert sum(page.count("<!-- figures:") for page in pages) == len(scripts)
