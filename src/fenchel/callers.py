"""Whose call it was: warnings name the user's line, however many of our frames lie between."""

from __future__ import annotations

import sys
from types import FrameType

# scikit-learn's wrappers of `fit` lie between ours, and its pipelines and searches before them.
_BETWEEN = frozenset({"fenchel", "sklearn"})


def users_line() -> int:
    """The `stacklevel` of `warnings.warn`, where this is called, that names the user's line.

    What `skip_file_prefixes` is for from Python 3.12 on. Where all frames are ours, the outermost.
    """
    frame: FrameType | None = sys._getframe(1)
    level = 1
    while frame is not None and _package(frame) in _BETWEEN and frame.f_back is not None:
        frame, level = frame.f_back, level + 1
    return level


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]
