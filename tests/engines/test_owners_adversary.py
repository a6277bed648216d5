"""Attacks by one who did not write the guard: each succeeds where one defence is off, and fails.

What they aim at is rather what surrounds the answers: refusals, what refusals say, round-off,
rows that stand out, which owner tells a gradient under masks, what is told before any query.
"""

from __future__ import annotations

import itertools
import logging
import re
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
import pytest
from scipy.sparse import csr_array

pytest.importorskip("starlette")

from attackers import Attacker, Together, nearest_row
from credentials import mask_keys

import fenchel
from fenchel.engines.messages import Opening, Query, packed
from fenchel.serve.guard import Limits, Refused
from fenchel.serve.keys import roster
from fenchel.serve.owner import owned
from fenchel.tolerances import ZERO_SUM

N, D = 400, 5


def rows(seed=0, n=N, d=D):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n, d))
    y = np.sign(X @ random.normal(size=d) + random.normal(size=n))
    return X, y


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("fenchel.serve").setLevel(logging.CRITICAL)
    yield
    logging.getLogger("fenchel.serve").setLevel(logging.NOTSET)


def first_kink(attacker, p, halvings, names, low=0.0, high=1.0):
    """Where on the ray t p of the hinge an answer is no more what it was at 0: 1 / max <x_i, p>.

    No answer tells of the row that has its kink there. That there is none does.
    """
    for _ in range(halvings):
        t = (low + high) / 2
        told = attacker.ask(t * p, "value", client=next(names))
        # The value along the ray is linear up to the first kink, and known from w = 0.
        flat = told is not None and abs(told.value - (N + t * attacker.start @ p)) < 1e-6
        low, high = (t, high) if flat else (low, t)
    return (low + high) / 2


def row_by_refusals(attacker, X, halvings):
    """The row that stands out in some direction, from the first kinks on d rays close to it."""
    names = map(str, itertools.count())  # each query comes from somebody else
    attacker.start = attacker.ask(np.zeros(D)).gradient
    i = np.argmax(np.linalg.norm(X, axis=1))
    middle = X[i] / np.linalg.norm(X[i])  # as who tries many directions would find
    rays = middle + 0.05 * np.eye(D)
    places = [first_kink(attacker, p, halvings, names) for p in rays]
    return np.linalg.solve(rays, 1 / np.array(places))


def test_refusals_are_no_oracle():
    X, y = rows()
    free = Attacker(owned(X, y, loss="hinge", limits=Limits(probes=10**6)))
    assert nearest_row(row_by_refusals(free, X, 45), X) < 1e-8
    for halvings in (45, 6):  # until nothing is told any more; as many as there are probes for
        attacker = Attacker(owned(X, y, loss="hinge"))
        assert nearest_row(row_by_refusals(attacker, X, halvings), X) > 0.1
        assert attacker.owner.guard.probes <= 32


def test_probes_are_counted_for_all_and_not_where_nothing_can_be_refused():
    X, y = rows()
    attacker = Attacker(owned(X, y, loss="hinge", limits=Limits(probes=2)))
    assert attacker.ask(np.zeros(D)) is not None
    assert attacker.ask(np.zeros(D), "value") is not None  # where it was told before
    assert attacker.ask(np.full(D, 1e9), client="a") is None
    assert attacker.ask(np.full(D, 1e-9), client="b") is not None  # the slopes of w = 0
    assert attacker.ask(np.full(D, 0.3), client="c") is None  # now all is
    assert attacker.owner.guard.probes == 2
    attacker = Attacker(owned(X, y, loss="squared_error", limits=Limits(probes=1)))
    points = np.random.default_rng(1).normal(size=(20, D))
    assert all(attacker.ask(0.1 * w) is not None for w in points)


def said_at(owner, w, heard):
    try:
        owner.answer(Query(owner.open(Opening(()), "a"), 1, "gradient", packed(w)), "a")
    except Refused as error:
        return heard(error)
    return ""


def row_by_words(owner, X, heard):
    """The exponential loss at a far w is that of one row, and a refusal might say how large."""
    i = np.argmax(np.linalg.norm(X, axis=1))
    side = -1.0 if owner.problem.risk.engine.shards[0].y[i] > 0 else 1.0
    rays = 100 * side * (X[i] / np.linalg.norm(X[i]) + 0.02 * np.eye(D))
    margins = []
    for w in rays:
        found = re.search(r"the objective is (\S+),", said_at(owner, w, heard))
        if found is None:
            return None
        margins.append(np.log(N * float(found[1])))
    return np.linalg.solve(rays, margins)


def test_refusals_do_not_say_by_how_much():
    X, y = rows()
    owner = owned(X, y, loss="exponential")
    assert nearest_row(row_by_words(owner, X, lambda error: error.why), X) < 1e-2
    owner = owned(X, y, loss="exponential")
    assert row_by_words(owner, X, str) is None
    said = {said_at(owner, s * X[0], str) for s in (-100.0, 50.0, 100.0)}
    assert len(said - {""}) == 1


def row_by_round_off(attacker, steep=40.0, far=8.0):
    """A threshold comes closer to the first row until its slope is some 1e-11, and seems none."""

    def at(c):
        return attacker.ask(np.append(steep * np.eye(D)[0], -steep * c))

    start, best, low, high = at(far), None, 0.0, far
    for _ in range(30):
        c = (low + high) / 2
        told = at(c)
        passed = np.inf if told is None else abs(told.gradient[-1] - start.gradient[-1])
        if 0 < passed < 1e-9 and (best is None or passed > abs(best[-1])):
            best = told.gradient - start.gradient
        low, high = (c, high) if passed >= 1e-9 else (low, c)
    return None if best is None else best[:-1] / best[-1]


def test_a_small_slope_is_no_round_off():
    X, y = rows()
    settings = {"loss": "logistic", "intercept": True, "limits": Limits(probes=10**6)}
    attacker = Attacker(owned(X, y, **settings))
    attacker.owner.guard.span.round_off = ZERO_SUM
    assert nearest_row(row_by_round_off(attacker), X) < 1e-2
    assert row_by_round_off(Attacker(owned(X, y, **settings))) is None


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("whole", [True, False])
def test_a_row_that_stands_out_is_not_told(whole, sparse):
    # All of a row, or one entry of it among columns that are long themselves.
    X, y = rows()
    X[:, 1:] *= 1.0 if whole else 1e6
    X[7, slice(None) if whole else 0] *= 3e4
    owner = owned(csr_array(X) if sparse else X, y, loss="logistic")
    attacker = Attacker(owner)
    assert attacker.ask(np.zeros(D)) is None
    owner._reach = np.ones(N)
    told = -2 * y[7] * attacker.ask(np.zeros(D)).gradient
    assert told[0] == pytest.approx(X[7, 0], rel=2e-2)
    assert Attacker(owned(*rows(), loss="logistic")).ask(np.zeros(D)) is not None


def own_direction(owner, together, names, steps=12, h=1e-5):
    """The direction of an owner's own gradient at 0, by who tells a gradient of its own accord.

    For each coordinate j > 0: the angle at which e_0 cos + e_j sin turns from a rise to a fall.
    """

    def falls(p):
        name = next(names)
        session = owner.open(Opening(together), name)
        answer = owner.answer(Query(session, 1, "trial", packed(h * p)), name)
        return answer.gradient is not None

    signs = [1.0 if falls(-e) else -1.0 for e in np.eye(D)]
    found = [signs[0]]
    for j in range(1, D):
        low, high = 0.0, np.pi / 2  # from down along e_0 to up along e_j
        for _ in range(steps):
            angle = (low + high) / 2
            down, up = -signs[0] * np.eye(D)[0], signs[j] * np.eye(D)[j]
            inward = falls(np.cos(angle) * down + np.sin(angle) * up)
            low, high = (angle, high) if inward else (low, angle)
        found.append(signs[j] / np.tan((low + high) / 2))
    return np.array(found) / np.linalg.norm(found)


def test_who_tells_a_gradient_under_masks_tells_nothing_of_it(tmp_path):
    mask_keys(tmp_path, "a", "b")
    X, y = rows(n=800)
    true = X[:N].T @ y[:N] / np.linalg.norm(X[:N].T @ y[:N])
    for open_minded in (True, False):
        parts = [
            owned(
                X[k * N : (k + 1) * N],
                y[k * N : (k + 1) * N],
                loss="logistic",
                limits=Limits(probes=10**6),
                roster=roster(str(tmp_path / f"{name}.mask"), str(tmp_path / "owners.pub")),
            )
            for k, name in enumerate("ab")
        ]
        together = tuple(each.nonce for each in parts)
        parts[0].guard.masked = not open_minded
        found = own_direction(parts[0], together, map(str, itertools.count()))
        assert bool(abs(found @ true) > 0.999) is open_minded
    problem = fenchel.problem(engine=Together(parts), loss="logistic", strength=1e-2)
    assert fenchel.minimize(problem, "lbfgs", gap=1e-3).converged


def test_nothing_is_told_of_labels_or_of_one_row_before_a_query():
    X, y = rows()
    other, flipped = X.copy(), y.copy()
    other[3], flipped[3] = 1.5 * X[3], -y[3]
    shapes = [
        msgspec.structs.replace(owned(*data, loss="logistic").shape, nonce="")
        for data in ((X, y), (X, flipped), (other, y))
    ]
    assert shapes[0] == shapes[1] == shapes[2]
    assert shapes[0].length >= np.sqrt(np.mean(np.sum(X * X, axis=1)))


def test_a_round_is_answered_once_to_many_who_ask_at_once():
    X, y = rows()
    owner = owned(X, y, loss="logistic")
    session = owner.open(Opening(()), "a")

    def ask(k):
        try:
            return owner.answer(Query(session, 1, "gradient", packed(np.full(D, 0.1 * k))), "a")
        except Refused as error:
            return error.status

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(16)))
    assert sorted(str(each) for each in answers)[:15] == ["409"] * 15
    assert owner.guard.span.rank == 1


def test_labels_are_told_to_who_knows_the_rows():
    # No promise: slopes -y exp(-y z) = sinh z - y cosh z are linear in the labels, and n / d
    # queries make n equations. (Those of the logistic loss make d: its cosh would be constant.)
    X, y = rows(n=200, d=20)
    attacker = Attacker(owned(X, y, loss="exponential"))
    left, right = [], []
    for w in 0.1 * np.random.default_rng(1).normal(size=(12, 20)):
        told = attacker.ask(w)
        left.append(-X.T * np.cosh(X @ w))
        right.append(told.gradient - X.T @ np.sinh(X @ w))
    found = np.linalg.lstsq(np.concatenate(left), np.concatenate(right), rcond=None)[0]
    assert np.array_equal(np.sign(found), y)


def test_a_label_is_told_where_two_columns_share_one_row():
    # No promise: v rests on many rows, but a coordinate of X'v on those of them with the column.
    X = (np.random.default_rng(0).random(size=(N, 6)) < 0.3).astype(float)
    X[:, 0] = 1.0
    X[X[:, 1] == 1, 2] = 0.0
    X[9, 1:3] = 1.0
    for label in (-1.0, 1.0):
        y = np.where(np.arange(N) % 3 == 0, 1.0, -1.0)
        y[9] = label
        attacker = Attacker(owned(X, y, loss="hinge"))
        told = [attacker.ask(w) for w in (np.zeros(6), 2.0 * np.eye(6)[1])]
        assert told[1].gradient[2] - told[0].gradient[2] == pytest.approx((label + 1) / 2)


@pytest.mark.parametrize(
    ("loss", "same"),
    [("logistic", True), ("squared_error", True), ("hinge", False), ("exponential", False)],
)
def test_of_labels_only_their_sums_with_columns_are_told(loss, same):
    # Losses psi(z) - y z + c(y): whatever is asked, all is a function of X, X'y and the sum of c.
    X = np.tile(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), (100, 1))
    sides = np.tile([1.0, 1.0, -1.0], 100)
    sides[150:] *= -1.0
    swapped = sides.copy()
    swapped[:3] *= -1.0  # X'y stays
    owners = [Attacker(owned(X, y, loss=loss)) for y in (sides, swapped)]
    for w in np.random.default_rng(0).uniform(0.6, 0.9, size=(3, 2)):
        told = [each.ask(w) for each in owners]
        values, gradients = zip(*told, strict=True)
        assert (values[0] == pytest.approx(values[1], rel=1e-12)) is same
        assert (gradients[0] == pytest.approx(gradients[1], abs=1e-9)) is same


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(3))
def test_lbfgs_finishes_on_poisson(seed):
    random = np.random.default_rng(seed)
    X = random.normal(size=(3000, 10))
    w = random.normal(size=10)
    y = random.poisson(np.exp(0.7 * X @ w / np.linalg.norm(w)))
    parts = [owned(X[k::2], y[k::2], loss="poisson", strength=1e-3) for k in range(2)]
    problem = fenchel.problem(engine=Together(parts), loss="poisson", strength=1e-3)
    result = fenchel.minimize(problem, "lbfgs", gap=1e-3)
    exact = fenchel.minimize(fenchel.problem(X, y, loss="poisson", strength=1e-3), gap=1e-6)
    assert result.converged and all(each.guard.probes <= 1 for each in parts)
    assert result.lower_bound <= exact.objective and exact.lower_bound <= result.objective
