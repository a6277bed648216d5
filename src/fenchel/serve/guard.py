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

Weight is that of a_i s_i, not of a_i: the sum X'v rests on the rows for which v_i x_i is long, and
a row whose entries are a thousand times those of others is told by any sum. `rows.reach` gives
s_i = max(1, max_j |x_ij| / (4 m_j)), where m_j is the mean magnitude of the nonzeros of column j:
1 but for outliers. No v_i s_i is 0 where v_i is not: what was said of few rows holds for either
weight.

This is about rows as a whole. Coordinate j of X'v rests on those rows of v that have the column j,
which may be one: nothing here prevents that, as columns of few rows would leave no answers at all.

A slope that leaves A by little leaves it: a gradient is told to a relative 1e-15 or so, and in it
1e-12 of the slope of one row is that row to three digits. Only `FEW_OPERATIONS` of the length of a
count as round-off. The slopes z - y of the squared error are `affine`: they never leave the
span of the columns and y, however much the round-off of z is, and `ZERO_SUM` is allowed.

**Refusals tell, too.** Where the hinge's slopes do not change, an answer tells nothing new; where
those of one row do, it is refused. By halving, an asker finds the place in between, which is
1 / <x_i, p> along p, and with d such p a row, without an answer that tells of it. Hence queries
that are refused, and queries elsewhere than before whose slopes lie in A (but for affine slopes,
which are never refused once A has all columns), are `probes`, of which an owner grants so many
to all clients together, and then answers no more. With r probes and M further answers, there are at
most C(M + r, r) 2^r ways in which they may come: r (1 + log2(e (M + r) / r)) bits are told by
them at most. That is no protection of a row of few columns to few digits. A refusal
says neither why nor how much: that is for the owner's log.

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

Under masks nobody sees J_k, and whether a gradient is told must not tell whether it falls: the
signs of its steps at w = 0 would tell the owner's own gradient. There a trial is answered by
its value, a gradient wherever it is asked for, and every w of a gradient counts as a climb.
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
    """A query that the owner does not answer, with the status of HTTP that says so.

    `why` is not for the client.
    """

    def __init__(self, status: int, message: str, why: str = ""):
        super().__init__(message)
        self.status, self.why = status, why or message


@dataclass(frozen=True)
class Limits:
    """What an owner allows: see above; `memory` is what the basis of A may take, in bytes."""

    max_queries: int = 10_000
    client_queries: int = 10_000
    min_rows: int = 100
    crowd: int = 3
    rise: float = 1000.0
    climbs: int = 1000
    probes: int = 32
    memory: int = 1 << 30

    def __post_init__(self) -> None:
        for name in ("max_queries", "client_queries", "min_rows", "crowd", "memory"):
            whole(name, getattr(self, name), least=1)
        for name in ("climbs", "probes"):
            whole(name, getattr(self, name), least=0)
        positive("rise", self.rise)


class Span:
    """The span A of the slopes that were answered, of n rows, each times its reach."""

    def __init__(self, n_rows: int, limits: Limits, affine: bool = False):
        self.crowd = limits.crowd
        self.round_off = ZERO_SUM if affine else FEW_OPERATIONS  # of the length of a
        self.most = max(1, min(n_rows // 3, limits.memory // (8 * n_rows)))
        self.rank = 0
        self.leverages = np.zeros(n_rows)  # P_ii
        self._basis = np.empty((min(_LEAST_RANK, self.most), n_rows))  # Q'

    @property
    def basis(self) -> Array:
        """Q', a row for each dimension."""
        return self._basis[: self.rank]

    def beyond(self, a: Array) -> Array | None:
        """The direction by which a leaves A, of length 1; None where a lies in it."""
        largest = float(np.max(np.abs(a)))
        if largest == 0:
            return None
        q = a / largest  # whose squares do not overflow
        q = q / np.linalg.norm(q)
        for _ in range(2):  # the second takes away what the first has left by round-off
            q = q - (self.basis @ q) @ self.basis
        left = float(np.linalg.norm(q))
        return None if left <= self.round_off else q / left

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

    def __init__(
        self,
        n_rows: int,
        start: float,
        limits: Limits,
        *,
        affine: bool = False,
        masked: bool = False,
    ):
        self.limits, self.start = limits, start  # J at w = 0
        self.affine, self.masked = affine, masked
        self.span = Span(n_rows, limits, affine)
        self.probes = 0
        self._told: set[bytes] = set()  # digests of every w whose gradient was told
        self._answered: set[bytes] = set()  # of every w whose value was

    def client(self) -> Client:
        """One who has asked nothing yet."""
        return Client(self.start)

    def admit(self, client: Client, kind: str, w: bytes, J: float, slopes: Array) -> bool:
        """Whether the gradient is told as well; raises Refused where not even the value is.

        `slopes` are each times its row's reach.
        """
        if self.probes >= self.limits.probes:
            raise Refused(429, f"all {self.limits.probes} probes were made: nothing is told")
        at = hashlib.blake2b(w, digest_size=16).digest()
        equal = FEW_OPERATIONS * abs(client.least)
        falls = at in self._told or (not self.masked and J <= client.least + equal)
        climbs = kind == "gradient" and not falls
        why = self._too_high(client, climbs, J)
        q = None if why else self.span.beyond(slopes)
        if why := why or self._too_few(q):
            self.probes += 1
            raise Refused(403, _REFUSAL, why)
        if q is not None:
            self.span.add(q)
        elif at not in self._answered:
            self.probes += not self.affine
        self._answered.add(at)
        client.climbs += climbs
        tells = kind == "gradient" or (kind == "trial" and falls)
        if tells:
            client.least = min(client.least, J)
            self._told.add(at)
        return tells

    def _too_high(self, client: Client, climbs: bool, J: float) -> str:
        """Why nothing is told where the objective is J, for the owner alone."""
        limits = self.limits
        if not max(limits.rise, 1.0) * max(self.start, 1.0) >= J:
            return f"the objective is {J:.3g}, against {self.start:.3g} at w = 0"
        if climbs and client.climbs >= limits.climbs:
            return (
                f"the objective is above {client.least:.9g}, {limits.climbs} times before as well"
            )
        return ""

    def _too_few(self, q: Array | None) -> str:
        """Why q is not told, for the owner alone; raises Refused if nothing new will ever be."""
        limits, rank = self.limits, self.span.rank
        if q is None:
            return ""
        if rank >= self.span.most:
            raise Refused(
                429,
                f"sums over rows of {rank} kinds were told, as many as {len(q)} rows and "
                f"{limits.memory:,} bytes of memory allow",
            )
        few = self.span.isolates(q)
        return f"it might tell of fewer than {limits.crowd} rows" if few else ""


_REFUSAL = (
    "nothing is told at this point: with the answers given before it might tell of few rows, or "
    "the objective there is higher than where a descent goes"
)
