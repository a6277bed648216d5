"""What askers can find out about single rows: attacks that work where nothing guards, and fail.

Each is run against an owner without a guard (`crowd=1`), where it must succeed, or else its failure
would prove nothing, and against one with the defaults.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")

from attackers import Attacker, nearest_row

from fenchel.errors import FenchelWarning
from fenchel.serve import guard
from fenchel.serve.guard import Limits, Refused, Span
from fenchel.serve.owner import owned

N, D = 400, 5
FOUND = 1e-4  # of a row's length: a guess so near is the row


def rows(seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(N, D))
    y = np.sign(X @ random.normal(size=D) + random.normal(size=N))
    return X, y


def owner_of(X, y, loss, crowd, **settings):
    few = {"probes": 10**6} if crowd == 1 else {}
    limits = Limits(crowd=crowd, **few | settings.pop("limits", {}))
    return owned(X, y, loss=loss, strength=1e-3, limits=limits, **settings)


def step_over_one(ask, p, top=8.0):
    """The difference of gradients on both sides of the first kink on the ray t p, of the hinge.

    V(w) - <g, w> counts the rows with a loss: all at t = 0. Halving t finds the place where it is
    one less. Eleven queries do, when the first two kinks are as far apart as they tend to be.
    """
    start = ask(0 * p)
    if start is None:
        return None
    low, high = 0.0, top
    for _ in range(60):
        t = (low + high) / 2
        told = ask(t * p)
        if told is None:
            return None
        value, gradient = told
        count = round(value - gradient @ (t * p))
        if count == N - 1:
            return gradient - start[1]
        low, high = (t, high) if count == N else (low, t)
    return None


def creep_over_one(ask, p, by=0.005):
    """The same in small steps, so that the objective always falls."""
    start = told = ask(0 * p)
    for t in by * np.arange(1, 400):
        if told is None or round(told[0] - told[1] @ ((t - by) * p)) < N - 1:
            return None
        if round(told[0] - told[1] @ ((t - by) * p)) == N - 1:
            return told[1] - start[1]
        told = ask(t * p)
    return None


def by_gradients(attacker):
    return lambda w: attacker.ask(w)


def by_many_clients(attacker):
    """Each query comes from somebody else, in a session of its own."""
    names = map(str, itertools.count())
    return lambda w: attacker.ask(w, client=next(names))


def by_trials(attacker):
    """Of trial steps, of which only the descents are told with a gradient."""

    def ask(w):
        told = attacker.ask(w, "trial")
        return None if told is None or told.gradient is None else told

    return ask


def by_values(attacker, h=1e-7):
    """Gradients from differences of values; no gradient is ever asked for."""

    def ask(w):
        told = [attacker.ask(w + h * e, "value") for e in (np.zeros(D), *np.eye(D))]
        if None in told:
            return None
        here, *there = [each.value for each in told]
        return here, (np.array(there) - here) / h

    return ask


@pytest.mark.parametrize(
    ("way", "steps"),
    [
        (by_gradients, step_over_one),
        (by_many_clients, step_over_one),
        (by_values, step_over_one),
        (by_trials, creep_over_one),
    ],
)
def test_the_row_at_the_first_kink_is_not_told(way, steps):
    X, y = rows()
    p = np.linalg.lstsq(X, y, rcond=None)[0]  # downhill, so that trial steps are answered in full
    unguarded = Attacker(owner_of(X, y, "hinge", 1))
    assert nearest_row(steps(way(unguarded), p), X) < FOUND
    if way is by_gradients:
        assert unguarded.queries <= 12
    guarded = Attacker(owner_of(X, y, "hinge", 5))
    assert nearest_row(steps(way(guarded), p), X) > 0.1
    assert guarded.refused


def test_a_row_is_not_told_by_two_crowds_that_differ_in_it():
    # Each answer differs from the first by ten rows and eleven: only together they tell of one.
    X, y = rows()
    p = np.ones(D)
    kinks = np.sort(1 / (y * (X @ p))[y * (X @ p) > 0])
    between = [(kinks[k] + kinks[k + 1]) / 2 for k in (9, 10)]
    for crowd, far in ((1, False), (5, True)):
        attacker = Attacker(owner_of(X, y, "hinge", crowd))
        assert attacker.ask(0 * p) is not None
        ten = attacker.ask(between[0] * p)
        assert ten is not None  # ten rows may be told of
        eleven = attacker.ask(between[1] * p)
        guess = None if eleven is None else ten.gradient - eleven.gradient
        assert (nearest_row(guess, X) > 0.1) is far


def test_a_steep_logistic_loss_is_as_good_as_a_hinge():
    # With a large w and an intercept the slopes are 0 and 1 but for rows at the threshold.
    X, y = rows()
    steep, far = 300.0, 6.0
    for crowd in (1, 5):
        limits = {"rise": 1e6}
        owner = owner_of(X, y, "logistic", crowd, intercept=True, limits=limits)
        attacker = Attacker(owner)
        start = attacker.ask(np.append(steep * np.eye(D)[0], -steep * far))
        guess, low, high = None, 0.0, far
        for _ in range(40):
            t = (low + high) / 2
            told = attacker.ask(np.append(steep * np.eye(D)[0], -steep * t))
            if start is None or told is None:
                break
            passed = told.gradient - start.gradient
            if 0.9 < abs(passed[-1]) < 1.1:
                guess = passed[:-1]
                break
            low, high = (t, high) if abs(passed[-1]) > 1 else (low, t)
        if crowd == 1:
            assert nearest_row(guess, X) < 0.2  # the others' slopes are not quite 0
        else:
            assert guess is None and attacker.refused


def test_an_outlier_is_not_told_by_the_first_gradient():
    X, y = rows()
    y[7] = 1e8
    assert (
        nearest_row(Attacker(owner_of(X, y, "squared_error", 1)).ask(np.zeros(D)).gradient / 1e8, X)
        < FOUND
    )
    assert Attacker(owner_of(X, y, "squared_error", 5)).ask(np.zeros(D)) is None


def test_a_column_of_few_rows_is_served_as_zeros():
    X, y = rows()
    X[:, 2] = 0.0
    X[17, 2] = 3.0
    w = np.full(D, 0.1)
    told = Attacker(owner_of(X, y, "logistic", 1)).ask(w)
    assert told.gradient[2] != 0  # the slope and the entry of row 17
    with pytest.warns(FenchelWarning, match="1 columns are nonzero in fewer than 5 rows"):
        owner = owner_of(X, y, "logistic", 5)
    told = Attacker(owner).ask(w)
    X[17, 2] = 0.0
    z = X @ w
    assert told.gradient[2] == 0
    assert told.value == pytest.approx(np.sum(np.logaddexp(0, -y * z)))
    assert told.gradient == pytest.approx(-X.T @ (y / (1 + np.exp(y * z))))


def worst_share(basis, k):
    """Max over T of k - 1 rows of the largest eigenvalue of P_TT, by going through all T."""
    P = basis.T @ basis
    few = itertools.combinations(range(len(P)), k - 1)
    return max(np.linalg.eigvalsh(P[np.ix_(T, T)])[-1] for T in few)


@settings(max_examples=80, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(2, 4),
    st.integers(6, 14),
    st.sampled_from([4, 400]),
    st.sampled_from([0, 2000]),
)
def test_what_is_admitted_rests_on_many_rows(seed, crowd, n, heavy, many):
    # Each of the two bounds alone: sets one by one, and discs; nothing is refused at once.
    random = np.random.default_rng(seed)
    with pytest.MonkeyPatch.context() as patch:
        for name, value in (("_HEAVY", heavy), ("_MANY", many), ("_AT_ONCE", 1.0)):
            patch.setattr(guard, name, value)
        span = Span(n, Limits(crowd=crowd))
        span.most = n
        for _ in range(n):
            kind = random.integers(3)
            a = random.normal(size=n) if kind else np.sign(random.normal(size=n))
            a *= 10.0 ** random.integers(-3, 3, size=n) if kind == 2 else 1.0
            q = span.beyond(a)
            if q is not None and not span.isolates(q):
                span.add(q)
    if span.rank:
        assert np.abs(span.basis @ span.basis.T - np.eye(span.rank)).max() < 1e-12
        assert span.leverages == pytest.approx(np.sum(span.basis**2, axis=0))
        assert worst_share(span.basis, crowd) <= 0.9 + 1e-12


def test_what_isolates_is_refused_however_it_is_approached():
    span = Span(100, Limits(crowd=3))
    ones = np.ones(100)
    span.add(span.beyond(ones))
    for rest in ([5], [5, 9]):
        a = ones.copy()
        a[rest] += 1e-6
        assert span.isolates(span.beyond(a))
    wide = ones.copy()
    wide[:50] = 0.0
    assert not span.isolates(span.beyond(wide))
    assert span.beyond(3.0 * ones) is None and span.beyond(0.0 * ones) is None


def test_fewer_numbers_are_told_than_there_are():
    X, y = rows()
    attacker = Attacker(owner_of(X[:120], y[:120], "logistic", 1, limits={"climbs": 1000}))
    random = np.random.default_rng(1)
    told = [attacker.ask(0.1 * random.normal(size=D)) for _ in range(60)]
    assert sum(each is not None for each in told) == 40  # a third of the rows


def test_gradients_are_for_those_who_descend():
    X, y = rows()
    owner = owner_of(X, y, "logistic", 5, limits={"climbs": 1, "rise": 20.0})
    attacker, w = Attacker(owner), np.linalg.lstsq(X, y, rcond=None)[0]
    assert attacker.ask(0 * w, "trial").gradient is not None
    assert attacker.ask(0.5 * w, "trial").gradient is not None  # downhill
    assert attacker.ask(-0.5 * w, "trial").gradient is None  # uphill: the value alone
    assert attacker.ask(0.4 * w, "value").gradient is None
    assert attacker.ask(-0.4 * w, "gradient").gradient is not None  # the only climb
    other = 0.3 * np.eye(D)[0] - 0.6 * w
    assert attacker.ask(other, "gradient") is None
    assert attacker.ask(-0.4 * w, "gradient").gradient is not None  # told before
    assert attacker.ask(other, "trial").gradient is None  # its value is told still
    assert attacker.ask(other, "gradient", client="another") is not None  # has its own climb
    assert attacker.ask(-1000.0 * w, "value") is None  # above `rise`


def test_queries_of_one_client_are_counted_apart():
    X, y = rows()
    limits = {"max_queries": 5, "client_queries": 2}
    attacker = Attacker(owner_of(X, y, "logistic", 5, limits=limits))
    w = np.zeros(D)
    assert [attacker.ask(w, client=name) is not None for name in "aaabbbcc"] == [
        True, True, False, True, True, False, True, False,
    ]  # fmt: skip


def test_the_basis_stays_within_its_memory():
    span = Span(1000, Limits(memory=8 * 1000 * 3))
    assert span.most == 3
    owner_guard = guard.Guard(1000, 1.0, Limits(memory=8 * 1000 * 3))
    random, client = np.random.default_rng(0), owner_guard.client()
    for _ in range(3):
        owner_guard.admit(client, "value", b"", 0.5, random.normal(size=1000))
    with pytest.raises(Refused, match="sums over rows of 3 kinds"):
        owner_guard.admit(client, "value", b"", 0.5, random.normal(size=1000))
