"""What an owner has given away, and when it gives no more ([Teo07] section 4.1).

**Rows must not be told apart.** The gradient at w is X'a with one slope a_i = l'(z_i, y_i) a row;
the value at w, asked for at points close to each other, tells <X'a, p> for directions p of the
asker's choice. So each answer, of either kind, tells of X'a(w), and all of them together at most of
X'v for v in the span A of the slopes answered so far: differences of answers as well as any other
combination, whether or not the asker could find its coefficients. Row i alone is told if e_i lies
in A, a few rows T if some v in A rests on T. With Q an orthonormal basis of A, P = QQ' and
||v|| = 1,

    max over v in A of ||v_T||^2 = lambda_max(P_TT),

which is 1 if and only if some combination rests on T alone. Which T of k - 1 rows is the worst is
hard to say in general (a sparsest vector of a subspace), but lambda_max(P_TT) is at most its trace,
the sum of the leverages P_ii of T. So only T whose leverages add up to more than 1 - `_SHARE` need
be looked at; they are few as a rule, and are gone through one by one. Where there are more than
`_MANY`, Gershgorin's bound decides: the largest P_ii + sum over other j in T of |P_ij|, hence at
most P_ii with its k - 2 largest |P_ij|, where |P_ij| <= sqrt(P_ii P_jj) stands in for rows of
little leverage. A query is refused where lambda_max(P_TT), or its bound, is above 1 - `_SHARE`. So
what is answered has this property, whatever was asked, by however many askers:

    every combination of the answers' slopes has `_SHARE` of its squared weight, at least, outside
    any k - 1 rows; no combination rests on fewer than k rows.

An answer whose new direction alone has more than `_AT_ONCE` on k - 1 rows is refused even if there
is room: a line search that went too far would leave none for the steps that follow.

**Fewer numbers are told than there are.** Where the loss is smooth, d + 1 numbers for each
dimension of A; A has at most n / 3 dimensions, so at most 2/3 of the n d numbers of X are told. For
losses whose slopes have few values (the hinge's: 0 and -1), sums over unknown subsets of rows give
the rows away to lattice reduction once there are more than n of them; so few are not enough.

**Gradients are for those who descend.** J of this owner's rows alone is compared with the least at
which a client was told a gradient. Trial steps above it are answered by their value. Not all that
honest solvers want lies below: bundle methods jump, and J of all owners may fall where one owner's
rises. So a gradient above it can be insisted on, `climbs` times for each client; the gradient at a
w where it was told before is no climb. For losses >= 0 and n rows of all owners together,
n_k of them here, a descent from w = 0 never meets J_k(w) > n/n_k J(0), as n_k/n J_k <= J: where J
is above `rise` times J_k(0), nothing is answered, not even a value.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fenchel.errors import FenchelError
from fenchel.risks.base import Array
from fenchel.settings import positive, whole
from fenchel.tolerances import FEW_OPERATIONS, ZERO_SUM

Indices = npt.NDArray[np.intp]

_SHARE = 0.1  # of squared weight that is always outside k - 1 rows
_AT_ONCE = 0.5  # of the squared weight of one answer's new direction, on k - 1 rows
_HEAVY = 400  # rows of the largest leverage, whose P_ij are computed
_MANY = 2000  # sets of rows that are looked at one by one
_LEAST_RANK = 16  # for which there is room at first


class Refused(FenchelError):
    """A query that the owner does not answer, with the status of HTTP that says so."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Limits:
    """What an owner allows: see above; `memory` is what the basis of A may take, in bytes."""

    max_queries: int = 10_000
    client_queries: int = 10_000
    min_rows: int = 100
    crowd: int = 3
    rise: float = 1000.0
    climbs: int = 1000
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        for name in ("max_queries", "client_queries", "min_rows", "crowd", "memory"):
            whole(name, getattr(self, name), least=1)
        whole("climbs", self.climbs, least=0)
        positive("rise", self.rise)


class Span:
    """The span A of the slopes that were answered, of n rows."""

    def __init__(self, n_rows: int, limits: Limits):
        self.crowd = limits.crowd
        self.most = max(1, min(n_rows // 3, limits.memory // (8 * n_rows)))
        self.rank = 0
        self.leverages = np.zeros(n_rows)  # P_ii
        self._basis = np.empty((min(_LEAST_RANK, self.most), n_rows))  # Q'

    @property
    def basis(self) -> Array:
        """Q', a row for each dimension."""
        return self._basis[: self.rank]

    def beyond(self, a: Array) -> Array | None:
        """The direction by which a leaves A, of length 1; None where a lies in it.

        Of the length of a, `ZERO_SUM` is round-off: that of two projections, each a sum over rows.
        """
        length = float(np.linalg.norm(a))
        if length == 0:
            return None
        q = a / length
        for _ in range(2):  # the second takes away what the first has left by round-off
            q = q - (self.basis @ q) @ self.basis
        left = float(np.linalg.norm(q))
        return None if left <= ZERO_SUM else q / left

    def isolates(self, q: Array) -> bool:
        """Whether with q some combination might rest on fewer than `crowd` rows."""
        n_few = min(self.crowd - 1, len(q))
        leverages, most = self.leverages + q * q, 1 - _SHARE
        if n_few == 0:
            return False
        if _heaviest(q * q, n_few) > _AT_ONCE:
            return True
        if _heaviest(leverages, n_few) <= most:
            return False
        few = _heavier(leverages, n_few, most)
        return self._discs(leverages, q) > most if few is None else self._largest(few, q) > most

    def _largest(self, few: Indices, q: Array) -> float:
        """The largest eigenvalue of P_TT for the T that are the rows of `few`."""
        Q = np.concatenate([self.basis[:, few], q[few][np.newaxis]])
        return float(np.max(np.linalg.eigvalsh(np.einsum("rti,rtj->tij", Q, Q))))

    def _discs(self, leverages: Array, q: Array) -> float:
        """Gershgorin's bound of the largest eigenvalue of P_TT for all T of `crowd` - 1 rows."""
        others = self.crowd - 2
        n_heavy = min(_HEAVY, len(q))
        order = np.argpartition(leverages, len(q) - n_heavy)
        heavy, light = order[len(q) - n_heavy :], order[: len(q) - n_heavy]
        Q = np.column_stack([self.basis[:, heavy].T, q[heavy]])
        P = np.abs(Q @ Q.T)
        centres = leverages[heavy]
        np.fill_diagonal(P, 0.0)
        if not len(light):
            return float(np.max(centres + _largest_sums(P, others)))
        edge = float(np.max(leverages[light]))
        beside = np.sqrt(centres * edge)[:, np.newaxis].repeat(max(others, 0), axis=1)
        of_heavy = centres + _largest_sums(np.column_stack([P, beside]), others)
        of_light = edge + max(others, 0) * np.sqrt(edge * float(np.max(centres)))
        return max(float(np.max(of_heavy)), float(of_light))

    def add(self, q: Array) -> None:
        """A with one more dimension."""
        if self.rank == len(self._basis):
            grown = np.empty((min(2 * self.rank, self.most), len(q)))
            grown[: self.rank] = self._basis
            self._basis = grown
        self._basis[self.rank] = q
        self.leverages += q * q
        self.rank += 1


def _heaviest(weights: Array, n: int) -> float:
    """The sum of the n largest."""
    return float(np.sum(np.partition(weights, len(weights) - n)[len(weights) - n :]))


def _heavier(weights: Array, n: int, most: float) -> Indices | None:
    """The sets of n entries, a row each, that add up to more than `most`; None if there are many.

    Entries are taken in the order of their size: a set that has begun is given up as soon as it
    would not do with the largest that may still come.
    """
    order = np.argsort(-weights)[:_HEAVY]
    sizes = weights[order].tolist()
    found: list[tuple[tuple[int, ...], float]] = []
    begun: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    while begun:
        chosen, total = begun.pop()
        first, lacking = (chosen[-1] + 1 if chosen else 0), n - len(chosen)
        for i in range(first, len(sizes) - lacking + 1):
            if total + sum(sizes[i : i + lacking]) <= most:
                break
            begun_here = (*chosen, i), total + sizes[i]
            (found if lacking == 1 else begun).append(begun_here)
        if len(found) + len(begun) > _MANY:
            return None
    if len(sizes) == _HEAVY < len(weights) and any(chosen[-1] == _HEAVY - 1 for chosen, _ in found):
        return None  # rows beyond might do as well
    sets: Indices = order[np.array([chosen for chosen, _ in found])]
    return sets


def _largest_sums(P: Array, n: int) -> Array:
    """The sum of the n largest entries of each row."""
    if n <= 0:
        return np.zeros(len(P))
    sums: Array = np.sum(np.sort(P, axis=1)[:, -n:], axis=1)
    return sums


@dataclass
class Client:
    """What one client has had."""

    least: float  # of J, where it was told a gradient
    queries: int = 0
    climbs: int = 0


class Guard:
    """Says what is told at w: value and gradient, the value alone, or nothing (Refused)."""

    def __init__(self, n_rows: int, start: float, limits: Limits):
        self.limits, self.start = limits, start  # J at w = 0
        self.span = Span(n_rows, limits)
        self._told: set[bytes] = set()  # digests of every w whose gradient was told

    def client(self) -> Client:
        """One who has asked nothing yet."""
        return Client(self.start)

    def admit(self, client: Client, kind: str, w: bytes, J: float, slopes: Array) -> bool:
        """Whether the gradient is told as well; raises Refused where not even the value is."""
        if not max(self.limits.rise, 1.0) * max(self.start, 1.0) >= J:
            raise Refused(
                403,
                f"the objective there is {J:.3g}, against {self.start:.3g} at w = 0: no descent "
                "goes that far up",
            )
        at = hashlib.blake2b(w, digest_size=16).digest()
        descends = J <= client.least + FEW_OPERATIONS * abs(client.least) or at in self._told
        climbs = kind == "gradient" and not descends
        if climbs and client.climbs >= self.limits.climbs:
            raise Refused(
                403,
                f"the objective there is {J:.9g}, above {client.least:.9g} where a gradient was "
                f"told before, and all {self.limits.climbs} such steps were taken",
            )
        q = self.span.beyond(slopes)
        if q is not None:
            self._check(q)
            self.span.add(q)
        client.climbs += climbs
        tells = kind == "gradient" or (kind == "trial" and descends)
        if tells:
            client.least = min(client.least, J)
            self._told.add(at)
        return tells

    def _check(self, q: Array) -> None:
        if self.span.rank >= self.span.most:
            raise Refused(
                429,
                f"sums over rows of {self.span.rank} kinds were told, as many as "
                f"{len(q)} rows and {self.limits.memory:,} bytes of memory allow",
            )
        if self.span.isolates(q):
            raise Refused(
                403,
                f"with the answers given before, this one might tell of fewer than "
                f"{self.limits.crowd} rows",
            )
