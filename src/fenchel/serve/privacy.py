"""Differential privacy: Gaussian noise on clipped sums, and an account of what was spent.

Two data sets are neighbours if one row was replaced by another; their number is no secret. A row's
part in an answer is its loss, clipped to [-C, C], and its part a_i x_i of the gradient, shortened
to length C at most. So replacing a row moves the value by 2 C at most and the gradient by a length
of 2 C: an answer with both has sensitivity Delta = sqrt(8) C, a value alone 2 C. With Gaussian
noise of deviation sigma = noise * C on every number, an answer is rho-zCDP with

    rho = Delta^2 / (2 sigma^2) = 4 / noise^2,  or 2 / noise^2 for a value,

rho adds up over answers, also where a query depends on the answers before it, and rho-zCDP is
(epsilon, delta)-differentially private for epsilon = rho + 2 sqrt(rho log(1/delta)) (Bun and
Steinke 2016, propositions 1.6, 1.3 and lemma 3.5). Hence all of

    rho <= (sqrt(log(1/delta) + epsilon) - sqrt(log(1/delta)))^2

may be spent, and then nothing is answered. Refusals must not depend on the rows either, so that
the guard of guard.py, which looks at them, is not in force beside this. Noise is made of the
system's source of randomness for keys, by Box and Muller's formula in double precision: what the
last bits of such numbers give away (Mironov 2012) is not accounted for.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass

import numpy as np

from fenchel.errors import InvalidData, Setting
from fenchel.risks.base import Array
from fenchel.serve.guard import Refused
from fenchel.settings import positive


@dataclass(frozen=True)
class Privacy:
    """The budget (epsilon, delta), what a row counts for at most, and noise as a multiple of it."""

    epsilon: float
    delta: float = 1e-6
    clip: float = 1.0
    noise: float = 100.0

    def __post_init__(self) -> None:
        for name in ("epsilon", "delta", "clip", "noise"):
            positive(name, getattr(self, name))
        if self.delta >= 1:
            raise InvalidData(Setting("delta"), f" must be < 1; got {self.delta!r}")

    @property
    def budget(self) -> float:
        """The rho that (epsilon, delta) allows."""
        log = math.log(1 / self.delta)
        return (math.sqrt(log + self.epsilon) - math.sqrt(log)) ** 2

    def cost(self, with_gradient: bool) -> float:
        """The rho of an answer."""
        return (4.0 if with_gradient else 2.0) / self.noise**2

    @property
    def answers(self) -> int:
        """How many answers with a gradient the budget is for."""
        return math.floor(self.budget / self.cost(with_gradient=True))


class Accountant:
    """What was spent."""

    def __init__(self, privacy: Privacy):
        self.privacy = privacy
        self.spent = 0.0

    def charge(self, with_gradient: bool) -> None:
        """Takes the price of an answer, or raises Refused."""
        cost = self.privacy.cost(with_gradient)
        if self.spent + cost > self.privacy.budget:
            raise Refused(
                429,
                f"the privacy budget of epsilon = {self.privacy.epsilon:g} at delta = "
                f"{self.privacy.delta:g} is spent",
            )
        self.spent += cost

    @property
    def epsilon(self) -> float:
        """The epsilon of what was answered."""
        return self.spent + 2 * math.sqrt(self.spent * math.log(1 / self.privacy.delta))


def clipped(losses: Array, slopes: Array, lengths: Array, clip: float) -> tuple[float, Array]:
    """The sum of losses, and slopes so small that no row's part is longer than `clip`.

    `lengths` are those of the rows x_i. Losses that are not finite count for `clip`.
    """
    value = float(np.sum(np.clip(np.nan_to_num(losses, nan=clip, posinf=clip), -clip, clip)))
    most = np.divide(clip, lengths, out=np.full(len(lengths), np.inf), where=lengths > 0)
    bounded: Array = np.clip(np.nan_to_num(slopes, nan=0.0), -most, most)
    return value, np.where(np.isfinite(bounded), bounded, 0.0)


def normal(n: int) -> Array:
    """Normal numbers from the system's randomness: Box and Muller's pairs."""
    pairs = (n + 1) // 2
    bits = np.frombuffer(os.urandom(16 * pairs), np.uint64) >> np.uint64(11)
    uniform = (bits.astype(np.float64) + 0.5) * 2.0**-53  # in (0, 1)
    radius = np.sqrt(-2 * np.log(uniform[:pairs]))
    angle = 2 * np.pi * uniform[pairs:]
    return np.concatenate([radius * np.cos(angle), radius * np.sin(angle)])[:n]
