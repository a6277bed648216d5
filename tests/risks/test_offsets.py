"""Offsets of rows: certificates, exposures, and what takes none."""

import numpy as np
import pytest
from catalogue import BASELINES, SOLVERS, data_for, ids
from scipy import sparse
from scipy.optimize import minimize as scipy_minimize

import fenchel
from fenchel import Incompatible, InvalidCertificate, InvalidData, losses
from fenchel.engines import Threads
from fenchel.regularizers import L1, L2

STRENGTH = 0.2
CHOSEN = [solver for solver in SOLVERS if not isinstance(solver, BASELINES)]


def objective(loss, X, y, s, offset, regularizer=L2()):  # noqa: B008 - it has no state
    """J by the formulas alone, over (w, b)."""

    def J(parameters):
        w, b = parameters[:-1], parameters[-1]
        each = loss.value(X @ w + b + offset, y)
        return STRENGTH * regularizer.value(w) + np.sum(s * each) / np.sum(s)

    return J


def posed(loss, regularizer=None, *, intercept, seed=0, layout=np.asarray):
    X, y = data_for(loss, seed=seed)
    rng = np.random.default_rng(seed)
    s, offset = rng.uniform(0.5, 2.0, size=len(y)), rng.normal(size=len(y))
    problem = fenchel.problem(
        layout(X),
        y,
        loss=loss,
        regularizer=regularizer or L2(),
        strength=STRENGTH,
        intercept=intercept,
        sample_weight=s,
        offset=offset,
    )
    return problem, objective(loss, X, y, s, offset, regularizer or L2())


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("solver", CHOSEN, ids=ids)
@pytest.mark.parametrize("loss", [losses.Poisson(), losses.Hinge(), losses.Huber()], ids=ids)
def test_every_solver_encloses_the_minimum(loss, solver, intercept):
    problem, J = posed(loss, intercept=intercept)
    if (obstacle := solver.obstacle(problem)) is not None:
        pytest.skip(obstacle)
    result = fenchel.minimize(problem, solver, gap=1e-3, max_iterations=200)
    found = np.append(result.w, result.intercept)
    assert result.objective == pytest.approx(J(found), rel=1e-12)
    if intercept:
        best = min(scipy_minimize(J, start, tol=1e-10).fun for start in (found, 0 * found))
    else:
        best = scipy_minimize(lambda w: J(np.append(w, 0.0)), result.w, tol=1e-10).fun
    assert result.lower_bound <= best + 1e-12
    assert best <= result.objective + 1e-12
    assert result.gap <= 1e-2
    certificate = fenchel.verify(result, problem)
    assert certificate.lower_bound >= result.lower_bound - 1e-9


@pytest.mark.parametrize("solver", ["owlqn", "bmrm", "sdca"])
def test_certificates_hold_with_an_l1_penalty_too(solver):
    regularizer = fenchel.regularizers.ElasticNet() if solver == "sdca" else L1()
    problem, J = posed(losses.Poisson(), regularizer, intercept=True, layout=sparse.csr_array)
    result = fenchel.minimize(problem, solver, gap=1e-6, max_iterations=2000)
    assert result.converged
    assert result.objective == pytest.approx(J(np.append(result.w, result.intercept)), rel=1e-12)
    assert fenchel.verify(result, problem).gap <= 2e-6
    beside = np.random.default_rng(0).normal(size=(50, 5)) * np.geomspace(1e-6, 1.0, 50)[:, None]
    around = np.append(result.w, result.intercept) + beside
    assert min(J(parameters) for parameters in around) >= result.lower_bound


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "bmrm", "sdca"])
@pytest.mark.parametrize("intercept", [False, True])
def test_an_exposure_is_a_rate_with_a_weight(solver, intercept):
    """Poisson: e exp(z) - y (z + log e) = e (exp(z) - (y / e) z) + a constant."""
    X, y = data_for(losses.Poisson(), n=60)
    e = np.random.default_rng(1).uniform(0.2, 5.0, size=60)
    # S is the sum of the weights: the strength is that of the mean over e rather than over rows.
    options = {"loss": "poisson", "intercept": intercept}
    counts = fenchel.problem(X, y, offset=np.log(e), strength=0.1, **options)
    rates = fenchel.problem(X, y / e, sample_weight=e, strength=0.1 / np.mean(e), **options)
    one, other = (
        fenchel.minimize(each, solver, gap=1e-9, max_iterations=5000) for each in (counts, rates)
    )
    assert np.allclose(one.w, other.w, atol=1e-4)
    assert one.intercept == pytest.approx(other.intercept, abs=1e-4)
    assert fenchel.verify(one, counts).gap <= 2e-9


@pytest.mark.parametrize("solver", ["sublbfgs", "bmrm", "sdca", "polish", "agm-inf"])
@pytest.mark.parametrize("name", ["absolute_error", "epsilon_insensitive"])
def test_of_residuals_an_offset_is_taken_off_the_labels(name, solver):
    loss = losses.LOSSES[name]()
    X, y = data_for(loss)
    offset = np.random.default_rng(1).normal(size=len(y))
    shared = {"loss": loss, "strength": 0.1, "intercept": solver != "agm-inf"}
    one = fenchel.problem(X, y, offset=offset, **shared)
    other = fenchel.problem(X, y - offset, **shared)
    results = [fenchel.minimize(each, solver, gap=1e-5) for each in (one, other)]
    assert results[0].objective == pytest.approx(results[1].objective, abs=2e-5)
    assert results[0].lower_bound <= results[1].objective + 1e-12
    assert results[1].lower_bound <= results[0].objective + 1e-12
    fenchel.verify(results[0], one)


def test_offsets_stay_with_their_rows_on_shards_and_threads(monkeypatch):
    monkeypatch.setattr("fenchel.data.shards.NUMBERS_PER_SHARD", 400)
    rng = np.random.default_rng(0)
    X, offset = rng.normal(size=(300, 4)), rng.normal(size=300)
    y = rng.poisson(np.exp(0.3 * X[:, 0] + offset)).astype(float)
    pose = {"loss": "poisson", "strength": 0.01, "offset": offset}
    problems = [fenchel.problem(X, y, engine=each, **pose) for each in ("serial", Threads(2))]
    assert problems[0].risk.engine.n_shards > 1
    assert problems[0].risk.engine.joined().offset == pytest.approx(offset, abs=0)
    for solver in ("lbfgs", "sdca"):
        results = [fenchel.minimize(each, solver, max_iterations=20) for each in problems]
        assert np.array_equal(results[0].w, results[1].w)
        fenchel.verify(results[1], problems[1])
    digests = {each.risk.fingerprint() for each in problems}
    without = fenchel.problem(X, y, engine="serial", **pose | {"offset": None})
    assert len(digests) == 1
    assert without.risk.fingerprint() not in digests


@pytest.mark.parametrize("solver", ["lbfgs", "sdca"])
def test_another_offset_does_not_verify(solver):
    problem, _ = posed(losses.Poisson(), intercept=False)
    result = fenchel.minimize(problem, solver, gap=1e-6)
    X, y = data_for(losses.Poisson())
    forged = fenchel.problem(X, y, loss="poisson", strength=STRENGTH, offset=np.ones(len(y)))
    with pytest.raises(InvalidCertificate):
        fenchel.verify(result, forged)


@pytest.mark.parametrize("name", ["softmax", "multiclass_hinge", "roc", "nu_hinge", "fbeta"])
def test_losses_of_more_than_one_score_refuse_offsets(name):
    X, y = data_for(losses.Hinge())
    options = {"nu": 0.3} if name == "nu_hinge" else {}
    with pytest.raises(Incompatible, match="takes no offset"):
        fenchel.problem(X, y, loss=name, offset=np.zeros(len(y)), **options)


def test_offsets_are_checked_like_weights():
    X, y = data_for(losses.Poisson())
    with pytest.raises(InvalidData, match="offset has 3 entries"):
        fenchel.problem(X, y, loss="poisson", offset=[1.0, 2.0, 3.0])
    with pytest.raises(InvalidData, match="offset holds 1 values that are nan or inf"):
        fenchel.problem(X, y, loss="poisson", offset=np.where(np.arange(len(y)) == 2, np.nan, 0.0))
