"""The walk through the source names modules, classes and functions that are there."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
PARTS = {path.stem for path in (ROOT / "src" / "fenchel").iterdir()}
NAMES = sorted({name for name in re.findall(r"`(\w+(?:\.\w+)+)(?:\([^`]*\))?`", PAGE)})


@pytest.mark.parametrize("name", [name for name in NAMES if name.split(".")[0] in PARTS])
def test_a_name_leads_somewhere(name):
    if name.endswith(".py"):
        assert (ROOT / "src" / "fenchel" / name).exists()
        return
    found, parts = importlib.import_module("fenchel"), name.split(".")
    for k, part in enumerate(parts):
        try:
            found = importlib.import_module(".".join(["fenchel", *parts[: k + 1]]))
        except ModuleNotFoundError:
            found = getattr(found, part)


def test_the_page_names_files_that_are_there():
    for name in re.findall(r"`(\w+/[\w/]*\w+\.\w+)`", PAGE):
        assert any((base / name).exists() for base in (ROOT, ROOT / "src" / "fenchel")), name


def test_a_risk_has_as_many_members_as_the_page_says():
    from fenchel.risks.base import Risk

    members = {*Risk.__annotations__, *(name for name in vars(Risk) if not name.startswith("_"))}
    assert len(members) == 15 and "fifteen members" in PAGE
