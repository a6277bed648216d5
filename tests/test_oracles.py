"""Oracles that users write, checked against losses that are built in."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

import fenchel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 4))
Y = np.argmax(X @ RNG.normal(size=(4, 3)) + 0.5 * RNG.normal(size=(40, 3)), axis=1)


class CrammerSinger(fenchel.Oracle):
    n_parameters = 12

    def argmax(self, w, x, y):
        worst = np.argmax(w.reshape(3, 4) @ x + (np.arange(3) != y))
        a = np.zeros((3, 4))
        a[worst] += x
        a[y] -= x
        return a.ravel(), float(worst != y)


class LogLinear(CrammerSinger):
    def expectation(self, w, x, y):
        z = w.reshape(3, 4) @ x
        p = np.exp(z - logsumexp(z))
        return logsumexp(z) - z[y], np.outer(p - np.eye(3)[y], x).ravel()


@pytest.mark.parametrize(
    ("oracle", "loss"), [(CrammerSinger(), "multiclass_hinge"), (LogLinear(), "softmax")]
)
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("engine", ["serial", "threads"])
def test_an_oracle_is_as_good_as_the_loss_it_copies(oracle, loss, regularizer, engine):
    options = {"regularizer": regularizer, "strength": 0.02}
    problem = fenchel.problem(X, Y, loss=oracle, engine=engine, **options)
    result = fenchel.minimize(problem, gap=1e-5).raise_for_status()
    exact = fenchel.minimize(fenchel.problem(X, Y, loss=loss, **options), gap=1e-5)
    assert result.lower_bound <= exact.objective and exact.lower_bound <= result.objective
    assert fenchel.verify(result, problem).gap <= 1.01e-5


def test_samples_are_right_in_the_mean():
    risk = fenchel.problem(X, Y, loss=LogLinear()).risk
    w = RNG.normal(size=12)
    assert risk.engine.n_shards > 1
    each = [risk.sampled(w, 0.0, np.array([i])) for i in range(len(X))]
    assert np.mean(each, axis=0) == pytest.approx(risk.at(w).subgradient)
    some = np.array([0, 3, 4, 17, 39])
    assert risk.sampled(w, 0.0, some) == pytest.approx(np.mean([each[i] for i in some], axis=0))


def test_every_solver_that_can_will_do():
    for oracle, able in (
        (CrammerSinger(), ("bmrm", "ls-bmrm", "bmrm-noqp")),
        (LogLinear(), ("lbfgs", "agm-inf", "fista")),
    ):
        problem = fenchel.problem(X, Y, loss=oracle, strength=0.1)
        for solver in (*able, "pegasos"):
            result = fenchel.minimize(problem, solver, gap=0.3)
            assert result.converged, solver


def test_a_run_goes_on_from_its_checkpoint(tmp_path):
    problem = fenchel.problem(X, Y, loss=CrammerSinger(), strength=0.01)
    path = tmp_path / "state"
    fenchel.minimize(problem, gap=1e-6, max_iterations=10, checkpoint=path)
    again = fenchel.minimize(problem, gap=1e-6, checkpoint=path)
    assert (
        again.objective == fenchel.minimize(problem, gap=1e-6, checkpoint=tmp_path / "b").objective
    )


class Scaled(CrammerSinger):
    def __init__(self, scale):
        self.scale = scale

    def argmax(self, w, x, y):
        a, b = super().argmax(w / self.scale, x, y)
        return a, self.scale * b


def test_a_checkpoint_of_another_oracle_is_refused(tmp_path):
    """Of the same class, with other settings."""
    first, second = (fenchel.problem(X, Y, loss=Scaled(scale), strength=0.01) for scale in (1, 2))
    fenchel.minimize(first, gap=1e-9, max_iterations=20, checkpoint=tmp_path / "state")
    with pytest.raises(fenchel.InvalidData, match="belongs to another problem"):
        fenchel.minimize(second, checkpoint=tmp_path / "state")
    second.risk.oracle.unknown = lambda: 1
    with pytest.raises(fenchel.InvalidData, match="pickle"):
        fenchel.minimize(second, checkpoint=tmp_path / "other")


class Least(fenchel.Oracle):
    """Takes the least of the outputs where the largest is asked for: not convex."""

    n_parameters = 4

    def __init__(self, nonnegative):
        self.nonnegative = nonnegative

    def argmax(self, w, x, y):
        sign = 1 if y else -1
        return min(((-sign * x, 1.0), (sign * x, 1.0)), key=lambda cut: cut[0] @ w + cut[1])


def test_an_oracle_that_is_wrong_is_found_out():
    with pytest.raises(fenchel.InvalidData, match="less than 0"):
        fenchel.minimize(fenchel.problem(X, Y, loss=Least(True), strength=1e-2))
    problem = fenchel.problem(X, Y, loss=Least(False), strength=0.1)
    with pytest.raises(fenchel.InvalidCertificate, match="not convex"):
        fenchel.minimize(problem)
    with pytest.raises(fenchel.InvalidCertificate, match="not convex"):
        fenchel.verify(_misled(problem), problem)


def _misled(problem):
    """The cut at 0, and J at a w below it."""
    here, there = (problem.risk.at(scale * np.ones(4)) for scale in (0.0, 5.0))
    J = problem.objective(there)
    honest = fenchel.minimize(fenchel.problem(X, Y, loss=CrammerSinger(), strength=1e-2), gap=1e-2)
    return replace(
        honest, w=there.w, certificate=fenchel.Certificate(-100.0, J), witness=here.witness
    )


class Lost(LogLinear):
    def expectation(self, w, x, y):
        value, slope = super().expectation(w, x, y)
        return (value if np.abs(w).max() < 0.1 else np.nan), slope


@pytest.mark.parametrize("solver", ["agm-inf", "agm-1", "fista", "proximal-gradient"])
def test_a_loss_that_is_no_number_ends_the_run_at_once(solver):
    result = fenchel.minimize(fenchel.problem(X, Y, loss=Lost(), strength=1e-3), solver)
    assert result.status is fenchel.Status.NONFINITE and np.isfinite(result.w).all()
    assert result.passes <= 60


class Silent(fenchel.Oracle):
    n_parameters = 3


class Unsized(CrammerSinger):
    n_parameters = 0


class Misshapen(CrammerSinger):
    n_parameters = 5

    def argmax(self, w, x, y):
        return np.zeros(4), 0.0


@pytest.mark.parametrize(
    ("oracle", "options", "words"),
    [
        (Silent(), {}, "neither argmax nor expectation"),
        (Unsized(), {}, "n_parameters"),
        (Misshapen(), {}, r"\(4,\)"),
        (CrammerSinger(), {"intercept": True}, "no intercept"),
        (CrammerSinger(), {"groups": Y}, "groups"),
        (CrammerSinger(), {"y": Y[:3]}, "40 examples and y 3"),
        (CrammerSinger(), {"X": []}, "at least one"),
    ],
)
def test_what_cannot_be_used_is_refused(oracle, options, words):
    with pytest.raises(fenchel.FenchelError, match=words):
        fenchel.problem(**{"X": X, "y": Y, "loss": oracle, **options})


def test_a_loss_that_may_be_negative_has_no_zero_cut():
    class Shifted(CrammerSinger):
        nonnegative = False

        def argmax(self, w, x, y):
            a, b = super().argmax(w, x, y)
            return a, b - 5.0

    problem = fenchel.problem(X, Y, loss=Shifted(), strength=0.1)
    result = fenchel.minimize(problem, gap=1e-4).raise_for_status()
    right = fenchel.minimize(fenchel.problem(X, Y, loss=CrammerSinger(), strength=0.1), gap=1e-6)
    assert result.objective == pytest.approx(right.objective - 5.0, rel=1e-3)
    assert fenchel.verify(result, problem).gap <= 1.01e-4
