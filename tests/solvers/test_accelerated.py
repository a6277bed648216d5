"""Accelerated methods: smoothing, the rates of [Zhang11]'s theorems, certificates, bad input."""

import itertools

import numpy as np
import pytest
from catalogue import LOSSES, data_for, ids, problem_for
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import _kernels, losses
from fenchel.engines import PerShard
from fenchel.regularizers import L1, L2, ElasticNet, Entropy
from fenchel.risks.base import Problem
from fenchel.risks.views.dual_form import DualForm
from fenchel.risks.views.forms import PrimalForm
from fenchel.risks.views.images import packed
from fenchel.risks.views.smoothing import SmoothedRisk, is_smoothable, optimised_widths, roughness
from fenchel.solvers import FISTA, AGMInf, AGMOne, ExcessiveGap
from fenchel.solvers._accelerated import GAMMA_U
from fenchel.solvers._dual_hull import DualHull

SMOOTHABLE = [loss for loss in LOSSES if is_smoothable(problem_for(loss).risk)]
KINKED = [losses.Hinge(), losses.AbsoluteError(), losses.Quantile(0.8)]


def smoothed(loss, mu, **options):
    problem = problem_for(loss, weighted=True, **options)
    return problem.risk, SmoothedRisk(problem.risk, mu)


# ---- Smoothing ---------------------------------------------------------------------------------


@pytest.mark.parametrize("mu", [1e-3, 0.3, 5.0])
@pytest.mark.parametrize("loss", SMOOTHABLE, ids=ids)
def test_a_smoothed_risk_lies_below_the_risk_and_not_far(loss, mu):
    risk, smooth = smoothed(loss, mu)
    rng = np.random.default_rng(0)
    for w in rng.normal(size=(5, risk.n_parameters)):
        value = smooth.at(risk.lazy_at(w).z).value
        assert value <= risk.at(w).value * (1 + 1e-14)
        assert value >= risk.at(w).value - mu * roughness(risk) - 1e-13


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("loss", SMOOTHABLE, ids=ids)
def test_slopes_of_a_smoothed_risk_attain_its_dual(loss, intercept):
    """Fenchel-Young: R_mu(z) = <u, z> - R*(u) - mu d2(u), so that u is also the gradient."""
    risk, smooth = smoothed(loss, 0.2, intercept=intercept)
    w = np.random.default_rng(1).normal(size=risk.n_parameters)
    z = risk.lazy_at(w).z
    at = smooth.at(z)
    s, u, scores = (np.concatenate(parts) for parts in (risk.engine.map(_weights), at.u, z))
    _, y = data_for(loss)
    s = s / np.sum(s)
    dual = s @ (u * scores - risk.loss.conjugate(u, y)) - 0.2 * smooth.d2(at.u)
    assert at.value == pytest.approx(dual, rel=1e-9)
    if risk.facts.has_intercept:
        assert abs(s @ u) <= 1e-12


def _weights(shard):
    return np.ones(shard.rows.n_rows) if shard.s is None else shard.s


def test_rows_of_their_own_widths_are_smoothed_by_them():
    problem = problem_for(losses.Hinge())
    risk, width = problem.risk, 0.3
    z = risk.lazy_at(np.ones(risk.n_parameters)).z
    widths = PerShard(np.full(len(part), width) for part in z)
    wide, narrow = SmoothedRisk(risk, 2.0, widths).at(z), SmoothedRisk(risk, 2.0 * width).at(z)
    assert wide.value == narrow.value
    assert all(np.array_equal(a, b) for a, b in zip(wide.u, narrow.u, strict=True))


def test_optimised_widths_lower_the_curvature():
    """[Zhang11] 5.6: sum b_i^2 times lambda_max(sum a_i a_i' / b_i^2) is what it minimises."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(300, 5)) * rng.lognormal(sigma=1.5, size=(300, 1)) + 1.0
    risk = fenchel.problem(X, np.sign(X[:, 0]), loss="hinge", strength=1.0).risk
    b2 = np.concatenate(optimised_widths(risk))
    assert np.mean(b2) == pytest.approx(1.0, rel=0.1)
    plain = np.linalg.eigvalsh(X.T @ X)[-1]
    assert np.mean(b2) * np.linalg.eigvalsh(X.T @ (X / b2[:, np.newaxis]))[-1] < 0.9 * plain


def test_extreme_scores_do_not_overflow():
    for loss in (losses.Hinge(), losses.Quantile(0.1)):
        risk, smooth = smoothed(loss, 1e-8)
        z = PerShard(np.sign(part) * 1e300 for part in risk.lazy_at(np.ones(risk.n_parameters)).z)
        at = smooth.at(z)
        assert np.isfinite(at.value) and all(np.isfinite(u).all() for u in at.u)


@pytest.mark.parametrize("loss", KINKED, ids=ids)
def test_the_duals_ground_problem_is_a_quadratic_over_a_box_and_a_hyperplane(loss):
    """[Zhang11] eq. 64, by its algorithm 8."""
    problem = problem_for(loss, intercept=True)
    dual = DualForm(problem)
    rng, (_, y) = np.random.default_rng(4), data_for(loss)
    for c, A in ((1.0, 1.0), (3.0, 0.1), (0.01, 5.0)):
        linear = rng.normal(size=len(y))
        found = np.concatenate(dual.ground(dual.unpacked(linear), c, A).parts)
        low, high = loss.domain(y)
        slope = (loss.conjugate(high, y) - loss.conjugate(low, y)) / (high - low)  # it is linear
        out = np.empty_like(y)
        target = -(linear + A * slope) / c
        low, high = np.broadcast_to(low, y.shape).copy(), np.broadcast_to(high, y.shape).copy()
        _kernels.box_plane_qp(1.0, target, low, high, np.ones_like(y), 0.0, out)
        assert np.allclose(found, out, atol=1e-9)


# ---- Rates -------------------------------------------------------------------------------------


class Quadratic:
    """f(x) = x'Hx/2 + <b, x>, Psi(x) = lambda_2 |x|^2 / 2, with what a Composite must have."""

    sigma = 1.0

    def __init__(self, H, b, lambda_2):
        self.H, self.b, self.lambda_2 = H, b, lambda_2
        eigenvalues = np.linalg.eigvalsh(H)
        self.lambda_1, self.L = max(0.0, float(eigenvalues[0])), float(eigenvalues[-1])
        self.tangents = self.places = 0

    def imaged(self, x):
        self.places += 1
        return Plain(x)

    def f(self, x):
        return float(x @ self.H @ x / 2 + self.b @ x)

    def value(self, at):
        return self.f(at.x) + self.Psi(at.x)

    def foresee(self, at):
        pass

    def terms(self, x, s):
        return self.Psi(x), self.d(x), float(s @ x)

    def along(self, at, x):
        return float(at.gradient @ x.x)

    def d_terms(self, x):
        return float(x @ x), self.d(x)

    def tangent(self, at):
        self.tangents += 1
        gradient = self.H @ at.x + self.b
        return Tangent(self.f(at.x), gradient, Plain(gradient))

    def Psi(self, x):
        return self.lambda_2 * float(x @ x) / 2

    def ground(self, s, c, A):
        return -s / (A * self.lambda_2 + c)

    def d(self, x):
        return float(x @ x) / 2

    def d_gradient(self, x):
        return x

    def minimum(self):
        x = np.linalg.solve(self.H + self.lambda_2 * np.eye(len(self.b)), -self.b)
        return x, self.value(Plain(x))


class Plain:
    def __init__(self, x):
        self.x = x

    def __add__(self, other):
        return Plain(self.x + other.x)

    def __rmul__(self, scale):
        return Plain(scale * self.x)


class Tangent:
    def __init__(self, value, gradient, alpha):
        self.value, self.gradient, self.alpha = value, gradient, alpha


def quadratic(lambda_1, lambda_2, d=30):
    rng = np.random.default_rng(5)
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return Quadratic(
        (Q * np.geomspace(max(lambda_1, 1e-9), 10.0, d)) @ Q.T, Q[:, 0] + Q[:, -1], lambda_2
    )


@pytest.mark.parametrize(("lambda_1", "lambda_2"), [(0, 0.01), (0.05, 0), (0.03, 0.02), (0, 1.0)])
@pytest.mark.parametrize("method", [AGMInf(), AGMOne()], ids=ids)
def test_the_rates_of_theorems_6_and_14(method, lambda_1, lambda_2):
    """With L at most GAMMA_U times the true one, as the search ends there."""
    J = quadratic(lambda_1, lambda_2)
    best, lowest = J.minimum()
    start, L = Plain(np.zeros(30)), GAMMA_U * J.L
    distance, lambda_ = J.d(best), J.lambda_1 + J.lambda_2
    for k, it in enumerate(itertools.islice(method.iterates(J, start, 1e-3), 300), 1):
        if isinstance(method, AGMOne):  # which yields x_0 first
            rate = min((1 - np.sqrt(lambda_ / (L + lambda_2))) ** (k - 1), 4 / (k + 1) ** 2)
        else:
            rate = min(4 / (k + 1) ** 2, (1 + np.sqrt(lambda_ / (4 * L))) ** (2 - 2 * k))
        assert J.value(it.x) - lowest <= L * distance * rate + 1e-12
        assert it.L <= L
    assert J.value(it.x) - lowest <= 1e-3 * J.value(start) - 1e-3 * lowest


def growth(J, n):
    """(A_k of [Zhang11] algorithm 2, the L_i so far) for k = 1, ..., n."""
    curvatures = []
    for it in itertools.islice(AGMInf().iterates(J, Plain(np.zeros(30)), 1e-3), n):
        A, *_, one = it.memory()["psi"]  # all weights are multiples of that of Delta(., x_0)
        curvatures.append(it.L)
        yield A / one, np.array(curvatures)


@pytest.mark.parametrize(("lambda_1", "lambda_2"), [(0, 0), (0, 1.0), (0.05, 0), (0.03, 0.02)])
def test_lemma_8_with_four_times_the_printed_curvatures(lambda_1, lambda_2):
    """The product as printed, with L_i in place of 4 L_i, outgrows A_k if lambda is not small."""
    J = quadratic(lambda_1, lambda_2)
    lambda_, printed = J.lambda_1 + J.lambda_2, []
    for A, L in growth(J, 40):
        product = [np.prod(1 + np.sqrt(lambda_ / (f * L[1:]))) ** 2 for f in (4, 1)]
        first = 1 / (L[0] - J.lambda_1)
        root = np.sqrt(4 / L[0]) + np.sum(np.sqrt(1 / L[1:]))
        assert A >= (1 - 1e-9) * max(first * product[0], root**2 / 4)
        printed.append(A >= (1 - 1e-9) * first * product[1])
    assert all(printed) == (lambda_ < 1)


@pytest.mark.parametrize(("lambda_1", "lambda_2"), [(0, 0), (0, 0.01), (0.05, 0), (0.03, 0.02)])
def test_lemma_16(lambda_1, lambda_2):
    J = quadratic(lambda_1, lambda_2)
    lambda_, left, L = J.lambda_1 + J.lambda_2, 1.0, []
    for it in itertools.islice(AGMOne().iterates(J, Plain(np.zeros(30)), 1e-3), 60):
        L.append(it.L + J.lambda_2)
        if len(L) == 1:
            continue
        left *= 1 - it.share
        root = 2 / np.sqrt(L[0]) + np.sum(1 / np.sqrt(L[1:]))
        most = min(np.prod(1 - np.sqrt(lambda_ / np.array(L[1:]))), 4 / L[0] / root**2)
        assert left <= most * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.1, 0.02])
def test_theorem_19(epsilon):
    """With mu = epsilon / D, so many steps on J_mu are 2 epsilon from the least J."""
    problem = problem_for(losses.Hinge(), strength=0.05)
    X, _ = data_for(losses.Hinge())
    best = fenchel.minimize(problem, "bmrm", gap=1e-9)
    D, steep = roughness(problem.risk), GAMMA_U * np.linalg.eigvalsh(X.T @ X / len(X))[-1]
    size = 4 * D * steep
    distance, rate = best.w @ best.w / 2, np.sqrt(0.05 * epsilon / size)
    fast = 1 + 0.5 * np.log(size * distance / epsilon**2) / np.log1p(rate)
    k = int(np.ceil(min(np.sqrt(size * distance) / epsilon, fast)))
    J = PrimalForm(problem, epsilon / D)
    steps = AGMInf().iterates(J, J.start(np.zeros(problem.risk.n_parameters)), 0.05 * J.L)
    it = next(itertools.islice(steps, k - 1, None))
    assert problem.objective(J.point(it.x, it.alpha)) - best.objective <= 2 * epsilon


@pytest.mark.parametrize("epsilon", [0.1, 0.01])
def test_theorem_20(epsilon):
    """The same in the dual, where the gap itself is bounded."""
    problem = problem_for(losses.Hinge(), strength=0.05)
    X, _ = data_for(losses.Hinge())
    mu = epsilon / roughness(problem.risk)
    L = GAMMA_U * np.linalg.eigvalsh(X.T @ X / len(X))[-1] / problem.strength
    widest = 0.5  # of (u - u_0)^2 / 2 on [-1, 0] or [0, 1]
    k = int(np.ceil(np.sqrt(4 * widest * L / epsilon) - 1))
    J = DualForm(problem, mu)
    steps = AGMInf("dual").iterates(J, J.start(np.zeros(problem.risk.n_parameters)), 0.05 * J.L)
    it = next(itertools.islice(steps, k - 1, None))
    cut = J.cut(J.dual(it.x, it.alpha))
    gap = problem.objective(J.point(it.x, it.alpha)) - problem.bound(cut.a, cut.b, cut.sizes)
    assert gap <= 2 * epsilon


@pytest.mark.parametrize("method", [AGMInf(), AGMOne()], ids=ids)
def test_one_gradient_and_one_ground_problem_for_each_curvature_tried(method):
    J = quadratic(0.0, 0.1)
    for _ in itertools.islice(method.iterates(J, Plain(np.zeros(30)), J.L), 50):
        pass
    assert abs(J.tangents - J.places) <= 2
    assert J.tangents <= 1.5 * 50


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("method", [AGMInf("dual"), AGMOne("dual")], ids=ids)
def test_the_gap_of_theorems_10_and_18(method, intercept):
    """Of the dual, whose domain is bounded: at most max Delta / A_k, with the true L."""
    problem = problem_for(losses.Hinge(), strength=1e-2, intercept=intercept)
    X, _ = data_for(losses.Hinge())
    L = GAMMA_U * np.linalg.eigvalsh(X.T @ X / len(X))[-1] / problem.strength
    widest = 0.5  # of (u - u_0)^2 / 2 on [-1, 0] or [0, 1]
    steps = method.iterate(problem, np.zeros(problem.risk.n_parameters))
    next(steps)
    for k, step in enumerate(itertools.islice(steps, 200), 1):
        gap = step.objective - step.lower_bound
        if gap == np.inf:  # not looked at
            continue
        assert -1e-12 <= gap <= 4 * L * widest / k**2 + 1e-12


def test_strong_convexity_makes_the_gap_fall_linearly():
    problem = problem_for(losses.Logistic(), strength=0.1)
    gaps = []
    for method in (AGMInf(), AGMOne(), AGMInf("dual"), AGMOne("dual")):
        result = fenchel.minimize(problem, method, gap=1e-11, max_iterations=1000)
        assert result.converged, result
        gaps.append(result.iterations)
    assert max(gaps) < 500  # of order log(1/gap), where 1/k^2 would need 10^5


def test_excessive_gap_is_kept():
    """J_mu(x) <= D(u), and mu falls like 1/k^2."""
    problem = problem_for(losses.Hinge(), strength=1e-2, intercept=True)
    steps = ExcessiveGap().iterate(problem, np.zeros(problem.risk.n_parameters))
    next(steps)
    levels = []
    for step in itertools.islice(steps, 60):
        mu = float(step.state()["mu"])
        levels.append(mu)
        if step.lower_bound == -np.inf:  # not looked at
            continue
        J_mu = PrimalForm(problem, mu)
        assert J_mu.value(J_mu.imaged(step.point.w)) <= step.lower_bound * (1 + 1e-9)
        assert step.objective - step.lower_bound <= mu * roughness(problem.risk) * (1 + 1e-9)
    assert levels[-1] <= 30 * levels[0] / 60**2


# ---- Runs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["primal", "dual", "homotopy"])
@pytest.mark.parametrize("kind", [AGMInf, AGMOne])
@pytest.mark.parametrize("regularizer", [L2(), ElasticNet(0.3), L1(), Entropy(cap=0.5)], ids=ids)
def test_small_gaps_are_reached(kind, form, regularizer):
    problem = problem_for(losses.Hinge(), regularizer, intercept=True, strength=0.1)
    solver = kind(form)
    if solver.obstacle(problem):
        assert form == "dual" and isinstance(regularizer, L1)
        return
    truth = fenchel.minimize(problem, "bmrm", gap=1e-8)
    result = fenchel.minimize(problem, solver, gap=1e-4, max_iterations=20_000)
    assert result.converged
    assert result.lower_bound <= truth.objective and truth.lower_bound <= result.objective
    assert fenchel.verify(result, problem).gap <= 1e-4 * (1 + 1e-6)


@pytest.mark.parametrize("form", ["primal", "dual", "homotopy"])
@pytest.mark.parametrize("regularizer", [L2(), ElasticNet(0.3), L1(), Entropy(cap=0.5)], ids=ids)
def test_the_best_mean_of_the_dual_points_proves_no_less_than_004s(form, regularizer):
    problem = problem_for(losses.Hinge(), regularizer, strength=0.1, intercept=True)
    solver, hull = AGMOne(form), DualHull(problem)
    if solver.obstacle(problem):
        assert form == "dual" and isinstance(regularizer, L1)
        return
    least = fenchel.minimize(problem, "bmrm", gap=1e-9).objective
    J = (DualForm if form == "dual" else PrimalForm)(problem, 1e-3)
    steps = solver.iterates(J, J.start(problem.regularizer.start(problem.risk.n_parameters)), 1.0)
    for it in itertools.islice(steps, 150):
        hull.add(J.dual(*it.newest), it.share)
    bounds = [
        problem.bound(cut.a, cut.b, cut.sizes)
        for cut in (J.cut(J.dual(it.x, it.alpha)), J.cut(hull.best(J)))
    ]
    assert bounds[0] - 1e-12 <= bounds[1] <= least


def test_stretches_hold_004s_mean():
    """Whatever was joined; and no point is gone after a new start with a share of 1."""
    problem = problem_for(losses.Hinge(), L2())
    J = PrimalForm(Problem(problem.risk, L2(), 0.1), 0.1)
    hull = DualHull(problem)
    rng = np.random.default_rng(7)
    mean = J.unpacked_dual(np.zeros(problem.risk.n_duals))
    for k in range(200):
        u, share = J.unpacked_dual(rng.normal(size=problem.risk.n_duals)), 2 / (2 + k)
        hull.add(u, share)
        mean = (1 - share) * mean + share * u
    assert np.allclose(hull.mixed(hull.weights).image, mean.image, rtol=1e-10)
    assert np.allclose(packed(hull.mixed(hull.weights).x), packed(mean.x), rtol=1e-10)
    hull.add(u, 1.0)
    assert np.allclose(hull.mixed(hull.weights).image, 0.5 * mean.image + 0.5 * u.image, rtol=1e-10)


def test_l1_hinge_is_certified_in_a_thousand_passes():
    """[Zhang11]'s mean proves less than 1e-2: its first points keep it out of the box of L1."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    problem = fenchel.problem(X, y, loss="hinge", regularizer="l1", strength=0.1)
    for solver in (AGMInf(), AGMInf("homotopy")):
        result = fenchel.minimize(problem, solver, gap=1e-4)
        assert result.converged and result.passes <= 1000, result.passes
        assert fenchel.verify(result, problem).gap <= 1e-4 * (1 + 1e-6)


def test_multiclass_hinge_by_softening():
    rng = np.random.default_rng(6)
    X, y = rng.normal(size=(80, 4)), rng.integers(0, 3, size=80)
    problem = fenchel.problem(X, y, loss="multiclass_hinge", strength=0.05)
    truth = fenchel.minimize(problem, "bmrm", gap=1e-6)
    for solver in (AGMInf(), AGMOne("homotopy")):
        result = fenchel.minimize(problem, solver, gap=1e-3)
        assert result.converged
        assert result.lower_bound <= truth.objective <= result.objective * (1 + 1e-6)
        fenchel.verify(result, problem)


@pytest.mark.parametrize("options", [{}, {"intercept": True}, {"regularizer": "elastic_net"}])
def test_a_smooth_loss_of_all_scores_has_no_conjugate_and_is_certified_by_gradients(options):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(120, 4))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0.8, 1.0, -1.0)
    loss = losses.FBeta().smoothed(1e-3)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-2, **options)
    truth = fenchel.minimize(problem, "bmrm", gap=1e-5)
    for solver in (AGMInf(), AGMOne()):
        result = fenchel.minimize(problem, solver, gap=1e-4)
        assert result.converged
        assert result.lower_bound <= truth.objective and truth.lower_bound <= result.objective
        assert fenchel.verify(result, problem).gap <= 1e-4 * (1 + 1e-6)


def test_certificates_cost_no_pass():
    problem = problem_for(losses.Hinge(), intercept=True, strength=1e-2)
    for solver in (AGMInf(), AGMInf("dual"), AGMInf("homotopy")):
        history = fenchel.minimize(problem, solver, gap=1e-3).history[2:]
        spent = np.diff([record.passes for record in history])
        assert np.all(spent % 2 == 0) and np.median(spent) == 2


def test_the_level_of_smoothing_follows_the_gap():
    problem = problem_for(losses.Hinge(), strength=1e-2)
    fine = fenchel.minimize(problem, AGMInf(), gap=1e-5, max_iterations=20_000)
    assert fine.converged
    coarse = fenchel.minimize(problem, AGMInf(mu=1.0), gap=1e-5, max_iterations=3000)
    assert not coarse.converged  # J_1 is another function


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mu": 0.0}, "mu must be > 0"),
        ({"mu": -1.0}, "mu must be > 0"),
        ({"form": "both"}, "form must be 'primal' or 'dual' or 'homotopy'; got 'both'"),
        ({"widths": "wide"}, "widths must be 'equal' or 'optimised'"),
        ({"form": "dual", "widths": "optimised"}, "belongs to a smoothed primal"),
    ],
)
@pytest.mark.parametrize("kind", ["agm-inf", "agm-1"])
def test_bad_settings(kind, options, message):
    with pytest.raises(fenchel.InvalidData, match=message):
        fenchel.solver(kind, **options)


@pytest.mark.parametrize(
    ("solver", "loss", "regularizer", "message"),
    [
        (AGMInf("dual"), losses.Hinge(), L1(), "strongly convex regulariser"),
        (AGMInf("homotopy"), losses.Logistic(), L2(), "needs no smoothing"),
        (ExcessiveGap(), losses.Hinge(), L1(), "every coordinate penalised"),
        (AGMOne(), losses.Hinge(), L2(weights=[1.0, 0.0, 1.0, 1.0]), "unpenalised coordinates"),
        (AGMInf("dual"), losses.FBeta().smoothed(0.1), L2(), "a differentiable one and form="),
        (AGMInf("dual"), losses.FBeta(), L2(), "a differentiable one and form="),
        (FISTA(), losses.Logistic(), Entropy(), "prox-function is that of Euclid"),
        (AGMInf(), losses.FBeta().smoothed(0.1), L1(), "under L1 it needs a loss with a conjugate"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused(solver, loss, regularizer, message):
    with pytest.raises(fenchel.Incompatible, match=message):
        fenchel.minimize(problem_for(loss, regularizer), solver)
