"""Finds the reproductions by the names of their files."""

from __future__ import annotations

import importlib
import re
from collections.abc import Sequence
from pathlib import Path

from fenchel.references import REFERENCES, Reference
from reproduction.shape import Script

FOLDER = Path(__file__).parent / "figures"
REASONS = Path(__file__).parent / "reasons"  # files of the same names
# The papers, and what belongs to none of them.
PAPERS = {**REFERENCES, "fenchel": Reference("", "Our own race", "")}
KEYS = {key.lower(): key for key in PAPERS}
_CLAIMED = ("CLAIM", "HERE", "WHY")  # which experiments do without
_NAMES = ("TITLE", *_CLAIMED, "runs", "draw", "verdict")


def identifiers() -> list[str]:
    """All of them, as [Yu10]'s figure 9 comes before its figure 16."""
    stems = (path.stem for path in FOLDER.glob("[!_]*.py"))
    return sorted((stem.replace("_", "-") for stem in stems), key=order)


def chosen(wanted: Sequence[str]) -> list[str]:
    """Those that are asked for, by name or by paper; all of them if nothing is."""
    known = identifiers()
    for each in wanted:
        if not any(_matches(name, each) for name in known):
            raise SystemExit(f"there is no {each!r}; there are {', '.join(known)}")
    return [name for name in known if not wanted or any(_matches(name, each) for each in wanted)]


def script(name: str) -> Script:
    """The script of that name."""
    return _script("figures", name, _reason(name))


def _reason(name: str) -> Script | None:
    """The experiment that shows why a claim does not hold, if there is one."""
    there = (REASONS / f"{name.replace('-', '_')}.py").is_file()
    return _script("reasons", name, None) if there else None


def _script(folder: str, name: str, reason: Script | None) -> Script:
    module = importlib.import_module(f"reproduction.{folder}.{name.replace('-', '_')}")
    wanted = _NAMES if folder == "figures" else [each for each in _NAMES if each not in _CLAIMED]
    missing = [each for each in wanted if not hasattr(module, each)]
    if missing or not module.__doc__:
        raise SystemExit(f"{folder}/{name}.py has no {', '.join(missing) or 'docstring'}")
    texts = (" ".join(getattr(module, each, "").split()) for each in ("TITLE", *_CLAIMED))
    title, claim, here, why = texts
    return Script(
        name if folder == "figures" else f"{name}-why",
        KEYS[name.partition("-")[0]],
        title,
        module.__doc__.strip(),
        claim,
        here,
        why,
        module.runs,
        module.draw,
        module.verdict,
        reason,
    )


def _matches(name: str, wanted: str) -> bool:
    return name == wanted or name.partition("-")[0] == wanted


def order(name: str) -> tuple[int, list[tuple[int, str]]]:
    """By paper, then by number."""
    paper, _, rest = name.partition("-")
    if paper not in KEYS:
        raise SystemExit(f"{name} must begin with a paper: {', '.join(KEYS)}")
    parts = re.findall(r"\d+|\D+", rest)
    return list(KEYS).index(paper), [(int(p), "") if p.isdigit() else (10**6, p) for p in parts]
