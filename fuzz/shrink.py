"""A smaller problem with the same fault: rows, columns, settings and digits left out greedily."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from draws import Draw, posed
from judging import judged

from fenchel import losses, regularizers
from fenchel.data import shards
from fenchel.errors import FenchelError

_REFERENCES = ("bmrm", "ls-bmrm", "sdca", "polish", "newton")  # besides the solver itself
_BY_ROW = ("sample_weight", "offset", "groups")


def shrunk(drawn: Draw, solver: str, kind: str) -> Draw:
    """The least problem found on which the solver has a fault of that kind."""
    assert _has(drawn, solver, kind), f"{solver} has no fault of the kind {kind} there"
    best, found = drawn, True
    while found:
        found = False
        for smaller in _smaller(best):
            if _has(smaller, solver, kind):
                best, found = smaller, True
                break
    return best


def _has(drawn: Draw, solver: str, kind: str) -> bool:
    try:
        problem = posed(drawn)
    except Exception:  # another fault than the one that is looked for
        return kind == "raw" and solver == "none"
    if isinstance(problem, FenchelError):
        return False
    names = [solver, *_REFERENCES] if kind.startswith("false") else [solver]
    runs = judged(problem, drawn, list(dict.fromkeys(names)))
    return any(fault.kind == kind for fault in runs[0].faults)


def _smaller(drawn: Draw) -> Iterator[Draw]:
    """Problems with a little less, most promising first."""
    n, d = drawn.X.shape
    for first, last in [(0, n // 2), (n // 2, n), *((i, i + 1) for i in range(n))]:
        if 0 < last - first < n:
            yield _without_rows(drawn, np.r_[0:first, last:n])
    if d > 1:
        for j in range(d):
            yield from _without_column(drawn, j)
    for key in _BY_ROW[:2]:
        if key in drawn.given:
            yield _with(drawn, **{key: None})
    if drawn.numbers_per_shard < shards.NUMBERS_PER_SHARD:
        yield _changed(drawn, numbers_per_shard=shards.NUMBERS_PER_SHARD)
    if drawn.given["engine"] != "serial":
        yield _with(drawn, engine="serial")
    if drawn.given["intercept"]:
        yield _with(drawn, intercept=False)
    for name, penalty in _plain(drawn.given["regularizer"]):
        yield _changed(_with(drawn, regularizer=penalty), regularizer=name)
    yield from _rounded(drawn)


def _plain(omega: Any) -> Iterator[tuple[str, Any]]:
    """The same regulariser without weights or bounds; then the plainest of all."""
    if getattr(omega, "weights", None) is not None:
        rest = {key: value for key, value in omega.settings().items() if key != "weights"}
        yield type(omega).__name__, type(omega)(**rest)
    if not (type(omega) is regularizers.L2 and omega.weights is None):
        yield "l2", regularizers.L2()


def _with(drawn: Draw, **changes: Any) -> Draw:
    other = copy.copy(drawn)
    other.given = {k: v for k, v in {**drawn.given, **changes}.items() if v is not None}
    return other


def _without_rows(drawn: Draw, kept: Any) -> Draw:
    changes = {key: drawn.given[key][kept] for key in _BY_ROW if key in drawn.given}
    other = _with(drawn, **changes)
    other.X = drawn.X[kept]
    other.y = None if drawn.y is None else np.asarray(drawn.y)[kept]
    return other


def _without_column(drawn: Draw, j: int) -> Iterator[Draw]:
    kept = np.delete(np.arange(drawn.X.shape[1]), j)
    omega = drawn.given["regularizer"]
    if isinstance(omega, regularizers.Quadratic):
        omega = regularizers.Quadratic(omega.Q[np.ix_(kept, kept)])
    elif isinstance(omega, regularizers.GroupL1):
        omega = regularizers.GroupL1(np.unique(omega.groups[kept], return_inverse=True)[1])
    elif getattr(omega, "weights", None) is not None:
        omega = type(omega)(**{**omega.settings(), "weights": omega.weights[kept]})
    other = _with(drawn, regularizer=omega)
    other.X = drawn.X[:, kept]
    yield other


def _rounded(drawn: Draw) -> Iterator[Draw]:
    """Numbers of fewer digits, rows in plain arrays of float64."""
    dense = drawn.X if isinstance(drawn.X, np.ndarray) else drawn.X.toarray()
    if not isinstance(drawn.X, np.ndarray) or drawn.X.dtype != np.float64:
        yield _changed(drawn, X=dense.astype(np.float64))
    digits: list[Callable[[Any], Any]] = [np.round, lambda x: _significant(x, 1)]
    digits += [lambda x: _significant(x, 2)]
    for change in digits:
        yield from _different(drawn, "X", change(dense.astype(np.float64)))
        if drawn.y is not None and np.asarray(drawn.y).dtype.kind == "f":
            yield from _different(drawn, "y", change(drawn.y))
        for key in _BY_ROW[:2]:
            if key in drawn.given and not np.array_equal(
                change(drawn.given[key]), drawn.given[key]
            ):
                yield _with(drawn, **{key: change(drawn.given[key])})
    strength = float(f"{drawn.given['strength']:.0e}")
    if strength != drawn.given["strength"]:
        yield _with(drawn, strength=strength)
    gap = float(f"{drawn.limits['gap']:.0e}")
    if gap != drawn.limits["gap"]:
        yield _changed(drawn, limits={**drawn.limits, "gap": gap})
    loss = drawn.given["loss"]
    if isinstance(loss, losses.ScalarLoss) and repr(type(loss)()) != repr(loss):
        yield _with(drawn, loss=type(loss)())


def _different(drawn: Draw, name: str, value: Any) -> Iterator[Draw]:
    now = getattr(drawn, name)
    now = now if isinstance(now, np.ndarray) else now.toarray()
    if not np.array_equal(value, now):
        yield _changed(drawn, **{name: value})


def _changed(drawn: Draw, **changes: Any) -> Draw:
    other = copy.copy(drawn)
    for name, value in changes.items():
        setattr(other, name, value)
    return other


def _significant(x: Any, digits: int) -> Any:
    """To some digits after the first."""
    return np.array([float(f"{each:.{digits}e}") for each in np.ravel(x)]).reshape(np.shape(x))
