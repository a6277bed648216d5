"""What dual variables prove of several problems on the same rows: strengths of a path, or classes.

The formulas are those of row_data.py, duals.py and check.py for a witness that is dual variables
alone. All problems have the same X, sample weights and loss, and L2, L1 or the elastic net: so one
product X W' gives the scores of all of them, one X'A' their gradients and one |X|'|A'| what those
may be off by. Arrays have a line for each problem. Each problem has a bound of its own; where one
of them is in any way odd, it is looked at by itself, as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from fenchel.losses import Conjugable
from fenchel.result import Result
from fenchel.risks.base import Problem
from fenchel.risks.linear import LinearRisk
from fenchel.tolerances import ROUND_OFF, VERIFIED_ZERO
from fenchel.verification import penalties, products
from fenchel.verification.check import Recomputed
from fenchel.verification.checked_cut import Array, CheckedCut
from fenchel.verification.duals import exact_duals, sizes
from fenchel.verification.row_data import RowEvidence

_NUMBERS = 1 << 18  # dual variables of all problems in one product: what a cache holds


def recomputed_together(
    results: Sequence[Result], problems: Sequence[Problem]
) -> Iterator[Recomputed | None]:
    """Both bounds of each result; None where they are to be recomputed one by one."""
    if not problems or not _alike(problems):
        yield from [None] * len(problems)
        return
    at_once = max(1, _NUMBERS // max(problems[0].risk.n_rows, 1))
    for first in range(0, len(problems), at_once):
        some = slice(first, first + at_once)
        yield from _recomputed(results[some], problems[some])


def _alike(problems: Sequence[Problem]) -> bool:
    """Whether all have the same rows in one shard, weights > 0, loss and penalty."""
    first, omega = problems[0], problems[0].regularizer
    if type(first.risk) is not LinearRisk or first.risk.classes is not None:
        return False
    risk, shard = first.risk, first.risk.engine.shards[0]
    if not (isinstance(risk.loss, Conjugable) and type(omega) in penalties.SEPARABLE):
        return False
    if shard.s is not None and not np.all(shard.s > 0):
        return False
    if len(penalties.free(omega, risk.n_parameters)):
        return False
    return all(_like(problem, first) for problem in problems)


def _like(problem: Problem, first: Problem) -> bool:
    risk, other = problem.risk, first.risk
    if type(risk) is not LinearRisk or type(other) is not LinearRisk:
        return False
    (shard, *more), (one, *_) = risk.engine.shards, other.engine.shards
    same = shard.rows is one.rows and shard.s is one.s and shard.offset is one.offset
    same &= risk.loss is other.loss and problem.regularizer is first.regularizer
    intercepts = risk.facts.has_intercept, other.facts.has_intercept
    return same and not more and intercepts[0] == intercepts[1] and problem.strength > 0


def _recomputed(
    results: Sequence[Result], problems: Sequence[Problem]
) -> Iterator[Recomputed | None]:
    risk, omega = problems[0].risk, problems[0].regularizer
    assert isinstance(risk, LinearRisk)
    data, given = RowEvidence(risk), [_alpha(result, risk) for result in results]
    known = [k for k, alpha in enumerate(given) if alpha is not None]
    if not known:
        yield from [None] * len(problems)
        return
    alpha = np.stack([alpha for alpha in given if alpha is not None])
    y = np.concatenate([problems[k].risk.engine.shards[0].y for k in known])  # type: ignore[attr-defined]
    strength = np.array([problems[k].strength for k in known])
    w, b = (np.array([getattr(results[k], name) for k in known]) for name in ("w", "intercept"))
    penalty = strength * penalties.values(omega, w)
    upper = penalty + _values(data, w, b, y)
    cut, sound = _cuts(data, alpha, y)
    lower = penalties.bounds(omega, strength, cut, data.nonnegative)
    if data.nonnegative:
        lower = np.fmax(lower, 0.0)
    doubt = ROUND_OFF * (np.abs(upper) + np.abs(penalty))
    sound = sound & (lower <= upper + doubt) & (upper >= 0 if data.nonnegative else upper < np.inf)
    found: list[Recomputed | None] = [None] * len(problems)
    each = zip(lower.tolist(), upper.tolist(), doubt.tolist(), strict=True)
    for k, bounds, sure in zip(known, each, sound.tolist(), strict=True):
        found[k] = Recomputed(*bounds, passes=3) if sure else None
    yield from found


def _alpha(result: Result, risk: LinearRisk) -> Array | None:
    """The dual variables of a witness that is nothing else, of a result that fits the problem."""
    witness = result.witness
    if witness is None or witness.alpha is None or witness.tangencies:
        return None
    fits = witness.alpha.shape == (risk.n_rows,) and result.w.shape == (risk.n_parameters,)
    return witness.alpha if fits and bool(np.isfinite(witness.alpha).all()) else None


def _values(data: RowEvidence, w: Array, b: Array, y: Array) -> Array:
    """R of each problem at its w and b."""
    z = products.scores(data.shards[0], np.ascontiguousarray(w.T)).T
    at = z + (b[:, np.newaxis] + data.offset)
    value = data.loss.value(at.ravel(), y).reshape(z.shape)
    return np.asarray(np.sum(data.share * value, axis=-1))


def _cuts(data: RowEvidence, alpha: Array, y: Array) -> tuple[CheckedCut, npt.NDArray[np.bool_]]:
    """The cut of each problem's dual variables, and whether they are such: see `conjugate_cut`."""
    loss, shape, S = data.loss, alpha.shape, float(np.sum(data.s))
    assert isinstance(loss, Conjugable)
    moved = data.share * loss.feasible((alpha / data.share).ravel(), y).reshape(shape)
    near = np.abs(moved - alpha) <= VERIFIED_ZERO * (np.abs(alpha) + data.share)
    t = exact_duals(loss, S * moved, y, data.s, balance=data.has_intercept)
    each = loss.feasible((t / data.s).ravel(), y)
    exact = t / S
    conjugate, shift = loss.conjugate(each, y), exact * data.offset
    size = data.share * (np.abs(conjugate) + sizes(loss, each, y)).reshape(shape)
    error = ROUND_OFF * (np.sum(size, axis=-1) + np.sum(np.abs(shift), axis=-1))
    constant = np.sum(shift, axis=-1) - np.sum(data.share * conjugate.reshape(shape), axis=-1)
    columns, nothing = np.ascontiguousarray(exact.T), np.zeros(1)
    a = products.adjoint(data.shards[0], columns).T
    a_error = data.adjoint_error(columns, nothing).reshape(-1, len(alpha)).T
    return CheckedCut(a, constant, a_error, error), np.all(near, axis=-1)
