"""What a witness proves of rows that are known through a kernel: bounds in the kernel's norm.

For dual variables alpha (with the sum 0 where there is an intercept) and w = sum_j beta_j phi(x_j)

    J(w) - D(alpha) = sum_i s_i/S (l(z_i) + l*(a_i) - a_i z_i) + lambda/2 |w + v/lambda|^2,

v = sum_i alpha_i phi(x_i), where the first part is >= 0 by the definition of l* and the second as a
squared length: e'K e for e = beta + alpha/lambda. That this is no length is what an indefinite K
shows, so that it is looked at. K is computed anew by blocks, from the kernel and the rows. A
product with it adds up at most `_CHUNK` terms and then the sums of chunks; each of its numbers is
off by `gram.doubt` at most. All that is charged to the bound.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData
from fenchel.risks.base import Problem
from fenchel.risks.kernel import KernelRisk
from fenchel.tolerances import EPSILON, ROUND_OFF, SCORES
from fenchel.verification import products
from fenchel.verification.row_data import RowEvidence
from fenchel.witness import Witness

Array = npt.NDArray[np.float64]

_CHUNK = 512  # columns of K whose products are added up in a row
_NUMBERS = 1 << 21  # of K at a time: 16 MB


class KernelEvidence(RowEvidence):
    """Rows whose data matrix is that of a kernel, and whose w has the kernel's length."""

    def __init__(self, risk: KernelRisk):
        super().__init__(risk)
        self.gram = risk.gram
        self.largest = float(np.max(np.abs(self.gram.diagonal)))  # |K_ij|, as far as it was seen
        self._known: list[tuple[Array, Array]] = []

    def _times(self, V: Array) -> Array:
        """K V, by blocks; of the last few V it is known."""
        for known, product in self._known:
            if known.shape == V.shape and np.array_equal(known, V):
                return product
        found = self._computed(V)
        self._known = [*self._known[-3:], (V.copy(), found)]
        return found

    def _computed(self, V: Array) -> Array:
        n, found = self.gram.n, np.zeros(V.shape)
        used = np.flatnonzero(V if V.ndim == 1 else np.any(V, axis=1))
        step = max(1, _NUMBERS // _CHUNK)
        for first in range(0, len(used), _CHUNK):
            some = used[first : first + _CHUNK]
            for start in range(0, n, step):
                rows = slice(start, start + step)
                block = self.gram.block(rows, some)
                self.largest = max(self.largest, float(np.max(np.abs(block))))
                found[rows] += block @ V[some]
        return found

    def _product_error(self, V: Array) -> Array:
        """How far each number of K V may be off: a number, or one for each column of V."""
        terms = _CHUNK + self.gram.n / _CHUNK + 8
        each = EPSILON * terms * self.largest + self.gram.doubt
        return np.asarray(each * np.sum(np.abs(V), axis=0))

    def _of_rows(self, product: Callable[..., Array], W: Array) -> Array:
        """Products of K and W, or a bound of the magnitudes that they are added up from."""
        if product is products.scores:
            return self._times(W)
        size = self.largest * np.sum(np.abs(W), axis=0)
        return np.broadcast_to(size, W.shape).copy()

    def score_error(self, w: Array) -> Array:
        """Of others' scores too, for whom K may be rounded otherwise."""
        W = self.columns(w)
        each = (SCORES * self.largest + 2 * self.gram.doubt) * np.sum(np.abs(W), axis=0)
        return np.broadcast_to(each, W.shape).copy()

    def penalty(self, problem: Problem, w: Array) -> tuple[float, float]:
        """beta'K beta / 2, and the magnitude that others may find it off relative to."""
        W = self.columns(w)
        value = 0.5 * float(np.sum(W * self._times(W)))
        return value, abs(value) + self._form_error(W, W) / ROUND_OFF

    def bound(
        self,
        witness: Witness,
        problem: Problem,
        w: Array,
        b: float | Array,
        *,
        blurred: bool = False,
        side: int = 1,
    ) -> float:
        """D(alpha), all errors to its disadvantage, or with side = -1 to its advantage."""
        line, doubt = self.line(witness, problem, b, blurred)
        A, strength = line.alpha, problem.strength
        KA = self._times(A)
        square = float(np.sum(A * KA))
        error = self._form_error(A, A) + self._moved(A, KA, line.alpha_error)
        self._check_definite(w, A, strength)
        penalty = max(square + side * error, 0.0) / (2 * strength)
        c = line.constant - side * (line.constant_error + doubt)
        return c - penalty - side * ROUND_OFF * (abs(c) + penalty)

    def _form_error(self, A: Array, B: Array) -> float:
        """How far A'K B may be off: what rounds K B, and the sum over rows."""
        A, B = A.reshape(len(A), -1), B.reshape(len(B), -1)
        sums = np.sum(np.abs(A), axis=0)
        last = EPSILON * (np.log2(len(A) + 2) + 130) * self.largest * np.sum(np.abs(B), axis=0)
        return float(np.sum(sums * (self._product_error(B) + last)))

    def _moved(self, A: Array, KA: Array, off: Array) -> float:
        """How far A'K A moves where A does, by up to `off` in each number."""
        if not np.any(off):
            return 0.0
        off = np.broadcast_to(off, A.shape)
        whole = np.sum(off, axis=0)
        return float(2 * np.sum(np.abs(KA) * off) + self.largest * np.sum(whole * whole))

    def _check_definite(self, w: Array, A: Array, strength: float) -> None:
        """Raises InvalidData where a squared length is negative, beyond round-off."""
        W = self.columns(w)
        pairs = {"w": (W, W), "the dual variables": (A, A), "their distance": (W, A)}
        found = {name: float(np.sum(U * self._times(V))) for name, (U, V) in pairs.items()}
        error = {name: self._form_error(U, V) for name, (U, V) in pairs.items()}
        ww, aa, wa = (found[name] for name in pairs)
        found["their distance"] = ww + 2 * wa / strength + aa / strength**2
        e = [error[name] for name in pairs]
        error["their distance"] = e[0] + 2 * e[2] / strength + e[1] / strength**2
        for name in pairs:
            if found[name] < -2 * error[name]:
                raise InvalidData(
                    f"the kernel is not positive semidefinite: the squared length of {name} in the "
                    f"space of its features is {found[name]:.6g}, so that nothing is proved"
                )
