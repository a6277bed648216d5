"""The curvatures of a smooth loss at rows that are known through a kernel, and products with K."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.data.shards import Shard
from fenchel.losses.scalar_rows import is_built_in
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Point, Problem, Risk
from fenchel.risks.gram_rows import KernelRows
from fenchel.risks.kernel import KernelPoint, KernelRisk


class KernelCurvature:
    """What Newton's steps in the space of features need of the risk."""

    def __init__(self, problem: Problem):
        assert isinstance(problem.risk, KernelRisk)
        self.risk = problem.risk

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """Rows known through a kernel, with a built-in loss of one score."""
        if not isinstance(risk, KernelRisk):
            return "it is for rows that are known through a kernel"
        if risk.classes is None and is_built_in(risk.loss):
            return None
        return "it knows the curvatures of built-in losses of one score a row"

    def at(self, point: Point) -> Array:
        """s_i/S l''(z_i + b) of all rows."""
        assert isinstance(point, KernelPoint)
        risk, engine = self.risk, self.risk.engine
        b = float(point.intercept)
        found = engine.map(shardwork.curvatures, risk.loss, point.z, b, risk.weight).split(2)[0]
        return engine.gather(found)

    def scores(self, point: Point) -> Array:
        """K beta of a point."""
        assert isinstance(point, KernelPoint)
        return self.risk.engine.gather(point.z)

    def product(self, v: Array) -> Array:
        """K v: a pass."""
        self.risk.passes += 1
        engine = self.risk.engine
        return engine.gather(engine.map(shardwork.scores, v))

    def block(self, some: npt.NDArray[np.intp]) -> Array:
        """K between some of the rows."""
        engine = self.risk.engine
        inside = np.zeros(self.risk.n_rows, dtype=bool)
        inside[some] = True
        return engine.gather(engine.map(_block, some, engine.scatter(inside)))


def _block(shard: Shard, columns: npt.NDArray[np.intp], inside: npt.NDArray[np.bool_]) -> Array:
    assert isinstance(shard.rows, KernelRows)
    here = np.flatnonzero(inside)
    if shard.rows.fits:
        return shard.rows.matrix()[np.ix_(here, columns)]
    return shard.rows.take(here).columns(columns)
