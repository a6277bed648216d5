"""The pages of the docs, and README, do what they say (tests/pages.py says how they are run)."""

import re
import subprocess
import sys

import pytest
from commands import Command
from pages import PAGES, ROOT, Runner, blocks, named


def test_the_pages_are_found():
    assert len(PAGES) >= 30 and sum(bool(blocks(page)) for page in PAGES) >= 20


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=named)
def test_the_blocks_of_a_page_run_when_pasted_in_order(
    page, tmp_path, monkeypatch, run: Command, own_module
):
    monkeypatch.setattr(sys, "path", [*sys.path])
    runner = Runner(page, run)
    try:
        for block in blocks(page):
            runner(block)
    finally:
        runner.close()


def test_the_blocks_of_the_readme_run_when_pasted_in_order(tmp_path):
    text = (ROOT / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True
    )
    assert len(blocks) >= 3 and run.returncode == 0, run.stderr
    accuracy, certificate = run.stdout.splitlines()[:2]
    assert float(accuracy) > 0.9 and len(certificate.split()) == 3


@pytest.mark.parametrize("page", [*PAGES, ROOT / "README.md"], ids=str)
def test_links_to_pages_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


# Words of those who wrote the pages, which a reader cannot know: a machine that did something else,
# numbers of papers and of issues.
INTERNAL = r"busy|under (?:a )?load|\bhelper\b|\bissue \d|(?<![\d.,_])00\d\b"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_a_page_speaks_to_strangers(page):
    assert re.findall(f".*(?:{INTERNAL}).*", page.read_text(), re.IGNORECASE) == []
