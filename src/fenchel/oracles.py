"""Oracles: structured losses that users write, an example at a time (003 section 3.3).

With a feature map phi and a cost Delta of theirs, users write one of two methods, or both:

    argmax       l(w) = max_y' Delta(y', y) + <w, phi(x, y') - phi(x, y)>
    expectation  l(w) = log sum_y' exp <w, phi(x, y')> - <w, phi(x, y)>, or any smooth loss

Everything else is given: solvers, regularisers, engines and certificates.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import pickle
from abc import ABC
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.data.rows import DenseRows
from fenchel.data.shards import Shard
from fenchel.engines import Engine, PerShard
from fenchel.errors import Incompatible, InvalidData
from fenchel.naming import whole
from fenchel.protocols import Array
from fenchel.structured_risk import Evaluation, StructuredRisk

_SHARDS = 8
_ROUND_OFF = 1e-9  # of an oracle's own sums, relative to them


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
    """Pairs (x, y) of whatever the oracle takes; there are no rows."""

    pairs: tuple[tuple[Any, Any], ...]


class OracleRisk(StructuredRisk):
    """The mean loss of examples."""

    def __init__(self, oracle: Oracle, engine: Engine):
        self.oracle = oracle
        self.nonnegative, self.differentiable = oracle.nonnegative, oracle.differentiable
        self._examples = [shard for shard in engine.shards if isinstance(shard, Examples)]
        sizes = [len(shard.pairs) for shard in self._examples]
        super().__init__(engine, oracle.n_parameters, sizes, sum(sizes) * oracle.n_parameters)

    def evaluated(self, w: Array, rows: PerShard | None = None) -> PerShard:
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
            try:
                digest.update(pickle.dumps(part))
            except (pickle.PicklingError, AttributeError, TypeError) as error:
                raise InvalidData(
                    f"what {type(self.oracle).__name__} and its examples hold must be such that "
                    f"pickle can write it, as a checkpoint knows them by that: {error}"
                ) from error
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
    shards = [_shard(pairs[i:j]) for i, j in itertools.pairwise(edges)]
    risk = OracleRisk(oracle, engine.place(shards))
    _evaluate(shards[0], oracle, np.zeros(risk.n_parameters), np.array([0]))  # complains early
    return risk


def _shard(pairs: Sequence[tuple[Any, Any]]) -> Examples:
    return Examples(DenseRows(np.empty((len(pairs), 0))), np.empty(0), None, tuple(pairs))


def _evaluate(
    shard: Examples, oracle: Oracle, w: Array, rows: npt.NDArray[np.intp] | None
) -> Evaluation:
    chosen = shard.pairs if rows is None else [shard.pairs[i] for i in rows]
    value, gradient = 0.0, np.zeros(len(w))
    w = w.copy()
    w.setflags(write=False)  # what an oracle wrote to it would reach all others
    for x, y in chosen:
        part, slope = _asked(oracle, w, x, y)
        value += part
        gradient += slope
    return Evaluation(value, gradient)


def _lengths(shard: Examples, oracle: Oracle, w: Array) -> float:
    """The sum of the lengths of all slopes."""
    return sum(float(np.linalg.norm(_asked(oracle, w, x, y)[1])) for x, y in shard.pairs)


def _asked(oracle: Oracle, w: Array, x: Any, y: Any) -> tuple[float, Array]:
    """The loss of one example and its slope, as the oracle says."""
    if oracle.differentiable:
        part, given = oracle.expectation(w, x, y)
    else:
        given, part = oracle.argmax(w, x, y)
    slope = np.asarray(given, dtype=np.float64)
    if slope.shape != w.shape:
        raise InvalidData(
            f"{type(oracle).__name__} gave {slope.shape} slopes for an example; w has {w.shape}"
        )
    product = 0.0 if oracle.differentiable else float(slope @ w)
    value, size = product + float(part), abs(product) + abs(float(part))
    if oracle.nonnegative and value < -_ROUND_OFF * size:
        raise InvalidData(
            f"{type(oracle).__name__} gave a loss of {value:.3g} for an example, less than 0: its "
            "argmax is not the largest, or it needs nonnegative = False"
        )
    return value, slope
