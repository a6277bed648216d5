"""Laws of the vector losses: convexity, conjugacy, pieces, ties, extremes, and the native twins."""

import itertools

import numpy as np
import pytest
from catalogue import VECTOR_LOSSES, class_costs, class_scores, ids, n_scores, targets_for
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.special import logsumexp

import fenchel
from fenchel import InvalidData, losses
from fenchel.losses import Labels
from fenchel.losses.binding import bound

EVERY = pytest.mark.parametrize("loss", VECTOR_LOSSES, ids=ids)
HINGES = pytest.mark.parametrize(
    "loss", [x for x in VECTOR_LOSSES if not x.differentiable], ids=ids
)
CONJUGABLE = pytest.mark.parametrize("loss", [x for x in VECTOR_LOSSES if x.has_conjugate], ids=ids)
SIZES = pytest.mark.parametrize("K", [2, 3, 4, 5, 8, 11, 33, 36, 67])
TIE = 1e-11


def sized(loss, K):
    """The loss for K classes: the catalogue's matrices and taxonomies are for 3."""
    settings = loss.settings()
    if isinstance(settings.get("cost"), np.ndarray):
        cost = np.abs(np.subtract.outer(np.arange(K), np.arange(K))).astype(float)
        settings["cost"] = np.triu(cost) + 0.5 * np.tril(cost)
    if settings.get("taxonomy") is not None:  # a chain of inner nodes, a leaf at each but two
        settings["taxonomy"] = [K + k for k in range(K - 1)] + [2 * K - 2]
        settings["taxonomy"] += [-1, *range(K, 2 * K - 2)]
    if settings.get("M") is not None:
        settings["M"] = np.eye(K) + 0.5
    return type(loss)(**settings)


def random_rows(loss, n=120, K=3, seed=0, whole=False):
    """(Z, y, s): scores, half of them whole numbers so that many tie; labels; weights, some 0."""
    rng = np.random.default_rng(seed)
    Z = 2 * rng.normal(size=(n, n_scores(loss, K)))
    Z[:: 1 if whole else 2] = np.round(Z[:: 1 if whole else 2])
    s = rng.uniform(0.1, 2.0, size=n)
    s[::7] = 0.0
    return Z, targets_for(loss, rng, n, K), s


def without_twin(loss):
    """The same loss by a subclass, which runs on its Python formulas."""
    return type("Plain", (type(loss),), {})(**loss.settings())


def random_duals(loss, y, K, rng):
    """Feasible dual variables: means of slopes at random scores."""
    slopes = [loss.slope(3 * rng.normal(size=(len(y), n_scores(loss, K))), y) for _ in range(4)]
    return np.tensordot(rng.dirichlet(np.ones(4)), slopes, axes=1)


def brute_force(loss, z, y):
    """The value of one row by enumeration ([Yu10] eq. 42, 54 and 55)."""
    if loss.labels is Labels.VECTORS:
        return 0.5 * (z - y) @ (np.eye(len(z)) if loss.M is None else loss.M) @ (z - y)
    z = class_scores(loss, z)
    K = len(z)
    if loss.differentiable:
        return logsumexp(z) - z[y]
    cost = class_costs(loss, K)
    if getattr(loss, "rescaling", "margin") == "slack":
        return max(cost[k, y] * (1 + z[k] - z[y]) for k in range(K))
    if loss.labels in (Labels.CLASSES, Labels.LEAVES):
        return max(cost[k, y] + z[k] - z[y] for k in range(K))
    right = np.flatnonzero(y)
    pairs = itertools.product(np.flatnonzero(y == 0), right)
    return max([0.0] + [cost[k, r] + z[k] - z[r] for k, r in pairs])


def test_the_catalogue_holds_every_vector_loss():
    kinds = {kind for kind in losses.LOSSES.values() if issubclass(kind, losses.VectorLoss)}
    assert {type(loss) for loss in VECTOR_LOSSES} == kinds and len(kinds) == 6


@EVERY
def test_the_value_is_that_of_the_formula_row_by_row(loss):
    Z, y, _ = random_rows(loss)
    assert np.allclose(
        loss.value(Z, y), [brute_force(loss, *row) for row in zip(Z, y, strict=True)], rtol=1e-13
    )
    assert np.all(loss.value(Z, y) >= 0) and loss.nonnegative


@EVERY
def test_the_slope_supports_from_below(loss):
    Z, y, _ = random_rows(loss)
    value, slope = loss.value(Z, y), loss.slope(Z, y)
    for seed in range(20):
        V = Z + np.random.default_rng(seed).normal(size=Z.shape) * 10.0 ** (seed % 4 - 2)
        tangent = value + np.sum(slope * (V - Z), axis=1)
        assert np.all(loss.value(V, y) >= tangent - 1e-12 * (1 + np.abs(tangent)))


@EVERY
def test_the_slope_is_the_derivative(loss):
    rng, h = np.random.default_rng(0), 1e-6
    Z, y, _ = random_rows(loss, n=40)
    Z += rng.uniform(1e-3, 1e-2, size=Z.shape)  # off the kinks
    slope = loss.slope(Z, y)
    for k in range(Z.shape[1]):
        step = np.zeros(Z.shape[1])
        step[k] = h
        numerical = (loss.value(Z + step, y) - loss.value(Z - step, y)) / (2 * h)
        assert np.allclose(numerical, slope[:, k], atol=1e-6)


@EVERY
def test_no_slope_is_steeper_than_claimed(loss):
    Z, y, _ = random_rows(loss)
    assert np.max(np.linalg.norm(loss.slope(5 * Z, y), axis=1)) <= loss.largest_slope(y) * (
        1 + 1e-12
    )


def test_the_smoothness_of_softmax_bounds_its_hessian():
    loss, rng, worst = losses.Softmax(), np.random.default_rng(0), 0.0
    for scale in (0.0, 1.0, 5.0):
        Z, y = scale * rng.normal(size=(200, 3)), np.zeros(200, dtype=np.int64)
        Z[:100, 2] = -50.0  # two classes share all the probability
        p = loss.slope(Z, y) + np.eye(3)[0]
        hessians = p[:, :, None] * np.eye(3) - p[:, :, None] * p[:, None, :]
        worst = max(worst, np.max(np.linalg.norm(hessians, ord=2, axis=(1, 2))))
    assert 0.49 <= worst <= loss.smoothness == 0.5


@CONJUGABLE
def test_fenchel_young_inequality(loss):
    rng = np.random.default_rng(0)
    Z, y, _ = random_rows(loss)
    for _ in range(10):
        alpha = random_duals(loss, y, 3, rng)
        conjugate = loss.conjugate(alpha, y)
        assert np.isfinite(conjugate).all()
        for V in (Z, 10 * Z, -Z, rng.normal(size=Z.shape)):
            assert np.all(loss.value(V, y) + conjugate >= np.sum(alpha * V, axis=1) - 1e-11)


@CONJUGABLE
def test_fenchel_young_equality_at_the_slope(loss):
    Z, y, _ = random_rows(loss)
    slope = loss.slope(Z, y)
    assert np.allclose(
        loss.value(Z, y) + loss.conjugate(slope, y), np.sum(slope * Z, axis=1), rtol=1e-11
    )


@pytest.mark.parametrize("loss", [losses.MulticlassHinge(1.7), losses.MultilabelHinge(0.6)])
def test_the_conjugate_of_a_hinge_is_the_linear_programme_over_its_pieces(loss):
    """l* is the least -(sum of offsets) over the ways to write alpha as a mean of gradients."""
    rng, K = np.random.default_rng(1), 4
    for y in targets_for(loss, rng, 15, K):
        labels = np.asarray(y)[None]
        start = loss.pieces(np.zeros((1, K)), labels)[0]
        there = np.isfinite(start)
        gradients = np.array(
            [
                (loss.pieces(e[None], labels)[0] - np.where(there, start, 0))[there]
                for e in np.eye(K)
            ]
        )
        alpha = random_duals(loss, labels, K, rng)
        equal = np.vstack([gradients, np.ones(there.sum())])
        solved = linprog(-start[there], A_eq=equal, b_eq=np.append(alpha[0], 1.0))
        assert loss.conjugate(alpha, labels)[0] == pytest.approx(solved.fun, abs=1e-9)


@pytest.mark.parametrize(
    "loss",
    [x for x in VECTOR_LOSSES if x.has_conjugate and x.largest_slope(None) < np.inf],
    ids=ids,
)
def test_the_conjugate_is_infinite_outside_its_domain(loss):
    rng = np.random.default_rng(0)
    Z, y, _ = random_rows(loss, n=30)
    inside = random_duals(loss, y, 3, rng)
    assert np.all(np.isinf(loss.conjugate(inside + 1e-6, y)))
    far = 3.0 * np.round(loss.slope(10 * Z, y))
    assert np.all(np.isinf(loss.conjugate(far, y)) == np.any(far != 0, axis=1))
    if loss.labels is Labels.SETS:
        assert np.all(np.isinf(loss.conjugate(-inside, y)) == np.any(inside != 0, axis=1))


@CONJUGABLE
def test_feasible_duals_are_finite_and_stay_where_they_are_if_they_were(loss):
    rng = np.random.default_rng(0)
    _, y, _ = random_rows(loss)
    inside = random_duals(loss, y, 3, rng)
    assert np.allclose(loss.feasible(inside, y), inside, rtol=1e-14, atol=1e-15)
    nearby = inside + 1e-9 * rng.normal(size=inside.shape)
    moved = loss.feasible(nearby, y)
    assert np.isfinite(loss.conjugate(moved, y)).all()
    assert np.max(np.abs(moved - nearby)) < 1e-8
    anything = loss.feasible(5 * rng.normal(size=inside.shape), y)
    assert np.isfinite(loss.conjugate(anything, y)).all()


def test_the_conjugate_of_a_singular_squared_error_lives_in_the_range_of_its_matrix():
    M, y = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]), np.ones((3, 3))
    loss = losses.MultivariateSquared(M)
    alpha = np.array([[2.0, 2.0, 3.0], [2.0, 2.0 + 1e-8, 3.0], [1.0, -1.0, 0.0]])
    assert loss.conjugate(alpha, y)[0] == pytest.approx(7 + 0.5 * (4 + 3))  # M^+ alpha = (1, 1, 1)
    assert np.isinf(loss.conjugate(alpha, y)[1:]).all()
    moved = loss.feasible(alpha, y)
    assert np.allclose(moved, [[2, 2, 3], [2 + 5e-9, 2 + 5e-9, 3], [0, 0, 0]], atol=1e-15)
    assert loss.smoothness == pytest.approx(3.0) and losses.MultivariateSquared().smoothness == 1


def test_a_multilabel_hinge_of_several_costs_has_no_conjugate():
    loss = losses.MultilabelHinge(cost=1 - np.eye(3))
    with pytest.raises(fenchel.Incompatible, match="no conjugate in closed form"):
        loss.conjugate(np.zeros((1, 3)), np.ones((1, 3)))


def test_equal_costs_make_one_multilabel_hinge_and_single_labels_a_multiclass_one():
    rng = np.random.default_rng(0)
    Z, codes = rng.normal(size=(50, 5)), rng.integers(0, 5, size=50)
    sets = np.eye(5, dtype=np.uint8)[codes]
    several = losses.MultilabelHinge(cost=0.7 * (1 - np.eye(5)))
    expected = losses.MulticlassHinge(cost=0.7).value(Z, codes)
    for loss in (losses.MultilabelHinge(cost=0.7), several):
        assert np.allclose(loss.value(Z, sets), expected, rtol=1e-14)
        assert bound(loss, sets).slopes(Z)[0] == pytest.approx(np.sum(expected))


@pytest.mark.parametrize("loss", [losses.MultilabelHinge(), losses.MultilabelHinge(1 - np.eye(4))])
def test_no_label_or_all_labels_lose_nothing(loss):
    Z, y = np.random.default_rng(0).normal(size=(2, 4)), np.array([[0] * 4, [1] * 4], np.uint8)
    assert not loss.value(Z, y).any() and not loss.slope(Z, y).any()
    value, slope = bound(loss, y).slopes(Z)
    assert value == 0 and not slope.any()
    assert bound(loss, y).slope_along(Z, Z, 0.5) == (0.0, 0.0)
    assert len(bound(loss, y).kinks_along(Z, Z, 0.0, 9.0)) == 0
    assert len(bound(loss, y).tied(Z, TIE)) == 0


@SIZES
@EVERY
def test_the_native_twin_has_the_same_values_and_slopes(loss, K):
    loss = sized(loss, K)
    Z, y, s = random_rows(loss, K=K)
    for weights in (None, s):
        total, A = bound(loss, y, weights).slopes(Z)
        expected, slope = bound(without_twin(loss), y, weights).slopes(Z)
        assert total == pytest.approx(expected, rel=1e-13)
        assert np.allclose(A, slope, rtol=1e-13, atol=1e-300)


@EVERY
def test_extreme_scores_stay_finite_and_exact(loss):
    z = np.array([0.0, 1e-300, 1e-8, 37.0, 745.0, 1e4, -1e4, -745.0, -37.0])
    Z = np.array(list(itertools.product(z, repeat=n_scores(loss))))
    y = targets_for(loss, np.random.default_rng(0), len(Z), 3)
    expected = np.array([brute_force(loss, *row) for row in zip(Z, y, strict=True)])
    assert np.allclose(loss.value(Z, y), expected, rtol=1e-12, atol=1e-12)
    total, A = bound(loss, y).slopes(Z)
    assert total == pytest.approx(np.sum(expected), rel=1e-12)
    assert np.isfinite(A).all() and np.allclose(A, loss.slope(Z, y), rtol=1e-12, atol=1e-300)


def test_softmax_keeps_the_digits_of_a_tiny_loss():
    Z, y = np.array([[40.0, 0.0, 0.0]]), np.array([0])
    value, A = bound(losses.Softmax(), y).slopes(Z)
    assert value == pytest.approx(2 * np.exp(-40.0), rel=1e-12)
    assert losses.Softmax().value(Z, y)[0] == pytest.approx(value, rel=1e-12)
    assert A[0, 0] == pytest.approx(-2 * np.exp(-40.0), rel=1e-12)


@EVERY
def test_scores_that_are_not_finite_make_the_value_so(loss):
    _, y, _ = random_rows(loss, n=4)
    for bad in (np.nan, np.inf, -np.inf):
        for k in range(n_scores(loss)):
            Z = np.zeros((4, n_scores(loss)))
            Z[2, k] = bad
            assert not np.isfinite(bound(loss, y).slopes(Z)[0])
            assert np.isfinite(bound(loss, y, np.array([1.0, 1, 0, 1])).slopes(Z)[0])


@HINGES
def test_the_value_is_the_highest_piece(loss):
    Z, y, _ = random_rows(loss)
    pieces = loss.pieces(Z, y)
    assert np.allclose(np.max(pieces, axis=1), loss.value(Z, y), rtol=1e-14, atol=1e-15)
    half = loss.pieces(Z / 2, y)
    there = np.isfinite(pieces)
    start = loss.pieces(np.zeros_like(Z), y)
    assert np.allclose(2 * half[there] - start[there], pieces[there], atol=1e-12)


@HINGES
def test_ties_are_the_rows_where_the_slope_depends_on_the_side(loss):
    Z, y, _ = random_rows(loss, whole=True)
    tied = np.zeros(len(Z), dtype=bool)
    tied[bound(loss, y).tied(Z, TIE)] = True
    rng, seen = np.random.default_rng(0), np.zeros(len(Z), dtype=bool)
    first = loss.slope(Z + 1e-7 * rng.normal(size=Z.shape), y)
    for _ in range(60):
        seen |= np.any(loss.slope(Z + 1e-7 * rng.normal(size=Z.shape), y) != first, axis=1)
    assert np.array_equal(tied, seen) and 0 < np.sum(tied) < len(Z)
    nearly = Z + 1e-12 * rng.normal(size=Z.shape)
    assert np.array_equal(bound(loss, y).tied(nearly, TIE), np.flatnonzero(tied))
    assert np.array_equal(bound(without_twin(loss), y).tied(Z, TIE), np.flatnonzero(tied))


@SIZES
@HINGES
def test_the_largest_slope_is_the_supremum_over_the_subdifferential(loss, K):
    """<a, q> is the one-sided derivative along q, and a supports the loss from below."""
    loss = sized(loss, K)
    Z, y, s = random_rows(loss, K=K, whole=True)
    Q = np.random.default_rng(3).normal(size=Z.shape)
    for form in (loss, without_twin(loss)):
        a = bound(form, y).choices(Z, TIE).towards(Q)
        h = 1e-6
        derivative = (loss.value(Z + h * Q, y) - loss.value(Z, y)) / h
        assert np.allclose(np.sum(a * Q, axis=1), derivative, atol=1e-6)
        V = Z + np.random.default_rng(4).normal(size=Z.shape)
        tangent = loss.value(Z, y) + np.sum(a * (V - Z), axis=1)
        assert np.all(loss.value(V, y) >= tangent - 1e-9)
        weighted = bound(form, y, s).choices(Z, TIE).towards(Q)
        assert np.array_equal(weighted, a)


@given(
    st.lists(st.lists(st.integers(-3, 3), min_size=4, max_size=4), min_size=1, max_size=5),
    st.lists(st.booleans(), min_size=4, max_size=4),
    st.sampled_from([0.5, 1.0, 2.0]),
)
def test_the_multilabel_hinge_is_the_maximum_over_all_pairs(rows, right, tau):
    Z, y = np.array(rows, dtype=float), np.array([right] * len(rows), dtype=np.uint8)
    uniform, several = losses.MultilabelHinge(tau), losses.MultilabelHinge(tau * (1 - np.eye(4)))
    expected = [brute_force(uniform, z, y[0]) for z in Z]
    for loss in (uniform, several):
        assert np.allclose(loss.value(Z, y), expected)
        total, A = bound(loss, y).slopes(Z)
        assert total == pytest.approx(np.sum(expected))
        assert np.all(np.sum(A, axis=1) == 0)


@pytest.mark.parametrize(
    ("cost", "said"),
    [
        (-1.0, ">= 0"),
        (np.nan, "finite"),
        ([[0, 1], [1, 0], [1, 1]], "square"),
        ([[0, -1], [1, 0]], r"cost\[0, 1\] is -1"),
        ([[0, np.inf], [1, 0]], r"cost\[0, 1\] is inf"),
        ([[0, 1], [1, 2]], r"cost\[1, 1\] is 2"),
        ([[0, 1], [1]], "cost must be a number or a square matrix"),
        ([["a", "b"], ["c", "d"]], "square matrix"),
    ],
)
@pytest.mark.parametrize("kind", [losses.MulticlassHinge, losses.MultilabelHinge])
def test_costs_that_make_no_sense_are_refused(kind, cost, said):
    with pytest.raises(InvalidData, match=said):
        kind(cost=cost)


def test_a_cost_of_the_wrong_size_is_refused_before_any_work():
    X, y = np.eye(3), ["a", "b", "c"]
    with pytest.raises(InvalidData, match=r"shape \(2, 2\), but there are 3 classes"):
        fenchel.problem(X, y, loss="multiclass_hinge", cost=1 - np.eye(2))


def test_a_cost_function_sees_the_classes():
    X, y = np.eye(3), ["cat", "dog", "eel"]
    problem = fenchel.problem(
        X,
        y,
        loss="multiclass_hinge",
        cost=lambda z, y: 0.0 if z == y else float(len(z + y) + (z < y)),
    )
    assert np.array_equal(problem.risk.loss.cost, [[0, 7, 7], [6, 0, 7], [6, 6, 0]])
    plain = losses.MulticlassHinge(cost=lambda z, y: abs(z - y))
    assert plain.value(np.zeros((1, 3)), np.array([0]))[0] == 2.0
