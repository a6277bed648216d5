"""A convex function of a user's own: minimised, bounded and verified by the same code as all."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fenchel
from reproduction import toys

TIE = 1e-9


class Largest:
    """The largest of some linear functions, with all that can be said of it."""

    def __init__(self, A, b=None):
        self.A = np.array(A, dtype=float)
        self.b = np.zeros(len(self.A)) if b is None else np.array(b, dtype=float)

    def __call__(self, w):
        lines = self.A @ w + self.b
        return lines.max(), self.A[lines.argmax()]

    def steepest(self, w, p):
        lines = self.A @ w + self.b
        active = np.flatnonzero(lines >= lines.max() - TIE)
        k = active[np.argmax(self.A[active] @ p)]
        return lines[k], self.A[k]

    def kinks(self, w, p):
        heights, rates = self.A @ w + self.b, self.A @ p
        i, j = np.triu_indices(len(rates), 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            etas = (heights[j] - heights[i]) / (rates[i] - rates[j])
        return etas[etas > 0]

    def problem(self, **options):
        n = self.A.shape[1]
        return fenchel.function(self, n, steepest=self.steepest, kinks=self.kinks, **options)


@pytest.mark.parametrize("toy, w0", [(toys.VALLEY, [1, 1]), (toys.BOUNDED, [1, 3])])
def test_it_takes_the_steps_that_the_papers_toys_take(toy, w0):
    ours = Largest(toy.A, toy.b).problem()
    theirs = toys.problem(toy)
    histories = [
        fenchel.minimize(p, "subbfgs", w0=np.array(w0, dtype=float)).history for p in (ours, theirs)
    ]
    J = [[record.objective for record in history] for history in histories]
    assert J[0] == pytest.approx(J[1], abs=1e-12)


@given(st.integers(0, 10_000), st.sampled_from(["bmrm", "sublbfgs", "ls-bmrm", "subbfgs"]))
def test_no_bound_is_above_the_minimum(seed, solver):
    """0 is a convex combination of the slopes at 0, which is therefore the minimiser: J = 0."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 3)) * 10.0 ** rng.integers(-2, 3)
    A = np.vstack([A, -rng.dirichlet(np.ones(6)) @ A])
    problem = Largest(A).problem(strength=10.0 ** rng.integers(-6, 1))
    result = fenchel.minimize(problem, solver, w0=rng.normal(size=3), max_iterations=60)
    assert result.lower_bound <= 0 <= result.objective
    assert fenchel.verify(result, problem).lower_bound <= 0


def test_a_smooth_function_needs_no_kinks():
    rng = np.random.default_rng(0)
    Q = np.diag(rng.uniform(1, 5, size=8))
    c = rng.normal(size=8)
    problem = fenchel.function(
        lambda w: (w @ Q @ w / 2 - c @ w, Q @ w - c), 8, differentiable=True, strength=0.1
    )
    least = -c @ np.linalg.solve(Q + 0.1 * np.eye(8), c) / 2
    for solver in ("lbfgs", "bmrm", "auto"):
        result = fenchel.minimize(problem, solver, gap=1e-6)
        assert result.converged
        assert result.lower_bound <= least <= result.objective
        assert fenchel.verify(result, problem).gap <= 1e-6


def test_a_box_holds_what_has_no_penalty_worth_speaking_of():
    problem = Largest([[2, 1], [-2, 1], [0, 3]]).problem(strength=1e-6, lower=-1, upper=1)
    result = fenchel.minimize(problem, gap=1e-4)
    assert result.converged and result.objective == pytest.approx(-1, rel=1e-3)


def test_a_function_that_is_not_convex_is_found_out():
    problem = fenchel.function(lambda w: (np.cos(w[0]), -np.sin(w)), 1, strength=1e-6)
    with pytest.raises(fenchel.InvalidCertificate, match="contradict"):
        fenchel.minimize(problem, "bmrm", w0=[1.0])


@pytest.mark.parametrize(
    "oracle, options, words",
    [
        (3, {}, "a function is needed"),
        (lambda w: 1.0, {}, "must give .value, 2 slopes."),
        (lambda w: ("one", w), {}, "as its value"),
        (lambda w: (1.0, w[:1]), {}, "as slopes"),
        (lambda w: (np.nan, w), {}, "nan or inf"),
        (lambda w: (-1.0, w), {"nonnegative": True}, "less than 0"),
        (lambda w: (1.0, w), {"kinks": lambda w, p: []}, "needs steepest"),
        (lambda w: (1.0, w), {"colour": 1}, "colour"),
        (lambda w: (1.0, w), {"strength": -1.0}, "strength"),
    ],
)
def test_what_is_wrong_is_said_before_any_work(oracle, options, words):
    with pytest.raises(fenchel.FenchelError, match=words):
        fenchel.function(oracle, 2, **options)


def test_the_oracle_cannot_write_to_the_run(tmp_path):
    def oracle(w):
        value = float(w @ w)
        slope = 2 * w
        w[:] = np.nan
        return value, slope

    problem = fenchel.function(oracle, 2, differentiable=True, nonnegative=True, strength=0.1)
    assert np.isfinite(fenchel.minimize(problem, w0=[1.0, 2.0]).w).all()
