"""Laws of the regularisers: prox, conjugate, strong convexity, weights."""

import numpy as np
import pytest
from catalogue import N_FEATURES, REGULARIZERS, ids
from scipy.optimize import minimize_scalar

import fenchel
from fenchel import InvalidData, regularizers
from fenchel.regularizers import (
    L1,
    L2,
    Boxed,
    ElasticNet,
    ElasticNetBall,
    Entropy,
    SquaredPNorm,
    Weighted,
)

EVERY = pytest.mark.parametrize("regularizer", REGULARIZERS, ids=ids)
SEPARABLE = pytest.mark.parametrize(
    "regularizer", [x for x in REGULARIZERS if isinstance(x, Weighted)], ids=ids
)
COUPLED = pytest.mark.parametrize(
    "regularizer", [x for x in REGULARIZERS if x.has("conjugate_coupling")], ids=ids
)
STRONGLY_CONVEX = pytest.mark.parametrize(
    "regularizer",
    [x for x in REGULARIZERS if x.has("conjugate_curvature") and x.separable],
    ids=ids,
)
WITH_ARGMAX = pytest.mark.parametrize(
    "regularizer", [x for x in REGULARIZERS if x.has("conjugate_argmax")], ids=ids
)


def vectors(n, seed=0, scale=2.0):
    """Random vectors with some coordinates exactly 0, where the kinks are."""
    rng = np.random.default_rng(seed)
    v = scale * rng.normal(size=(n, N_FEATURES))
    v[rng.uniform(size=v.shape) < 0.2] = 0.0
    return v


def points(regularizer, n, seed=0):
    """The same, moved to where Omega is finite."""
    return np.array([moved(regularizer, v) for v in vectors(n, seed)])


def moved(regularizer, v):
    if isinstance(regularizer, Boxed):
        return np.clip(v, regularizer.lower, regularizer.upper)
    if isinstance(regularizer, ElasticNetBall):
        return v * min(1.0, regularizer.radius / max(regularizer.net.value(v), 1e-9))
    if not isinstance(regularizer, Entropy):
        return v
    even = np.full(len(v), 1 / len(v))
    w = np.abs(v) / np.sum(np.abs(v)) if v.any() else even
    cap = regularizer.cap or 1.0
    return even + (w - even) * min(1.0, (cap - even[0]) / max(w.max() - even[0], 1e-9))


def feasible(regularizer, u):
    """u with its free coordinates at 0, scaled into the conjugate's domain."""
    u = u.copy()
    u[regularizer.free(N_FEATURES)] = 0.0
    return regularizer.dual_scale(u) * u


def along(regularizer, j, t):
    """Omega(t e_j)."""
    w = np.zeros(N_FEATURES)
    w[j] = t
    return regularizer.value(w)


def test_the_catalogue_holds_every_regulariser():
    named = {type(x) for x in REGULARIZERS} - {Boxed}  # which `lower` and `upper` ask for
    assert named == set(regularizers.REGULARIZERS.values())


@EVERY
def test_is_nonnegative_and_zero_at_its_start(regularizer):
    least = regularizer.value(regularizer.start(N_FEATURES))
    excludes_zero = isinstance(regularizer, Boxed) and np.any(regularizer.lower > 0)
    assert (least > 0) == excludes_zero
    assert all(regularizer.value(w) >= least for w in vectors(50))
    assert all(regularizer.value(w) >= 0 for w in vectors(50))
    assert all(0 <= regularizer.value(w) < np.inf for w in points(regularizer, 50))


def test_values_are_their_formulas():
    w, c = np.array([1.0, -2.0, 0.0, 3.0]), [0.5, 1.0, 2.0, 0.0]
    assert L2().value(w) == 7.0
    assert L1().value(w) == 6.0
    assert ElasticNet(l1_ratio=0.25).value(w) == 0.25 * 6.0 + 0.75 * 7.0
    assert L2(weights=c).value(w) == 2.25
    assert L1(weights=c).value(w) == 2.5
    assert ElasticNet(l1_ratio=0.25, weights=c).value(w) == 0.25 * 2.5 + 0.75 * 2.25


@EVERY
def test_the_subgradient_supports_from_below(regularizer):
    for w in points(regularizer, 20):
        g, value = regularizer.subgradient(w), regularizer.value(w)
        others = points(regularizer, 50, seed=1)
        assert all(regularizer.value(v) >= value + g @ (v - w) - 1e-12 for v in others)


@pytest.mark.parametrize("step", [0.01, 0.7, 5.0])
@EVERY
def test_prox_is_the_minimiser(regularizer, step):
    rng = np.random.default_rng(0)
    for v in vectors(5):
        p = regularizer.prox(v, step)

        def cost(x, v=v):
            return regularizer.value(x) + (x - v) @ (x - v) / (2 * step)

        for size in (1e-4, 1e-2, 1.0):
            around = p + size * rng.normal(size=(60, N_FEATURES))
            towards = p + size * (points(regularizer, 60, seed=1) - p)
            assert all(cost(p) <= cost(x) + 1e-12 for x in (*around, *towards))


@EVERY
def test_prox_leaves_free_coordinates_alone(regularizer):
    free = regularizer.free(N_FEATURES)
    for v in vectors(5):
        assert np.array_equal(regularizer.prox(v, 0.7)[free], v[free])


@EVERY
def test_fenchel_young_inequality(regularizer):
    for u in vectors(20):
        u = feasible(regularizer, u)
        others = points(regularizer, 50, seed=1)
        slack = [regularizer.value(w) + regularizer.conjugate(u) - u @ w for w in others]
        assert min(slack) >= -1e-12


@EVERY
def test_fenchel_young_equality_at_the_subgradient(regularizer):
    for w in points(regularizer, 20):
        w[regularizer.free(N_FEATURES)] = 0.0
        u = regularizer.subgradient(w)
        total = regularizer.value(w) + regularizer.conjugate(u)
        assert total == pytest.approx(u @ w, rel=1e-12, abs=1e-12)


@SEPARABLE
def test_the_conjugate_is_the_supremum(regularizer):
    for u in vectors(5, scale=4.0):
        u = feasible(regularizer, u)
        supremum = 0.0
        for j in range(N_FEATURES):
            best = minimize_scalar(
                lambda t, j=j, u=u: along(regularizer, j, t) - u[j] * t,
                bounds=(-200.0, 200.0),
                method="bounded",
                options={"xatol": 1e-9},
            )
            supremum += max(0.0, -best.fun)
        assert regularizer.conjugate(u) == pytest.approx(supremum, rel=1e-8, abs=1e-6)


@WITH_ARGMAX
def test_conjugate_argmax_attains_the_conjugate(regularizer):
    for u in (*vectors(20, scale=4.0), *vectors(5, scale=1e-4), *vectors(5, scale=1e4)):
        u = feasible(regularizer, u)
        w = regularizer.conjugate_argmax(u)
        attained = u @ w - regularizer.value(w)
        assert attained == pytest.approx(regularizer.conjugate(u), rel=1e-12, abs=1e-12)


@STRONGLY_CONVEX
def test_conjugate_argmax_is_zero_in_free_coordinates(regularizer):
    free = regularizer.free(N_FEATURES)
    assert np.array_equal(regularizer.conjugate_argmax(np.ones(N_FEATURES))[free], 0.0 * free)


@STRONGLY_CONVEX
def test_conjugate_curvature_is_the_derivative_of_conjugate_argmax(regularizer):
    h = 1e-6
    for u in np.random.default_rng(0).uniform(-4, 4, size=(20, N_FEATURES)):
        curvature = regularizer.conjugate_curvature(u)
        for j in range(N_FEATURES):
            e = h * (np.arange(N_FEATURES) == j)
            change = regularizer.conjugate_argmax(u + e) - regularizer.conjugate_argmax(u - e)
            assert np.allclose(change / (2 * h), curvature * (e > 0), rtol=1e-7, atol=1e-7)


@EVERY
def test_strong_convexity_holds(regularizer):
    m = regularizer.strong_convexity
    for x, y in zip(points(regularizer, 200), points(regularizer, 200, seed=1), strict=True):
        chord = 0.5 * (regularizer.value(x) + regularizer.value(y))
        room = chord - regularizer.value(0.5 * (x + y)) - m / 8 * (x - y) @ (x - y)
        assert room >= -1e-12


@SEPARABLE
def test_strong_convexity_is_the_largest(regularizer):
    m, excess = regularizer.strong_convexity, []
    for j in range(N_FEATURES):  # a pair on one side of 0, where only the quadratic part bends
        chord = 0.5 * (along(regularizer, j, 1.0) + along(regularizer, j, 3.0))
        excess.append(chord - along(regularizer, j, 2.0) - m / 8 * 4.0)
    assert min(excess) == pytest.approx(0.0, abs=1e-12)


@EVERY
def test_dual_scale_is_the_largest_that_keeps_the_conjugate_finite(regularizer):
    for u in vectors(20, scale=4.0):
        scale = regularizer.dual_scale(u)
        assert 0 <= scale <= 1
        assert np.isfinite(regularizer.conjugate(scale * u))
        assert scale == 1 or regularizer.conjugate((scale + 1e-9) * u) == np.inf


def test_dual_scale_of_l1_divides_by_the_worst_coordinate():
    assert L1().dual_scale(np.array([0.5, -1.0, 0.2, 0.0])) == 1.0
    assert L1().dual_scale(np.array([0.5, -4.0, 2.0, 0.0])) == pytest.approx(0.25, rel=1e-11)
    uneven = L1(weights=[1.0, 8.0, 1.0, 1.0])
    assert uneven.dual_scale(np.array([0.5, -4.0, 2.0, 0.0])) == pytest.approx(0.5, rel=1e-11)


@pytest.mark.parametrize("kind", [L2, L1, ElasticNet])
def test_the_conjugate_is_infinite_off_a_free_coordinates_zero(kind):
    regularizer = kind(weights=[1.0, 0.0])
    assert regularizer.conjugate(np.array([0.5, 0.0])) < np.inf
    assert regularizer.conjugate(np.array([0.5, 1e-300])) == np.inf


@pytest.mark.parametrize("kind", [L2, L1, ElasticNet])
def test_weights_of_one_change_nothing(kind):
    plain, ones = kind(), kind(weights=np.ones(N_FEATURES))
    for v in vectors(5):
        assert plain.value(v) == pytest.approx(ones.value(v), rel=1e-15)
        assert plain.conjugate(v) == pytest.approx(ones.conjugate(v), rel=1e-15)
        assert np.array_equal(plain.prox(v, 0.7), ones.prox(v, 0.7))
        assert np.array_equal(plain.subgradient(v), ones.subgradient(v))
    assert plain.strong_convexity == ones.strong_convexity


@SEPARABLE
def test_weights_multiply_each_coordinate(regularizer):
    plain = type(regularizer)(**{**regularizer.settings(), "weights": None})
    c = np.broadcast_to(regularizer.c, N_FEATURES)
    for w in vectors(5):
        parts = [c[j] * along(plain, j, w[j]) for j in range(N_FEATURES)]
        assert regularizer.value(w) == pytest.approx(sum(parts), rel=1e-14)


@pytest.mark.parametrize("kind", [L2, L1, ElasticNet])
@pytest.mark.parametrize(
    "weights", [[1.0, -1.0], [1.0, np.nan], [np.inf, 1.0], [[1.0, 1.0]], 1.0], ids=str
)
def test_bad_weights_are_refused(kind, weights):
    with pytest.raises(InvalidData, match="weights"):
        kind(weights=weights)


@pytest.mark.parametrize("kind", [L2, L1, ElasticNet])
def test_weights_of_the_wrong_length_are_refused(kind):
    with pytest.raises(InvalidData, match="3 weights but X has 4 columns"):
        fenchel.problem(np.eye(4), [1, -1, 1, -1], regularizer=kind(weights=np.ones(3)))


def test_weights_are_copied_and_cannot_be_changed():
    mine = np.ones(3)
    regularizer = L2(weights=mine)
    mine[0] = 7.0
    assert np.array_equal(regularizer.weights, np.ones(3))
    with pytest.raises(ValueError, match="read-only"):
        regularizer.weights[0] = 7.0


@pytest.mark.parametrize(("l1_ratio", "use"), [(0.0, "l2"), (1.0, "l1")])
def test_an_l1_ratio_at_an_end_is_refused_with_what_to_use(l1_ratio, use):
    with pytest.raises(InvalidData, match=f"l1_ratio.*{use}"):
        ElasticNet(l1_ratio=l1_ratio)


@pytest.mark.parametrize("l1_ratio", [-0.5, 1.5, np.nan, np.inf])
def test_an_l1_ratio_out_of_range_is_refused(l1_ratio):
    with pytest.raises(InvalidData, match="l1_ratio"):
        ElasticNet(l1_ratio=l1_ratio)


# Coordinates that act together


@COUPLED
def test_the_hessian_of_the_conjugate_is_the_derivative_of_its_argmax(regularizer):
    h = 1e-6
    for u in np.random.default_rng(0).uniform(-4, 4, size=(20, N_FEATURES)):
        root = np.sqrt(regularizer.conjugate_curvature(u))
        s = regularizer.conjugate_coupling(u)
        assert s @ s <= 1 + 1e-12
        hessian = root[:, None] * (np.eye(N_FEATURES) - np.outer(s, s)) * root
        for e in h * np.eye(N_FEATURES):
            change = regularizer.conjugate_argmax(u + e) - regularizer.conjugate_argmax(u - e)
            assert np.allclose(change / (2 * h), hessian @ e / h, rtol=1e-6, atol=1e-7)


def test_entropy_without_a_cap_has_a_soft_maximum_for_conjugate():
    for u in vectors(10, scale=4.0):
        assert Entropy().conjugate(u) == pytest.approx(np.log(np.mean(np.exp(u))), rel=1e-12)
    extreme = np.array([1e4, -1e4, 1e4, 0.0])
    assert Entropy().conjugate(extreme) == pytest.approx(1e4 - np.log(2), rel=1e-12)
    assert Entropy(cap=0.25).conjugate(extreme) == pytest.approx(2.5e3, rel=1e-12)


def test_strong_convexity_of_entropy_is_the_largest():
    p = np.array([1.0, -1.0, 0.0, 0.0])
    for cap, centre in ((None, [0.5, 0.5, 0, 0]), (0.3, [0.3, 0.3, 0.2, 0.2])):
        curvature = p @ (p / np.maximum(centre, 1e-9)) / (p @ p)
        assert Entropy(cap).strong_convexity == pytest.approx(curvature)


def test_strong_convexity_of_the_squared_p_norm_is_in_its_own_norm():
    for p in (1.1, 1.5, 2.0):
        regularizer = SquaredPNorm(p)
        for x, y in zip(vectors(100), vectors(100, seed=1), strict=True):
            chord = 0.5 * (regularizer.value(x) + regularizer.value(y))
            distance = 2 * regularizer.value(x - y)
            room = chord - regularizer.value(0.5 * (x + y)) - (p - 1) / 8 * distance
            assert room >= -1e-12


def test_the_squared_2_norm_is_l2():
    for v in vectors(5):
        assert SquaredPNorm(2.0).value(v) == pytest.approx(L2().value(v))
        assert np.allclose(SquaredPNorm(2.0).prox(v, 0.7), L2().prox(v, 0.7))


@pytest.mark.parametrize("p", [1.0, 0.5, 2.1, np.nan, "1.5"])
def test_a_p_outside_its_range_is_refused(p):
    with pytest.raises(InvalidData, match="p must"):
        SquaredPNorm(p)


@pytest.mark.parametrize("radius", [-1.0, 0.0, np.inf])
def test_a_ball_without_a_radius_is_refused(radius):
    with pytest.raises(InvalidData, match="radius must"):
        ElasticNetBall(radius)


def test_a_cap_that_leaves_no_weights_is_refused():
    with pytest.raises(InvalidData, match="cap must be > 0"):
        Entropy(-0.5)
    with pytest.raises(InvalidData, match=r"no 4 weights of at most cap = 0.2 .* at least 1/4"):
        fenchel.problem(np.eye(4), [1, -1, 1, -1], regularizer="entropy", cap=0.2)
    fenchel.problem(np.eye(4), [1, -1, 1, -1], regularizer="entropy", cap=0.25)


@pytest.mark.parametrize(
    ("regularizer", "w0", "message"),
    [
        (Entropy(), [0.5, 0.6, 0.0, 0.0], "sum up to 1; their sum is 1.1"),
        (Entropy(), [1.5, -0.5, 0.0, 0.0], r"weights >= 0; w0\[1\] is -0.5"),
        (Entropy(0.4), [0.5, 0.5, 0.0, 0.0], r"weights <= 0.4, the cap; w0\[0\] is 0.5"),
        (ElasticNetBall(0.5), [1.0, 1.0, 0.0, 0.0], "outside the ball: its elastic net is 1.5"),
    ],
)
def test_a_start_outside_the_domain_is_refused(regularizer, w0, message):
    problem = fenchel.problem(np.eye(4), [1, -1, 1, -1], regularizer=regularizer)
    with pytest.raises(InvalidData, match=message):
        fenchel.minimize(problem, "bmrm", w0=w0)


def test_a_users_vector_loss_with_intercepts_needs_coordinates_without_penalty():
    class Own(fenchel.losses.Softmax):
        """A subclass may have changed the formula, so that its intercepts stay coordinates."""

    with pytest.raises(fenchel.Incompatible, match="unpenalised coordinates"):
        fenchel.problem(
            np.eye(3), [0, 1, 2], loss=Own(), intercept=True, regularizer="squared_p_norm"
        )
