"""The small exact problems of the accelerated methods, against a conic solver and their laws."""

import clarabel
import numpy as np
import pytest
from scipy import sparse

from fenchel import _kernels
from fenchel.regularizers import ElasticNetBall

CASES = 1000


def conic(P, q, blocks):
    """Clarabel's argmin of 1/2 x'Px + <q, x> with b - A x in a cone, for blocks (A, b, cone)."""
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    A = sparse.csc_matrix(np.vstack([A for A, _, _ in blocks]))
    b = np.concatenate([b for _, b, _ in blocks])
    P = sparse.csc_matrix(np.triu(P))
    solution = clarabel.DefaultSolver(P, q, A, b, [cone for _, _, cone in blocks], settings).solve()
    assert "Solved" in str(solution.status)
    return np.array(solution.x)


def box_blocks(lower, upper):
    unit, n = np.eye(len(lower)), len(lower)
    return [
        (-unit, -lower, clarabel.NonnegativeConeT(n)),
        (unit, upper, clarabel.NonnegativeConeT(n)),
    ]


def some_of(rng, values, like, share=0.3):
    """`like` with some entries taken from a few values: ties and zeros."""
    return np.where(rng.uniform(size=len(like)) < share, rng.choice(values, len(like)), like)


# The box cut by a plane


def box_case(rng):
    """(d2, m, lower, upper, sigma, z): equal bends, equal bounds, zeros in sigma, z at the ends."""
    n = int(rng.integers(1, 9))
    d2 = some_of(rng, [1.0, 2.0], rng.uniform(0.1, 4.0, size=n))
    m = some_of(rng, [-1.0, 0.0, 1.0], rng.normal(size=n))
    lower = some_of(rng, [-1.0, 0.0], rng.normal(size=n))
    upper = lower + some_of(rng, [0.0, 1.0], rng.uniform(0, 2, size=n))
    sigma = some_of(rng, [-1.0, 0.0, 1.0], rng.normal(size=n), 0.6)
    ends = np.sort([sigma * lower, sigma * upper], axis=0).sum(axis=1)
    share = rng.choice([0.0, 1.0, rng.uniform(), rng.uniform()])
    return d2, m, lower, upper, sigma, float((1 - share) * ends[0] + share * ends[1])


def box_plane_qp(d2, m, lower, upper, sigma, z):
    x = np.empty_like(m)
    return x, _kernels.box_plane_qp(d2, m, lower, upper, sigma, z, x)


def test_box_plane_qp_is_the_conic_solvers():
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        d2, m, lower, upper, sigma, z = box_case(rng)
        x, _ = box_plane_qp(d2, m, lower, upper, sigma, z)
        plane = (sigma[None], np.array([z]), clarabel.ZeroConeT(1))
        other = conic(np.diag(d2), -d2 * m, [plane, *box_blocks(lower, upper)])
        assert np.abs(x - other).max() < 1e-3  # clarabel's own error where the box is flat


def test_box_plane_qp_meets_its_conditions_of_optimality():
    rng = np.random.default_rng(1)
    for _ in range(4 * CASES):
        d2, m, lower, upper, sigma, z = box_case(rng)
        x, t = box_plane_qp(d2, m, lower, upper, sigma, z)
        size = 1 + np.abs(sigma) @ np.abs(x)
        assert abs(sigma @ x - z) <= 1e-14 * size
        assert np.all((lower <= x) & (x <= upper))
        assert np.allclose(x, np.clip(m + t * sigma / d2, lower, upper), rtol=1e-13, atol=1e-13)


def test_one_curvature_for_all_rows_is_that_of_each():
    rng = np.random.default_rng(2)
    for _ in range(200):
        _, m, lower, upper, sigma, z = box_case(rng)
        x, t = box_plane_qp(0.7, m, lower, upper, sigma, z)
        each, same = box_plane_qp(np.full(len(m), 0.7), m, lower, upper, sigma, z)
        assert np.array_equal(x, each)
        assert t == same


def test_a_box_without_ends_is_a_projection_onto_the_plane():
    rng = np.random.default_rng(3)
    m, sigma = rng.normal(size=50), rng.normal(size=50)
    ends = np.full(50, np.inf)
    x, t = box_plane_qp(1.0, m, -ends, ends, sigma, 3.0)
    assert t == pytest.approx((3.0 - sigma @ m) / (sigma @ sigma), rel=1e-12)
    assert np.allclose(x, m + t * sigma, rtol=0, atol=1e-13)


def test_many_equal_rows_share_the_plane_equally():
    n = 1001
    x, _ = box_plane_qp(1.0, np.zeros(n), np.zeros(n), np.ones(n), np.ones(n), 0.3 * n)
    assert np.allclose(x, 0.3, rtol=1e-14)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_the_box_and_the_plane_may_have_any_scale(scale):
    rng = np.random.default_rng(4)
    for _ in range(200):
        d2, m, lower, upper, sigma, z = box_case(rng)
        x, _ = box_plane_qp(d2, m, lower, upper, sigma, z)
        large, _ = box_plane_qp(d2, scale * m, scale * lower, scale * upper, sigma, scale * z)
        assert np.allclose(large, scale * x, rtol=1e-9, atol=1e-12 * scale)


ONE = np.ones(2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"z": 2.1}, r"no point of the box has <sigma, x> = 2.1\d*: it lies between 0 and 2"),
        ({"z": -1e-9}, "no point of the box"),
        ({"z": np.nan}, "z must be finite"),
        ({"lower": np.array([0.0, 1.5])}, r"the box is empty: lower\[1\] = 1.5, upper = 1"),
        ({"lower": np.array([0.0, np.nan])}, "the box is empty"),
        ({"d2": 0.0}, "d2 must be finite and > 0; got 0"),
        ({"d2": np.array([1.0, -1.0])}, r"d2 must be finite and > 0; d2\[1\] is -1"),
        ({"m": np.array([1.0, np.inf])}, r"m must be finite; m\[1\] is inf"),
        ({"sigma": np.array([np.nan, 1.0])}, r"sigma must be finite; sigma\[0\] is nan"),
        ({"sigma": np.ones(3)}, "sigma has length 3; expected 2"),
    ],
)
def test_a_box_plane_problem_that_makes_no_sense_is_refused(changes, message):
    problem = {"d2": 1.0, "m": ONE, "lower": 0 * ONE, "upper": ONE, "sigma": ONE, "z": 1.0}
    with pytest.raises(ValueError, match=message):
        box_plane_qp(**{**problem, **changes})


# The elastic net


def elastic_net_prox(v, l1, l2, c=None):
    x = np.empty_like(v)
    _kernels.elastic_net_prox(v, l1, l2, c, x)
    return x


def project(v, l1, l2, radius):
    x = np.empty_like(v)
    return x, _kernels.project_elastic_net_ball(v, l1, l2, radius, x)


def size_of(x, l1, l2):
    return l1 * np.abs(x).sum() + l2 / 2 * x @ x


def ball_case(rng):
    n = int(rng.integers(1, 9))
    v = some_of(rng, [-1.0, 0.0, 1.0, 2.0], 2 * rng.normal(size=n))
    l1, l2 = rng.choice([0.0, 0.3, 1.0, 2.0], 2)
    l1 += l1 == l2 == 0
    return v, l1, l2, float(rng.choice([1e-3, 0.1, 1.0]) * (size_of(v, l1, l2) + 0.1))


def test_the_ball_projection_is_the_conic_solvers():
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        v, l1, l2, radius = ball_case(rng)
        x, _ = project(v, l1, l2, radius)
        n = len(v)
        # Variables x, p >= |x|, and s = l2 |x|^2 / 2 <= radius - l1 sum p as a second-order cone.
        unit, zero = np.eye(n), np.zeros((n, n))
        P = np.block([[unit, zero], [zero, zero]])
        absolute = (
            np.block([[unit, -unit], [-unit, -unit]]),
            np.zeros(2 * n),
            clarabel.NonnegativeConeT(2 * n),
        )
        row = np.r_[np.zeros(n), l1 * np.ones(n)]
        tail = np.hstack([-np.sqrt(2 * l2) * unit, zero])
        cone = np.vstack([row, row, tail])  # (s + 1, s - 1, sqrt(2 l2) x): |x|^2 l2/2 <= s
        right = np.r_[radius + 1.0, radius - 1.0, np.zeros(n)]
        other = conic(
            P, np.r_[-v, np.zeros(n)], [absolute, (cone, right, clarabel.SecondOrderConeT(n + 2))]
        )
        assert np.abs(x - other[:n]).max() < 2e-4


def test_the_ball_projection_meets_its_conditions_of_optimality():
    rng = np.random.default_rng(1)
    for _ in range(4 * CASES):
        v, l1, l2, radius = ball_case(rng)
        x, t = project(v, l1, l2, radius)
        if size_of(v, l1, l2) <= radius:
            assert t == 0
            assert np.array_equal(x, v)
        else:
            assert t > 0
            assert size_of(x, l1, l2) == pytest.approx(radius, rel=1e-10)
        assert np.array_equal(x, elastic_net_prox(v, t * l1, t * l2))


def test_the_elastic_net_prox_is_soft_thresholding_and_shrinking():
    rng = np.random.default_rng(2)
    v = some_of(rng, [-0.7, 0.0, 0.7], rng.normal(size=100))
    expected = np.sign(v) * np.maximum(np.abs(v) - 0.7, 0) / 1.4
    assert np.allclose(elastic_net_prox(v, 0.7, 0.4), expected, rtol=1e-15)
    c = some_of(rng, [0.0, 1.0], rng.uniform(size=100))
    expected = np.sign(v) * np.maximum(np.abs(v) - 0.7 * c, 0) / (1 + 0.4 * c)
    assert np.allclose(elastic_net_prox(v, 0.7, 0.4, c), expected, rtol=1e-15)
    with pytest.raises(ValueError, match="c has length 1; expected 100"):
        elastic_net_prox(v, 0.7, 0.4, c[:1])


def test_the_l1_ball_is_an_elastic_net_ball():
    v = np.array([3.0, -1.0, 0.5, 0.0])
    x, t = project(v, 1.0, 0.0, 2.0)
    assert np.allclose(x, [2.0, 0.0, 0.0, 0.0])
    assert t == pytest.approx(1.0)
    even, _ = project(np.ones(1001), 1.0, 0.0, 1.0)
    assert np.allclose(even, 1 / 1001)


@pytest.mark.parametrize("radius", [0.0, 1e-300, 1e-17])
def test_a_ball_of_no_size_is_a_point(radius):
    x, t = project(np.array([3.0, -2.0, 3.0]), 1.0, 0.5, radius)
    assert np.abs(x).max() <= 1e-15
    assert t >= 3.0


@pytest.mark.parametrize(
    ("l1", "l2", "radius", "message"),
    [
        (-1.0, 1.0, 1.0, "l1 must be finite and >= 0; got -1"),
        (1.0, np.nan, 1.0, "l2 must be finite and >= 0; got nan"),
        (0.0, 0.0, 1.0, "l1 or l2 must be > 0"),
        (1.0, 1.0, -1.0, "radius must be finite and >= 0; got -1"),
    ],
)
def test_a_ball_that_makes_no_sense_is_refused(l1, l2, radius, message):
    with pytest.raises(ValueError, match=message):
        project(ONE, l1, l2, radius)


# Entropy on the capped simplex


def entropy_prox(g, weight, x0, cap):
    x = np.empty_like(g)
    return x, _kernels.entropy_prox(g, weight, x0, cap, x)


def entropy_case(rng):
    n = int(rng.integers(1, 9))
    g = some_of(rng, [-1.0, 0.0, 1.0], 2 * rng.normal(size=n))
    x0 = some_of(rng, [1.0, 0.0], rng.uniform(0.1, 2.0, size=n))
    x0[0] += x0.max() == 0
    least = 1 / np.count_nonzero(x0)
    cap = float(rng.choice([least, least + (1 - least) * rng.uniform(), 1.0, np.inf]))
    return g, float(rng.choice([0.1, 1.0, 3.0])), x0, cap


def test_the_entropy_prox_is_the_conic_solvers():
    rng = np.random.default_rng(0)
    for _ in range(CASES):
        g, weight, x0, cap = entropy_case(rng)
        x, _ = entropy_prox(g, weight, x0, cap)
        used = np.flatnonzero(x0)
        n, unit = len(used), np.eye(len(used))
        # -s >= x log(x / x0) is (s, x, x0) in the exponential cone: x exp(s / x) <= x0.
        zero, row = np.zeros((n, n)), np.zeros((3 * n, 2 * n))
        row[0::3], row[1::3] = np.hstack([zero, -unit]), np.hstack([-unit, zero])
        right = np.zeros(3 * n)
        right[2::3] = x0[used]
        total = (np.r_[np.ones(n), np.zeros(n)][None], np.ones(1), clarabel.ZeroConeT(1))
        below = (np.hstack([unit, zero]), np.full(n, min(cap, 1.0)), clarabel.NonnegativeConeT(n))
        cones = [
            (row[3 * i : 3 * i + 3], right[3 * i : 3 * i + 3], clarabel.ExponentialConeT())
            for i in range(n)
        ]
        other = conic(
            np.zeros((2 * n, 2 * n)), np.r_[g[used], -weight * np.ones(n)], [total, below, *cones]
        )
        assert np.abs(x[used] - other[:n]).max() < 1e-4
        assert x.sum() == pytest.approx(1.0, abs=1e-14)


def test_the_entropy_prox_meets_its_conditions_of_optimality():
    rng = np.random.default_rng(1)
    for _ in range(4 * CASES):
        g, weight, x0, cap = entropy_case(rng)
        x, shift = entropy_prox(g, weight, x0, cap)
        assert x.sum() == pytest.approx(1.0, abs=1e-13)
        with np.errstate(divide="ignore"):
            e = np.log(x0) - g / weight
        assert np.allclose(x, np.minimum(cap, np.exp(e + shift)), rtol=1e-12)


@pytest.mark.parametrize("cap", [np.inf, 0.5, 0.4, 0.3, 0.25])
def test_scores_of_any_size_are_safe(cap):
    g = np.array([1e4, -1e4, 0.0, -1e4])
    x, _ = entropy_prox(g, 1.0, None, cap)
    half = min(cap, 0.5)
    assert np.allclose(x, [max(0.0, 1 - 3 * cap), half, min(cap, 1 - 2 * half), half], atol=1e-14)


def test_a_shift_of_all_scores_changes_nothing():
    rng = np.random.default_rng(2)
    g = rng.normal(size=2000)
    x, _ = entropy_prox(g, 0.5, None, 1e-3)
    shifted, _ = entropy_prox(g + 1e4, 0.5, None, 1e-3)
    assert np.count_nonzero(x == 1e-3) > 100
    assert np.allclose(x, shifted, rtol=1e-9)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cap": 0.4}, "the capped simplex is empty: 2 entries of at most 0.4"),
        ({"cap": np.nan}, "the capped simplex is empty"),
        ({"x0": np.array([0.0, 1.0])}, "the capped simplex is empty: 1 entries"),
        ({"x0": np.array([-1.0, 1.0])}, r"x0 must be finite and >= 0; x0\[0\] is -1"),
        ({"weight": 0.0}, "weight must be finite and > 0"),
        ({"g": np.array([0.0, np.inf])}, r"g must be finite; g\[1\] is inf"),
        ({"g": np.empty(0), "x0": None}, "the capped simplex is empty: 0 entries"),
    ],
)
def test_an_entropy_prox_that_makes_no_sense_is_refused(changes, message):
    problem = {"g": ONE, "weight": 1.0, "x0": ONE, "cap": 0.6}
    with pytest.raises(ValueError, match=message):
        entropy_prox(**{**problem, **changes})


@pytest.mark.parametrize("size", [1e14, 1e15, 1e16, 1e100, 1e300])
@pytest.mark.parametrize("cap", [1.0, 0.4])
def test_entropy_of_scores_that_are_large_beside_their_differences(size, cap):
    """The weights sum up to 1, and depend on the differences alone, which are exact here."""
    differences = np.array([0.0, 1.0, 2.0, 4.0]) * (np.spacing(size) if size > 1e16 else 2.0)
    x, y = np.empty(4), np.empty(4)
    _kernels.entropy_prox(size + differences, 1.0, None, cap, x)
    _kernels.entropy_prox(differences, 1.0, None, cap, y)
    assert abs(np.sum(x) - 1) <= 1e-14
    assert np.allclose(x, y, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("size", [1e150, 1e200, 1e300])
@pytest.mark.parametrize("radius", [1e-3, 1e5])
def test_projection_of_a_huge_vector_onto_the_elastic_net_ball(size, radius):
    v = np.array([3.0, -1.0, 0.5, 0.0])
    ball = ElasticNetBall(radius, 0.5)
    x = ball.prox(size * v, 1.0)
    assert ball.net.value(x) == pytest.approx(radius, rel=1e-9)
    assert x[0] > 0 and x[1] <= 0 and x[3] == 0  # rows of the largest |v| keep their signs
