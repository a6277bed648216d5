"""Max-margin networks with their maxima made soft, and what that proves of the maxima themselves.

    l(w) = max over y' of h(y')  =  max over distributions p of E_p[h],   h = Delta + <w, psi>,

has a kink where two labellings are equally bad. With mu times the entropy of p, less that of the
even distribution, taken into the maximum ([Zhang11] section 5.4) there is a single best p,

    l_mu(w) = mu log mean over y' of exp(h(y') / mu),    p(y') proportional to exp(h(y') / mu),

with l_mu <= l <= l_mu + mu log |Y|, and its gradient is E_p[psi]. p is a dual point of l itself:

    l(v) >= E_p[Delta] + <v, E_p[psi]>    for all v.

Both expectations are sums over the chain's marginals, which forward-backward gives: so the cut
costs nothing beyond the gradient of l_mu, and says nothing of mu. Means of such cuts over places w
and levels mu are cuts, too. The evidence for one is the place and the level.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from fenchel.data.sequences import Sequences
from fenchel.losses import M3N
from fenchel.risks.base import Array, Cut, Problem, Risk
from fenchel.risks.chains import ChainRisk
from fenchel.risks.views.black_box_form import NO_IMAGE, BlackBoxForm
from fenchel.risks.views.images import Imaged, Linearisation
from fenchel.risks.views.prox_functions import ProxFunction
from fenchel.witness import Bracket, Tangency, Tilted, Witness


class SoftPoint(NamedTuple):
    """R_mu at one place: its value and gradient, E_p[Delta], and the entropy that p lacks."""

    w: Array
    mu: float
    value: float
    gradient: Array
    cost: float
    lack: float  # log |Y| - H(p) on average, so that R_mu = cost + <gradient, w> - mu lack
    size: float  # of what was added up to the gradient
    bracket: Bracket = Bracket()  # of the offset, where there is one

    def cut(self) -> Cut:
        """What p proves of R."""
        return Cut(self.gradient, self.cost, (self.size, self.cost), self.witness)

    def witness(self) -> Witness:
        """Where the cut is that of the soft maximum, and how soft."""
        level = Tilted(np.empty(0), self.mu, np.empty(0))
        return Witness([Tangency(self.w, self.bracket, offsets=level)], [1.0])


def is_soft_chain(risk: Risk) -> bool:
    """Its maxima are over labellings of chains, and costs are sums over tokens."""
    if not (isinstance(risk, ChainRisk) and isinstance(risk.loss, M3N)):
        return False
    return risk.loss.rescaling == "margin"


def most_entropy(risk: Risk) -> float:
    """The mean of log |Y|: how far R_mu lies below R at most, over mu."""
    assert isinstance(risk, ChainRisk)
    tokens = sum(risk.engine.map(_tokens))
    return float(tokens) / risk.weight * float(np.log(risk.pairs.n_labels))


class SoftMaximum:
    """R_mu at any place and level: two passes for each."""

    def __init__(self, problem: Problem):
        risk = problem.risk
        assert isinstance(risk, ChainRisk) and isinstance(risk.loss, M3N)
        self.problem, self.risk = problem, risk
        self.entropy, self._costs = most_entropy(risk), risk.loss.costs(risk.pairs.n_labels)

    def at(self, w: Array, mu: float) -> SoftPoint:
        """R_mu there, with its gradient."""
        self.problem.pulse()
        risk, engine = self.risk, self.risk.engine
        risk.passes += 2
        values, costs, gradients = engine.map(_soft, self._costs, w, mu).split(3)
        value, cost, gradient = engine.totals(values, costs, gradients)
        value, cost, gradient = value / risk.weight, cost / risk.weight, gradient / risk.weight
        entropy = (value - cost - float(gradient @ w)) / mu
        lack, value = max(0.0, self.entropy - entropy), value - mu * self.entropy
        return SoftPoint(w, mu, value, gradient, cost, lack, risk.length)


class SoftForm(BlackBoxForm):
    """R_mu + lambda Omega over w: an evaluation, two passes, for each place."""

    def __init__(self, problem: Problem, mu: float, prox: ProxFunction | None = None):
        super().__init__(problem, prox)
        self.mu, self._soft, self._met = mu, SoftMaximum(problem), None

    _met: SoftPoint | None  # the last place, which is asked for again

    def f(self, at: Imaged[Array, Array]) -> float:
        """R_mu."""
        return self.at(at.x).value

    def tangent(self, at: Imaged[Array, Array]) -> Linearisation[Array, Array]:
        """R_mu and its gradient."""
        soft = self.at(at.x)
        return Linearisation(soft.value, soft.gradient, Imaged(soft.gradient, NO_IMAGE))

    def newest(self, x: Imaged[Array, Array]) -> SoftPoint:
        """That of x, where R_mu was asked for with its gradient."""
        return self.at(x.x)

    def at(self, w: Array) -> SoftPoint:
        """R_mu there, unless it was the last place."""
        if self._met is None or not np.array_equal(self._met.w, w):
            self._met = self._soft.at(w, self.mu)
        return self._met


def _soft(shard: Sequences, costs: Array, w: Array, mu: float) -> tuple[float, float, Array]:
    """Sums over a shard: of mu log sum exp(h / mu), of E_p[Delta], and the gradient."""
    gradient = np.zeros(len(w))
    value, cost = shard.chains.soft_hinge(shard.y, shard.s, costs, mu, w, gradient)
    return value, cost, gradient


def _tokens(shard: Sequences) -> float:
    """How many tokens count, as often as their sequences do."""
    if shard.s is None:
        return float(len(shard.y))
    return float(np.sum(shard.of_tokens(shard.s)))
