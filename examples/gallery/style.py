"""How the pictures of the gallery look, and how they are saved: the same bits every time."""

from __future__ import annotations

from typing import Any

import matplotlib

matplotlib.use("svg")

import matplotlib.pyplot as plt

BLUE, ORANGE, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#888888"
plt.rcParams.update(
    {"svg.hashsalt": "fenchel", "axes.spines.top": False, "axes.spines.right": False}
)


def drawn(width: float = 7.0, height: float = 3.6, columns: int = 1) -> tuple[Any, Any]:
    """A figure and its axes."""
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


def save(figure: Any, name: str) -> None:
    """Writes the picture into the current folder."""
    figure.savefig(name, metadata={"Date": None})
    plt.close(figure)
