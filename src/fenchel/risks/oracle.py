"""Oracles: structured losses that users write, an example at a time ([Teo07] section 3.3).

With a feature map phi and a cost Delta of theirs, users write one of two methods, or both:

    argmax       l(w) = max_y' Delta(y', y) + <w, phi(x, y') - phi(x, y)>
    expectation  l(w) = log sum_y' exp <w, phi(x, y')> - <w, phi(x, y)>, or any smooth loss

Everything else is given: solvers, regularisers, engines and certificates.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import math
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fenchel.data.rows import DenseRows
from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.errors import Incompatible, InvalidData
from fenchel.risks.base import Array
from fenchel.risks.digests import pickled
from fenchel.risks.structured import Evaluation, Rows, StructuredRisk
from fenchel.settings import whole
from fenchel.tolerances import USERS_SUMS

_SHARDS = 8


class Oracle(ABC):
    """A structured loss; a subclass sets `n_parameters` and writes `argmax` or `expectation`.

    Where both are there, `expectation` is what is minimised. `nonnegative` may be set to False for
    a loss that can be less than 0.
    """

    n_parameters: int
    nonnegative: bool = True

    def argmax(self, w: Array, x: Any, y: Any) -> tuple[Array, float]:
        """(a, b) for which <a, w> + b is the loss: phi(x, y') - phi(x, y) and Delta(y', y).

        y' is the worst of all for this w: for any other y', <a, w> + b is at most as large.
        """
        raise Incompatible(f"{type(self).__name__} has no argmax")

    def expectation(self, w: Array, x: Any, y: Any) -> tuple[float, Array]:
        """(the loss, its gradient): log Z - s(y), and the mean of phi(x, y') less phi(x, y)."""
        raise Incompatible(f"{type(self).__name__} has no expectation")

    @property
    def differentiable(self) -> bool:
        """Whether `expectation` was written."""
        return type(self).expectation is not Oracle.expectation


@dataclass(frozen=True)
class Examples(Shard):
    """Pairs (x, y) of whatever the oracle takes, from example `first` on; there are no rows."""

    first: int
    pairs: tuple[tuple[Any, Any], ...]


class OracleRisk(StructuredRisk):
    """The mean loss of examples."""

    def __init__(self, oracle: Oracle, engine: Engine):
        self.oracle = oracle
        self._examples = [shard for shard in engine.shards if isinstance(shard, Examples)]
        sizes = [len(shard.pairs) for shard in self._examples]
        super().__init__(
            engine,
            oracle.n_parameters,
            sizes,
            sum(sizes) * oracle.n_parameters,
            nonnegative=oracle.nonnegative,
            differentiable=oracle.differentiable,
            user_written=True,
        )

    def evaluated(self, w: Array, rows: PerShard[Rows] | None = None) -> PerShard[Evaluation]:
        """By the oracle, example after example."""
        return self.engine.map(_evaluate, self.oracle, w, rows)

    @functools.cached_property
    def length(self) -> float:
        """From the subgradient at 0: what users' features are like is not known otherwise."""
        lengths = self.engine.map(_lengths, self.oracle, np.zeros(self.n_parameters))
        return 1.0 + float(self.engine.total(lengths)) / self.n_rows

    def fingerprint(self) -> bytes:
        """A digest of the pickled oracle and examples."""
        digest = hashlib.blake2b(repr(type(self.oracle)).encode(), digest_size=16)
        settings = self.oracle.n_parameters, vars(self.oracle)
        for part in (settings, *(shard.pairs for shard in self._examples)):
            digest.update(pickled(f"{type(self.oracle).__name__}, with its examples,", part))
        return digest.digest()


def oracle_risk(oracle: Oracle, X: Any, y: Any, engine: Engine) -> OracleRisk:
    """The risk of examples X, with their right outputs y, in a few shards."""
    wanted = getattr(oracle, "n_parameters", None)
    whole(f"{type(oracle).__name__}.n_parameters", wanted, least=1)
    written = [type(oracle).argmax is not Oracle.argmax, oracle.differentiable]
    if not any(written):
        raise Incompatible(f"{type(oracle).__name__} has neither argmax nor expectation; write one")
    inputs = list(X)
    outputs = [None] * len(inputs) if y is None else list(y)
    if not inputs or len(inputs) != len(outputs):
        raise InvalidData(f"X has {len(inputs)} examples and y {len(outputs)}; at least one each")
    pairs = list(zip(inputs, outputs, strict=True))
    edges = np.unique(np.linspace(0, len(pairs), _SHARDS + 1).astype(int)).tolist()
    shards = [_shard(i, pairs[i:j]) for i, j in itertools.pairwise(edges)]
    risk = OracleRisk(oracle, engine.place(shards))
    _evaluate(shards[0], oracle, np.zeros(risk.n_parameters), np.array([0]))  # complains early
    return risk


def _shard(first: int, pairs: Sequence[tuple[Any, Any]]) -> Examples:
    return Examples(DenseRows(np.empty((len(pairs), 0))), np.empty(0), None, first, tuple(pairs))


def _evaluate(shard: Examples, oracle: Oracle, w: Array, rows: Rows | None) -> Evaluation:
    value, gradient = 0.0, np.zeros(len(w))
    w = w.copy()
    w.setflags(write=False)  # what an oracle wrote to it would reach all others
    for k in range(len(shard.pairs)) if rows is None else rows:
        part, slope = _asked(shard, k, oracle, w)
        value += part
        gradient += slope
    return Evaluation(value, gradient)


def _lengths(shard: Examples, oracle: Oracle, w: Array) -> float:
    """The sum of the lengths of all slopes."""
    slopes = (_asked(shard, k, oracle, w)[1] for k in range(len(shard.pairs)))
    return sum(float(np.linalg.norm(slope)) for slope in slopes)


def _asked(shard: Examples, k: int, oracle: Oracle, w: Array) -> tuple[float, Array]:
    """The loss of one example and its slope, as the oracle says."""
    method = "expectation" if oracle.differentiable else "argmax"
    call = f"{type(oracle).__name__}.{method} of example {shard.first + k}"
    try:
        answer = getattr(oracle, method)(w, *shard.pairs[k])
    except Exception as error:
        error.add_note(f"raised by {call}")
        raise
    part, slope = _numbers(call, answer, oracle, len(w))
    overflowed = oracle.differentiable and part == math.inf  # far out on a line search, it may
    finite = overflowed or (math.isfinite(part) and np.isfinite(slope).all())
    if not finite and np.isfinite(w).all():
        n_bad = int((~np.isfinite(slope)).sum())
        raise InvalidData(
            f"{call} gave a {_part(oracle)} of {part} and {n_bad} slopes that are nan or inf, "
            f"at a w that is finite; they must be finite too"
        )
    product = 0.0 if oracle.differentiable else float(slope @ w)
    value, size = product + part, abs(product) + abs(part)
    if oracle.nonnegative and value < -USERS_SUMS * size:
        raise InvalidData(
            f"{call} gave a loss of {value:.3g}, less than 0: its argmax is not the largest, or it "
            "needs nonnegative = False"
        )
    return value, slope


def _numbers(call: str, answer: Any, oracle: Oracle, n: int) -> tuple[float, Array]:
    """The loss or cost and the slopes of an answer, in this order."""
    name = _part(oracle)
    wanted = f"({name}, {n} slopes)" if oracle.differentiable else f"({n} slopes, {name})"
    try:
        first, second = answer
    except (TypeError, ValueError) as error:
        raise InvalidData(f"{call} gave {shown(answer)}; it must give {wanted}") from error
    part, slopes = (first, second) if oracle.differentiable else (second, first)
    number, slope = real(part, ()), real(slopes, (n,))
    if slope is None:
        raise InvalidData(
            f"{call} gave {shown(slopes)} as slopes; it must give {wanted}, the slopes an array "
            f"of real numbers of shape ({n},), as w is"
        )
    if number is None:
        raise InvalidData(
            f"{call} gave {shown(part)} as {name}; it must give {wanted}, the {name} a real number"
        )
    return float(number), slope


def _part(oracle: Oracle) -> str:
    """The name of what an oracle gives beside slopes, for messages."""
    return "loss" if oracle.differentiable else "cost"


def real(given: object, shape: tuple[int, ...]) -> Array | None:
    """Real numbers of that shape; None if they are something else."""
    try:
        values = np.asarray(given)
        if values.shape != shape or values.dtype.kind not in "biufO":
            return None
        return values.astype(np.float64, copy=False)
    except (TypeError, ValueError, OverflowError):
        return None


def shown(given: object) -> str:
    """What was given, in a few words."""
    kind, shape = type(given).__name__, getattr(given, "shape", None)
    if shape is not None:
        return f"a {kind} of shape {shape} and type {getattr(given, 'dtype', None)}"
    return f"{given!r:.60} of type {kind}"
