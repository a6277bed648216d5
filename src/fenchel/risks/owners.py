"""The risk of rows that stay with their owners.

R(w) = (1/n) sum over owners of their sums. A solver sees it as any other risk, but there are no
scores: a ray costs a query of every owner for each step that is tried. Owners tell the value at a
point that is tried, and their gradients only where it descends, or where that is insisted on; and
at some points they tell nothing. There R is inf to a line search, which comes back from it, and no
cut is known. Owners who have told all they ever will are not asked again: R is inf wherever it is
not known, and a solver ends with the best it has.
"""

from __future__ import annotations

import hashlib
import math
import warnings

import msgspec
import numpy as np

from fenchel import losses
from fenchel.callers import users_line
from fenchel.engines import masks
from fenchel.engines.messages import Kind
from fenchel.engines.owners import Owners, Spent, Sums, Withheld
from fenchel.errors import FenchelWarning, Incompatible
from fenchel.losses import Conjugable, ScalarLoss
from fenchel.risks.base import Array, Facts, Point
from fenchel.risks.black_box import BlackBoxPoint, BlackBoxRay, BlackBoxRisk
from fenchel.tolerances import ROUND_OFF
from fenchel.witness import Tangency, Witness

_TRIALS, _TRIALS_AT_KINKS = 6, 2  # that may be refused along a ray
_REFUSALS_SAID, _REFUSALS = (
    10,
    30,
)  # one after another, whatever a solver tried: it will not get further


class OwnersPoint(BlackBoxPoint):
    """The risk at one w; `value` is inf where an owner refuses it."""

    risk: OwnersRisk

    def __init__(
        self, risk: OwnersRisk, w: Array, value: float, gradient: Array | None, told: int = 0
    ):
        self.risk, self.w, self.value = risk, w, value
        self.told = told  # rows whose owners told their gradient of their own accord
        self._gradient = gradient

    @property
    def known(self) -> bool:
        """Whether the subgradient is known; it is insisted on where the value is."""
        if self._gradient is None and self.value < math.inf:
            self._gradient = self.risk.insisted(self.w)
        return self._gradient is not None

    @property
    def subgradient(self) -> Array:  # type: ignore[override]  # computed on first use
        """A subgradient; 0 where none is known, with a constant of -inf."""
        return self._gradient if self.known and self._gradient is not None else 0.0 * self.w

    @property
    def constant(self) -> float:
        """b with R(v) >= <a, v> + b for all v; -inf where noise or refusal leave none certain."""
        return super().constant if self.known and self.risk.exact else -math.inf

    def shrunk(self, scale: float) -> float:
        return super().shrunk(scale) if self.constant > -math.inf else -math.inf

    def towards(self, p: Array) -> OwnersRay:
        return OwnersRay(self, p)

    @property
    def sizes(self) -> tuple[float, float]:
        """Rows times slopes; and R with the product it is reduced by.

        Masks round: each number is off by `risk.rounding`, which counts as often as round-off would
        have to happen for it.
        """
        reach = float(np.linalg.norm(self.w))
        product = float(np.linalg.norm(self.subgradient)) * reach
        rounding = self.risk.rounding / ROUND_OFF
        longer = rounding * math.sqrt(self.risk.n_parameters)
        slopes = self.risk.length * self._slope + longer
        return slopes, abs(self.value) + product + rounding + longer * reach

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


class OwnersRay(BlackBoxRay):
    """A ray whose trial steps are answered by their value where they do not descend.

    A search at a kink comes closer and closer to few rows, and is refused for that; what it has
    by then must do. One for a smooth R comes back from too far, which may take some steps.
    """

    def __init__(self, origin: OwnersPoint, p: Array):
        super().__init__(origin, p)
        self._left = _TRIALS if origin.risk.facts.differentiable else _TRIALS_AT_KINKS

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), its slope); the slope is nan where it is not worth insisting on.

        A search for the minimum of a smooth R comes back from a step too far by its value alone; at
        kinks the slope is needed. A step at which R descends, or J of those who own half of the
        rows, is one that may be accepted.
        """
        if self._left == 0:
            return math.inf, math.nan
        point, origin = self.at(eta), self.origin
        self._left -= point.value == math.inf
        if not isinstance(point, OwnersPoint):
            raise TypeError("a ray of owners has their points")
        risk = point.risk
        descends = point.value <= origin.value or 2 * point.told >= risk.n_rows
        if point.value == math.inf or not (descends or not risk.facts.differentiable):
            return point.value, math.nan
        return point.value, float(point.subgradient @ self.p) if point.known else math.nan


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
        self.exact = first.exact
        self.rounding = masks.error(len(shapes)) / self.n_rows if owners.masked else 0.0
        squares = sum(shape.n_rows * shape.length**2 for shape in shapes)
        self.length = float(np.sqrt(squares / self.n_rows))
        self.facts = Facts(
            nonnegative=loss.nonnegative and self.exact,  # noise may be below 0
            differentiable=loss.differentiable,
            knows_kinks=loss.differentiable,  # only that there are none
        )
        self.passes = 0
        self._answered = self._spent = False
        self._refusals = 0  # one after another
        self._never: set[tuple[Kind, bytes]] = set()  # points that were refused
        if not self.exact:
            self.n_duals = 0  # rows have no dual variables that could prove anything
            warnings.warn(
                "the owners add noise to what they answer: nothing is certified, and objectives "
                "are estimates",
                FenchelWarning,
                stacklevel=users_line(),
            )

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of features."""
        return (self.n_parameters - self.n_offsets,)

    def presented(self, w: Array, intercept: float | Array) -> tuple[Array, float | Array]:
        """(w, intercept): the last parameter, if there is one."""
        return (w[:-1], float(w[-1])) if self.n_offsets else (w, 0.0)

    def flattened(self, w: Array, intercept: float | Array) -> Array:
        return np.append(w, np.tile(intercept, self.n_offsets))

    def at(self, w: Array, near: Point | None = None) -> OwnersPoint:
        """The risk at w: a query of every owner."""
        w = np.array(w, dtype=np.float64)
        sums = self._asked(w, "trial")
        if sums is None:
            return OwnersPoint(self, w, math.inf, None)
        gradient = None if sums.gradient is None else sums.gradient / self.n_rows
        return OwnersPoint(self, w, sums.value / self.n_rows, gradient, sums.told)

    def insisted(self, w: Array) -> Array | None:
        """The gradient at a w whose value was told; None where an owner refuses it."""
        sums = self._asked(w, "gradient")
        return None if sums is None or sums.gradient is None else sums.gradient / self.n_rows

    def _asked(self, w: Array, kind: Kind) -> Sums | None:
        if self._spent or (kind, w.tobytes()) in self._never:
            return None
        self.passes += 2
        try:
            sums = self.owners.evaluate(w, kind)
        except Withheld as error:
            if not self._answered:  # so that there is no run that could come back from it
                raise
            self._never.add((kind, w.tobytes()))  # what was told since makes it no better
            self._refused(error)
            return None
        self._refusals = 0
        self._answered |= sums.gradient is not None or self.owners.masked
        return sums

    def _refused(self, error: Withheld) -> None:
        """Counts a refusal; says so when there are many, as the run will hardly get further."""
        self._refusals += 1
        before, self._spent = self._spent, isinstance(error, Spent) or self._refusals >= _REFUSALS
        if (self._spent and not before) or self._refusals == _REFUSALS_SAID:
            warnings.warn(
                f"the run may end early: {error}", FenchelWarning, stacklevel=users_line()
            )

    def curvature(self) -> Array:
        """The mean square of a column, the same for all: no owner tells more."""
        each = min(self.loss.smoothness, 1.0) * self.length**2 / self.n_parameters
        return np.full(self.n_parameters, each)

    def fingerprint(self) -> bytes:
        """A digest of what the owners say of their data."""
        text = msgspec.json.encode(self.owners.shapes)
        return hashlib.blake2b(text, digest_size=16).digest()
