"""The risk of rows that stay with their owners.

R(w) = (1/n) sum over owners of their sums. A solver sees it as any other risk, but there are no
scores: a ray costs a query of every owner for each step that is tried.
"""

from __future__ import annotations

import hashlib

import msgspec
import numpy as np

from fenchel import losses
from fenchel.engines.owners import Owners
from fenchel.errors import Incompatible
from fenchel.losses import Conjugable, ScalarLoss
from fenchel.risks.base import Array, Facts, Point
from fenchel.risks.black_box import BlackBoxPoint, BlackBoxRisk
from fenchel.witness import Tangency, Witness


class OwnersPoint(BlackBoxPoint):
    """The risk at one w."""

    risk: OwnersRisk

    def __init__(self, risk: OwnersRisk, w: Array, value: float, subgradient: Array):
        self.risk, self.w, self.value, self.subgradient = risk, w, value, subgradient

    @property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v; -inf where noise leaves nothing certain."""
        return -np.inf if self.risk.noisy else super().constant

    @property
    def sizes(self) -> tuple[float, float]:
        """Rows times slopes; and R with the product it is reduced by."""
        product = float(np.linalg.norm(self.subgradient) * np.linalg.norm(self.w))
        return self.risk.length * self._slope, abs(self.value) + product

    @property
    def _slope(self) -> float:
        """A bound of the mean slope, as of a linear risk."""
        loss = self.risk.loss
        smooth = np.sqrt(2 * loss.smoothness * self.value) if loss.nonnegative else np.inf
        largest = loss.largest_slope(np.ones(1)) if isinstance(loss, Conjugable) else np.inf
        slope = min(largest, float(smooth))
        return slope if slope < np.inf else 1 + abs(self.value)

    @property
    def witness(self) -> Witness:
        """The place of tangency."""
        return Witness([Tangency(self.w)], [1.0])


class OwnersRisk(BlackBoxRisk):
    """The mean loss over the rows of all owners."""

    def __init__(self, owners: Owners):
        shapes = owners.shapes
        self.owners, first = owners, shapes[0]
        loss = losses.named(first.loss, dict(first.options))
        if not isinstance(loss, ScalarLoss):
            raise Incompatible(f"owners serve losses of one score a row; {first.loss} is none")
        self.loss = loss
        self.n_offsets = int(first.intercept)
        self.n_parameters = first.n_columns
        self.n_rows = self.n_duals = sum(shape.n_rows for shape in shapes)
        self.n_numbers = self.n_rows * self.n_parameters  # at most
        self.noisy = any(shape.noise > 0 for shape in shapes)
        squares = sum(shape.n_rows * shape.length**2 for shape in shapes)
        self.length = float(np.sqrt(squares / self.n_rows))
        self.facts = Facts(
            nonnegative=loss.nonnegative,
            differentiable=loss.differentiable,
            knows_kinks=loss.differentiable,  # only that there are none
        )
        self.passes = 0

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of features."""
        return (self.n_parameters - self.n_offsets,)

    def presented(self, w: Array, intercept: float) -> tuple[Array, float | Array]:
        """(w, intercept): the last parameter, if there is one."""
        return (w[:-1], float(w[-1])) if self.n_offsets else (w, 0.0)

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        return np.append(w, np.tile(intercept, self.n_offsets))

    def at(self, w: Array, near: Point | None = None) -> OwnersPoint:
        """The risk at w: a query of every owner."""
        self.passes += 2
        w = np.array(w, dtype=np.float64)
        value, subgradient = self.owners.evaluate(w)
        return OwnersPoint(self, w, value / self.n_rows, subgradient / self.n_rows)

    def curvature(self) -> Array:
        """The mean square of a column, the same for all: no owner tells more."""
        each = min(self.loss.smoothness, 1.0) * self.length**2 / self.n_parameters
        return np.full(self.n_parameters, each)

    def fingerprint(self) -> bytes:
        """A digest of what the owners say of their data."""
        text = msgspec.json.encode(self.owners.shapes)
        return hashlib.blake2b(text, digest_size=16).digest()
