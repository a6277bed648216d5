"""The nu-trick: margins chosen for a share of the rows, and what is certified of them."""

import dataclasses

import numpy as np
import pytest
from catalogue import ENGINES, ids, sample_weights
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import NuSVC, OneClassSVM

import fenchel
from fenchel import Classifier, NoveltyDetector
from fenchel.losses import NuHinge, NuNovelty
from fenchel.solvers import BMRM, BMRMWithoutQP, LineSearchBMRM, Pegasos
from fenchel.witness import Ties, Witness

# (loss, intercept)
CASES = [
    (NuHinge(0.3), False),
    (NuHinge(0.3), True),
    (NuHinge(0.55), True),
    (NuHinge(1.0), False),
    (NuNovelty(0.1), False),
    (NuNovelty(1.0), False),
]
EVERY = pytest.mark.parametrize(("loss", "intercept"), CASES, ids=ids)
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["even", "weighted"])


def data(loss, *, n=30, d=4, seed=0):
    """Rows on one side of the origin, and classes that overlap a little."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) + (1.5 if isinstance(loss, NuNovelty) else 0.0)
    return X, np.where(X @ np.ones(d) + rng.normal(size=n) > 0.2, 1.0, -1.0)


def posed(loss, intercept, *, weighted=False, **options):
    X, y = data(loss)
    s = sample_weights(len(y)) if weighted else None
    settings = {"strength": 0.1, "engine": "serial", "sample_weight": s} | options
    return fenchel.problem(X, y, loss=loss, intercept=intercept, **settings)


def risk_by_linear_programme(loss, intercept, z, y, s):
    """Min over rho, b and slacks of <s, slacks> - nu rho with slacks >= rho - y (z + b)."""
    n = len(z)
    sign = np.ones(n) if isinstance(loss, NuNovelty) else y
    cost = np.concatenate([[-loss.nu, 0.0], s])
    left = np.column_stack([np.ones(n), -sign, -np.eye(n)])
    free = (None, None)
    bounds = [free, free if intercept else (0, 0), *[(0, None)] * n]
    return linprog(cost, A_ub=left, b_ub=sign * z, bounds=bounds, method="highs").fun


# Laws of the risk.


@EVERY
@WEIGHTED
def test_the_risk_is_the_least_over_margin_and_intercept(loss, intercept, weighted):
    problem, (X, y) = posed(loss, intercept, weighted=weighted), data(loss)
    s = sample_weights(len(y)) if weighted else np.ones(len(y))
    for w in np.random.default_rng(1).normal(size=(5, 4)):
        wanted = risk_by_linear_programme(loss, intercept, X @ w, y, s / s.sum())
        assert problem.risk.at(w).value == pytest.approx(wanted, abs=1e-12)


@EVERY
@WEIGHTED
def test_the_subgradient_supports_from_below(loss, intercept, weighted):
    risk, rng = posed(loss, intercept, weighted=weighted).risk, np.random.default_rng(2)
    for w in (np.zeros(4), *rng.normal(size=(5, 4))):
        point = risk.at(w)
        assert point.subgradient @ w == pytest.approx(point.value, abs=1e-12)
        for v in rng.normal(size=(50, 4)):
            assert risk.at(v).value >= point.subgradient @ v + point.constant - 1e-12


@EVERY
def test_a_ray_is_the_risk_and_its_slope_is_the_right_one(loss, intercept):
    risk, rng = posed(loss, intercept, weighted=True).risk, np.random.default_rng(3)
    for w in (np.zeros(4), rng.normal(size=4)):
        ray, p = (start := risk.at(w)).towards(p := rng.normal(size=4)), p
        for eta in (0.0, 0.3, 1.0, 4.0):
            value, slope = ray.along(eta)
            assert value == pytest.approx(risk.at(w + eta * p).value, abs=1e-12)
            ahead = risk.at(w + (eta + 1e-7) * p).value
            assert slope == pytest.approx((ahead - value) / 1e-7, abs=1e-5)
        # What the exact search sees lies above R and meets it at both ends.
        above, kinks = start.value, np.sort(ray.kinks(0.0, 1.0)[:, 0])
        for low, high in zip([0.0, *kinks], [*kinks, 1.0], strict=True):
            above += (high - low) * ray.slope((low + high) / 2).slope
            assert above >= ray.at(high).value - 1e-12
        assert above == pytest.approx(ray.at(1.0).value, abs=1e-12)


@pytest.mark.parametrize("loss", [NuHinge(0.4), NuNovelty(0.4)], ids=ids)
def test_a_loss_is_evaluated_at_given_scores(loss):
    rng, y = np.random.default_rng(0), np.tile([1.0, -1.0], 10)
    z, other = rng.normal(size=(2, 20)).round(1)  # with ties
    wanted = risk_by_linear_programme(loss, False, z, y, np.full(20, 1 / 20))
    assert np.mean(loss.value(z, y)) == pytest.approx(wanted, abs=1e-12)
    tangent = np.mean(loss.value(z, y) + loss.slope(z, y) * (other - z))
    assert np.mean(loss.value(other, y)) >= tangent - 1e-12


# Certificates.


@EVERY
@WEIGHTED
@pytest.mark.parametrize("regularizer", ["l2", "elastic_net"])
@pytest.mark.parametrize("solver", [BMRM(), LineSearchBMRM(), BMRMWithoutQP(), Pegasos()], ids=ids)
def test_every_solver_bounds_the_minimum(loss, intercept, weighted, regularizer, solver):
    problem = posed(loss, intercept, weighted=weighted, regularizer=regularizer)
    if solver.obstacle(problem) is not None:
        assert regularizer == "elastic_net"
        return
    best = fenchel.minimize(problem, gap=1e-7)
    result = fenchel.minimize(problem, solver, gap=1e-6, max_iterations=100)
    assert best.converged or not best.w.any()
    assert result.lower_bound <= best.objective and best.lower_bound <= result.objective
    assert fenchel.verify(result, problem).upper_bound == pytest.approx(result.objective)
    if best.converged and isinstance(solver, BMRM | LineSearchBMRM):
        assert result.converged
        assert fenchel.verify(result, problem).source == "witness"


@pytest.mark.parametrize("engine", ENGINES, ids=ids)
def test_engines_give_the_same_bits(engine):
    expected = fenchel.minimize(posed(NuHinge(0.4), True))
    result = fenchel.minimize(posed(NuHinge(0.4), True, engine=engine))
    np.testing.assert_array_equal(result.w, expected.w)
    assert result.certificate == expected.certificate


def test_an_interrupted_run_goes_on_to_the_same_bits(tmp_path):
    problem, file = posed(NuHinge(0.4), True), tmp_path / "state"
    expected = fenchel.minimize(problem, gap=1e-9)
    fenchel.minimize(problem, gap=1e-9, max_iterations=3, checkpoint=file)
    result = fenchel.minimize(problem, gap=1e-9, checkpoint=file)
    assert result.iterations == expected.iterations > 3
    np.testing.assert_array_equal(result.w, expected.w)
    for other in posed(NuHinge(0.5), True), posed(NuHinge(0.4), False):
        assert other.risk.fingerprint() != problem.risk.fingerprint()
        with pytest.raises(fenchel.InvalidData, match="another problem"):
            fenchel.minimize(other, checkpoint=file)


def forged(result, change):
    touches = [touch._replace(**change(touch)) for touch in result.witness.tangencies]
    return dataclasses.replace(result, witness=Witness(touches, result.witness.weights))


FORGERIES = {
    "more than a share": lambda touch: {"ties": Ties(touch.ties.rows, 3 * touch.ties.slopes - 1)},
    "all rows chosen": lambda touch: {"ties": Ties(np.arange(30), np.zeros(30))},
    "another place": lambda touch: {"w": -touch.w, "ties": None},
}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
@pytest.mark.parametrize(("loss", "intercept"), CASES[:2], ids=ids)
def test_verify_does_not_trust_a_witness(loss, intercept, change):
    problem = posed(loss, intercept)
    result = fenchel.minimize(problem, gap=1e-7)
    fenchel.verify(result, problem)
    with pytest.raises(fenchel.InvalidCertificate):
        fenchel.verify(forged(result, change), problem)


@pytest.mark.parametrize(("loss", "intercept"), [CASES[1], CASES[4]], ids=ids)
def test_verify_does_not_trust_an_intercept(loss, intercept):
    problem = posed(loss, intercept)
    result = fenchel.minimize(problem)
    shifted = dataclasses.replace(result, intercept=result.intercept + 0.1)
    with pytest.raises(fenchel.InvalidCertificate, match="the objective at w"):
        fenchel.verify(shifted, problem)


# Against scikit-learn.

CANCER, MALIGNANT = load_breast_cancer(return_X_y=True)
CANCER = StandardScaler().fit_transform(CANCER)
SIGNS = 2.0 * MALIGNANT - 1


def rho_of(u, nu):
    """The margin below which the share nu lies."""
    return np.sort(u)[int(np.ceil(nu * len(u))) - 1]


@pytest.mark.parametrize("nu", [0.05, 0.3, 0.74])
def test_it_is_the_nu_support_vector_machine(nu):
    ours = Classifier(loss="nu_hinge", nu=nu, alpha=1.0, tol=1e-8).fit(CANCER, MALIGNANT)
    theirs = NuSVC(kernel="linear", nu=nu, tol=1e-8).fit(CANCER, MALIGNANT)
    scores = ours.decision_function(CANCER)
    scores /= rho_of(SIGNS * scores, nu)  # theirs are in units of the margin
    np.testing.assert_allclose(scores, theirs.decision_function(CANCER), atol=2e-3)


@pytest.mark.parametrize("nu", [0.05, 0.5])
def test_it_is_the_one_class_support_vector_machine(nu):
    X = np.abs(CANCER)
    ours = NoveltyDetector(nu=nu, alpha=1 / len(X), tol=1e-8).fit(X)
    theirs = OneClassSVM(kernel="linear", nu=nu, tol=1e-8).fit(X)
    scale = theirs.offset_[0]
    np.testing.assert_allclose(ours.coef_ / scale, theirs.coef_ / scale, atol=1e-6)
    assert ours.offset_ == pytest.approx(scale, rel=1e-6)
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.99  # but for the support vectors


@pytest.mark.parametrize("nu", [0.05, 0.2, 0.4, 0.7])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_nu_lies_between_margin_errors_and_support_vectors(nu, fit_intercept):
    model = Classifier(loss="nu_hinge", nu=nu, fit_intercept=fit_intercept, tol=1e-8)
    u = SIGNS * model.fit(CANCER, MALIGNANT).decision_function(CANCER)
    rho = rho_of(u, nu)
    assert rho > 0
    assert np.mean(u < rho * (1 - 1e-6)) <= nu <= np.mean(u <= rho * (1 + 1e-6))
    novel = NoveltyDetector(nu=nu, tol=1e-8).fit(np.abs(CANCER)).decision_function(np.abs(CANCER))
    off = 1e-6 * np.abs(novel).max()
    assert np.mean(novel < -off) <= nu <= np.mean(novel <= off)


def test_it_is_the_support_vector_machine_with_the_strength_that_it_found():
    """At margin rho the nu machine, divided by rho, is the hinge's at strength alpha * rho."""
    nu_model = Classifier(loss="nu_hinge", nu=0.2, alpha=0.5, tol=1e-9).fit(CANCER, MALIGNANT)
    rho = rho_of(SIGNS * nu_model.decision_function(CANCER), 0.2)
    hinge = Classifier(alpha=0.5 * rho, tol=1e-9).fit(CANCER, MALIGNANT)
    np.testing.assert_allclose(hinge.coef_, nu_model.coef_ / rho, atol=1e-3)


def test_alpha_sets_the_scale():
    small, large = (
        Classifier(loss="nu_hinge", nu=0.3, alpha=alpha, tol=1e-9).fit(CANCER, MALIGNANT)
        for alpha in (1e-3, 1e3)
    )
    np.testing.assert_allclose(small.coef_ * 1e-3, large.coef_ * 1e3, rtol=1e-3)


def test_a_detector_with_nu_can_be_saved(tmp_path):
    model = NoveltyDetector(nu=0.2).fit(np.abs(CANCER))
    fenchel.save(model, tmp_path / "m")
    loaded = fenchel.load(tmp_path / "m")
    assert (loaded.nu, loaded.offset_) == (0.2, model.offset_)
    np.testing.assert_array_equal(loaded.predict(CANCER), model.predict(CANCER))


# What cannot be had.


def test_the_largest_nu_is_named():
    X, y = np.ones((10, 1)), np.repeat([0, 1], [8, 2])
    with pytest.raises(fenchel.InvalidData, match=r"nu = 0\.5 is out of reach.*share, 0\.4"):
        fenchel.problem(X, y, loss="nu_hinge", nu=0.5, intercept=True)
    weights = np.repeat([1.0, 2.0], [8, 2])
    with pytest.raises(fenchel.InvalidData, match=r"share, 0\.666667"):
        fenchel.problem(X, y, loss="nu_hinge", nu=0.7, intercept=True, sample_weight=weights)
    fenchel.problem(X, y, loss="nu_hinge", nu=0.4, intercept=True)
    fenchel.problem(X, y, loss="nu_hinge", nu=1.0)


@pytest.mark.parametrize("nu", [0.0, 1.1, np.nan, "half"])
def test_nu_is_a_share(nu):
    with pytest.raises(fenchel.InvalidData, match="nu must be"):
        NuHinge(nu)


def test_a_penalty_must_outgrow_the_risk():
    for settings in (
        {"regularizer": "l1"},
        {"strength": 0.0},
        {"regularizer": fenchel.regularizers.L2(weights=[1.0, 0.0, 1.0, 1.0])},
    ):
        with pytest.raises(fenchel.Incompatible, match="has no minimum"):
            posed(NuHinge(0.3), True, **settings)
    with pytest.raises(fenchel.Incompatible, match="alpha > 0"):
        Classifier(loss="nu_hinge", alpha=0.0).fit(*data(NuHinge()))


def test_batches_of_rows_do_not_stand_for_all():
    with pytest.raises(fenchel.Incompatible, match="a loss of all scores at once: leave out batch"):
        fenchel.minimize(posed(NuHinge(0.3), True), Pegasos(batch=3))


@pytest.mark.parametrize("solver", ["sdca", "polish", "sublbfgs"])
def test_solvers_that_change_single_rows_or_know_kinks_are_refused(solver):
    with pytest.raises(fenchel.Incompatible, match="solvers that can: bmrm, ls-bmrm"):
        fenchel.minimize(posed(NuHinge(0.3), True), solver)


def test_nu_must_exceed_the_least_mean_hinge_loss():
    X, y = data(NuHinge(), n=60)
    least = fenchel.minimize(fenchel.problem(X, y, intercept=True, strength=1e-9), gap=1e-6)
    for factor in (0.99, 1.01):
        nu = factor * least.objective
        problem = fenchel.problem(X, y, loss="nu_hinge", nu=nu, intercept=True, strength=1.0)
        assert fenchel.minimize(problem).w.any() == (factor > 1)


def test_too_small_a_nu_is_explained():
    X = np.random.default_rng(0).normal(size=(100, 2))
    with pytest.warns(fenchel.FenchelWarning, match="the classes overlap.*raise nu"):
        model = Classifier(loss="nu_hinge", nu=0.1).fit(X, np.arange(100) % 2)
    assert not model.coef_.any()
    with pytest.warns(fenchel.FenchelWarning, match="surround the origin.*raise nu"):
        NoveltyDetector(nu=0.1).fit(X)
