"""The risk of a nu-loss: its thresholds are found exactly from all scores, its cuts have b = 0.

R(w) is the largest -sum_i alpha_i y_i <x_i, w> over a set of alpha that does not depend on w (see
losses/nu.py). So R is homogeneous, and each alpha of that set is a cut through the origin, valid
whatever w it was found at: nothing but the sum X'(alpha y) can be off. Given the thresholds a row
costs max(0, -y (z + c)), with c = -y t: the perceptron's loss, which is what line searches see.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.engines import Engine, PerShard
from fenchel.losses.margin import Perceptron
from fenchel.losses.nu import Group, NuLoss, tail
from fenchel.piecewise import Slope
from fenchel.risks import shardwork
from fenchel.risks.digests import held
from fenchel.risks.intercept import Offset
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint, LinearRay
from fenchel.tolerances import TIE
from fenchel.witness import Bracket, Tangency, Ties, Witness

Array = npt.NDArray[np.float64]


class Tails(NamedTuple):
    """The best thresholds and alpha, and the risk."""

    thresholds: list[float]
    offsets: Array  # -y t
    alpha: Array
    value: float


class NuPoint(LinearPoint):
    """The risk at one w."""

    risk: NuRisk

    @property
    def constant(self) -> float:
        """0: the cut goes through the origin."""
        return 0.0

    @functools.cached_property
    def margins(self) -> Array:
        """u = y z, gathered."""
        return self.risk.y * self.risk.engine.gather(self.z)

    @functools.cached_property
    def tails(self) -> Tails:
        """Thresholds, offsets and dual variables, which depend on all scores at once."""
        risk, u = self.risk, self.margins
        thresholds, offsets, alpha = [], np.zeros_like(u), np.zeros_like(u)
        for rows, mass in risk.groups:
            t, alpha[rows] = tail(u[rows], risk.share[rows], mass)
            offsets[rows] = -t * risk.y[rows]
            thresholds.append(t)
        return Tails(thresholds, offsets, alpha, -float(alpha @ u))

    @functools.cached_property
    def offset(self) -> Offset:
        """What the model adds to its scores, and R(w)."""
        best, value = self.risk.nu_loss.offset(self.tails.thresholds), self.tails.value
        return Offset(Bracket(), best, value, value)

    @functools.cached_property
    def slopes(self) -> PerShard[Array]:
        """a_i = -S y_i alpha_i."""
        return self.risk.engine.scatter(-self.risk.weight * self.risk.y * self.tails.alpha)

    @property
    def sizes(self) -> tuple[float, float]:
        """Rows times slopes, which add up to nu; and nothing for the constant."""
        return self.risk.length * self.risk.nu_loss.nu, 0.0

    @property
    def witness(self) -> Witness:
        """The place of tangency, with the slopes of the rows at a threshold."""
        y, share, tails = self.risk.y, self.risk.share, self.tails
        rows = np.flatnonzero(_tied(self.margins, -y * tails.offsets) & (share > 0))
        slopes = -(y * tails.alpha)[rows] / share[rows]
        return Witness([Tangency(self.w, Bracket(), Ties(rows, slopes))], [1.0])

    def steepest(self, p: Array) -> NuPoint:
        """Itself: the risk does not say where its kinks are."""
        return self

    def towards(self, p: Array) -> NuRay:
        """The ray w + eta p."""
        return NuRay(*self._start(p))


class NuRay(LinearRay[NuPoint]):
    """eta -> R(w + eta p); its slope and kinks are those of the line above R.

    On that line the thresholds go straight from the best at 0 to the best at 1.
    """

    @functools.cached_property
    def rates(self) -> Array:
        """How fast the margins grow."""
        return self.origin.risk.y * self.origin.risk.engine.gather(self.q)

    def along(self, eta: float) -> tuple[float, float]:
        """(R(w + eta p), its slope just right of eta): a fall that is promised is one."""
        point = self.at(eta)
        slope = 0.0
        for (rows, mass), t in zip(point.risk.groups, point.tails.thresholds, strict=True):
            rates, share = self.rates[rows], point.risk.share[rows]
            at = _tied(point.margins[rows], t)
            below = (point.margins[rows] < t) & ~at
            # Of the rows at the threshold, those fall below it first that grow least.
            left = tail(rates[at], share[at], mass - float(np.sum(share[below])))[1]
            slope -= float(share[below] @ rates[below]) + float(left @ rates[at])
        return point.value, slope

    @functools.cached_property
    def _ends(self) -> tuple[Tails, Tails]:
        return self.origin.tails, self.at(1.0).tails

    @functools.cached_property
    def _line(self) -> tuple[PerShard[Array], PerShard[Array]]:
        engine, (start, end) = self.origin.risk.engine, self._ends
        shift, rate = map(engine.scatter, (start.offsets, end.offsets - start.offsets))
        z = engine.map(shardwork.moved, self.origin.z, shift, 1.0)
        return z, engine.map(shardwork.moved, self.q, rate, 1.0)

    def slope(self, eta: float) -> Slope:
        """That of the rows' losses, less mass times the rate of each threshold."""
        at, (start, end) = super().slope(eta), self._ends
        masses = [group.mass for group in self.origin.risk.groups]
        rates = np.subtract(end.thresholds, start.thresholds)
        return Slope(at.slope - float(masses @ rates), at.curvature)


class NuRisk(LinearRisk):
    """The mean loss with rho, and an intercept if there is one, profiled out."""

    point = NuPoint

    def __init__(self, nu_loss: NuLoss, engine: Engine, *, intercept: bool):
        super().__init__(Perceptron(), engine, intercept=True)
        self.facts = replace(
            self.facts,
            nonnegative=False,  # R(0) = 0, and R < 0 wherever the data lie on the right side
            separable=False,  # the thresholds depend on all scores
            has_duals=False,  # the rows' alpha are bound together by their sums
            knows_kinks=False,  # not where margins change places at a threshold
        )
        self.nu_loss = nu_loss
        self.y = np.concatenate([shard.y for shard in engine.shards])
        self.share = engine.gather(engine.map(shardwork.weights)) / self.weight
        groups = nu_loss.groups(self.y, self.share, intercept)
        # A row of weight 0 is not there: no threshold may be its margin.
        self.groups = [Group(rows & (self.share > 0), mass) for rows, mass in groups]

    def fingerprint(self) -> bytes:
        """A digest of the loss, its groups and every shard."""
        settings = f"{self.nu_loss!r} {len(self.groups)}".encode()
        whole = settings + held(self.nu_loss) + super().fingerprint()
        return hashlib.blake2b(whole, digest_size=16).digest()


def _tied(u: Array, t: Array | float) -> npt.NDArray[np.bool_]:
    """Which margins lie at their threshold, up to round-off."""
    return np.asarray(np.abs(u - t) <= TIE * (1 + np.abs(t)))
