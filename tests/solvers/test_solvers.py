"""Every solver on every problem it accepts: certified, verified, and right."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from catalogue import (
    BASELINES,
    CHAIN_SOLVERS,
    KERNEL_SOLVERS,
    LOSSES,
    N_FEATURES,
    REGULARIZERS,
    SOLVERS,
    data_for,
    ids,
    problem_for,
    sample_weights,
)

import fenchel
from fenchel import losses
from fenchel.data.rows import DenseRows
from fenchel.losses import Labels, ScalarLoss
from fenchel.regularizers import (
    L1,
    L2,
    Boxed,
    ElasticNet,
    ElasticNetBall,
    Entropy,
    GroupL1,
    Quadratic,
    SquaredPNorm,
)
from fenchel.risks.base import Point, Problem, Ray, Risk
from fenchel.solvers import BMRM, LBFGS, AGMInf, AGMOne, BMRMWithoutQP, ExcessiveGap
from fenchel.solvers._linear_planes import LinearPlanes
from fenchel.solvers._quadratic_planes import QuadraticPlanes

STRENGTH = 0.1
SERIOUS = [solver for solver in SOLVERS if not isinstance(solver, BASELINES)]


def gap_for(solver):
    """BMRM without QP needs of the order of 1/gap iterations, as do the baselines."""
    slow = (BMRMWithoutQP, ExcessiveGap, AGMInf, AGMOne, *BASELINES)
    return 2e-3 if isinstance(solver, slow) else 1e-6


def case(i, j):
    """Loss i, regulariser j; intercept and weights alternate, so that each pair occurs."""
    loss, regularizer = LOSSES[i], REGULARIZERS[j]
    intercept, weighted = (i + j) % 2 == 1, (i + j // 2) % 2 == 1
    name = [ids(loss), ids(regularizer), *["intercept"] * intercept, *["weighted"] * weighted]
    return pytest.param(loss, regularizer, intercept, weighted, id="-".join(name))


CASES = [case(i, j) for i in range(len(LOSSES)) for j in range(len(REGULARIZERS))]


def cvxpy_loss(loss, f, y):
    """The loss once more, in CVXPY's words."""
    u, r = cp.multiply(y, f), f - y
    match loss:
        case losses.Perceptron():
            return cp.pos(-u)
        case losses.SquaredPerceptron():
            return cp.square(cp.pos(-u)) / 2
        case losses.Hinge():
            return cp.pos(1 - u)
        case losses.SquaredHinge():
            return cp.square(cp.pos(1 - u)) / 2
        case losses.SmoothedHinge():
            return cp.huber(cp.pos(1 - u), loss.mu) / (2 * loss.mu)
        case losses.Exponential():
            return cp.exp(-u)
        case losses.Logistic():
            return cp.logistic(-u)
        case losses.Novelty():
            return cp.pos(loss.rho - f)
        case losses.SquaredError():
            return cp.square(r) / 2
        case losses.AbsoluteError():
            return cp.abs(r)
        case losses.Quantile():
            return cp.maximum(-loss.quantile * r, (1 - loss.quantile) * r)
        case losses.Expectile():
            q = loss.expectile
            return (q * cp.square(cp.neg(r)) + (1 - q) * cp.square(cp.pos(r))) / 2
        case losses.EpsilonInsensitive():
            return cp.pos(cp.abs(r) - loss.epsilon)
        case losses.SquaredEpsilonInsensitive():
            return cp.square(cp.pos(cp.abs(r) - loss.epsilon)) / 2
        case losses.Huber():
            return cp.huber(r, loss.delta) / 2
        case losses.Poisson():
            constant = np.where(y > 0, y * np.log(np.maximum(y, 1e-300)) - y, 0.0)
            return cp.exp(f) - cp.multiply(y, f) + constant
        case losses.Gamma():
            return cp.multiply(y, cp.exp(-f)) + f - (1 + np.log(y))
        case losses.Tweedie():
            a, b = loss.power - 1, 2 - loss.power
            return cp.exp(b * f) / b + cp.multiply(y, cp.exp(-a * f)) / a - y**b / (a * b)


def cvxpy_regularizer(regularizer, w):
    """(Omega, what holds where it is finite)."""
    match regularizer:
        case SquaredPNorm():
            return cp.square(cp.pnorm(w, regularizer.p)) / 2, []
        case Entropy():
            cap = [] if regularizer.cap is None else [w <= regularizer.cap]
            return cp.sum(cp.rel_entr(w, 1 / N_FEATURES)), [cp.sum(w) == 1, *cap]
        case ElasticNetBall():
            return 0.0, [cvxpy_regularizer(regularizer.net, w)[0] <= regularizer.radius]
        case GroupL1():
            index, c = regularizer.groups, regularizer.penalties
            norms = [cp.norm(w[index == g]) for g in range(len(c))]
            return c @ cp.hstack(norms), []
        case Quadratic():
            return cp.quad_form(w, regularizer.Q) / 2, []
        case Boxed():
            bounds = np.broadcast_arrays(regularizer.lower, regularizer.upper, np.zeros(N_FEATURES))
            low = [w[j] >= x for j, x in enumerate(bounds[0]) if np.isfinite(x)]
            high = [w[j] <= x for j, x in enumerate(bounds[1]) if np.isfinite(x)]
            return cvxpy_regularizer(regularizer.inner, w)[0], [*low, *high]
    c = np.broadcast_to(regularizer.c, N_FEATURES)
    l1, l2 = c @ cp.abs(w), c @ cp.square(w) / 2
    match regularizer:
        case L2():
            return l2, []
        case L1():
            return l1, []
        case ElasticNet():
            return regularizer.l1_ratio * l1 + (1 - regularizer.l1_ratio) * l2, []


def true_minimum(loss, regularizer, *, intercept=False, weighted=False, strength=STRENGTH):
    """min J by an interior-point method of others."""
    X, y = data_for(loss)
    s = sample_weights(len(y)) if weighted else np.ones(len(y))
    w, b = cp.Variable(N_FEATURES), cp.Variable() if intercept and loss.intercept else 0.0
    risk = (s / np.sum(s)) @ cvxpy_loss(loss, X @ w + b, y)
    penalty, constraints = cvxpy_regularizer(regularizer, w)
    problem = cp.Problem(cp.Minimize(strength * penalty + risk), constraints)
    # With its default of 0.99 some entropies and p-norms end short of its tolerance.
    return problem.solve(solver=cp.CLARABEL, max_step_fraction=0.9)


def assert_history_is_monotone(history):
    columns = {name: [getattr(r, name) for r in history] for name in history[0]._fields}
    assert columns["iteration"] == list(range(1, len(history) + 1))
    assert all(np.diff(columns["objective"]) <= 0)
    assert all(b >= a for a, b in itertools.pairwise(columns["lower_bound"]))
    assert all(b <= a for a, b in itertools.pairwise(columns["gap"]))
    assert all(np.diff([0, *columns["passes"]]) >= 0)  # at w = 0 scores take none
    assert all(np.diff(columns["seconds"]) > 0)


def test_the_catalogue_holds_every_solver():
    known = {type(solver) for solver in [*SOLVERS, *KERNEL_SOLVERS, *CHAIN_SOLVERS]}
    assert known == set(fenchel.solvers.SOLVERS.values())


@pytest.mark.parametrize(("loss", "regularizer", "intercept", "weighted"), CASES)
def test_every_solver_certifies_the_true_minimum(loss, regularizer, intercept, weighted):
    problem = problem_for(
        loss, regularizer, intercept=intercept, weighted=weighted, strength=STRENGTH
    )
    truth = true_minimum(loss, regularizer, intercept=intercept, weighted=weighted)
    room = 1e-7 * (1 + abs(truth))  # what an interior-point method may be off by
    able = [solver for solver in SOLVERS if solver.obstacle(problem) is None]
    assert able
    turn = (LOSSES.index(loss) + REGULARIZERS.index(regularizer)) % 3
    for solver in able[turn::3] or able:  # by turns, so that each meets each loss and regulariser
        patience = 100 if isinstance(solver, BASELINES) else 10_000
        result = fenchel.minimize(problem, solver, gap=gap_for(solver), max_iterations=patience)
        assert result.lower_bound - room <= truth <= result.objective + room, solver
        assert result.converged or isinstance(solver, BASELINES) or truth < room, (solver, result)
        certificate = fenchel.verify(result, problem)
        assert certificate.source == "witness"
        assert certificate.lower_bound - room <= truth <= certificate.upper_bound + room
        assert_history_is_monotone(result.history)


def test_every_regulariser_has_a_solver_for_every_loss():
    for loss, regularizer in itertools.product(LOSSES, REGULARIZERS):
        problem = problem_for(loss, regularizer, strength=STRENGTH)
        polyhedral = isinstance(getattr(regularizer, "inner", regularizer), L1)
        by_cuts = BMRM().obstacle(problem) is None
        assert by_cuts == (polyhedral or regularizer.has("conjugate_argmax"))
        assert by_cuts or AGMOne().obstacle(problem) is None
        plain = isinstance(regularizer, L2 | Quadratic) and regularizer.strong_convexity > 0
        assert (BMRMWithoutQP().obstacle(problem) is None) == plain
        assert (LBFGS().obstacle(problem) is None) == (plain and loss.differentiable)


@pytest.mark.parametrize("name", ["bmrm", "lbfgs", "bmrm-noqp"])
def test_solvers_are_found_by_name(name):
    solver = fenchel.solver(name)
    assert solver.name == name
    result = fenchel.minimize(problem_for(losses.SquaredHinge()), name, gap=0.05)
    assert (result.converged, result.solver) == (True, name)


@pytest.mark.parametrize("regularizer", [L2(), L1(), ElasticNet()], ids=ids)
@pytest.mark.parametrize("loss", [losses.Hinge(), losses.Logistic(), losses.Huber()], ids=ids)
def test_bmrm_with_step_one_takes_its_cuts_at_the_models_minimisers(loss, regularizer):
    """The papers' algorithm: no iterate but the first lies between others."""
    problem = problem_for(loss, regularizer, strength=0.01)
    cuts, bounds, points = [(np.zeros(N_FEATURES), 0.0)], [], []
    steps = BMRM(step=1.0).iterate(problem, np.ones(N_FEATURES))
    for step in itertools.islice(steps, 6):
        if points:
            w = cp.Variable(N_FEATURES)
            planes = cp.maximum(*[a @ w + b for a, b in cuts])
            model = cp.Problem(cp.Minimize(0.01 * cvxpy_regularizer(regularizer, w)[0] + planes))
            assert step.lower_bound == pytest.approx(model.solve(solver=cp.CLARABEL), abs=1e-6)
            if regularizer.strong_convexity:
                assert np.allclose(step.point.w, w.value, atol=1e-2)
        cuts.append((step.point.subgradient, step.point.constant))
        bounds.append(step.lower_bound)
        points.append(step.point.w)
    assert all(b >= a - 1e-12 for a, b in itertools.pairwise(bounds))


@pytest.mark.parametrize("regularizer", [L2(), L1(), ElasticNet()], ids=ids)
@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("d", [10, 80], ids=["tall", "wide"])
def test_bounded_memory_keeps_a_valid_bound(regularizer, intercept, d):
    X, y = data_for(losses.Hinge(), n=60, d=d)
    problem = fenchel.problem(X, y, regularizer=regularizer, strength=0.01, intercept=intercept)
    exact = fenchel.minimize(problem, BMRM(), gap=1e-6)
    bounded = fenchel.minimize(problem, BMRM(max_cuts=20), gap=1e-2)
    assert exact.converged and bounded.converged
    assert bounded.lower_bound <= exact.objective and exact.lower_bound <= bounded.objective
    assert fenchel.verify(bounded, problem).source == "witness"


@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("regularizer", [L2(), L1(), ElasticNet()], ids=ids)
def test_a_poor_solution_of_the_inner_problem_still_proves_its_bound(
    regularizer, intercept, monkeypatch
):
    rng = np.random.default_rng(0)

    def guess(self):
        self.alpha = rng.dirichlet(np.ones(len(self.b)))
        self.w = rng.normal(size=N_FEATURES)

    for planes in (LinearPlanes, QuadraticPlanes):
        monkeypatch.setattr(planes, "maximize", guess)
    problem = problem_for(losses.Hinge(), regularizer, intercept=intercept, strength=0.01)
    truth = true_minimum(losses.Hinge(), regularizer, intercept=intercept, strength=0.01)
    for k in (2, 5, 20):
        result = fenchel.minimize(problem, BMRM(), gap=1e-9, max_iterations=k)
        assert result.lower_bound <= truth + 1e-7
        assert fenchel.verify(result, problem).lower_bound <= truth + 1e-7
    assert result.lower_bound > 0


@pytest.mark.parametrize("regularizer", [L2([0.0, 1.0]), ElasticNet(0.5, [0.0, 1.0])], ids=ids)
def test_a_free_column_of_small_numbers_costs_few_programmes(regularizer, monkeypatch):
    """Where every step of the multipliers is the last one again, thirty of them are few calls."""
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(30, 2)) * [1e-9, 1.0], np.where(rng.random(30) < 0.5, 1.0, -1.0)
    problem = fenchel.problem(
        X, y, loss="hinge", regularizer=regularizer, strength=0.1, intercept=False
    )
    model = QuadraticPlanes(problem, max_cuts=10)
    for w in ([0.0, 0.0], [1.0, 1.0]):
        model.add(problem.risk.at(np.array(w)))
    name = "_maximize_exactly" if regularizer.quadratic else "_maximize_by_newton"
    right, slopes = getattr(QuadraticPlanes, name), []

    def counted(self):
        right(self)
        slopes.append(float(self.alpha @ self.A[:, 0]))

    monkeypatch.setattr(QuadraticPlanes, name, counted)
    model.maximize()
    assert len(slopes) <= 8
    assert slopes == pytest.approx([slopes[0]] * len(slopes), rel=1e-3)
    assert model.v[0] == pytest.approx(-30 * model._rho * slopes[0], rel=1e-3)


def test_memory_is_bounded():
    X, y = data_for(losses.Hinge(), n=200, d=20)
    problem = fenchel.problem(X, y, strength=1e-3)
    result = fenchel.minimize(problem, BMRM(max_cuts=10), gap=1e-9, max_iterations=150)
    assert len(result.witness.tangencies) <= 11


@pytest.mark.parametrize("loss", [x for x in LOSSES if not x.differentiable], ids=ids)
def test_iterates_on_kinks_are_verified_whichever_side_round_off_puts_them(loss):
    """The papers' step lands where rows are at a kink, up to the last bit of a product."""
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = data_for(loss, seed=seed, n=20)
        problem = fenchel.problem(
            X,
            y,
            loss=loss,
            regularizer=["l2", "l1", "elastic_net"][seed % 3],
            strength=10 ** rng.uniform(-3, 0),
            sample_weight=rng.uniform(size=20) if seed % 2 else None,
        )
        result = fenchel.minimize(problem, BMRM(step=1.0), gap=1e-6)
        assert result.converged, seed
        assert fenchel.verify(result, problem).gap <= 1.01e-6, seed


@pytest.mark.parametrize("loss", [losses.Quantile(quantile=0.9), losses.AbsoluteError()], ids=ids)
def test_cuts_taken_exactly_on_kinks_are_verified(loss):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, w = rng.normal(size=(1200, 7)), rng.normal(size=7)
        y = DenseRows(X).scores(w)  # to the last bit, where NumPy's product differs
        assert np.any(y != X @ w)
        y[::2] += 1.0
        problem = fenchel.problem(X, y, loss=loss, strength=STRENGTH)
        result = fenchel.minimize(problem, "bmrm", w0=w, gap=1e-9, max_iterations=3)
        assert result.lower_bound > 0
        assert fenchel.verify(result, problem).lower_bound >= result.lower_bound * (1 - 1e-9)


@pytest.mark.parametrize("kind", [L2, L1, ElasticNet])
@pytest.mark.parametrize(
    "loss", [losses.Hinge(), losses.AbsoluteError(), losses.Poisson()], ids=ids
)
def test_several_unpenalised_coordinates(loss, kind):
    regularizer = kind(weights=[0.0, 1.0, 0.0, 2.0])
    problem = problem_for(loss, regularizer, intercept=True, strength=STRENGTH)
    truth = true_minimum(loss, regularizer, intercept=True)
    result = fenchel.minimize(problem, BMRM(), gap=1e-5)
    assert result.converged
    assert result.lower_bound <= truth + 1e-7 and truth <= result.objective + 1e-7
    assert fenchel.verify(result, problem).source == "witness"


def test_a_column_of_ones_left_unpenalised_is_an_intercept():
    X, y = data_for(losses.Logistic())
    with_column = fenchel.problem(
        np.column_stack([X, np.ones(len(y))]),
        y,
        loss="logistic",
        regularizer=L2(weights=[1.0] * N_FEATURES + [0.0]),
        strength=STRENGTH,
    )
    profiled = fenchel.problem(X, y, loss="logistic", strength=STRENGTH, intercept=True)
    column = fenchel.minimize(with_column, "bmrm", gap=1e-8)
    intercept = fenchel.minimize(profiled, "lbfgs", gap=1e-10)
    assert column.objective == pytest.approx(intercept.objective, rel=1e-7)
    assert np.allclose(column.w, [*intercept.w, intercept.intercept], atol=1e-2)


class LogCosh(ScalarLoss):
    """l(z, y) = log cosh(z - y): a user's loss, without a conjugate."""

    nonnegative = True
    differentiable = True

    def value(self, z, y):
        return np.logaddexp(z - y, y - z) - np.log(2.0)

    def slope(self, z, y):
        return np.tanh(z - y)


class Claimless(ScalarLoss):
    """l(z, y) = |z - y| - 1: a user's loss that claims nothing, and is negative in places."""

    def value(self, z, y):
        return np.abs(z - y) - 1.0

    def slope(self, z, y):
        return np.sign(z - y)


@pytest.mark.slow
@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=ids)
def test_a_users_loss_works_and_is_verified(regularizer, intercept):
    problem = problem_for(LogCosh(), regularizer, intercept=intercept, weighted=True)
    for solver in [s for s in SERIOUS if s.obstacle(problem) is None]:
        result = fenchel.minimize(problem, solver, gap=gap_for(solver))
        assert result.converged
        certificate = fenchel.verify(result, problem)
        assert certificate.lower_bound <= result.objective * (1 + 1e-14)  # another sum
        if not isinstance(solver, BMRMWithoutQP):
            assert certificate.source == "witness"
            assert certificate.gap <= 1.01 * gap_for(solver)


@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("regularizer", [L2(), ElasticNet()], ids=ids)
def test_a_loss_that_may_be_negative_gets_no_zero_cut(regularizer, intercept):
    problem = problem_for(Claimless(), regularizer, intercept=intercept, strength=0.01)
    shifted = problem_for(losses.AbsoluteError(), regularizer, intercept=intercept, strength=0.01)
    truth = fenchel.minimize(shifted, "bmrm", gap=1e-7).objective - 1.0
    assert truth < -0.1
    for solver in [s for s in SERIOUS if s.obstacle(problem) is None]:
        result = fenchel.minimize(problem, solver, gap=1e-3, max_iterations=5000)
        assert result.lower_bound <= truth <= result.objective + 1e-6
        assert result.converged
        assert fenchel.verify(result, problem).lower_bound <= truth


@pytest.mark.parametrize("regularizer", [L1(), L2(weights=[1.0, 0.0, 1.0, 1.0])], ids=ids)
def test_a_loss_that_may_be_negative_needs_strong_convexity(regularizer):
    with pytest.raises(fenchel.Incompatible, match="nonnegative = True"):
        fenchel.minimize(problem_for(Claimless(), regularizer), "bmrm")


class Only:
    """An object with nothing but the named attributes of another."""

    def __init__(self, whole, names):
        self._whole, self._names = whole, names

    def __getattr__(self, name):
        if name not in self._names:
            raise AssertionError(f"the solver used {name}, which it did not ask for")
        return getattr(self._whole, name)


def promised(protocol):
    """The names that a protocol of risks/base.py shows."""
    return {*protocol.__annotations__, *(name for name in vars(protocol) if name[0] != "_")}


class OnlyRisk(Only):
    """A risk that shows the protocol of risks/base.py only, and hands out such points."""

    def __init__(self, risk):
        super().__init__(risk, promised(Risk))

    def at(self, w, near=None):
        near = near._whole if isinstance(near, OnlyPoint) else near
        return OnlyPoint(self._whole.at(w, near=near))


class OnlyPoint(Only):
    def __init__(self, point):
        super().__init__(point, promised(Point))

    def towards(self, p):
        return OnlyRay(self._whole.towards(p))

    def steepest(self, p):
        steepest = self._whole.steepest(p)
        return self if steepest is self._whole else OnlyPoint(steepest)


class OnlyRay(Only):
    def __init__(self, ray):
        super().__init__(ray, promised(Ray))

    def at(self, eta):
        return OnlyPoint(self._whole.at(eta))


def needs_a_view(solver):
    """Views are made of risks of ours: the solver is told what it asked for, and more."""
    dual = getattr(solver, "form", "primal") == "dual"
    return bool(solver.needs.views) or dual or getattr(solver, "batch", None) is not None


ACCEPTED = [
    pytest.param(solver, loss, regularizer, id=f"{ids(solver)}-{ids(loss)}-{ids(regularizer)}")
    for solver in SOLVERS
    for loss in (losses.SquaredHinge(), losses.Hinge())
    for regularizer in REGULARIZERS
    if solver.obstacle(problem_for(loss, regularizer, intercept=True)) is None
    and loss.differentiable
    and not needs_a_view(solver)
]


@pytest.mark.parametrize(("solver", "loss", "regularizer"), ACCEPTED)
def test_certifies_itself_using_only_the_protocol(solver, loss, regularizer):
    whole = problem_for(loss, regularizer, intercept=True)
    risk = OnlyRisk(whole.risk)
    result = fenchel.minimize(Problem(risk, regularizer, 0.1), solver, gap=1e-2)
    assert result.converged


@pytest.mark.parametrize("solver", SOLVERS, ids=ids)
def test_a_warm_start_at_the_minimiser_is_kept(solver):
    problems = [
        problem_for(losses.SquaredHinge(), intercept=True),
        problem_for(losses.SquaredHinge(), "elastic_net", intercept=True),
        problem_for(losses.Hinge(), intercept=True),
    ]
    problem = next(each for each in problems if solver.obstacle(each) is None)
    cold = fenchel.minimize(problem, gap=1e-12)
    warm = fenchel.minimize(problem, solver, gap=gap_for(solver), w0=cold.w, max_iterations=5000)
    assert warm.history[0].objective == pytest.approx(cold.objective, rel=1e-12)
    assert warm.converged
    assert warm.objective <= cold.objective * (1 + 1e-12)


def test_the_warm_start_is_not_modified():
    w0 = np.ones(N_FEATURES)
    fenchel.minimize(problem_for(losses.Logistic()), "lbfgs", w0=w0)
    assert np.array_equal(w0, np.ones(N_FEATURES))


def test_lbfgs_without_regularisation_finds_the_least_squares_solution():
    problem = problem_for(losses.SquaredError(), strength=0.0, n=30)
    X, y = data_for(losses.SquaredError(), n=30)
    result = fenchel.minimize(problem, "lbfgs", gap=1e-10)
    assert np.allclose(result.w, np.linalg.lstsq(X, y)[0], atol=1e-6)
    assert result.lower_bound <= np.mean((X @ result.w - y) ** 2) / 2


@pytest.mark.parametrize("solver", ["bmrm", "bmrm-noqp"])
def test_bundle_methods_refuse_strength_zero(solver):
    with pytest.raises(fenchel.Incompatible, match=r"strength > 0.*lbfgs"):
        fenchel.minimize(problem_for(losses.SquaredError(), strength=0.0), solver)


@pytest.mark.parametrize("strength", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_any_strength_is_certified_and_verified(regularizer, strength):
    problem = problem_for(losses.Hinge(), regularizer, strength=strength, intercept=True)
    result = fenchel.minimize(problem, gap=1e-3)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-3


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
@pytest.mark.parametrize(
    "loss", [x for x in LOSSES if x.labels is not Labels.COUNT and x.differentiable], ids=ids
)
def test_lbfgs_does_not_depend_on_the_scale_of_the_data(loss, scale):
    X, y = data_for(loss)
    runs = [
        fenchel.minimize(
            fenchel.problem(X * k, y, loss=loss, strength=STRENGTH * k**2), "lbfgs", gap=1e-6
        )
        for k in (1.0, scale)
    ]
    assert [run.converged for run in runs] == [True, True]
    assert runs[1].objective == pytest.approx(runs[0].objective, rel=1e-5)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_bmrm_does_not_depend_on_the_scale_of_the_data(regularizer, scale):
    X, y = data_for(losses.Hinge())
    power = {"l2": 2, "l1": 1, "elastic_net": 1}[regularizer]
    problem = fenchel.problem(X * scale, y, regularizer=regularizer, strength=0.1 * scale**power)
    result = fenchel.minimize(problem, "bmrm", gap=1e-5)
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1.01e-5


@pytest.mark.parametrize("options", [{"step": 0.0}, {"step": 1.1}, {"max_cuts": 3}], ids=str)
def test_bmrm_refuses_options_that_make_no_sense(options):
    with pytest.raises(fenchel.InvalidData, match=next(iter(options))):
        fenchel.solver("bmrm", **options)


def test_lbfgs_refuses_an_empty_memory():
    with pytest.raises(fenchel.InvalidData, match="memory"):
        fenchel.solver("lbfgs", memory=0)


@pytest.mark.parametrize("solver", ["lbfgs", "bmrm", "bmrm-noqp"])
@pytest.mark.parametrize("loss", [losses.SquaredHinge(), losses.Logistic()], ids=ids)
def test_a_far_away_start_leaves_no_round_off_in_the_bounds(loss, solver):
    """Scores of 1e12 on the way lose digits that the certificate must not claim."""
    problem = problem_for(loss, strength=1e-2)
    truth = fenchel.minimize(problem, gap=1e-9)
    w0 = 1e12 * np.linspace(-1, 1, problem.risk.n_parameters)
    result = fenchel.minimize(problem, solver, w0=w0, max_iterations=500)
    fenchel.verify(result, problem)
    assert result.converged and result.lower_bound <= truth.objective
