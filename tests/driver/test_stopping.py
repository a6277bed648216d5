"""When a run has converged: a relative gap, an absolute one, and a J that is 0 to round-off."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fenchel
from fenchel import InvalidData, Status
from fenchel.result import Record

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = np.where(X @ np.ones(4) + RNG.normal(size=120) > 0, 1.0, -1.0)
CENTRED = X - X.mean(axis=0)


@pytest.mark.parametrize("solver", ["bmrm", "ls-bmrm", "sdca", "sublbfgs"])
def test_a_run_ends_as_soon_as_its_bounds_are_atol_apart(solver):
    problem = fenchel.problem(X, Y, strength=1e-2)
    loose = fenchel.minimize(problem, solver, gap=1e-9, atol=1e-2)
    assert loose.converged and loose.certificate.width <= 1e-2
    before = [record for record in loose.history[:-1]]
    assert all(record.objective - record.lower_bound > 1e-2 for record in before)
    assert fenchel.verify(loose, problem).width <= 1e-2


def test_the_looser_of_the_two_counts():
    problem = fenchel.problem(X, Y, strength=1e-2)
    relative = fenchel.minimize(problem, "bmrm", gap=1e-2, atol=1e-12)
    assert relative.converged and relative.gap <= 1e-2 and relative.certificate.width > 1e-12


@pytest.mark.parametrize(
    ("loss", "options"), [("nu_novelty", {"nu": 0.5}), ("nu_hinge", {"nu": 0.9})]
)
def test_a_minimum_of_0_converges(loss, options):
    """Where the rows surround the origin, or the classes overlap: J(0) = 0 is the least."""
    y = None if loss == "nu_novelty" else np.where(np.arange(120) % 2, 1.0, -1.0)
    rows = CENTRED if loss == "nu_novelty" else np.repeat(X[::2], 2, axis=0)
    result = fenchel.minimize(fenchel.problem(rows, y, loss=loss, strength=1e-2, **options))
    assert result.converged and not result.w.any()
    assert -1e-20 < result.lower_bound <= result.objective == 0.0


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("loss", ["absolute_error", "squared_error", "huber", "quantile"])
def test_constant_labels_converge_whatever_their_size(loss, scale):
    y = np.full(120, 0.1 * scale)
    result = fenchel.minimize(fenchel.problem(X, y, loss=loss, intercept=True, strength=1e-3))
    assert result.converged


def test_a_small_minimum_is_no_zero():
    """A J of 1e-8 times the loss at 0 is found to its relative gap, not waved through."""
    problem = fenchel.problem(X, X @ np.ones(4), loss="squared_error", strength=1e-8)
    result = fenchel.minimize(problem, gap=1e-6)
    assert result.converged and result.gap <= 1e-6 and result.objective < 1e-7


def test_slopes_whose_squares_overflow_are_no_zero():
    """An offset of 650 makes counts of 1e282: their run ends as any other."""
    problem = fenchel.problem(
        np.ones((2, 1)), [0.0, 30.0], loss="poisson", strength=1e-7, offset=np.array([-75.0, 650.0])
    )
    result = fenchel.minimize(problem, "gd", max_iterations=5)
    assert not result.converged and result.objective > 1e200


def test_a_run_that_only_stalls_has_not_converged():
    class Lazy(fenchel.Solver):
        name, needs, patience = "lazy", fenchel.Needs(), 3

        def iterate(self, problem, w, state=None):
            point = problem.risk.at(w)
            while True:
                yield fenchel.Step(point, problem.objective(point))

    result = fenchel.minimize(fenchel.problem(X, Y, strength=1e-2), Lazy())
    assert result.status is Status.STALLED


class Lazy(fenchel.Solver):
    """Three steps that lead nowhere."""

    name, needs = "lazy", fenchel.Needs()

    def iterate(self, problem, w, state=None):
        for _ in range(3):
            point = problem.risk.at(w)
            yield fenchel.Step(point, problem.objective(point))


@pytest.mark.parametrize("loss", ["hinge", "multiclass_hinge", "logistic"])
def test_a_bundle_goes_on_where_the_choice_of_auto_stalls(loss, monkeypatch):
    monkeypatch.setattr("fenchel.solvers.auto", lambda problem: (Lazy(), "for the sake of a test"))
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % (3 if loss == "multiclass_hinge" else 2)
    problem = fenchel.problem(X, y, loss=loss, strength=0.1, intercept=True)
    result = fenchel.minimize(problem, gap=1e-6)
    if loss == "logistic":  # no cuts are better than what steps on smooth losses give
        assert (result.solver, result.status, result.iterations) == ("lazy", Status.STALLED, 3)
        return
    assert result.converged
    assert fenchel.verify(result, problem).gap <= 1e-6
    assert result.solver == ("bmrm" if loss == "multiclass_hinge" else "ls-bmrm")
    assert result.reason == "lazy stalled: for the sake of a test"
    assert len(result.history) == result.iterations > 3
    assert fenchel.minimize(problem, Lazy(), gap=1e-6).status is Status.STALLED


@pytest.mark.parametrize("atol", [-1e-3, math.nan, math.inf, "0"])
def test_atol_is_a_number_from_0(atol):
    with pytest.raises(InvalidData, match="atol"):
        fenchel.minimize(fenchel.problem(X, Y), atol=atol)
    with pytest.raises(InvalidData, match="atol"):
        fenchel.Classifier(atol=atol).fit(X, Y)


def test_estimators_and_paths_take_it():
    model = fenchel.Classifier(tol=1e-9, atol=1e-2, alpha=1e-2, solver="bmrm").fit(X, Y)
    assert model.status_ == "converged" and 1e-9 < model.gap_
    path = fenchel.path(fenchel.problem(X, Y), [1e-1, 1e-2], "bmrm", gap=1e-9, atol=1e-2)
    assert path.converged and max(result.certificate.width for result in path) <= 1e-2


def test_significant_figures():
    def record(gap):
        return Record(1, 1.0, 1.0 - gap, gap, 1, 0.0)

    assert record(1e-3).sigfig == pytest.approx(3)
    assert record(5.0).sigfig == record(math.inf).sigfig == 0
    assert record(0.0).sigfig == math.inf
