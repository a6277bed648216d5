"""Oracles that users write, checked against losses that are built in."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from catalogue import BASELINES
from scipy import sparse
from scipy.special import logsumexp

import fenchel
from fenchel.risks.views.sampling import Sampling
from fenchel.solvers import SOLVERS, BMRMWithoutQP

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


class LogLinear(fenchel.Oracle):
    n_parameters = 12

    def expectation(self, w, x, y):
        z = w.reshape(3, 4) @ x
        p = np.exp(z - logsumexp(z))
        return logsumexp(z) - z[y], np.outer(p - np.eye(3)[y], x).ravel()


class Both(LogLinear, CrammerSinger):
    """Of which the expectation is minimised."""


@pytest.mark.parametrize(
    ("oracle", "loss"),
    [(CrammerSinger(), "multiclass_hinge"), (LogLinear(), "softmax"), (Both(), "softmax")],
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
    each = [Sampling(risk).subgradient(w, 0.0, np.array([i])) for i in range(len(X))]
    assert np.mean(each, axis=0) == pytest.approx(risk.at(w).subgradient)
    some = np.array([0, 3, 4, 17, 39])
    assert Sampling(risk).subgradient(w, 0.0, some) == pytest.approx(
        np.mean([each[i] for i in some], axis=0)
    )


def able(problem):
    """The solvers that can minimise it."""
    solvers = [kind() for kind in SOLVERS.values()]
    return [solver for solver in solvers if solver.obstacle(problem) is None]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("oracle", "regularizer", "some"),
    [
        (CrammerSinger(), "l2", {"bmrm", "ls-bmrm", "bmrm-noqp", "pegasos"}),
        (CrammerSinger(), "l1", {"bmrm", "ls-bmrm"}),
        (LogLinear(), "l2", {"bmrm", "lbfgs", "sublbfgs", "agm-inf", "agm-1", "fista", "pegasos"}),
        (LogLinear(), "l1", {"bmrm", "ls-bmrm", "owlqn", "owlqn-star", "kt-split"}),
    ],
)
def test_every_solver_that_can_will_do(oracle, regularizer, some):
    problem = fenchel.problem(X, Y, loss=oracle, regularizer=regularizer, strength=0.1)
    solvers, best = able(problem), fenchel.minimize(problem, "bmrm", gap=1e-8).raise_for_status()
    assert some <= {solver.name for solver in solvers}
    for solver in solvers:
        slow = isinstance(solver, (BMRMWithoutQP, *BASELINES))
        result = fenchel.minimize(problem, solver, gap=1e-3 if slow else 1e-6)
        assert result.converged, solver
        assert result.lower_bound <= best.objective and best.lower_bound <= result.objective


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


class Naive(LogLinear):
    """Overflows where a score is beyond 709: the loss is inf, its slopes are nan."""

    def expectation(self, w, x, y):
        z = w.reshape(3, 4) @ x
        e = np.exp(z)
        return np.log(e.sum()) - z[y], np.outer(e / e.sum() - np.eye(3)[y], x).ravel()


FAR = fenchel.problem(1000 * X, Y, loss=Naive(), strength=1e-3)


@pytest.mark.parametrize("solver", ["lbfgs", "sublbfgs", "hybrid"])
def test_a_loss_may_overflow_far_out_on_a_line_search(solver):
    with np.errstate(all="ignore"):
        assert FAR.risk.at(np.append(X[0], np.zeros(8))).value == np.inf
    assert fenchel.minimize(FAR, solver, gap=1e-2).converged


@pytest.mark.parametrize("solver", ["agm-inf", "agm-1", "fista", "proximal-gradient"])
def test_a_loss_that_is_infinite_ends_the_run_at_once(solver):
    result = fenchel.minimize(FAR, solver)
    assert result.status is fenchel.Status.NONFINITE and np.isfinite(result.w).all()
    assert result.passes <= 60


class Spoilt(CrammerSinger):
    """Gives something else for example 33, except at w = 0."""

    def __init__(self, spoil):
        self.spoil = spoil

    def argmax(self, w, x, y):
        right = super().argmax(w, x, y)
        return self.spoil(*right) if w.any() and np.array_equal(x, X[33]) else right


class SpoiltLogLinear(LogLinear):
    def __init__(self, spoil):
        self.spoil = spoil

    def expectation(self, w, x, y):
        right = super().expectation(w, x, y)
        return self.spoil(*right) if w.any() and np.array_equal(x, X[33]) else right


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda a, b: None, r"None of type NoneType; it must give \(12 slopes, cost\)"),
        (lambda a, b: (a, b, 1), r"\(array.* of type tuple; it must give"),
        (lambda a, b: a, r"a ndarray of shape \(12,\) and type float64; it must give"),
        (lambda a, b: (b, a), "as slopes"),
        (lambda a, b: (a[:4], b), r"shape \(4,\).* as slopes.* real numbers of shape \(12,\)"),
        (lambda a, b: (sparse.csr_array(a[None]), b), "a csr_array .* as slopes"),
        (lambda a, b: (a + 0j, b), "type complex128 as slopes"),
        (lambda a, b: (["a"] * 12, b), "as slopes"),
        (lambda a, b: ([[1.0], *a[1:]], b), "of type list as slopes"),
        (lambda a, b: (a, a), r"shape \(12,\).* as cost; .* the cost a real number"),
        (lambda a, b: (a, "1"), "'1' of type str as cost"),
        (lambda a, b: (a, 1 + 2j), r"\(1\+2j\) of type complex as cost"),
        (lambda a, b: (a, np.nan), "a cost of nan and 0 slopes that are nan or inf"),
        (lambda a, b: (a, np.inf), "a cost of inf and 0 slopes"),
        (lambda a, b: (np.append(a[1:], np.nan), b), "and 1 slopes that are nan or inf"),
        (lambda a, b: (a + np.inf, b), "and 12 slopes that are nan or inf"),
        (lambda a, b: (-a, b - 100), "a loss of -.* less than 0"),
    ],
)
def test_what_an_argmax_must_not_give(spoil, words):
    risk = fenchel.problem(X, Y, loss=Spoilt(spoil)).risk
    with pytest.raises(fenchel.InvalidData, match=rf"Spoilt.argmax of example 33 gave .*{words}"):
        risk.at(np.ones(12))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda loss, a: None, r"None .* it must give \(loss, 12 slopes\)"),
        (lambda loss, a: (a, loss), "as slopes"),
        (lambda loss, a: ([loss], a), r"of type list as loss"),
        (lambda loss, a: (np.nan, a), "a loss of nan and 0 slopes"),
        (lambda loss, a: (-np.inf, a), "a loss of -inf and 0 slopes"),
        (lambda loss, a: (loss, a * np.nan), "and 12 slopes that are nan or inf"),
    ],
)
def test_what_an_expectation_must_not_give(spoil, words):
    risk = fenchel.problem(X, Y, loss=SpoiltLogLinear(spoil)).risk
    call = "SpoiltLogLinear.expectation of example 33"
    with pytest.raises(fenchel.InvalidData, match=f"{call} gave .*{words}"):
        risk.at(np.ones(12))


@pytest.mark.parametrize("kind", [float, np.float32, np.array, Fraction])
def test_any_real_numbers_will_do(kind):
    expected = fenchel.problem(X, Y, loss=CrammerSinger()).risk.at(np.ones(12))
    risk = fenchel.problem(X, Y, loss=Spoilt(lambda a, b: (a.tolist(), kind(b)))).risk
    assert risk.at(np.ones(12)).value == expected.value


@pytest.mark.parametrize("oracle", [Spoilt, SpoiltLogLinear])
@pytest.mark.parametrize("regularizer", ["l2", "l1"])
def test_nan_is_refused_at_once_whatever_the_solver(oracle, regularizer):
    loss = oracle(lambda first, second: (first * np.nan, second * np.nan))
    problem = fenchel.problem(X, Y, loss=loss, regularizer=regularizer, strength=0.01)
    for solver in able(problem):
        before = problem.risk.passes
        with pytest.raises(fenchel.InvalidData, match=r"example 33 gave .* nan"):
            fenchel.minimize(problem, solver)
        assert problem.risk.passes - before <= 30, solver


@pytest.mark.parametrize("engine", ["serial", "threads"])
def test_what_an_oracle_raises_names_the_example(engine):
    def fail(a, b):
        raise KeyError("no such word")

    problem = fenchel.problem(X, Y, loss=Spoilt(fail), strength=0.01, engine=engine)
    with pytest.raises(KeyError, match="no such word") as caught:
        fenchel.minimize(problem)
    assert caught.value.__notes__ == ["raised by Spoilt.argmax of example 33"]


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
