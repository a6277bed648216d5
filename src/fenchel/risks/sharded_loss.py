"""A loss together with the rows it is of, which lie in shards on an engine.

The points, rays and views of a linear risk all compute with the same few things: the loss, the
engine that runs a function on every shard and adds up what comes of it, how many rows, scores and
parameters there are, and the sum S of the rows' weights. They are here, below the risk, so that a
point need not know the risk that made it. `passes` counts the products with X or X' so far; the
columns' mean squares cost one, when they are first asked for.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel.data.rows import WithOnes
from fenchel.engines import Engine
from fenchel.errors import InvalidData
from fenchel.losses import Loss, ScalarLoss, VectorLoss
from fenchel.losses.base import Bends
from fenchel.losses.offset_rows import takes_offsets
from fenchel.losses.scalar_rows import is_built_in
from fenchel.risks import shardwork
from fenchel.risks.base import Facts
from fenchel.risks.offsets import Offsets
from fenchel.settings import user_written

Array = npt.NDArray[np.float64]


class ShardedLoss:
    """A loss, the shards whose rows it is of, and the counts and sums that all the rest needs.

    `classes` belong to the K scores of a vector loss. Its intercepts are profiled out (offsets.py),
    or, where that is not known how, columns of the shards.
    """

    def __init__(
        self,
        loss: Loss,
        engine: Engine,
        *,
        intercept: bool = False,
        classes: npt.NDArray[Any] | None = None,
    ):
        self.loss, self.engine, self.classes = loss, engine, classes
        rows = engine.shards[0].rows
        self.n_outputs = 1 if classes is None else len(classes)
        self.n_offsets = int(isinstance(rows, WithOnes))
        self.n_parameters = rows.n_columns * self.n_outputs
        self.n_rows = sum(shard.rows.n_rows for shard in engine.shards)
        self.n_numbers = sum(shard.rows.n_numbers for shard in engine.shards)
        self.weight = float(engine.total(engine.map(shardwork.weight)))  # S
        if not self.weight > 0:
            raise InvalidData("all shards are empty: no row has a weight; at least 1 is needed")
        self.passes = 0
        self.bends = self._bends()
        self.facts = Facts(
            nonnegative=loss.nonnegative,
            differentiable=loss.differentiable,
            piecewise=self.bends.piecewise,
            # Slopes at kinks are not chosen anew where K offsets have to stay the best.
            knows_kinks=loss.differentiable
            or (self.bends.jumps and not (intercept and classes is not None)),
            has_intercept=intercept,
            has_duals=loss.has_conjugate,
            keeps_scores=True,
            in_one_memory=engine.in_one_memory,
            user_written=user_written(loss),
        )

    @functools.cached_property
    def offsets(self) -> Offsets | None:
        """How the offsets of a vector loss are profiled out; None where it has none, or no way.

        Where they are coordinates it tells how dual variables are balanced.
        """
        if self.classes is None or not (self.facts.has_intercept or self.n_offsets):
            return None
        if not takes_offsets(self.loss):
            return None
        return Offsets(self.loss, self.engine, self.weight, self.n_outputs)

    def _bends(self) -> Bends:
        """How slopes change; those of several scores along a ray of them."""
        if isinstance(self.loss, ScalarLoss):
            return self.loss.bends()
        if not isinstance(self.loss, VectorLoss):
            return Bends()
        none = np.zeros((0, self.n_outputs)), self.engine.shards[0].y[:0]
        known = self.loss.pieces(*none) is not None
        return Bends(known, known)

    @functools.cached_property
    def profiles_at_once(self) -> bool:
        """The best offset takes one kernel: of a built-in loss of one score, and one shard."""
        profiled = self.facts.has_intercept and self.facts.separable
        return profiled and self.engine.n_shards == 1 and is_built_in(self.loss)

    @functools.cached_property
    def evaluates_at_once(self) -> bool:
        """Values and slopes take one kernel: of a smooth built-in loss without an intercept."""
        smooth = self.facts.differentiable and not self.facts.has_intercept
        return smooth and is_built_in(self.loss)

    @property
    def n_duals(self) -> int:
        return self.n_rows * self.n_outputs

    @property
    def width(self) -> tuple[int, ...]:
        """The shape of a row's scores: (), or (K,) for a vector loss."""
        return () if self.classes is None else (self.n_outputs,)

    def outputs(self, v: Array) -> Array:
        """A vector of parameters or duals as rows take it: K columns for a vector loss."""
        return v if self.classes is None else v.reshape(-1, self.n_outputs)

    @functools.cached_property
    def squares(self) -> Array:
        """The columns' mean squares: a pass, once."""
        self.passes += 1
        total: Array = self.engine.total(self.engine.map(shardwork.squares))
        return total / self.weight

    @functools.cached_property
    def means(self) -> Array:
        """The columns' means: a pass, once."""
        self.passes += 1
        total: Array = self.engine.total(self.engine.map(shardwork.means))
        return total / self.weight

    @functools.cached_property
    def length(self) -> float:
        """The root of the rows' mean squared length."""
        return float(np.sqrt(np.sum(self.squares)))

    @functools.cached_property
    def largest_slope(self) -> float:
        """The largest slope of the loss on any row, inf where there is none."""
        return float(max(self.engine.map(shardwork.largest_slope, self.loss)))

    @functools.cached_property
    def label_spread(self) -> float:
        """The mean distance of the labels from their mean, where a row has one score."""
        mean = self.engine.total(self.engine.map(shardwork.label_total)) / self.weight
        distances = self.engine.map(shardwork.label_distance, mean)
        return float(self.engine.total(distances) / self.weight)
