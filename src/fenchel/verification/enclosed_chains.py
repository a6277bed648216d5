"""Chains in exact arithmetic: what their cuts prove, and their mean loss from above."""

from __future__ import annotations

from typing import Any

import numpy as np

from fenchel.verification.chain_cuts import ChainEvidence
from fenchel.verification.chain_losses import losses_above
from fenchel.verification.exact_products import SlicedMatrix
from fenchel.verification.intervals import Array, exact, sum_above
from fenchel.witness import Witness


class ExactChains:
    """The mean loss of sequences."""

    def __init__(self, data: ChainEvidence):
        self.data, self.S = data, data.S

    def bound(self, witness: Witness, penalty: Any) -> float:
        """What the witness's cuts prove, scaled by a theta <= 1 where an L1 norm asks for it."""
        a, constant = self.data.mixed(witness)
        theta, conjugate = penalty.conjugate_above(a)
        mean = exact(theta).times(exact(constant)).over(self.S)
        return float(mean.minus(exact(conjugate)).lo)

    def value_above(self, w: Array, b: float | Array) -> float:
        """No less than the mean loss at w."""
        data, counted = self.data, self.data.s > 0
        W, T = data.pairs.states(w).toarray(), data.pairs.transitions(w)
        each = np.concatenate(
            [
                losses_above(data.loss, SlicedMatrix(block).scores(W), T, y, starts)
                for block, (y, starts) in zip(data.blocks, data.sequences, strict=True)
            ]
        )
        total = sum_above(exact(each[counted]).times(exact(data.s[counted])).hi)
        return float(exact(total).over(self.S).hi)
