"""What dual variables prove of several problems on the same rows: strengths of a path, or classes.

The formulas are those of row_data.py, duals.py and check.py for a witness that is dual variables
alone. All problems have the same X, sample weights and loss, and L2, L1 or the elastic net: so one
product X W' gives the scores of all of them, one X'A' their gradients and one |X|'|A'| what those
may be off by. Arrays have a line for each problem. Each problem has a bound of its own; where one
of them is in any way odd, it is looked at by itself, as ever.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import Shard, are_small, joined
from fenchel.losses import Conjugable
from fenchel.result import Result
from fenchel.risks.base import Problem, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.tolerances import ROUND_OFF, VERIFIED_ZERO
from fenchel.verification import penalties, products
from fenchel.verification.check import Recomputed
from fenchel.verification.checked_cut import Array, CheckedCut
from fenchel.verification.duals import balanced, exact_ends, sizes

_NUMBERS = 1 << 18  # dual variables of all problems in one product: what a cache holds


def recomputed_together(
    results: Sequence[Result], problems: Sequence[Problem]
) -> Iterator[Recomputed | None]:
    """Both bounds of each result; None where they are to be recomputed in other ways."""
    for some in _groups(problems):
        if _is_plain(problems[some.start]):
            yield from _recomputed(results[some], problems[some])
        else:
            yield from [None] * (some.stop - some.start)


def _groups(problems: Sequence[Problem]) -> Iterator[slice]:
    """Those that follow each other and are alike, as many at once as a cache holds."""
    first = 0
    for k in range(1, len(problems) + 1):
        full = (k - first + 1) * problems[first].risk.n_rows > _NUMBERS
        if k == len(problems) or full or not _like(problems[k], problems[first]):
            yield slice(first, k)
            first = k


def _is_plain(problem: Problem) -> bool:
    """Whether these formulas are its own: rows that are here and few, all with a weight > 0."""
    risk, omega = problem.risk, problem.regularizer
    if type(risk) is not LinearRisk or risk.classes is not None or not problem.strength > 0:
        return False
    if not (isinstance(risk.loss, Conjugable) and type(omega) in penalties.SEPARABLE):
        return False
    if not are_small(risk.engine.shards) or len(penalties.free(omega, risk.n_parameters)):
        return False
    return all(shard.s is None or (shard.s > 0).all() for shard in risk.engine.shards)


def _like(problem: Problem, first: Problem) -> bool:
    """Whether it is the first, or has the same rows in one shard, weights, loss and penalty."""
    risk, other = problem.risk, first.risk
    if problem is first:
        return True
    if type(risk) is not LinearRisk or type(other) is not LinearRisk:
        return False
    if risk is other:
        return problem.regularizer is first.regularizer and problem.strength > 0
    (shard, *more), (one, *_) = risk.engine.shards, other.engine.shards
    same = shard.rows is one.rows and shard.s is one.s and shard.offset is one.offset
    same &= risk.loss is other.loss and problem.regularizer is first.regularizer
    intercepts = risk.facts.has_intercept, other.facts.has_intercept
    return same and not more and intercepts[0] == intercepts[1] and problem.strength > 0


def _recomputed(
    results: Sequence[Result], problems: Sequence[Problem]
) -> Iterator[Recomputed | None]:
    omega, data = problems[0].regularizer, _rows_of(problems[0])
    given = [_alpha(result, problems[0].risk) for result in results]
    known = [k for k, alpha in enumerate(given) if alpha is not None]
    if not known:
        yield from [None] * len(problems)
        return
    alpha = np.array([given[k] for k in known])
    y = np.concatenate([shard.y for k in known for shard in problems[k].risk.engine.shards])  # type: ignore[attr-defined]
    strength = np.array([problems[k].strength for k in known])
    w, b = (np.array([getattr(results[k], name) for k in known]) for name in ("w", "intercept"))
    penalty = strength * penalties.values(omega, w)
    upper = penalty + data.values(w, b, y)
    cut, sound = data.cuts(alpha, y)
    lower = penalties.bounds(omega, strength, cut, data.loss.nonnegative)
    if data.loss.nonnegative:
        lower = np.fmax(lower, 0.0)
    doubt = ROUND_OFF * (np.abs(upper) + np.abs(penalty))
    least = 0.0 if data.loss.nonnegative else -np.inf
    sound &= (lower <= upper + doubt) & (upper >= least) & (upper < np.inf)
    found: list[Recomputed | None] = [None] * len(problems)
    each = zip(lower.tolist(), upper.tolist(), doubt.tolist(), strict=True)
    for k, bounds, sure in zip(known, each, sound.tolist(), strict=True):
        found[k] = Recomputed(*bounds, passes=3) if sure else None
    yield from found


def _alpha(result: Result, risk: Risk) -> Array | None:
    """The dual variables of a witness that is nothing else, of a result that fits the problem."""
    witness = result.witness
    if witness is None or witness.alpha is None or witness.tangencies:
        return None
    fits = witness.alpha.shape == (risk.n_rows,) and result.w.shape == (risk.n_parameters,)
    return witness.alpha if fits and bool(np.isfinite(witness.alpha).all()) else None


def _rows_of(problem: Problem) -> _Rows:
    risk = problem.risk
    assert isinstance(risk, LinearRisk) and isinstance(risk.loss, Conjugable)
    shard = joined(risk.engine.shards)
    total = float(shard.rows.n_rows if shard.s is None else shard.s.sum())
    return _Rows(risk.loss, shard, shard.s, total, shard.offset, risk.facts.has_intercept)


class _Rows(NamedTuple):
    """What all problems share. Labels and scores come as one vector, problem after problem."""

    loss: Conjugable
    shard: Shard
    s: Array | None  # None: all weights are 1
    S: float
    offset: Array | None
    has_intercept: bool

    def mean(self, x: Array, lines: int) -> Array:
        """sum_i s_i/S x_i of each problem."""
        each = x.reshape(lines, -1)
        return np.asarray((each if self.s is None else self.s * each).sum(axis=-1) / self.S)

    def values(self, w: Array, b: Array, y: Array) -> Array:
        """R of each problem at its w and b."""
        z = b[:, np.newaxis] + (self.shard.rows.matrix() @ np.ascontiguousarray(w.T)).T
        if self.offset is not None:
            z += self.offset
        return self.mean(self.loss.value(z.ravel(), y), len(w))

    def cuts(self, alpha: Array, y: Array) -> tuple[CheckedCut, npt.NDArray[np.bool_]]:
        """The cut of each problem's dual variables, and whether they are such: `conjugate_cut`."""
        m, s = len(alpha), 1.0 if self.s is None else self.s
        lowest, highest = exact_ends(self.loss, y, self.s, alpha.shape)
        given = self.S * alpha
        t = np.minimum(np.maximum(given, lowest), highest)
        near = np.abs(t - given) <= VERIFIED_ZERO * (np.abs(given) + s)
        if self.has_intercept:
            t = balanced(t, s, lowest, highest)
        each = t.ravel() if self.s is None else self.loss.feasible((t / s).ravel(), y)
        conjugate = self.loss.conjugate(each, y)
        error = self.mean(np.abs(conjugate) + sizes(self.loss, each, y), m)
        constant, exact = -self.mean(conjugate, m), t / self.S
        if self.offset is not None:
            shift = exact * self.offset
            constant, error = constant + shift.sum(axis=-1), error + np.abs(shift).sum(axis=-1)
        columns = np.ascontiguousarray(exact.T)
        a, a_error = (each.T for each in products.adjoint_and_error(self.shard, columns))
        return CheckedCut(a, constant, a_error, ROUND_OFF * error), np.all(near, axis=-1)
