"""The library without its extras: everything works, or says which extra is missing."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def test_the_base_alone_fits_proves_and_names_what_is_missing() -> None:
    command = [sys.executable, ROOT / "tools" / "check_base.py", "--hide"]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr


def test_everything_is_in_all_but_what_needs_a_system() -> None:
    extras = PROJECT["project"]["optional-dependencies"]
    everything = extras["all"][0].removeprefix("fenchel[").removesuffix("]").split(",")
    assert set(everything) == set(extras) - {"all", "mpi"}


def test_what_builds_is_said_twice_and_the_same() -> None:
    assert PROJECT["dependency-groups"]["build"] == PROJECT["build-system"]["requires"]


def test_the_cited_version_was_released() -> None:
    lines = (ROOT / "CITATION.cff").read_text(encoding="utf-8").splitlines()
    cited = {line.partition(": ")[0]: line.partition(": ")[2] for line in lines}
    heading = f"## [{cited['version']}] - {cited['date-released']}"
    assert heading in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8").splitlines()
