"""The command line as tests call it, and small files for it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import dump_svmlight_file

# Seconds after which a process counts as hanging: no machine is loaded as much as that.
HANGS = 600.0


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Command = Callable[..., Outcome]


def rows(n: int = 200, d: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows with an intercept's worth of signal, and noisy real targets."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).round(3)
    return X, X @ np.linspace(-1, 1, d) + 0.5 + 0.3 * rng.standard_normal(n)


def svmlight(name: str, y: Callable[[np.ndarray], Any] = np.sign, **options: Any) -> Path:
    """A svmlight file of `rows` with targets made of the real ones."""
    X, z = rows(**options)
    path = Path(name)
    dump_svmlight_file(X, y(z), str(path), zero_based=False)
    return path


def table(name: str, y: np.ndarray, columns: str = "abcdef") -> Path:
    X, _ = rows(len(y), len(columns))
    lines = [",".join([*columns, "y"])]
    lines += [",".join([*map(str, x), str(label)]) for x, label in zip(X, y, strict=True)]
    path = Path(name)
    path.write_text("\n".join(lines) + "\n")
    return path
