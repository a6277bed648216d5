"""Bounds in exact arithmetic hold in exact arithmetic, and lose next to nothing."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
import rationals
from catalogue import (
    LOSSES,
    VECTOR_LOSSES,
    ids,
    labels_for,
    multivariate_problem_for,
    problem_for,
    targets_for,
    vector_problem_for,
)
from scipy import sparse

import fenchel
from fenchel import InvalidCertificate, losses
from fenchel.regularizers import L1, L2, ElasticNet, SquaredPNorm
from fenchel.verification import elementary, rigorous
from fenchel.verification.exact_products import SlicedMatrix
from fenchel.verification.grid import SignedRows, balanced
from fenchel.verification.intervals import exact, sum_above, sum_below
from fenchel.verification.rows import rows_of
from fenchel.witness import Witness

F = Fraction
SCALES = (1.0, 1e-8, 1e8, 1e-120, 1e90)


def encloses(interval, true):
    ends = zip(np.ravel(interval.lo), np.ravel(interval.hi), true, strict=True)
    return all(
        (lo == -math.inf or F(float(lo)) <= x) and (hi == math.inf or x <= F(float(hi)))
        for lo, hi, x in ends
    )


def test_logarithms_and_exponentials_are_enclosed_closely():
    rng = np.random.default_rng(0)
    x = np.concatenate([np.exp(rng.uniform(-700, 700, 40)), 1 + 1e-9 * rng.normal(size=20)])
    tiny = rng.normal(size=30) * 10.0 ** rng.uniform(-30, -1, 30)
    z = np.concatenate([rng.uniform(-744, 709, 40), tiny])
    for found, true in (
        (elementary.log(exact(x)), [rationals.log(F(v)) for v in x]),
        (elementary.log1p(exact(tiny)), [rationals.log(1 + F(v)) for v in tiny]),
        (elementary.exp(exact(z)), [rationals.exp(F(v)) for v in z]),
    ):
        assert encloses(found, true)
        normal = np.abs(found.lo) > 1e-300
        assert np.all((found.hi - found.lo)[normal] <= 5e-15 * np.abs(found.lo)[normal])


def test_the_two_parts_of_log_2_enclose_it():
    # 2 atanh(1/3) = 2 sum 3^-(2k+1) / (2k+1), less than 3^-100 of which is left out
    two = 2 * sum(F(1, (2 * k + 1) * 3 ** (2 * k + 1)) for k in range(50))
    low, high = (F(elementary.LN2_HIGH) + F(float(end)) for end in elementary.LN2_LOW)
    assert low < two < two + F(1, 3**100) < high


@pytest.mark.parametrize("scale", [0, 3, 40, 300])
@pytest.mark.parametrize("K", [None, 3])
def test_products_are_enclosed(scale, K):
    rng = np.random.default_rng(scale)
    for k in range(6):
        n, d = rng.integers(1, 9, size=2)
        X = rng.normal(size=(n, d)) * 10.0 ** np.clip(rng.uniform(-scale, scale, (n, d)), -310, 300)
        X *= rng.random((n, d)) < 0.7
        matrix = SlicedMatrix(sparse.csr_array(X) if k % 2 else X)
        w, t = (
            rng.normal(size=m if K is None else (m, K)) * 10.0 ** rng.uniform(-scale / 3, scale / 3)
            for m in (d, n)
        )
        for A, v, found in ((X, w, matrix.scores(w)), (X.T, t, matrix.adjoint(t))):
            columns = v.reshape(len(v), -1)
            true = [
                sum(F(float(a)) * F(float(b)) for a, b in zip(row, column, strict=True))
                for row in A
                for column in columns.T
            ]
            assert encloses(found, true)
            if scale <= 3:
                size = np.array([float(abs(x)) for x in true])
                assert np.all(np.ravel(found.hi - found.lo) <= 1e-15 * size + 1e-300)


def test_sums_are_rounded_outwards():
    x = np.random.default_rng(1).normal(size=100) * 10.0 ** np.arange(-50, 50)
    total = sum(rationals.rationals(x))
    assert F(sum_below(x)) <= total <= F(sum_above(x))
    assert sum_above(np.array([1e308, 1e308])) == math.inf


def test_dual_variables_are_balanced_within_their_bounds():
    rng = np.random.default_rng(2)
    for _ in range(50):
        s = 10.0 ** rng.uniform(-8, 0, size=6)
        low, high = np.minimum(0.0, -s * rng.integers(0, 2, 6)), s
        t = balanced(np.clip(rng.normal(size=6) * s, low, high), low, high)
        assert sum(rationals.rationals(t)) == 0 and np.all((low <= t) & (t <= high))


@pytest.mark.parametrize("slack", [False, True])
def test_classes_are_balanced_row_by_row_and_column_by_column(slack):
    rng = np.random.default_rng(3)
    failed = 0
    for _ in range(30):
        s, y = 10.0 ** rng.uniform(-4, 0, size=9), np.arange(9) % 3
        right = np.arange(3) == y[:, np.newaxis]
        costs = np.where(right, 0.0, rng.uniform(0.2, 2.0, size=(9, 3))) if slack else None
        p = rng.dirichlet(np.ones(3) / 2, size=9) * (1 if costs is None else costs)
        t = s[:, np.newaxis] * np.where(right, 0.0, p)
        t -= np.where(right, np.sum(t, axis=1, keepdims=True), 0.0)
        rows = SignedRows(t, right, s, costs)
        failed += not rows.balance()
        assert not np.any(np.sum(rows.k, axis=1))
        assert np.all(rows.k[right] <= 0) and np.all(rows.k[~right] >= 0)
        for i in range(9):
            parts = rationals.rationals(rows.numbers[i])
            scaled = [
                x / (F(float(costs[i, k])) if slack else 1) for k, x in enumerate(parts) if x > 0
            ]
            assert sum(scaled) <= F(float(s[i]))
    assert failed <= (20 if slack else 0)


def small_problem(loss, omega, seed, intercept):
    """A problem of a few rows, extreme in scale, weights or ties."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 8)), int(rng.integers(1, 4))
    X = rng.normal(size=(n, d)) * rng.choice(SCALES)
    if seed % 3 == 0:
        X[1] = X[0]
    if seed % 4 == 1:
        X += 1e4 * np.max(np.abs(X))
    if seed % 5 == 0:
        X.flat[0] = 5e-324
    if isinstance(loss, losses.VectorLoss):
        y = targets_for(loss, rng, n)
    else:
        y = labels_for(loss, rng, n)
    s = 10.0 ** rng.uniform(-8, 0, size=n) if seed % 2 else None
    return fenchel.problem(
        X,
        y,
        loss=loss,
        regularizer=omega,
        strength=float(10.0 ** rng.uniform(-6, 1)),
        intercept=intercept,
        sample_weight=s,
        engine="serial",
    )


def exact_bounds(problem, w, b, witness, monkeypatch):
    """(certificate, D, J): D(t) for the very t that was used, and J(w, b), in rationals."""
    used = {}

    def duals(self, alpha, of=rigorous.ExactRows.duals):
        used["rows"], used["t"] = self, of(self, alpha)
        return used["t"]

    def conjugate(self, a, of=rigorous.ExactPenalty.conjugate_above):
        used["theta"] = of(self, a)[0]
        return of(self, a)

    data = rows_of(problem.risk)
    with monkeypatch.context() as patch:
        patch.setattr(rigorous.ExactRows, "duals", duals)
        patch.setattr(rigorous.ExactPenalty, "conjugate_above", conjugate)
        found = rigorous.proved(w, b, witness, problem, data)
    rows, K = used["rows"], data.K
    X = [rationals.rationals(row) for block in data.blocks() for row in block]
    X = [row for row, counted in zip(X, rows.counted, strict=True) if counted]
    s, strength, theta = rationals.rationals(rows.s), F(problem.strength), F(used["theta"])
    T = [[theta * x for x in rationals.rationals(row)] for row in used["t"].reshape(len(s), -1)]
    if data.has_intercept or data.has_offsets:
        assert all(sum(column) == 0 for column in zip(*T, strict=True))
    W = [rationals.rationals(row) for row in np.reshape(w, (-1, K or 1))]
    conjugates, values = F(0), F(0)
    for x, t, si, yi in zip(X, T, s, rows.y, strict=True):
        offsets = W[data.n_columns] if data.has_offsets else [F(b)] * len(t)
        z = [
            sum(xj * wj[k] for xj, wj in zip(x, W, strict=False)) + offsets[k]
            for k in range(len(t))
        ]
        if K is None:
            value, conjugate = rationals.row_formulas(data.loss)
            each, term = value(z[0], F(float(yi))), conjugate(t[0] / si, F(float(yi)))
            assert term is not None, "outside the domain"
            term *= si
        else:
            each = rationals.multiclass_value(data.loss, z, int(yi))
            term = rationals.multiclass_conjugate(data.loss, t, si, int(yi))
            assert term is not None, "outside the domain"
        conjugates, values = conjugates + term, values + si * each
    S, columns = sum(s), range(data.n_columns)
    a = [
        sum(x[j] * t[k] for x, t in zip(X, T, strict=True)) for j in columns for k in range(K or 1)
    ]
    dual = rationals.penalty_conjugate(problem.regularizer, [-v / (strength * S) for v in a])
    assert dual is not None, "outside the box of L1"
    flat = [v for row in W[: data.n_columns] for v in row]
    J = values / S + strength * rationals.penalty(problem.regularizer, flat)
    return found, -conjugates / S - strength * dual, J


RATIONAL = [loss for loss in LOSSES if type(loss).__name__ in rationals.FORMULAS]
CLASSES = [losses.MulticlassHinge(), losses.MulticlassHinge(cost=0.4), losses.Softmax()]


@pytest.mark.parametrize("loss", [*RATIONAL, *CLASSES], ids=ids)
@pytest.mark.parametrize("intercept", [False, True])
def test_a_bound_holds_in_rational_arithmetic(loss, intercept, monkeypatch):
    far = type(loss).__name__ in (*rationals.WITH_LOGARITHMS, "Softmax")
    for seed in range(4):
        omega = (L2(), L1(), ElasticNet(0.3), L2())[seed]
        problem = small_problem(loss, omega, seed + 7 * intercept, intercept)
        rng = np.random.default_rng(seed)
        data = rows_of(problem.risk)
        w = rng.normal(size=problem.risk.n_parameters) * (1e-100 if far else 1.0)
        alpha = rng.normal(size=len(data.y) * (data.K or 1)) * np.repeat(data.share, data.K or 1)
        b = 0.5 if data.has_intercept else 0.0
        found, D, J = exact_bounds(problem, w, b, Witness(alpha=alpha), monkeypatch)
        digits = F(1, 10**60) if far else 0
        assert F(found.lower_bound) <= max(D, F(0)) + digits * (1 + abs(D))
        if found.upper_bound < math.inf:
            assert F(found.upper_bound) >= J - digits * (1 + J)


@pytest.mark.parametrize("intercept", [False, True])
def test_next_to_nothing_is_given_away(intercept):
    for k, loss in enumerate(LOSSES):
        omega = ("l2", "l1", "elastic_net")[(k + intercept) % 3]
        if isinstance(loss, losses.Tweedie):
            continue
        problem = problem_for(loss, omega, intercept=intercept, weighted=k % 2 == 1)
        result = fenchel.minimize(problem, gap=1e-6, max_iterations=100)
        plain, found = (
            fenchel.verify(result, problem),
            fenchel.verify(result, problem, rigorous=True),
        )
        scale = 1e-13 * abs(plain.upper_bound)
        assert found.lower_bound >= plain.lower_bound - scale, loss
        assert found.upper_bound <= plain.upper_bound + scale, loss
        assert found.lower_bound <= found.upper_bound
        assert found.source == "witness, in exact arithmetic"


@pytest.mark.parametrize("loss", VECTOR_LOSSES, ids=ids)
def test_vector_losses_too(loss):
    problem = vector_problem_for(loss, intercept=True, weighted=True)
    result = fenchel.minimize(problem, gap=1e-4, max_iterations=100)
    if not loss.has_conjugate or getattr(loss, "M", None) is not None:
        with pytest.raises(fenchel.Incompatible, match="rigorous bound"):
            fenchel.verify(result, problem, rigorous=True)
        return
    plain, found = fenchel.verify(result, problem), fenchel.verify(result, problem, rigorous=True)
    assert found.lower_bound == pytest.approx(plain.lower_bound, rel=1e-12)
    assert found.upper_bound == pytest.approx(plain.upper_bound, rel=1e-13)


def test_without_a_witness_it_takes_the_tangent_at_w():
    problem = problem_for(losses.Logistic(), intercept=True)
    result = dataclasses.replace(fenchel.minimize(problem, gap=1e-6), witness=None)
    found = fenchel.verify(result, problem, rigorous=True)
    assert found.source == "tangent at w, in exact arithmetic" and 0 < found.gap < 1e-3


@pytest.mark.parametrize(
    ("problem", "said"),
    [
        (problem_for(losses.Logistic(), L2(weights=[1, 0, 1, 1])), "1 other coordinate"),
        (problem_for(losses.Logistic(), SquaredPNorm()), "the regulariser is SquaredPNorm"),
        (problem_for(losses.Tweedie()), "the loss is Tweedie"),
        (multivariate_problem_for(losses.ROC()), "no mean over rows"),
        (problem_for(losses.NuHinge(0.3)), "no mean over rows"),
    ],
    ids=["free", "regulariser", "loss", "multivariate", "nu"],
)
def test_what_cannot_be_proved_is_refused(problem, said):
    result = fenchel.minimize(problem, gap=1e-3, max_iterations=50)
    with pytest.raises(fenchel.Incompatible, match=f"rigorous bounds are for.*{said}"):
        fenchel.verify(result, problem, rigorous=True)


# Plain verification.


def exact_ordinal(X, y, s, w, strength):
    """J of the mean over pairs of max(0, 1 + z_i - z_j), in rationals."""
    w, s = rationals.rationals(w), rationals.rationals(s)
    z = [sum(a * b for a, b in zip(rationals.rationals(x), w, strict=True)) for x in X]
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if y[i] < y[j]]
    lost = sum(s[i] * s[j] * max(F(0), 1 + z[i] - z[j]) for i, j in pairs)
    return lost / sum(s[i] * s[j] for i, j in pairs) + F(strength) * sum(v * v for v in w) / 2


@pytest.mark.filterwarnings("ignore:column . of X")
def test_a_bound_is_not_above_the_exact_objective():
    """Columns far from 0, weights over eight decades: sums cancel, and lose up to nine digits."""
    rng = np.random.default_rng(3)
    for _ in range(15):
        n, d = int(rng.integers(4, 12)), int(rng.integers(1, 4))
        X = rng.normal(size=(n, d)) + 1.4e4 * rng.normal()
        y = np.r_[0.0, 2.0, rng.integers(0, 3, n - 2)]
        s, strength = 10.0 ** rng.uniform(-8, 0, size=n), float(10.0 ** rng.uniform(-6, 0))
        problem = fenchel.problem(
            X, y, loss="ordinal", strength=strength, sample_weight=s, engine="serial"
        )
        result = fenchel.minimize(problem, gap=1e-12, max_iterations=60)
        found = fenchel.verify(result, problem)
        assert F(found.lower_bound) <= exact_ordinal(X, y, s, result.w, strength)


@pytest.mark.filterwarnings("ignore:column . of X")
@pytest.mark.parametrize(
    ("loss", "omega", "solver"), [("squared_error", "l2", "newton"), ("huber", "l1", "owlqn")]
)
def test_true_results_of_extreme_scales_are_accepted(loss, omega, solver):
    rng = np.random.default_rng(4)
    for _ in range(40):
        n, d = int(rng.integers(4, 20)), int(rng.integers(1, 7))
        X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-8, 8, size=d)
        y = (X @ rng.normal(size=d) / np.abs(X).max() + 0.3 * rng.normal(size=n)) * 10.0 ** (
            rng.uniform(-6, 6)
        )
        problem = fenchel.problem(
            X,
            y,
            loss=loss,
            regularizer=omega,
            strength=float(10.0 ** rng.uniform(-8, 2)),
            engine="serial",
        )
        result = fenchel.minimize(problem, solver, gap=1e-9, max_iterations=30)
        fenchel.verify(result, problem)


def test_another_problem_is_named_as_such():
    problem = problem_for(losses.Logistic())
    result = fenchel.minimize(problem, gap=1e-6)
    stronger = dataclasses.replace(problem, strength=2 * problem.strength)
    with pytest.raises(InvalidCertificate, match="other data, another loss or another strength"):
        fenchel.verify(result, stronger)
    with pytest.raises(fenchel.InvalidData, match=r"shape \(4,\), but X 3 columns"):
        fenchel.verify(result, problem_for(losses.Logistic(), d=3))


def test_of_several_vectors_each_is_balanced_within_its_bounds():
    rng = np.random.default_rng(13)
    lowest, highest = -rng.random((4, 50)), rng.random((4, 50))
    t = rng.uniform(lowest, highest)
    t[0] *= 1e-300  # a grid of the finest
    t[1, :-1], highest[1] = 1e-3, 1e-3  # no row has room for all
    lowest[1, -1], t[1, -1] = -1.0, -0.049
    found = balanced(t, lowest, highest)
    assert [sum(map(Fraction, line), Fraction(0)) for line in found.tolist()] == [0] * 4
    assert np.all((lowest <= found) & (found <= highest))
