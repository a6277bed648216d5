"""Finds the reproductions by the names of their files."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path

from fenchel.references import REFERENCES, Reference
from reproduction.shape import Script

FOLDER = Path(__file__).parent / "figures"
# The papers, and what belongs to none of them.
PAPERS = {**REFERENCES, "fenchel": Reference("", "Our own race", "")}
KEYS = {key.lower(): key for key in PAPERS}
_NAMES = ("TITLE", "CLAIM", "HERE", "WHY", "runs", "draw", "verdict")


def identifiers() -> list[str]:
    """All of them, as [Yu10]'s figure 9 comes before its figure 16."""
    stems = (path.stem for path in FOLDER.glob("[!_]*.py"))
    return sorted((stem.replace("_", "-") for stem in stems), key=_order)


def chosen(wanted: Sequence[str]) -> list[str]:
    """Those that are asked for, by name or by paper; all of them if nothing is."""
    known = identifiers()
    for each in wanted:
        if not any(_matches(name, each) for name in known):
            raise SystemExit(f"there is no {each!r}; there are {', '.join(known)}")
    return [name for name in known if not wanted or any(_matches(name, each) for each in wanted)]


def script(name: str) -> Script:
    """The script of that name."""
    module = importlib.import_module(f"reproduction.figures.{name.replace('-', '_')}")
    missing = [each for each in _NAMES if not hasattr(module, each)]
    if missing or not module.__doc__:
        raise SystemExit(f"figures/{name}.py has no {', '.join(missing) or 'docstring'}")
    texts = (" ".join(getattr(module, each).split()) for each in ("TITLE", "CLAIM", "HERE", "WHY"))
    title, claim, here, why = texts
    paper = KEYS[name.partition("-")[0]]
    return Script(
        name,
        paper,
        title,
        module.__doc__.strip(),
        claim,
        here,
        why,
        module.runs,
        module.draw,
        module.verdict,
    )


def _matches(name: str, wanted: str) -> bool:
    return name == wanted or name.partition("-")[0] == wanted


def _order(name: str) -> tuple[int, list[tuple[int, str]]]:
    paper, _, rest = name.partition("-")
    if paper not in KEYS:
        raise SystemExit(f"{name} must begin with a paper: {', '.join(KEYS)}")
    parts = re.findall(r"\d+|\D+", rest)
    return list(KEYS).index(paper), [(int(p), "") if p.isdigit() else (10**6, p) for p in parts]
