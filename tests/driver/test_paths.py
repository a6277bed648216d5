"""Paths: every point is certified, the same minimum as a cold fit, whatever comes between."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from catalogue import N_FEATURES, problem_for, vector_problem_for
from sklearn.linear_model import enet_path, lasso_path

import fenchel
from fenchel import Incompatible, InvalidData, NotConverged, Path, Status, losses
from fenchel.regularizers import L1, ElasticNet

STRENGTHS = np.geomspace(0.5, 1e-3, 6)

PROBLEMS = {
    "hinge": problem_for(losses.Hinge(), intercept=True),
    "logistic-l1": problem_for(losses.Logistic(), "l1", intercept=True, weighted=True),
    "huber-elastic-net": problem_for(losses.Huber(), "elastic_net"),
    "quantile-l1": problem_for(losses.Quantile(0.3), "l1", intercept=True),
    "poisson": problem_for(losses.Poisson(), intercept=True),
    "softmax": vector_problem_for(losses.Softmax(), intercept=True),
    "multiclass-hinge": vector_problem_for(losses.MulticlassHinge()),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS.values(), ids=PROBLEMS.keys())


def at(problem, strength):
    return dataclasses.replace(problem, strength=float(strength))


def stopping_in_run(k):
    """A callback that ends the k-th run at its second iteration."""
    runs = []

    def callback(record):
        runs.append(record.iteration == 1)
        return sum(runs) == k and record.iteration == 2

    return callback


# What is proved


@every_problem
def test_every_point_is_certified_and_at_the_minimum_of_a_cold_fit(problem):
    path = fenchel.path(problem, STRENGTHS, gap=1e-4)
    assert path.converged and len(path) == len(STRENGTHS)
    for strength, warm in zip(path.strengths, path, strict=True):
        certificate = fenchel.verify(warm, at(problem, strength))
        assert certificate.source == "witness" and certificate.gap <= 1.01e-4
        cold = fenchel.minimize(at(problem, strength), gap=1e-4)
        assert warm.lower_bound <= cold.objective and cold.lower_bound <= warm.objective


@every_problem
def test_the_order_of_the_strengths_does_not_matter(problem):
    path = fenchel.path(problem, STRENGTHS)
    mixed = fenchel.path(problem, [*STRENGTHS[::-2], *STRENGTHS[::2], STRENGTHS[1]])
    assert np.array_equal(path.strengths, mixed.strengths)
    assert np.array_equal(path.strengths, np.sort(STRENGTHS)[::-1])
    assert np.array_equal(path.coefficients, mixed.coefficients)
    assert np.array_equal(path.lower_bounds, mixed.lower_bounds)


@pytest.mark.parametrize(
    ("regularizer", "peer"),
    [("l1", lasso_path), (ElasticNet(0.7), lambda *a, **k: enet_path(*a, l1_ratio=0.7, **k))],
    ids=["lasso_path", "enet_path"],
)
def test_the_coefficients_are_scikit_learns(regularizer, peer):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 8))
    y = X @ [3, -2, 1, 0, 0, 0, 0.5, 0] + 0.3 * rng.normal(size=60)
    problem = fenchel.problem(X, y, loss="squared_error", regularizer=regularizer)
    path = fenchel.path(problem, 10, gap=1e-10)
    alphas, coefficients, _ = peer(X, y, alphas=path.strengths, tol=1e-12)
    assert np.array_equal(alphas, path.strengths)
    assert path.coefficients == pytest.approx(coefficients, abs=1e-4)


# Where it starts


@pytest.mark.parametrize("regularizer", [L1(), L1([1, 2, 3, 0.5]), ElasticNet(0.3)], ids=repr)
@pytest.mark.parametrize("loss", [losses.Logistic(), losses.SquaredError()], ids=repr)
def test_a_sparse_path_starts_at_the_smallest_strength_at_which_all_weights_are_0(
    loss, regularizer
):
    problem = problem_for(loss, regularizer, intercept=True)
    path = fenchel.path(problem, 7, gap=1e-9)
    assert not path[0].w.any()
    assert fenchel.minimize(at(problem, 0.999 * path.strengths[0]), gap=1e-9).w.any()
    assert path.strengths == pytest.approx(path.strengths[0] * np.geomspace(1, 1e-3, 7))


def test_without_a_gradient_at_0_it_starts_where_all_weights_are_0():
    path = fenchel.path(problem_for(losses.Hinge(), "l1", intercept=True), 3)
    assert path[0].converged and np.abs(path[0].w).max() < 1e-9


@pytest.mark.parametrize(
    "problem",
    [problem_for(losses.Hinge()), problem_for(losses.Logistic(), L1([1, 0, 1, 1]))],
    ids=["l2", "free"],
)
def test_else_from_a_tenth_to_a_millionth(problem):
    path = fenchel.path(problem, max_iterations=1)
    assert path.strengths == pytest.approx(np.geomspace(1e-1, 1e-6, 30))


@pytest.mark.parametrize("intercept", [False, True])
def test_a_smooth_path_goes_on_along_its_secant(intercept):
    """So that starts are nearer to the minimum than the last minimiser is."""
    problem, strengths = problem_for(losses.Logistic(), intercept=intercept), [0.1, 0.08, 0.06]
    path = fenchel.path(problem, strengths, "lbfgs", gap=1e-9)
    there = at(problem, strengths[2])
    kept = there.objective(there.risk.at(path[1].w)) - path[2].objective
    assert path[2].history[0].objective - path[2].objective < 0.3 * kept


@pytest.mark.parametrize("loss", [losses.Hinge(), losses.SquaredHinge()], ids=str)
def test_dual_variables_go_on_along_their_secant(loss):
    """Those of a hinge are piecewise linear in the strength: on one piece they start at the end."""
    problem, strengths = problem_for(loss, n=60), [0.1, 0.0999, 0.0998]
    path = fenchel.path(problem, strengths, "sdca", gap=1e-12)
    there = at(problem, strengths[2])
    kept = fenchel.minimize(there, "sdca", w0=path[1], max_iterations=1, gap=1e-15)
    ahead = path[2].history[0]
    assert ahead.objective - ahead.lower_bound < 0.01 * (kept.objective - kept.lower_bound)


@pytest.mark.parametrize("solver", ["lbfgs", "newton"])
def test_a_secant_goes_no_further_than_it_is_known(solver):
    """From two strengths close together to one far away."""
    problem = problem_for(losses.Poisson())
    path = fenchel.path(problem, [1.0, 0.999, 1e-4], solver)
    kept = fenchel.minimize(at(problem, 1e-4), solver, w0=path[1])
    assert path[2].converged and path[2].passes <= 2 * kept.passes


def test_a_path_may_end_at_strength_0():
    path = fenchel.path(problem_for(losses.SquaredError()), [1e-2, 1e-3, 0.0], "lbfgs")
    assert path[2].objective <= path[1].objective


def test_a_result_is_a_start_and_so_is_its_w_alone():
    """Intercepts are found for every w."""
    problem = vector_problem_for(losses.Softmax(), intercept=True)
    first = fenchel.minimize(problem, gap=1e-8)
    again = fenchel.minimize(problem, w0=first, max_iterations=1, gap=1e-12)
    assert again.history[0].objective == pytest.approx(first.objective, rel=1e-12)
    without = fenchel.minimize(problem, w0=first.w, max_iterations=1, gap=1e-12)
    assert without.history[0].objective == pytest.approx(first.objective, rel=1e-12)


def test_a_result_of_another_shape_is_no_start():
    other = fenchel.minimize(problem_for(losses.Hinge(), d=7))
    with pytest.raises(InvalidData, match=f"w0 must hold {N_FEATURES} real numbers"):
        fenchel.minimize(problem_for(losses.Hinge()), w0=other)


def test_a_warm_start_saves_passes():
    problem = problem_for(losses.Logistic(), n=400, d=40)
    strengths = np.geomspace(1e-2, 1e-3, 12)
    warm = sum(result.passes for result in fenchel.path(problem, strengths))
    cold = sum(fenchel.minimize(at(problem, strength)).passes for strength in strengths)
    assert warm < 0.8 * cold


# Where it ends


def test_a_strength_that_falls_short_says_so_and_the_path_goes_on():
    path = fenchel.path(
        problem_for(losses.Hinge()), [100.0, *STRENGTHS], "ls-bmrm", max_iterations=3
    )
    assert [result.status for result in path] == [Status.CONVERGED] + 6 * [Status.MAX_ITERATIONS]
    assert not path.converged and "7 strengths from 100 to 0.001: 1 converged" in repr(path)
    with pytest.raises(NotConverged):
        path.raise_for_status()


def test_a_callback_ends_the_path_and_keeps_what_is_done():
    problem = problem_for(losses.Hinge())
    path = fenchel.path(problem, STRENGTHS, "ls-bmrm", callback=stopping_in_run(3))
    assert [result.converged for result in path] == [True, True, False]
    assert path[-1].status is Status.INTERRUPTED
    assert np.array_equal(path.strengths, STRENGTHS[:3])
    whole = fenchel.path(problem, STRENGTHS, "ls-bmrm")
    assert np.array_equal(path.coefficients[:, :2], whole.coefficients[:, :2])


def test_the_keyboard_ends_the_path_and_keeps_what_is_done():
    stop = stopping_in_run(3)

    def callback(record):
        if stop(record):
            raise KeyboardInterrupt

    path = fenchel.path(problem_for(losses.Hinge()), STRENGTHS, callback=callback)
    assert [result.converged for result in path] == [True, True, False]


def test_the_keyboard_before_the_first_iteration_of_a_strength_loses_nothing(monkeypatch):
    calls = []

    def minimize(*args, **options):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return fenchel.minimize(*args, **options)

    monkeypatch.setattr("fenchel.paths.minimize", minimize)
    path = fenchel.path(problem_for(losses.Hinge()), STRENGTHS, "ls-bmrm")
    assert len(path) == 2 and path.converged
    with pytest.raises(KeyboardInterrupt):
        calls[:] = [None, None]
        fenchel.path(problem_for(losses.Hinge()), STRENGTHS, "ls-bmrm")


# The object


def test_arrays_have_the_strengths_last():
    path = fenchel.path(PROBLEMS["softmax"], STRENGTHS)
    assert path.coefficients.shape == (3, N_FEATURES, 6) and path.intercepts.shape == (3, 6)
    assert np.array_equal(path.coefficients[..., 2], path[2].w)
    assert np.array_equal(path.intercepts[..., 2], path[2].intercept)
    for name in ("objectives", "lower_bounds", "gaps"):
        assert getattr(path, name).tolist() == [getattr(result, name[:-1]) for result in path]
    assert fenchel.path(PROBLEMS["hinge"], STRENGTHS).intercepts.shape == (6,)


def test_it_is_a_sequence_and_finds_a_strength():
    path = fenchel.path(PROBLEMS["logistic-l1"], STRENGTHS)
    assert list(path) == [path[k] for k in range(6)] and path[-1] is path.results[-1]
    part = path[1:3]
    assert isinstance(part, Path) and np.array_equal(part.strengths, path.strengths[1:3])
    assert part[0] is path[1]
    assert path.at(float(f"{STRENGTHS[2]:.7g}")) is path[2]
    with pytest.raises(InvalidData, match=r"no strength 0\.3; its strengths are 0\.5, 0\.14"):
        path.at(0.3)
    assert path.raise_for_status() is path


# What is refused


@pytest.mark.parametrize(
    ("strengths", "message"),
    [
        (0, "strengths must be a whole number >= 1"),
        (0.1, "strengths must be a whole number >= 1"),
        (True, "strengths must be a whole number >= 1"),
        ([], "strengths is empty"),
        ([0.1, -1.0], "each of strengths must be a finite number >= 0; got -1.0"),
        ([0.1, np.nan], "each of strengths must be a finite number >= 0"),
        (["much"], "each of strengths must be a finite number >= 0"),
        ([[0.1], [0.1, 0.2]], "strengths must be numbers >= 0, or how many"),
    ],
    ids=repr,
)
def test_bad_strengths_are_refused_before_any_work(strengths, message):
    problem = problem_for(losses.Hinge())
    with pytest.raises(InvalidData, match=message):
        fenchel.path(problem, strengths)
    assert problem.risk.passes == 0


def test_what_is_no_problem_is_refused():
    with pytest.raises(Incompatible, match=r"path needs a Problem, made by fenchel\.problem"):
        fenchel.path(np.eye(3), [0.1])


def test_a_path_of_one_strength_names_it():
    assert repr(fenchel.path(problem_for(losses.Logistic()), [0.5])).startswith("Path(0.5: 1 conv")
