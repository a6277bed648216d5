"""The pages of the docs do what they say.

A block of ```python with prompts is a doctest. Sessions in plain blocks are records: they show
seconds, or data that not everyone has.
"""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if "```python\n>>>" in page.read_text()]


def test_the_pages_are_found():
    assert len(PAGES) >= 8


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_of_a_page_are_true(page, tmp_path, monkeypatch, own_module):
    monkeypatch.chdir(tmp_path)  # some write files, and modules
    monkeypatch.setattr(sys, "path", [*sys.path])
    failed, tried = doctest.testfile(
        str(page), module_relative=False, optionflags=doctest.ELLIPSIS, encoding="utf-8"
    )
    assert tried >= 4 and not failed


def test_the_blocks_of_the_readme_run_when_pasted_in_order(tmp_path):
    text = (DOCS.parent / "README.md").read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    run = subprocess.run(
        [sys.executable, "-c", "\n".join(blocks)], cwd=tmp_path, capture_output=True, text=True
    )
    assert len(blocks) >= 3 and run.returncode == 0, run.stderr
    accuracy, certificate = run.stdout.splitlines()[:2]
    assert float(accuracy) > 0.9 and len(certificate.split()) == 3


@pytest.mark.parametrize("page", [*sorted(DOCS.glob("*.md")), DOCS.parent / "README.md"], ids=str)
def test_links_to_pages_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []
