"""One minimisation, as a run: what most figures are made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

_MOST = 2000  # records that are kept of a history; of more, those at equal ratios


def solve(
    data: str,
    loss: str,
    strength: float,
    solver: str,
    *,
    rows: int | None = None,
    regularizer: str = "l2",
    options: Mapping[str, Any] | None = None,
    loss_options: Mapping[str, Any] | None = None,
    intercept: bool = False,
    gap: float = 1e-3,
    max_seconds: float = 60.0,
    max_iterations: int = 10_000,
) -> dict[str, Any]:
    """Minimises by a solver with its options on a set of data.py: bounds, cost and history."""
    import fenchel
    from reproduction.data import load

    X, y, groups = load(data, rows)
    problem = fenchel.problem(
        X,
        y,
        groups=groups,
        loss=loss,
        regularizer=regularizer,
        strength=strength,
        intercept=intercept,
        **(loss_options or {}),
    )
    method = fenchel.solver(solver, **options) if options else solver
    result = fenchel.minimize(
        problem, method, gap=gap, max_seconds=max_seconds, max_iterations=max_iterations
    )
    return summary(result) | {"n_rows": problem.risk.n_rows, "n_parameters": result.w.size}


def summary(result: Any) -> dict[str, Any]:
    """A `fenchel.Result` as JSON can hold it, with the columns of its history."""
    return {
        "objective": result.objective,
        "lower_bound": result.lower_bound,
        "gap": result.gap,
        "status": result.status.name.lower(),
        "solver": result.solver,
        "iterations": result.iterations,
        "passes": result.passes,
        "seconds": result.seconds,
        "nonzeros": int(np.count_nonzero(result.w)),
        "history": columns(result.history),
    }


def columns(history: Sequence[Any]) -> dict[str, list[float]]:
    """The fields of the records as columns, a long history thinned out at equal ratios."""
    n = len(history)
    index = np.arange(n)
    if n > _MOST:
        index = np.unique(np.geomspace(1, n, _MOST).round().astype(int)) - 1
    fields = history[0]._fields
    return {field: [float(getattr(history[i], field)) for i in index] for field in fields}
