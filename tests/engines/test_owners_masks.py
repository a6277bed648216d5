"""Owners whose own sums nobody sees: masks that cancel, and noise with its account."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette")

from attackers import Attacker, Together
from credentials import mask_keys

import fenchel
from fenchel.engines import masks
from fenchel.engines.messages import Opening, Query, packed
from fenchel.errors import FenchelWarning
from fenchel.serve.guard import Limits, Refused
from fenchel.serve.keys import roster
from fenchel.serve.owner import owned
from fenchel.serve.privacy import Accountant, Privacy, clipped, normal

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(1200, 4))
Y = np.sign(X @ [1.0, -1.0, 0.5, 0.0] + RANDOM.normal(size=1200))
PARTS = [slice(0, 300), slice(300, 700), slice(700, 1200)]
ROOM = 2.0**62 / 3

numbers = st.floats(-ROOM, ROOM, exclude_min=True, exclude_max=True)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("masks")
    mask_keys(folder, "a", "b", "c")
    return folder


def rosters(folder):
    return [roster(str(folder / f"{name}.mask"), str(folder / "owners.pub")) for name in "abc"]


def masked(folder, loss="logistic", **options):
    return [
        owned(X[rows], Y[rows], loss=loss, strength=1e-2, roster=each, **options)
        for rows, each in zip(PARTS, rosters(folder), strict=True)
    ]


def exact(words):
    """Integers modulo 2^128 as fractions."""
    whole = [int(low) + (int(high) << 64) for low, high in words]
    return [Fraction(each - (1 << 128) * (each >> 127), 1 << 64) for each in whole]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(numbers, numbers, numbers), min_size=1, max_size=4))
def test_sums_of_fixed_point_numbers_are_exact_but_for_one_rounding_each(rows):
    parts = np.array(rows).T
    for part in parts:
        for number, kept in zip(part.tolist(), exact(masks.fixed(part)), strict=True):
            assert abs(Fraction(number) - kept) < Fraction(1, 1 << 64)
    added = masks.added([masks.fixed(part) for part in parts])
    told = masks.floats(added)
    for column, sum_told in zip(np.transpose(parts).tolist(), told.tolist(), strict=True):
        true = sum(map(Fraction, column))
        error = Fraction(masks.error(3)) + abs(true) * Fraction(2) ** -51
        assert abs(Fraction(sum_told) - true) <= error


def test_masks_cancel_in_the_sum_of_all_and_in_no_other(folder):
    each, context = rosters(folder), b"c" * 32
    parts = RANDOM.normal(size=(3, 5))
    sealed = [
        masks.unpacked("part", one.masked(part, context), 5)
        for one, part in zip(each, parts, strict=True)
    ]
    assert masks.floats(masks.added(sealed)) == pytest.approx(parts.sum(axis=0), rel=1e-12)
    for some in ([0], [1], [2], [0, 1], [1, 2]):
        left = np.abs(masks.floats(masks.added([sealed[k] for k in some])))
        assert left.min() > 1e9  # of numbers up to 2^63
    other = masks.unpacked("part", each[0].masked(parts[0], b"d" * 32), 5)
    assert np.abs(masks.floats(masks.added([other, *sealed[1:]]))).min() > 1e9


@pytest.mark.parametrize(("loss", "solver"), [("logistic", "lbfgs"), ("hinge", "bmrm")])
def test_a_model_under_masks_is_that_without(folder, loss, solver):
    open_parts = [owned(X[rows], Y[rows], loss=loss, strength=1e-2) for rows in PARTS]
    settings = {"loss": loss, "strength": 1e-2}
    results = []
    for parts in (open_parts, masked(folder, loss)):
        problem = fenchel.problem(engine=Together(parts), **settings)
        results.append(fenchel.minimize(problem, solver, gap=3e-2))
        assert results[-1].converged
    assert results[0].w == pytest.approx(results[1].w, rel=1e-6, abs=1e-8)
    whole = fenchel.minimize(fenchel.problem(X, Y, **settings), gap=1e-9)
    assert results[1].lower_bound <= whole.objective and whole.lower_bound <= results[1].objective
    assert fenchel.verify(results[1], problem).gap <= 3e-2


def test_rounding_under_masks_is_taken_off_the_bound(folder):
    # Rows of 1e-16 have gradients of a few units of 2^-64 a row: nothing much is proved.
    tiny = [
        owned(1e-16 * X[rows], Y[rows], loss="logistic", strength=1e-33, roster=each)
        for rows, each in zip(PARTS, rosters(folder), strict=True)
    ]
    problem = fenchel.problem(engine=Together(tiny), loss="logistic", strength=1e-33)
    point = problem.risk.at(np.zeros(4))
    true = fenchel.problem(1e-16 * X, Y, loss="logistic", strength=1e-33)
    least = fenchel.minimize(true, "newton", gap=1e-12).objective
    assert problem.tangent_bound(point) <= least
    size = math.sqrt(4) * 3 * 2.0**-64 / 1200
    assert np.linalg.norm(point.subgradient - true.risk.at(np.zeros(4)).subgradient) <= size
    assert point.sizes[0] >= size / 2e-14


def test_an_owner_under_masks_is_not_asked_alone(folder):
    parts = masked(folder)
    nonces = [each.shape.nonce for each in parts]
    for together in ((), nonces[:1], nonces[:2], [nonces[0]] * 3, [*nonces[1:], "0" * 32]):
        with pytest.raises(Refused, match="other owners"):
            parts[0].open(Opening(tuple(together)), "us")
    with pytest.raises(fenchel.Incompatible, match="give the URLs of all of them"):
        fenchel.problem(engine=Together(parts[:2]), loss="logistic")
    plain = owned(X[:300], Y[:300], loss="logistic", strength=1e-2)
    with pytest.raises(fenchel.Incompatible, match="masks for the same owners"):
        fenchel.problem(engine=Together([*parts[:2], plain]), loss="logistic")


def test_owners_who_are_asked_at_different_points_give_no_sum(folder):
    parts = masked(folder)
    together = tuple(each.shape.nonce for each in parts)
    asked = [np.zeros(4), np.zeros(4), np.full(4, 0.1)]
    told = []
    for each, w in zip(parts, asked, strict=True):
        name = each.open(Opening(together), "us")
        answer = each.answer(Query(name, 1, "gradient", packed(w)), "us")
        told.append(masks.unpacked("gradient", answer.gradient, 4))
    assert np.abs(masks.floats(masks.added(told))).min() > 1e9


def test_one_who_refuses_under_masks_is_infinity_to_a_line_search(folder):
    parts = masked(folder)
    problem = fenchel.problem(engine=Together(parts), loss="logistic", strength=1e-2)
    assert problem.risk.at(np.zeros(4)).value == pytest.approx(math.log(2))
    parts[1].guard.start = 1e-6  # whose objective is never below, from here on
    parts[1].limits = Limits(rise=1.0)
    parts[1].guard.limits = Limits(rise=1e-3)
    far = problem.risk.at(np.full(4, 50.0))
    assert far.value == math.inf and far.constant == -math.inf and not far.subgradient.any()


def test_keys_that_do_not_fit_are_named(folder, tmp_path):
    mask_keys(tmp_path, "d")
    everyone = str(folder / "owners.pub")
    for key, peers, said in (
        (tmp_path / "d.mask", everyone, "that of .* among them"),
        (tmp_path / "d.mask", tmp_path / "owners.pub", "from 2 to 256; it has 1"),
        (folder / "owners.pub", everyone, "holds no private key"),
        (tmp_path / "none", everyone, "cannot be read"),
    ):
        with pytest.raises(fenchel.InvalidData, match=said):
            roster(str(key), str(peers))


def test_the_account_of_privacy_is_that_of_zero_concentrated_privacy():
    privacy = Privacy(epsilon=1.0, delta=1e-5, clip=2.0, noise=50.0)
    account, answers = Accountant(privacy), 0
    with pytest.raises(Refused, match="privacy budget"):
        for _ in range(10**6):
            account.charge(with_gradient=True)
            answers += 1
    assert answers == privacy.answers
    # rho by its definition: sensitivity^2 / (2 sigma^2), the sum over answers; epsilon of it.
    rho = answers * (8 * 2.0**2) / (2 * (50.0 * 2.0) ** 2)
    assert account.spent == pytest.approx(rho)
    spent = rho + 2 * math.sqrt(rho * math.log(1e5))
    assert account.epsilon == pytest.approx(spent) and spent <= 1.0
    one_more = rho + 32.0 / (2 * 100.0**2)
    assert one_more + 2 * math.sqrt(one_more * math.log(1e5)) > 1.0


@settings(max_examples=50, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.01, 10.0))
def test_no_row_counts_for_more_than_clip(seed, clip):
    random = np.random.default_rng(seed)
    rows = random.normal(size=(30, 3)) * 10.0 ** random.integers(-3, 4, size=(30, 1))
    slopes = random.standard_cauchy(size=30)
    losses = np.append(random.standard_cauchy(size=29), np.inf)
    lengths = np.linalg.norm(rows, axis=1)
    value, kept = clipped(losses, slopes, lengths, clip)
    assert np.all(np.abs(kept) * lengths <= clip * (1 + 1e-12))
    assert np.all(np.abs(kept) <= np.abs(slopes)) and np.all(kept * slopes >= 0)
    small = np.abs(slopes) * lengths <= clip
    assert kept[small] == pytest.approx(slopes[small])
    others, same = clipped(np.append(losses[1:], 1e9), slopes, lengths, clip)
    assert abs(value - others) <= 2 * clip * (1 + 1e-12) and np.array_equal(same, kept)


def test_noise_is_normal():
    sample = normal(100_001)
    assert len(sample) == 100_001 and abs(sample.mean()) < 0.02 and abs(sample.std() - 1) < 0.02
    assert np.mean(np.abs(sample) < 1) == pytest.approx(0.6827, abs=0.01)
    assert not np.array_equal(normal(5), normal(5))


def test_with_noise_nothing_is_certified():
    privacy = Privacy(epsilon=1e6, clip=10.0, noise=0.05)
    parts = [
        owned(X[rows], Y[rows], loss="logistic", strength=1e-2, privacy=privacy) for rows in PARTS
    ]
    with pytest.warns(FenchelWarning, match="nothing is certified"):
        problem = fenchel.problem(engine=Together(parts), loss="logistic", strength=1e-2)
    result = fenchel.minimize(problem, "lbfgs", max_iterations=10)
    assert not result.converged and result.lower_bound == -math.inf
    with pytest.raises(fenchel.InvalidData, match="noise"):
        fenchel.verify(result, problem)
    true = fenchel.minimize(fenchel.problem(X, Y, loss="logistic", strength=1e-2))
    assert result.objective == pytest.approx(true.objective, rel=0.05)
    for solver in ("bmrm", "ls-bmrm"):  # which have no cut to go by
        assert fenchel.minimize(problem, solver).lower_bound == -math.inf


def test_what_is_told_with_noise_does_not_depend_on_rows_but_by_noise():
    privacy = Privacy(epsilon=0.5, clip=1.0, noise=100.0)
    owner = owned(X, Y, loss="logistic", strength=1e-2, privacy=privacy)
    other = owned(2 * X, Y, loss="logistic", strength=1e-2, privacy=privacy)
    told, twin = owner.shape, other.shape
    assert told.length == twin.length == 1.0 and not told.exact
    assert told.nonce != twin.nonce
    attacker = Attacker(owner)
    far = attacker.ask(np.full(4, 1e300))  # no guard that looks at rows: it is answered, clipped
    assert abs(far.value) <= 1200 + 1000 and np.all(np.abs(far.gradient) <= 1200 + 1000)
    for _ in range(privacy.answers + 5):
        attacker.ask(np.zeros(4))
    assert attacker.refused == 6
    assert owner.accountant.epsilon <= 0.5
