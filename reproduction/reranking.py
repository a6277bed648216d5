"""A re-ranking task in the shape of [Andrew07]'s, whose Penn Treebank is not to be had."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

_KEPT = 200
SIZES = {
    "quick": (200, 5, 10, 2000),
    "full": (3000, 10, 30, 100_000),
    "3,000": (3000, 10, 30, 3000),
    "10,000": (3000, 10, 30, 10_000),
    "30,000": (3000, 10, 30, 30_000),
}


def reranked(
    size: str,
    solver: str,
    penalty: str = "l1",
    strength: float = 1e-4,
    options: dict[str, Any] | None = None,
    calls: int = 1000,
) -> dict[str, Any]:
    """J, calls (two passes each) and nonzeros along a run from 0, to a gap of 1e-5 or their end."""
    import numpy as np

    import fenchel
    from reproduction.solving import columns

    X, y, lists = _task()(*SIZES[size])
    problem = fenchel.problem(
        X, y, loss="rerank_likelihood", regularizer=penalty, groups=lists, strength=strength
    )
    result = fenchel.minimize(
        problem,
        fenchel.solver(solver, **(options or {})),
        gap=1e-5,
        callback=lambda record: record.passes >= 2 * calls,
    )
    history = list(result.history)
    index = np.unique(np.geomspace(1, len(history), _KEPT).round().astype(int)) - 1
    told = columns([history[i] for i in index])
    told["calls"] = [passes / 2 for passes in told["passes"]]
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "status": result.status.name.lower(),
        "nonzeros": int(np.count_nonzero(result.w)),
        "n_parameters": int(X.shape[1]),
        "history": told,
    }


def _task() -> Any:
    """The generator of benchmarks/reranking.py: counts by a power law, few hidden weights."""
    path = Path(__file__).parents[1] / "benchmarks" / "reranking.py"
    spec = importlib.util.spec_from_file_location("reranking_benchmark", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.task
