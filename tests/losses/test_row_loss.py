"""Laws of losses that have met their rows: parts of rows, pickles, offsets, and all options."""

import pickle

import numpy as np
import pytest
from catalogue import LOSSES, VECTOR_LOSSES, ids, labels_for, n_scores, targets_for

from fenchel import Incompatible, losses
from fenchel.data.rows import DenseRows
from fenchel.data.shards import Shard, fingerprint
from fenchel.losses import scalar_rows
from fenchel.losses.binding import bound
from fenchel.losses.scalar_rows import NativeScalarRows

EVERY = pytest.mark.parametrize("loss", LOSSES, ids=ids)
FORMS = pytest.mark.parametrize("native", [True, False], ids=["native", "python"])
PIECEWISE = [loss for loss in LOSSES if loss.pieces(np.zeros(1)) is not None]


def formed(loss, native):
    """The loss itself, or a subclass that runs on its Python formulas."""
    return loss if native else type("Plain", (type(loss),), {})(**loss.settings())


def rows(loss, n=60, seed=0):
    """(z, y, s, offset, q) of some rows, of which some weigh nothing."""
    rng = np.random.default_rng(seed)
    z, offset, q = rng.normal(size=(3, n))
    s = rng.uniform(0.1, 2.0, size=n)
    s[::7] = 0.0
    return z, labels_for(loss, rng, n), s, offset, q


def vector_rows(loss, n=40, K=3, seed=0):
    rng = np.random.default_rng(seed)
    Z = np.round(2 * rng.normal(size=(n, n_scores(loss, K))))
    return Z, targets_for(loss, rng, n, K), rng.uniform(0.1, 2.0, size=n)


@FORMS
@EVERY
def test_the_rows_answer_like_their_parts_together(loss, native):
    loss = formed(loss, native)
    z, y, s, offset, _ = rows(loss)
    whole = bound(loss, y, s, offset)
    parts = [np.arange(20), np.arange(20, 60)]
    value, a = whole.slopes(z, 0.3)
    each = [whole.take(part).slopes(z[part], 0.3) for part in parts]
    assert value == pytest.approx(sum(part[0] for part in each), rel=1e-13)
    assert np.array_equal(a, np.concatenate([part[1] for part in each]))
    assert np.allclose(a, s * whole.unweighted().slopes(z, 0.3)[1], rtol=1e-14)


@FORMS
@EVERY
def test_an_offset_moves_the_scores_of_its_row(loss, native):
    loss = formed(loss, native)
    z, y, s, offset, _ = rows(loss)
    moved, plain = bound(loss, y, s, offset), bound(loss, y, s)
    value, a = moved.slopes(z, 0.3)
    assert value == pytest.approx(plain.slopes(z + offset, 0.3)[0], rel=1e-14)
    assert np.allclose(a, plain.slopes(z + offset, 0.3)[1], rtol=1e-14)
    assert moved.sums(z, 0.3) == pytest.approx(plain.sums(z + offset, 0.3), rel=1e-14)
    assert value == pytest.approx(np.sum(s * loss.value(z + offset + 0.3, y)), rel=1e-12)
    assert moved.fused is None


@EVERY
def test_what_only_kernels_do_is_done_at_the_moved_scores(loss):
    z, y, s, offset, _ = rows(loss)
    moved, plain = bound(loss, y, s, offset), bound(loss, y, s)
    assert isinstance(moved, NativeScalarRows)
    for mu in (0.0, 0.4) if loss.differentiable else (0.4,):
        *sums, u = moved.smoothed(z, mu, None, 0.1)
        *expected, v = plain.smoothed(z + offset, mu, None, 0.1)
        assert sums == pytest.approx(expected, rel=1e-13)
        assert np.allclose(u, v, rtol=1e-13)
    if loss.differentiable:
        for ours, theirs in zip(
            moved.curvatures(z, 0.1), plain.curvatures(z + offset, 0.1), strict=True
        ):
            assert np.allclose(ours, theirs, rtol=1e-13)


@FORMS
@pytest.mark.parametrize("loss", PIECEWISE, ids=ids)
def test_rays_and_kinks_are_met_at_the_moved_scores(loss, native):
    loss = formed(loss, native)
    z, y, s, offset, q = rows(loss)
    moved, plain = bound(loss, y, s, offset), bound(loss, y, s)
    at = z + offset
    assert moved.slope_along(z, q, 0.7) == pytest.approx(plain.slope_along(at, q, 0.7), rel=1e-12)
    found, expected = moved.kinks_along(z, q, 0.0, 5.0), plain.kinks_along(at, q, 0.0, 5.0)
    assert np.allclose(np.sort(found, axis=0), np.sort(expected, axis=0))
    kinks = loss.kinks(y)
    if len(kinks):
        on_kink = kinks[0] - offset
        assert np.array_equal(moved.tied(on_kink, 1e-11), np.arange(len(z)))
        lowest, highest, _ = moved.choices(on_kink, 1e-11)
        assert np.all(lowest < highest)
        assert np.array_equal(moved.choices(on_kink, 1e-11).towards(q > 0)[q > 0], highest[q > 0])
        b = 0.2
        nearest = np.min(np.abs(kinks - (b + offset)), axis=0)
        assert np.allclose(moved.nearest_kinks(b), nearest)


@FORMS
@EVERY
def test_the_conjugate_of_moved_scores_meets_fenchel_and_young(loss, native):
    """L(z + o) + L*(a) - <a, o> >= <a, z>, with equality at the slopes a."""
    loss = formed(loss, native)
    if not loss.has_conjugate:
        pytest.skip("it has no conjugate")
    z, y, s, offset, q = rows(loss)
    there = bound(loss, y, s, offset)
    value, each = there.slopes(z)[0], there.unweighted().slopes(z)[1]
    assert value + there.conjugates(each)[0] == pytest.approx(np.sum(s * each * z), abs=1e-11)
    elsewhere = there.unweighted().slopes(z + q)[1]
    assert value + there.conjugates(elsewhere)[0] >= np.sum(s * elsewhere * z) - 1e-11


@pytest.mark.parametrize("loss", VECTOR_LOSSES, ids=ids)
def test_vector_losses_take_parts_and_no_offsets(loss):
    Z, y, s = vector_rows(loss)
    whole, some = bound(loss, y, s), np.arange(0, 40, 3)
    assert np.array_equal(whole.take(some).slopes(Z[some])[1], whole.slopes(Z)[1][some])
    with pytest.raises(Incompatible, match="no offset"):
        bound(loss, y, s, np.zeros(len(y)))


@pytest.mark.parametrize("loss", [*LOSSES[:3], *VECTOR_LOSSES], ids=ids)
def test_rows_survive_pickling(loss):
    if isinstance(loss, losses.ScalarLoss):
        z, y, s, offset, _ = rows(loss)
    else:
        (z, y, s), offset = vector_rows(loss), None
    there = bound(loss, y, s, offset)
    value, a = there.slopes(z)
    again, b = pickle.loads(pickle.dumps(there)).slopes(z)
    assert again == value
    assert np.array_equal(a, b)


def test_a_shard_binds_a_loss_once_and_leaves_it_out_of_pickles():
    z, y, s, offset, _ = rows(losses.Hinge())
    shard, loss = Shard(DenseRows(np.ones((60, 2))), y, s, offset=offset), losses.Hinge()
    plain = len(pickle.dumps(shard))
    there = shard.bound(loss)
    assert shard.bound(loss) is there
    assert shard.bound(losses.Logistic()).loss.differentiable
    assert len(pickle.dumps(shard)) == plain
    copied = pickle.loads(pickle.dumps(shard))
    assert fingerprint(copied) == fingerprint(shard)
    assert copied.bound(loss).sums(z, 0.0) == there.sums(z, 0.0)


def test_the_digest_of_a_shard_tells_offsets_from_weights():
    X, y, numbers = DenseRows(np.ones((3, 2))), np.ones(3), np.array([1.0, 2.0, 3.0])
    shards = Shard(X, y, None), Shard(X, y, numbers), Shard(X, y, None, offset=numbers)
    assert len({fingerprint(shard) for shard in shards}) == 3


def test_a_built_in_loss_never_loses_an_option(monkeypatch):
    class Both(losses.Huber):
        def __init__(self, delta=1.0, second=2.0):
            super().__init__(delta)
            self.second = second

    monkeypatch.setitem(scalar_rows._NAMES, Both, "huber")
    with pytest.raises(TypeError):
        bound(Both(), np.ones(1))


def test_losses_of_all_rows_at_once_are_not_bound():
    with pytest.raises(Incompatible, match="no loss of single rows"):
        bound(losses.ROC(), np.ones(2))
