"""Papers are cited by keys that are known, and the page about them names files that are there."""

import re
from pathlib import Path

import pytest

from fenchel.references import REFERENCES

ROOT = Path(__file__).parent.parent.parent
SOURCES = [
    path
    for folder in ("src/fenchel", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in (".py", ".hpp", ".cpp")
]
PAGE = (ROOT / "docs" / "explanation" / "papers.md").read_text(encoding="utf-8")


def cited(text):
    return set(re.findall(r"\[([A-Z][a-z]+\d\d)\]", text))


@pytest.mark.parametrize("key", REFERENCES)
def test_a_paper_is_cited_and_described(key):
    reference = REFERENCES[key]
    assert any(key in cited(path.read_text(encoding="utf-8")) for path in SOURCES)
    section = " ".join(PAGE.split(f"## [{key}]")[1].split("\n## ")[0].split())
    assert reference.authors in section and reference.title in section


def test_every_citation_has_a_paper():
    keys = {key: path for path in SOURCES for key in cited(path.read_text(encoding="utf-8"))}
    assert {key: path for key, path in keys.items() if key not in REFERENCES} == {}


def test_the_page_names_files_that_cite_the_paper():
    for key in REFERENCES:
        section = PAGE.split(f"## [{key}]")[1].split("\n## ")[0]
        for name in re.findall(r"`([\w/]+(?:\.\w+|/))`", section):
            path = ROOT / "src" / "fenchel" / name
            assert path.exists(), f"{key}: {name}"
