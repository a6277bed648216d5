"""Small problems at the ends of what numbers can say: an honest end, whatever comes in."""

from __future__ import annotations

import decimal
import math

import numpy as np
import pytest
from catalogue import LOSSES, REGULARIZERS, SOLVERS, ids, labels_for

import fenchel
from fenchel import losses, regularizers
from fenchel.data.rows import DenseRows
from fenchel.data.shards import Shard
from fenchel.data.store import Piece, read_store, write_pieces
from fenchel.engines import Serial
from fenchel.losses import Labels
from fenchel.losses.binding import bound
from fenchel.risks.linear import LinearRisk
from fenchel.solvers import FISTA, AGMInf, AGMOne, ProximalGradient
from fenchel.tolerances import EPSILON


def _piece(n):
    X = np.random.default_rng(n).normal(size=(n, 3))
    return Piece(DenseRows(X), np.where(X[:, 0] > 0, 1.0, -1.0), None)


def test_only_empty_shards(tmp_path):
    path = tmp_path / "empty.store"
    write_pieces([_piece(0), _piece(0)], path, lambda: (3, None, None))
    with pytest.raises(fenchel.InvalidData, match=r"empty\.store: X has no rows"):
        read_store(path)
    shards = [Shard(_piece(0).rows, np.zeros(0), None)] * 2
    with pytest.raises(fenchel.InvalidData, match="all shards are empty"):
        LinearRisk(losses.Hinge(), Serial().place(shards))


@pytest.mark.parametrize("loss", ["hinge", "squared_error", "softmax", "ordinal"])
def test_empty_blocks_among_others_change_nothing(tmp_path, loss):
    problems = []
    for name, sizes in [("with", [0, 9, 0, 0, 6, 0]), ("without", [9, 6])]:
        write_pieces(map(_piece, sizes), tmp_path / name, lambda: (3, None, None))
        data = read_store(tmp_path / name)
        problems.append(fenchel.problem(data.X, data.y, loss=loss, strength=0.1))
    for solver in ("auto", "bmrm", "lbfgs", "agm-inf", "hybrid"):
        try:
            found = [fenchel.minimize(each, solver, max_iterations=10) for each in problems]
        except fenchel.Incompatible:
            continue
        assert np.array_equal(found[0].w, found[1].w)


# Problems at all scales.

_SCALES = (0, 3, 12, 60, 100)  # powers of ten, up and down
_SOLVERS = [each for each in SOLVERS if each.name not in ("sublbfgs", "subbfgs", "hybrid", "subgd")]


def _drawn(seed):
    """A small problem at a random scale; None where it is refused."""
    rng = np.random.default_rng(seed)
    loss, reach = LOSSES[rng.integers(len(LOSSES))], int(rng.choice(_SCALES))
    X = rng.normal(size=(int(rng.choice([1, 2, 5, 12])), 4)) * 10.0 ** rng.uniform(-reach, reach)
    if rng.random() < 0.3:
        X *= 10.0 ** rng.uniform(-reach / 4, reach / 4, size=4)
    if rng.random() < 0.2:
        X[:, rng.integers(4)] = 0
    y = labels_for(loss, rng, max(2, len(X)))[: len(X)]
    if loss.labels in (Labels.REAL, Labels.POSITIVE):
        y = y * 10.0 ** rng.uniform(0, min(reach, 12))
    penalty = REGULARIZERS[rng.integers(len(REGULARIZERS))]
    strength = 10.0 ** rng.uniform(-min(reach + 3, 90), min(reach, 90))
    try:
        return fenchel.problem(
            X, y, loss=loss, regularizer=penalty, strength=strength, intercept=rng.random() < 0.3
        )
    except (fenchel.InvalidData, fenchel.Incompatible):
        return None


@pytest.mark.parametrize("first", range(0, 24, 12))
def test_at_any_scale_a_run_ends_in_a_status_and_true_bounds(first):
    """No raw error, no warning, no w of nan that converged, no bound above another's objective."""
    ran = 0
    for seed in range(first, first + 12):
        problem = _drawn(seed)
        lower, upper = -math.inf, math.inf
        for k in np.random.default_rng(seed).permutation(len(_SOLVERS))[:5]:
            if problem is None or _SOLVERS[k].obstacle(problem) is not None:
                continue
            found = fenchel.minimize(problem, _SOLVERS[k], gap=1e-6, max_iterations=40)
            ran += 1
            assert not found.converged or np.isfinite(found.w).all()
            assert not found.lower_bound > found.objective
            lower, upper = max(lower, found.lower_bound), min(upper, found.objective)
        assert not lower > upper * (1 + 1e-12), (seed, lower, upper)
    assert ran > 5


@pytest.mark.parametrize(
    "solver",
    [AGMInf(), AGMOne(), AGMInf(prox="columns"), FISTA(), ProximalGradient()],
    ids=repr,
)
@pytest.mark.parametrize(("scale", "strength"), [(0, 1), (1e-160, 1e-90), (1e-60, 1e60), (1e60, 1)])
def test_accelerated_methods_of_rows_that_hardly_count(solver, scale, strength):
    """Psi is curved more than f, or less, by more than a number can say."""
    X = scale * np.array([[1.0], [-2.0], [0.5]])
    for loss in ("absolute_error", "logistic"):
        problem = fenchel.problem(X, [-1.0, 1.0, -1.0], loss=loss, strength=strength)
        found = fenchel.minimize(problem, solver, gap=1e-3, max_iterations=20)
        assert found.lower_bound <= found.objective
        if scale**2 < strength and scale < 1:
            assert found.converged


def test_a_level_of_smoothing_of_a_loss_with_several_scores_is_that_of_all_rows():
    problem = fenchel.problem(np.eye(3), [0, 1, 2], loss="multiclass_hinge")
    with pytest.raises(fenchel.Incompatible, match="one score a row"):
        fenchel.minimize(problem, AGMOne("homotopy", widths="optimised"))


# Regularisers.


@pytest.mark.parametrize("penalty", REGULARIZERS, ids=ids)
def test_a_penalty_of_nan_is_no_number_that_could_be_the_least(penalty):
    value = penalty.value(np.array([0.1, math.nan, 0.2, 0.1]))
    assert not value < math.inf


@pytest.mark.parametrize("penalty", REGULARIZERS, ids=ids)
def test_a_prox_at_any_scale_is_finite_and_no_worse_than_points_near_it(penalty):
    rng = np.random.default_rng(0)
    for _ in range(40):
        v = rng.normal(size=4) * 10.0 ** rng.uniform(-100, 100)
        step = 10.0 ** rng.uniform(-50, 50)
        with np.errstate(all="ignore"):
            x = penalty.prox(v, step)
            assert np.isfinite(x).all()
            if penalty.has("conjugate"):  # Fenchel-Young
                bound = float(v @ x) - penalty.conjugate(v)
                assert penalty.value(x) >= bound - 1e-9 * abs(bound) - 1e-9 * np.abs(v) @ np.abs(x)


@pytest.mark.parametrize("p", [1.1, 1.5, 1.9])
def test_the_squared_p_norms_prox_meets_its_condition_at_any_scale(p):
    penalty, rng = regularizers.SquaredPNorm(p), np.random.default_rng(1)
    for _ in range(100):
        v = rng.normal(size=5) * 10.0 ** rng.uniform(-140, 140)
        step = 10.0 ** rng.uniform(-20, 20)
        x = penalty.prox(v, step)
        assert np.allclose(x + step * penalty.subgradient(x), v, rtol=0, atol=1e-13 * abs(v).max())


@pytest.mark.parametrize("cap", [None, 0.3, 0.5])
def test_the_entropys_weights_add_up_to_one_and_its_conjugate_is_no_less_than_they_show(cap):
    penalty, rng = regularizers.Entropy(cap), np.random.default_rng(2)
    for _ in range(300):
        u = rng.normal(size=4) * 10.0 ** rng.uniform(-20, rng.choice([3, 17, 300]))
        u = u + rng.choice([0.0, 10.0 ** rng.uniform(0, 18)])
        w = penalty.conjugate_argmax(u)
        assert w.sum() == pytest.approx(1.0, abs=1e-14)
        shown = float(np.asarray(u, np.longdouble) @ w) - penalty.value(w)
        assert abs(penalty.conjugate(u) - shown) <= 1e-13 * (1 + abs(u).max())
        if cap is None:
            assert penalty.conjugate(u) >= shown - 1e-15 * abs(u).max()
    assert penalty.conjugate(np.array([1.0, math.inf, 0.0, 0.0])) == math.inf


def test_the_ball_holds_what_is_projected_onto_it_whatever_its_size():
    rng = np.random.default_rng(3)
    for _ in range(300):
        ball = regularizers.ElasticNetBall(
            10.0 ** rng.uniform(-6, 6), rng.choice([0.01, 0.5, 0.99])
        )
        v = rng.normal(size=4) * 10.0 ** rng.uniform(-250, 300)
        with np.errstate(over="ignore"):
            x, w = ball.prox(v, 1.0), ball.conjugate_argmax(v)
            inside = ball.net.value(v) <= ball.radius
        assert ball.value(x) == ball.value(w) == 0
        assert inside or ball.net.value(x) == pytest.approx(ball.radius, rel=1e-6)


# Losses.


def test_a_score_that_is_no_number_has_no_loss():
    one, nan = np.ones(1), np.full(1, math.nan)
    for loss in LOSSES:
        assert math.isnan(bound(loss, one, None).slopes(nan)[0]), loss
        with np.errstate(invalid="ignore"):
            assert math.isnan(float(loss.value(nan, one)[0])), loss


@pytest.mark.parametrize("loss", [losses.Poisson(), losses.Gamma()], ids=ids)
def test_losses_of_large_labels_do_not_cancel(loss):
    """Against 60 digits: off by what a unit of the score changes, and no more."""
    rng, digits = np.random.default_rng(4), decimal.Context(prec=60)
    for _ in range(300):
        y = 10.0 ** rng.uniform(-12, 15)
        z = math.log(y) + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-9, 1)
        Y, Z = decimal.Decimal(y), decimal.Decimal(z)
        exact = digits.add(digits.exp(Z), -Y * Z + Y * digits.ln(Y) - Y)
        if isinstance(loss, losses.Gamma):
            exact = digits.add(Y * digits.exp(-Z) + Z, -1 - digits.ln(Y))
        at = np.array([z]), np.array([y])
        allowed = 4 * EPSILON * (abs(loss.slope(*at)[0]) * (2 + abs(z)) + float(exact))
        for value in (loss.value(*at)[0], bound(loss, at[1], None).slopes(at[0])[0]):
            assert abs(decimal.Decimal(float(value)) - exact) <= allowed


@pytest.mark.parametrize("loss", [losses.Poisson(), losses.Gamma()], ids=ids)
def test_conjugates_of_large_labels_do_not_cancel(loss):
    rng = np.random.default_rng(5)
    for _ in range(300):
        y, share = 10.0 ** rng.uniform(-12, 15), rng.choice([-1, 1]) * 10.0 ** rng.uniform(-9, -0.1)
        alpha = share * y if isinstance(loss, losses.Poisson) else share
        at = np.array([alpha]), np.array([y])
        z = math.log(y) + (math.log1p(share) if alpha != share else -math.log1p(-share))
        young = loss.value(np.array([z]), at[1])[0] + loss.conjugate(*at)[0] - alpha * z
        assert abs(young) <= 8 * EPSILON * abs(alpha) * (2 + abs(z))


# Chains.


@pytest.mark.parametrize("loss", [losses.CRF(), losses.SoftM3N(temperature=0.004)], ids=ids)
def test_cuts_of_chains_whose_transitions_are_far_apart_hold(loss):
    """Where sums are taken of logarithms, the round-off of log Z must not be in the marginals."""
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(12, 2)), rng.integers(3, size=12)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-9, groups=np.repeat([0, 1, 2], 4))
    n = problem.risk.n_parameters
    points = [problem.risk.at(10.0**k * rng.normal(size=n)) for k in (2, 3, 4, 5, 6) for _ in "ab"]
    least = min(point.value for point in points)
    for point in points:
        for other in points:
            cut = float(point.subgradient @ other.w) + point.constant
            size = np.linalg.norm(point.w) + np.linalg.norm(other.w)
            assert cut <= other.value + 1e-13 * point.sizes[0] * size
    found = fenchel.minimize(problem, "pegasos", max_iterations=30)
    best = fenchel.minimize(problem, "lbfgs", gap=1e-6)
    assert least >= 0
    assert found.lower_bound <= best.objective
