"""The data matrix as a linear map between arrays, for methods that work on the rows' side.

Some methods keep, for a bundle of cuts, the slopes of all rows (their dual variables) in place of
the gradients that follow from them. They need the products X v, a number for each score, and
X'alpha, a number for each parameter, as arrays in one place; elsewhere such numbers stay with the
shards. Each product is a pass.
"""

from __future__ import annotations

from fenchel.risks import shardwork
from fenchel.risks.base import Array, Risk
from fenchel.risks.linear import LinearRisk


class RowSpace:
    """The linear map X of a risk whose rows have dual variables."""

    def __init__(self, risk: Risk):
        assert isinstance(risk, LinearRisk)
        self.risk = risk

    @classmethod
    def obstacle(cls, risk: Risk) -> str | None:
        """Rows must have dual variables."""
        if isinstance(risk, LinearRisk) and risk.facts.has_duals:
            return None
        return "it needs a loss with a conjugate, of scores that are kept"

    def scores(self, v: Array) -> Array:
        """X v, one number for each score: a pass."""
        self.risk.passes += 1
        engine = self.risk.engine
        return engine.gather(engine.map(shardwork.scores, self.risk.outputs(v))).ravel()

    def adjoint(self, alpha: Array) -> Array:
        """X'alpha, one number for each parameter: a pass."""
        self.risk.passes += 1
        engine = self.risk.engine
        each = engine.scatter(self.risk.outputs(alpha))
        total: Array = engine.total(engine.map(shardwork.adjoint, each))
        return total.ravel()
