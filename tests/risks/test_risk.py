"""Laws of the risk: cuts lie below it, rays agree with points, the intercept is the best one."""

import numpy as np
import pytest
from catalogue import ENGINES, LOSSES, N_FEATURES, data_for, ids, problem_for, sample_weights
from scipy import sparse
from scipy.optimize import minimize_scalar

import fenchel
import fenchel.data.shards
from fenchel import losses
from fenchel.engines import Serial, Threads
from fenchel.losses import Labels

EVERY = pytest.mark.parametrize("loss", LOSSES, ids=ids)
WITH_INTERCEPT = pytest.mark.parametrize("loss", [x for x in LOSSES if x.intercept], ids=ids)
REGRESSION = [x for x in LOSSES if x.labels is Labels.REAL]
INTERCEPT = pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])


def places(n, seed=3, scale=0.7):
    return scale * np.random.default_rng(seed).normal(size=(n, N_FEATURES))


def mean_loss(loss, w, b=0.0, *, weighted=False, **data):
    """(1/S) sum_i s_i l(<x_i, w> + b, y_i) with NumPy alone."""
    X, y = data_for(loss, **data)
    s = sample_weights(len(y)) if weighted else np.ones(len(y))
    return float(s @ loss.value(X @ w + b, y)) / np.sum(s)


def several_shards(monkeypatch, numbers=40):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", numbers)


@WEIGHTED
@EVERY
def test_is_the_weighted_mean_of_the_losses(loss, weighted):
    risk = problem_for(loss, weighted=weighted).risk
    for w in places(5):
        assert risk.at(w).value == pytest.approx(mean_loss(loss, w, weighted=weighted), rel=1e-13)
        assert risk.at(w).intercept == 0.0


@WEIGHTED
@INTERCEPT
@EVERY
def test_the_cut_touches_at_w_and_lies_below_everywhere(loss, intercept, weighted):
    risk = problem_for(loss, intercept=intercept, weighted=weighted).risk
    others = [risk.at(v) for v in [*places(20, seed=4), *places(5, seed=5, scale=3.0)]]
    for w in [np.zeros(N_FEATURES), *places(4)]:
        point = risk.at(w)
        a, b = point.subgradient, point.constant
        assert a @ w + b == pytest.approx(point.value, rel=1e-10)
        assert all(v.value >= a @ v.w + b - 1e-11 * (1 + abs(v.value)) for v in others)


@WEIGHTED
@INTERCEPT
@pytest.mark.parametrize("loss", [x for x in LOSSES if x.differentiable], ids=ids)
def test_the_subgradient_of_a_smooth_risk_is_its_gradient(loss, intercept, weighted):
    risk, h = problem_for(loss, intercept=intercept, weighted=weighted).risk, 1e-5
    assert risk.facts.differentiable
    for w in places(3):
        steps = h * np.eye(N_FEATURES)
        numerical = [(risk.at(w + e).value - risk.at(w - e).value) / (2 * h) for e in steps]
        assert np.allclose(risk.at(w).subgradient, numerical, rtol=1e-4, atol=1e-5)


@WEIGHTED
@INTERCEPT
@EVERY
def test_a_ray_agrees_with_points(loss, intercept, weighted):
    risk = problem_for(loss, intercept=intercept, weighted=weighted).risk
    w, p = places(2)
    ray = risk.at(w).towards(p)
    for eta in (0.0, 0.3, 1.0, -2.0):
        there, direct = ray.at(eta), risk.at(w + eta * p)
        value, slope = ray.along(eta)
        assert np.allclose(there.w, w + eta * p, rtol=1e-15)
        assert there.value == value == pytest.approx(direct.value, rel=1e-12)
        assert slope == pytest.approx(there.subgradient @ p, rel=1e-9, abs=1e-12)
        values = np.array([risk.at(w + t * p).value for t in np.linspace(-3, 3, 13)])
        tangent = value + slope * (np.linspace(-3, 3, 13) - eta)
        assert np.all(values >= tangent - 1e-10 * (1 + np.abs(tangent)))


@INTERCEPT
def test_passes_are_counted_as_documented(intercept):
    risk = problem_for(losses.Logistic(), intercept=intercept).risk
    w, p = places(2)
    point = risk.at(w)
    assert (risk.passes, point.value > 0, point.subgradient.shape) == (2, True, (N_FEATURES,))
    assert risk.passes == 2
    ray = point.towards(p)
    assert risk.passes == 3
    for eta in (0.1, 0.5, 1.0):
        ray.along(eta)
    there = ray.at(0.5)
    assert (there.value > 0, risk.passes) == (True, 3)
    for _ in range(2):
        assert there.subgradient.shape == (N_FEATURES,)
    assert risk.passes == 4


@WEIGHTED
@WITH_INTERCEPT
def test_the_intercept_is_the_best_one(loss, weighted):
    risk = problem_for(loss, intercept=True, weighted=weighted).risk
    for w in [np.zeros(N_FEATURES), *places(4)]:
        point = risk.at(w)
        best = minimize_scalar(
            lambda b, w=w: mean_loss(loss, w, b, weighted=weighted),
            bounds=(point.intercept - 20, point.intercept + 20),
            method="bounded",
            options={"xatol": 1e-12, "maxiter": 500},
        )
        attained = mean_loss(loss, w, point.intercept, weighted=weighted)
        assert point.value == pytest.approx(attained, rel=1e-12)
        assert point.value <= best.fun + 1e-12 * abs(best.fun)
        assert point.value == pytest.approx(best.fun, rel=1e-7, abs=1e-9)


@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_an_intercept_alone_is_the_quantile_of_y(quantile):
    y = np.random.default_rng(0).normal(size=101)
    problem = fenchel.problem(
        np.zeros((101, 1)), y, loss="quantile", quantile=quantile, intercept=True
    )
    nearest = np.quantile(y, quantile, method="inverted_cdf")
    assert problem.risk.at(np.zeros(1)).intercept == pytest.approx(nearest, abs=1e-9)


@pytest.mark.parametrize("loss", ["quantile", "absolute_error", "epsilon_insensitive"])
def test_the_cut_is_exact_where_both_ends_of_the_bracket_are_kinks(loss):
    """Two values of y: the best offset is one of them, and the tangents at both meet there."""
    X, y = np.eye(8), np.repeat([0.0, 1.0], [5, 3])
    point = fenchel.problem(X, y, loss=loss, intercept=True).risk.at(np.zeros(8))
    assert point.constant + point.subgradient @ point.w == pytest.approx(point.value, rel=1e-12)
    assert abs(point.subgradient.sum()) <= 1e-12


@pytest.mark.parametrize("shift", [-3.0, 1e3, 1e6, 1e9])
@pytest.mark.parametrize("loss", REGRESSION, ids=ids)
def test_a_shift_of_y_shifts_only_the_intercept(loss, shift):
    X, y = data_for(loss)
    here, there = (
        fenchel.problem(X, labels, loss=loss, intercept=True).risk for labels in (y, y + shift)
    )
    for w in [np.zeros(N_FEATURES), *places(3)]:
        near, far = here.at(w), there.at(w)
        noise = 1e-14 * abs(shift)
        assert far.value == pytest.approx(near.value, rel=1e-10, abs=10 * noise)
        moved = mean_loss(loss, w, far.intercept - shift)
        assert moved == pytest.approx(near.value, rel=1e-10, abs=10 * noise)


@pytest.mark.parametrize("loss", REGRESSION, ids=ids)
def test_the_search_for_an_intercept_far_beyond_the_spread_of_y_ends(loss):
    """At 1e12 neighbouring floating-point numbers are wider apart than the search's resolution."""
    X, y = data_for(loss)
    patient = counting(loss, limit=5000)
    risk = fenchel.problem(X, y + 1e12, loss=patient, intercept=True).risk
    for w in places(8):
        assert risk.at(w).intercept == pytest.approx(1e12, rel=1e-9)


def counting(loss, limit):
    """The loss, failing the test when its value is asked for more than `limit` times."""

    class Counting(type(loss)):
        calls = 0

        def value(self, z, y):
            Counting.calls += 1
            assert Counting.calls <= limit, "the search does not end"
            return super().value(z, y)

    return Counting(**loss.settings())


@INTERCEPT
@EVERY
def test_a_row_repeated_k_times_is_a_row_of_weight_k(loss, intercept):
    X, y = data_for(loss)
    k = np.random.default_rng(5).integers(0, 4, size=len(y))
    k[:2] = 1, 2
    options = {"loss": loss, "intercept": intercept and loss.intercept, "engine": "serial"}
    copies = fenchel.problem(np.repeat(X, k, axis=0), np.repeat(y, k), **options).risk
    weights = fenchel.problem(X, y, sample_weight=k, **options).risk
    for w in places(4):
        assert copies.at(w).value == pytest.approx(weights.at(w).value, rel=1e-12)
        close = {"rtol": 1e-9, "atol": 1e-11}
        assert np.allclose(copies.at(w).subgradient, weights.at(w).subgradient, **close)


@INTERCEPT
@EVERY
def test_the_order_of_rows_does_not_matter(loss, intercept):
    X, y = data_for(loss)
    order = np.random.default_rng(5).permutation(len(y))
    options = {"loss": loss, "intercept": intercept and loss.intercept, "engine": "serial"}
    here, there = (fenchel.problem(X[i], y[i], **options).risk for i in (slice(None), order))
    for w in places(4):
        assert here.at(w).value == pytest.approx(there.at(w).value, rel=1e-12)
        assert here.at(w).intercept == pytest.approx(there.at(w).intercept, rel=1e-6, abs=1e-6)


@INTERCEPT
@EVERY
def test_scaling_all_weights_changes_nothing(loss, intercept):
    X, y = data_for(loss)
    s, intercept = sample_weights(len(y)), intercept and loss.intercept
    here, there = (
        fenchel.problem(X, y, loss=loss, intercept=intercept, sample_weight=weights).risk
        for weights in (s, 1000 * s)
    )
    for w in places(3):
        assert here.at(w).value == pytest.approx(there.at(w).value, rel=1e-12)


@INTERCEPT
@EVERY
def test_storage_does_not_matter(loss, intercept):
    X, y = data_for(loss)
    X[np.abs(X) < 0.5] = 0.0
    forms = [X, np.asfortranarray(X), sparse.csr_array(X), sparse.csc_array(X), sparse.coo_array(X)]
    options = {"loss": loss, "intercept": intercept and loss.intercept}
    risks = [fenchel.problem(form, y, **options).risk for form in forms]
    for w in places(3):
        points = [risk.at(w) for risk in risks]
        for point in points[1:]:
            assert point.value == pytest.approx(points[0].value, rel=1e-13)
            assert np.allclose(point.subgradient, points[0].subgradient, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
@EVERY
def test_float32_data_are_summed_in_float64(loss, weighted):
    X, y = data_for(loss)
    X = X.astype(np.float32)
    s = sample_weights(len(y)) if weighted else None
    narrow, wide = (
        fenchel.problem(form, y, loss=loss, sample_weight=s).risk for form in (X, X.astype(float))
    )
    for w in places(3):
        assert narrow.at(w).value == pytest.approx(wide.at(w).value, rel=1e-13)
        assert np.allclose(narrow.at(w).subgradient, wide.at(w).subgradient, rtol=1e-12, atol=1e-15)


@WEIGHTED
@INTERCEPT
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Logistic(), losses.Huber()], ids=ids)
def test_the_number_of_shards_changes_nothing_but_round_off(loss, intercept, weighted, monkeypatch):
    whole = problem_for(loss, intercept=intercept, weighted=weighted, n=200).risk
    several_shards(monkeypatch)
    parts = problem_for(loss, intercept=intercept, weighted=weighted, n=200).risk
    assert whole.engine.n_shards == 1 and parts.engine.n_shards > 4
    for w in places(3):
        assert whole.at(w).value == pytest.approx(parts.at(w).value, rel=1e-12)
        close = {"rtol": 1e-9, "atol": 1e-11}
        assert np.allclose(whole.at(w).subgradient, parts.at(w).subgradient, **close)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("solver", ["bmrm", "lbfgs"])
@pytest.mark.parametrize("engine", ENGINES[1:], ids=ids)
def test_every_engine_gives_the_bits_of_the_serial_one(engine, solver, form, monkeypatch):
    several_shards(monkeypatch)
    loss = losses.Hinge() if solver == "bmrm" else losses.Logistic()
    X, y = data_for(loss, n=200)
    runs = []
    for where in (Serial(), engine):
        problem = fenchel.problem(form(X), y, loss=loss, intercept=True, engine=where)
        assert problem.risk.engine.n_shards > 10
        runs.append(fenchel.minimize(problem, solver, gap=1e-3))
    serial, other = runs
    assert np.array_equal(serial.w, other.w) and serial.intercept == other.intercept
    assert [r[:5] for r in serial.history] == [r[:5] for r in other.history]


@pytest.mark.parametrize("engine", ENGINES, ids=ids)
def test_gather_undoes_scatter(engine, monkeypatch):
    several_shards(monkeypatch)
    placed = problem_for(losses.Hinge(), n=100, engine=engine).risk.engine
    numbers = np.arange(100.0)
    pieces = placed.scatter(numbers)
    assert len(pieces) == placed.n_shards > 5
    assert [len(piece) for piece in pieces] == [shard.rows.n_rows for shard in placed.shards]
    assert np.array_equal(placed.gather(pieces), numbers)


def test_an_engine_that_holds_shards_is_not_given_to_another_problem():
    used = problem_for(losses.Hinge(), engine=Threads(2)).risk.engine
    with pytest.raises(fenchel.Incompatible, match="already holds"):
        problem_for(losses.Hinge(), engine=used)


@INTERCEPT
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("wrong", [-1, 1])
def test_a_w_of_the_wrong_length_is_refused(form, intercept, wrong):
    X, y = data_for(losses.Hinge())
    risk = fenchel.problem(form(X), y, intercept=intercept).risk
    with pytest.raises(ValueError, match="length"):
        risk.at(np.zeros(N_FEATURES + wrong))
    with pytest.raises(ValueError, match="length"):
        risk.at(np.zeros(N_FEATURES)).towards(np.zeros(N_FEATURES + wrong))


def test_the_callers_arrays_are_not_modified():
    X, y = data_for(losses.Logistic())
    s = sample_weights(len(y))
    mine = X.copy(), y.copy(), s.copy()
    for array in (X, y, s):
        array.setflags(write=False)
    problem = fenchel.problem(X, y, loss="logistic", sample_weight=s, intercept=True)
    fenchel.minimize(problem, max_iterations=5)
    assert all(np.array_equal(a, b) for a, b in zip(mine, (X, y, s), strict=True))
    assert np.shares_memory(problem.risk.engine.shards[0].rows.values, X)


@pytest.mark.parametrize("weighted", [False, True])
def test_evidence_in_bounded_memory_keeps_the_slopes_chosen_at_kinks(weighted):
    """At w = 0 every row of the perceptron is on its kink."""
    problem = problem_for(losses.Perceptron(), weighted=weighted)
    point = problem.risk.at(np.zeros(N_FEATURES)).steepest(np.ones(N_FEATURES))
    assert np.any(point.duals != problem.risk.at(np.zeros(N_FEATURES)).duals)
    assert np.allclose(problem.risk.compressed(point.witness).alpha, point.duals)
