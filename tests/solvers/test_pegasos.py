"""Pegasos on batches of rows: the kernel takes the steps of the formula."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel import Status
from fenchel.risks.views.sampling import Sampling
from fenchel.solvers import Pegasos

RNG = np.random.default_rng(0)
X = RNG.normal(size=(150, 12)) * (RNG.random((150, 12)) < 0.4)
Y = np.where(X @ np.ones(12) + RNG.normal(size=150) > 0, 1.0, -1.0)
S = RNG.random(150)
FORMS = {
    "rows": np.ascontiguousarray(X),
    "columns": np.asfortranarray(X),
    "sparse": sparse.csr_array(X),
    "single": X.astype(np.float32),
}


def _formula(monkeypatch):
    monkeypatch.setattr(Sampling, "batches_at_once", lambda *_: None)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_error", "absolute_error"])
@pytest.mark.parametrize("strength", [1.0, 1e-3])
def test_the_kernel_takes_the_steps_of_the_formula(monkeypatch, form, batch, loss, strength):
    problem = fenchel.problem(FORMS[form], Y, loss=loss, strength=strength, sample_weight=S)
    native = fenchel.minimize(problem, Pegasos(batch, seed=2), max_iterations=5)
    _formula(monkeypatch)
    plain = fenchel.minimize(problem, Pegasos(batch, seed=2), max_iterations=5)
    here, there = ([record.objective for record in each.history] for each in (native, plain))
    assert here == pytest.approx(there, rel=1e-9)
    assert native.w == pytest.approx(plain.w, rel=1e-7, abs=1e-9)


def test_with_offsets_and_an_intercept_too(monkeypatch):
    counts, offset = RNG.poisson(1.0, 150).astype(float), RNG.normal(size=150)
    problem = fenchel.problem(
        X, counts, loss="poisson", strength=0.5, intercept=True, offset=offset
    )
    native = fenchel.minimize(problem, Pegasos(5), max_iterations=4)
    _formula(monkeypatch)
    plain = fenchel.minimize(problem, Pegasos(5), max_iterations=4)
    assert native.objective == pytest.approx(plain.objective, rel=1e-9)


def test_the_same_seed_gives_the_same_bits_on_any_engine():
    found = [
        fenchel.minimize(
            fenchel.problem(X, Y, strength=1.0, engine=engine),
            Pegasos(3, seed=seed),
            max_iterations=4,
        ).w
        for engine, seed in (("serial", 1), ("threads", 1), ("serial", 2))
    ]
    assert np.array_equal(found[0], found[1]) and not np.array_equal(found[0], found[2])


def test_steps_in_several_calls_are_those_of_one(monkeypatch):
    problem = fenchel.problem(X, Y, strength=1e-2)
    one = fenchel.minimize(problem, Pegasos(1), max_iterations=4)
    monkeypatch.setattr("fenchel.solvers.pegasos._AT_ONCE", 40)
    many = fenchel.minimize(problem, Pegasos(1), max_iterations=4)
    assert many.objective == pytest.approx(one.objective, rel=1e-12)


def test_a_limit_of_time_is_heard_within_an_epoch(monkeypatch):
    monkeypatch.setattr("fenchel.solvers.pegasos._AT_ONCE", 1)
    ticks = itertools.count()
    monkeypatch.setattr("fenchel.minimisation.time.perf_counter", lambda: next(ticks) / 100)
    result = fenchel.minimize(fenchel.problem(X, Y), Pegasos(1), max_seconds=0.5)
    assert result.status is Status.TIME_LIMIT and result.seconds < 1.0


def test_it_reaches_the_minimum():
    problem = fenchel.problem(sparse.csr_array(X), Y, strength=0.1)
    best = fenchel.minimize(problem, gap=1e-8)
    found = fenchel.minimize(problem, Pegasos(1), max_iterations=200)
    assert found.status is Status.MAX_ITERATIONS
    assert found.objective == pytest.approx(best.objective, rel=1e-3)


def test_a_perceptron_at_0_is_at_its_minimum_and_not_stalled():
    result = fenchel.minimize(
        fenchel.problem(X, Y, loss="perceptron"), Pegasos(1), max_iterations=300, w0=np.ones(12)
    )
    assert result.status in (Status.MAX_ITERATIONS, Status.CONVERGED)


def test_the_kernel_checks_its_rows():
    from fenchel import _kernels
    from fenchel.losses.scalar_rows import twin

    rows = _kernels.SampledProblem(twin(fenchel.losses.Hinge()), Y, None, None, 1.0)
    w, total, one = np.zeros(12), np.zeros(12), np.ones(1, dtype=np.int64)
    dense = np.ascontiguousarray(X)
    with pytest.raises(ValueError, match="row that is not there"):
        _kernels.dense_pegasos(dense, rows, 150 * one, one, 0.0, 1.0, 1.0, 0, w, total)
    with pytest.raises(ValueError, match="ends must increase"):
        _kernels.dense_pegasos(dense, rows, one, 2 * one, 0.0, 1.0, 1.0, 0, w, total)
    with pytest.raises(ValueError, match="w has length"):
        _kernels.dense_pegasos(dense, rows, one, one, 0.0, 1.0, 1.0, 0, w[:5], total)
