"""Finished runs, a file each, so that a run that was killed goes on where it was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from reproduction.found import Found
from reproduction.shape import Run, plain


class Cache:
    """A folder of runs under the digests of what was run."""

    def __init__(self, folder: Path):
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def get(self, run: Run) -> Found | None:
        """What the run gave, if it was made."""
        try:
            kept = json.loads(self._path(run).read_text())
        except (OSError, json.JSONDecodeError):
            return None
        found = Found(kept["value"])
        found.failed, found.seconds_taken, found.made = (
            kept["failed"],
            kept["seconds"],
            kept["made"],
        )
        return found

    def put(self, run: Run, found: Found) -> None:
        """Keeps what a run gave, unless an error ended it; a file is there whole or not at all."""
        if not found.final:
            return
        kept: dict[str, Any] = {
            "run": str(run),
            "failed": found.failed,
            "seconds": found.seconds_taken,
            "made": found.made,
            "value": found,
        }
        path = self._path(run)
        unfinished = path.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps(kept, default=plain))
        unfinished.replace(path)

    def forget(self, run: Run) -> None:
        """Makes it run again."""
        self._path(run).unlink(missing_ok=True)

    def _path(self, run: Run) -> Path:
        return self.folder / f"{run.key}.json"
