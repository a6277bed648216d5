"""A drawn problem as lines of Python that anybody can run: for reports of faults."""

from __future__ import annotations

from typing import Any

import numpy as np
from draws import Draw

from fenchel.data import shards


def script(drawn: Draw, solver: str | None = None) -> str:
    """Lines that pose the problem, minimise it by one solver and verify the result."""
    X, given = drawn.X, dict(drawn.given)
    loss, omega = given.pop("loss"), given.pop("regularizer")
    if given.get("engine") == "serial":
        given.pop("engine")
    made = drawn.solvers()[solver or "auto"]
    chosen = repr(made) if isinstance(made, str) else f"fenchel.solvers.{made!r}"
    lines = ["import numpy as np", "import fenchel", "from numpy import array, inf"]
    dense = X if isinstance(X, np.ndarray) else X.toarray()
    lines.append(f"X = {_array(dense)}")
    if not isinstance(X, np.ndarray):
        lines += ["from scipy import sparse", "X = sparse.csr_array(X)"]
    lines.append(f"y = {None if drawn.y is None else _array(np.asarray(drawn.y))}")
    if drawn.numbers_per_shard < shards.NUMBERS_PER_SHARD:
        lines.append(f"fenchel.data.shards.NUMBERS_PER_SHARD = {drawn.numbers_per_shard}")
    lines += ["problem = fenchel.problem(", "    X, y,", f"    loss=fenchel.losses.{loss!r},"]
    lines.append(f"    regularizer={_instance(omega)},")
    lines += [f"    {key}={_value(value)}," for key, value in given.items()]
    limits = ", ".join(f"{key}={value!r}" for key, value in drawn.limits_of(solver or "").items())
    lines += [")", f"result = fenchel.minimize(problem, {chosen}, {limits})"]
    lines += ["print(result, result.w)", "print(fenchel.verify(result, problem))"]
    return "\n".join(lines)


def _value(value: Any) -> str:
    return _array(value) if isinstance(value, np.ndarray) else repr(value)


def _array(x: Any) -> str:
    kind = "" if x.dtype == np.float64 or x.dtype.kind in "iU" else f", dtype=np.{x.dtype}"
    return f"np.array({x.tolist()!r}{kind})"


def _instance(omega: Any) -> str:
    """A regulariser as it was made."""
    if type(omega).__name__ == "Boxed":
        sides = f"{np.asarray(omega.lower).tolist()!r}, {np.asarray(omega.upper).tolist()!r}"
        return f"fenchel.regularizers.Boxed({_instance(omega.inner)}, {sides})"
    parts = [f"{key}={_value(value)}" for key, value in omega.settings().items()]
    return f"fenchel.regularizers.{type(omega).__name__}({', '.join(parts)})"
