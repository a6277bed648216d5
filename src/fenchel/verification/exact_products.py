"""Products X w and X't whose only error is that of their last additions.

A float is cut into slices of few bits, so that products of slices and all sums of them are exact in
ordinary float64 arithmetic, in whatever order NumPy, SciPy and BLAS add them up (Ozaki, Ogita,
Oishi and Rump, Numerical Algorithms 2012). Let the columns of X be divided by powers of two so that
no |x_ij| is above 1, and v likewise. With

    x = x_1 + x_2 + ... + rest,    x_p a multiple of 2^(-beta p),  |x_p| <= 2^(-beta (p - 1)),

and v the same, a product x_p v_q is a multiple of 2^(-beta (p + q)) and at most 2^(2 beta) of that;
a sum of m of them is exact if m 2^(2 beta) <= 2^53. The slices' rests are most often 0: a float has
53 bits, `_SLICES` slices at least twice as many as that for m up to 2^25. Where they are not,
they are at most `rest`, and

    |sum_i x_i v_i - sum_p sum_q sum_i x_ip v_iq| <= m (rest_x + rest_v + rest_x rest_v).

The products of all pairs of slices are added up by TwoSum (Knuth), s + error exactly, so that
little is lost where they cancel.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import EllipsisType
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.verification.intervals import Array, Interval, down, exact, up

Exponents = npt.NDArray[np.int32]
Places = EllipsisType | tuple[npt.NDArray[np.integer], npt.NDArray[np.integer]]  # or all of them

_SLICES = 5
_LEAST = 2.0**-1074  # what scaling by a power of two may lose to underflow, at most


class SlicedMatrix:
    """A block of rows, cut into slices with columns scaled to at most 1."""

    def __init__(self, block: Any):
        self.is_sparse = sparse.issparse(block)
        if self.is_sparse:
            block = sparse.csr_array(block)
            values, self.column = block.data.astype(np.float64), block.indices
            per_row = np.diff(block.indptr)
            per_column = np.bincount(self.column, minlength=block.shape[1])
            self.terms = int(max(per_row.max(initial=1), per_column.max(initial=1)))
        else:
            values = np.asarray(block, dtype=np.float64)
            self.column, self.terms = np.arange(block.shape[1]), max(*block.shape, 1)
        self.exponent = self._column_exponents(values, block.shape[1])
        self.bits = (53 - math.ceil(math.log2(self.terms))) // 2
        slices, self.rest = _sliced(values, -self.exponent[self.column], self.bits)
        self.slices = [self._matrix(each, block) for each in slices]

    def _column_exponents(self, values: Array, n_columns: int) -> Exponents:
        """E_j with |x_ij| <= 2^E_j."""
        largest = np.zeros(n_columns)
        if self.is_sparse:
            np.maximum.at(largest, self.column, np.abs(values))
        else:
            largest = np.max(np.abs(values), axis=0, initial=0.0)
        return np.frexp(largest)[1]

    def _matrix(self, values: Array, block: Any) -> Any:
        if not self.is_sparse:
            return values
        return sparse.csr_array((values, block.indices, block.indptr), shape=block.shape)

    @property
    def _shape(self) -> tuple[int, int]:
        shape: tuple[int, int] = self.slices[0].shape
        return shape

    def scores(self, w: Array) -> Interval:
        """X w, for w with a column or K of them."""
        if not w.any():
            return exact(np.zeros((self._shape[0], *w.shape[1:])))
        E = _column(self.exponent, w)
        top = np.max((np.frexp(w)[1] + E)[w != 0])
        return _scaled(self._product(self.slices, w, E - top), top)

    def adjoint(self, t: Array, places: Places = ...) -> Interval:
        """X't, for t with a column or K of them; or what it has in some places."""
        if not t.any():
            return exact(np.zeros((self._shape[1], *t.shape[1:]))[places])
        top = np.frexp(np.max(np.abs(t)))[1]
        found = self._product([each.T for each in self.slices], t, -top, places)
        exponent = np.broadcast_to(_column(self.exponent + top, t), (self._shape[1], *t.shape[1:]))
        return _scaled(found, exponent[places])

    def _product(
        self, slices: Sequence[Any], v: Array, exponent: Exponents, places: Places = ...
    ) -> Interval:
        """The product with 2^exponent v, which is at most 1: the sum over all pairs of slices."""
        parts, rest = _sliced(v, exponent, self.bits)
        products = [np.asarray(each @ part)[places] for each in slices for part in parts]
        total, errors = products[0], exact(np.zeros_like(products[0]))
        for each in products[1:]:
            total, error = _two_sum(total, each)
            errors = errors.plus(exact(error))
        whole = exact(total) if len(products) == 1 else exact(total).plus(errors)
        if self.rest > 0 or rest > 0:
            left = up(up(self.rest + rest) + up(self.rest * rest))
            off = up(self.terms * left)
            whole = whole.plus(Interval(-off, off))
        return whole


def _column(exponent: Exponents, v: Array) -> Exponents:
    """A number for each row of v, as a factor of what the row has."""
    return exponent if v.ndim == 1 else exponent[:, np.newaxis]


def _sliced(v: Array, exponent: Exponents, bits: int) -> tuple[list[Array], float]:
    """The slices of 2^exponent v, one at least, and a bound of what is left of any number."""
    rest = np.ldexp(v, exponent)
    lost = 0.0 if np.array_equal(np.ldexp(rest, -exponent), v) else _LEAST
    slices: list[Array] = []
    unit = bits
    while not slices or (len(slices) < _SLICES and rest.any()):
        part = np.ldexp(np.rint(np.ldexp(rest, unit)), -unit)
        slices.append(part)
        rest = rest - part  # exact: a multiple of the last bit of v, and no larger than v
        unit += bits
    return slices, float(
        up(np.max(np.abs(rest), initial=0.0) + lost)
    ) if lost or rest.any() else 0.0


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """(s, e) with s = a + b rounded, and s + e = a + b exactly."""
    s = a + b
    other = s - a
    return s, (a - (s - other)) + (b - other)


def _scaled(x: Interval, exponent: Exponents) -> Interval:
    """2^exponent x."""
    with np.errstate(over="ignore", under="ignore"):
        lo, hi = (np.ldexp(end, exponent) for end in x)
    return Interval(np.where(x.lo == 0, 0.0, down(lo)), np.where(x.hi == 0, 0.0, up(hi)))
