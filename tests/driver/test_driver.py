"""The loop every solver shares, what it returns, and the independent check of that."""

import dataclasses
import json
import math
import re
from importlib import resources

import numpy as np
import pytest
from catalogue import LOSSES, N_FEATURES, REGULARIZERS, data_for, ids, problem_for
from scipy import sparse

import fenchel
from fenchel import InvalidCertificate, Status, losses
from fenchel.losses import ScalarLoss
from fenchel.regularizers import L1, L2, Boxed, ElasticNet, GroupL1, Weighted
from fenchel.result import relative_gap
from fenchel.solvers import BMRM, LBFGS
from fenchel.solvers.auto import CANDIDATES, auto, kind_of
from fenchel.witness import Witness


class Line(ScalarLoss):
    """l(z) = z: convex, and bounded below by nothing."""

    differentiable = True
    intercept = False

    def value(self, z, y):
        return z

    def slope(self, z, y):
        return np.ones_like(z)


class SoftAbsolute(ScalarLoss):
    """l(z, y) = sqrt(1 + (z - y)^2) - 1: a loss without a conjugate."""

    nonnegative = True
    differentiable = True

    def value(self, z, y):
        return np.hypot(1.0, z - y) - 1.0

    def slope(self, z, y):
        return (z - y) / np.hypot(1.0, z - y)


class Untouchable:
    """Data that must not be read."""

    def __getattribute__(self, name):
        raise AssertionError(f"the data were touched: {name}")


# How a run ends.


def test_converged_means_that_the_gap_is_certified():
    result = fenchel.minimize(problem_for(losses.Hinge()), gap=1e-3)
    assert result.status is Status.CONVERGED and result.converged
    assert 0 <= result.gap <= 1e-3 < result.history[-2].gap
    assert result.raise_for_status() is result


def test_the_iteration_limit_ends_a_run():
    result = fenchel.minimize(problem_for(losses.Hinge()), "ls-bmrm", gap=1e-9, max_iterations=3)
    assert (result.status, result.iterations) == (Status.MAX_ITERATIONS, 3)


def test_the_time_limit_ends_a_run(clock):
    result = fenchel.minimize(problem_for(losses.Hinge()), "ls-bmrm", gap=1e-9, max_seconds=3)
    assert result.status is Status.TIME_LIMIT
    assert result.seconds >= 3 and 1 <= result.iterations <= 3
    assert result.seconds >= result.history[-1].seconds


def test_a_callback_that_returns_true_ends_a_run():
    seen = []

    def callback(record):
        seen.append(record)
        return record.iteration == 4

    result = fenchel.minimize(problem_for(losses.Hinge()), "ls-bmrm", gap=1e-9, callback=callback)
    assert (result.status, result.iterations) == (Status.INTERRUPTED, 4)
    assert list(result.history) == seen


def test_the_keyboard_ends_a_run_with_the_best_iterate():
    def callback(record):
        if record.iteration == 5:
            raise KeyboardInterrupt

    problem = problem_for(losses.Hinge(), intercept=True)
    result = fenchel.minimize(problem, "ls-bmrm", gap=1e-9, callback=callback)
    assert (result.status, result.iterations) == (Status.INTERRUPTED, 5)
    assert result.objective == min(record.objective for record in result.history)
    assert fenchel.verify(result, problem).source == "witness"


def test_the_keyboard_before_the_first_iterate_leaves_nothing_to_return():
    class Interrupted(LBFGS):
        def iterate(self, problem, w, state=None):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fenchel.minimize(problem_for(losses.Logistic()), Interrupted())


def test_a_certificate_shows_its_bounds_and_where_they_come_from():
    shown = repr(fenchel.Certificate(1.5, 2.0, source="witness"))
    assert shown == "Certificate(1.5 <= min J <= 2, gap 2.5e-01, from the witness)"


def test_other_errors_of_a_callback_are_the_callers():
    def callback(record):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fenchel.minimize(problem_for(losses.Hinge()), callback=callback)


def test_a_run_that_converges_as_the_callback_stops_it_has_converged():
    problem = problem_for(losses.Logistic())
    result = fenchel.minimize(problem, "lbfgs", gap=0.9, callback=lambda _: True)
    assert result.status is Status.CONVERGED


@pytest.mark.parametrize("solver", ["bmrm", "lbfgs"])
def test_a_gap_below_round_off_stalls(solver):
    problem = problem_for(losses.SquaredHinge())
    result = fenchel.minimize(problem, solver, gap=1e-20)
    assert result.status is Status.STALLED
    assert result.gap < 1e-9
    assert result.lower_bound <= result.objective
    fenchel.verify(result, problem)


def test_a_start_where_the_objective_overflows_is_nonfinite():
    problem = problem_for(losses.Exponential())
    for solver in ("bmrm", "lbfgs", "bmrm-noqp"):
        result = fenchel.minimize(problem, solver, w0=np.full(N_FEATURES, 1e5))
        assert result.status is Status.NONFINITE
        assert np.isfinite(result.w).all() and result.objective == math.inf


@pytest.mark.filterwarnings("ignore:column . of X")
@pytest.mark.parametrize("scale", [1e10, 1e50, 1e99])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("solver", ["bmrm", "lbfgs"])
@pytest.mark.parametrize("loss", [losses.Exponential(), losses.SquaredError()], ids=ids)
def test_extreme_scales_end_in_a_status_and_never_in_a_false_claim(loss, solver, intercept, scale):
    X, y = data_for(loss)
    problem = fenchel.problem(X * scale, y, loss=loss, strength=0.1, intercept=intercept)
    result = fenchel.minimize(problem, solver, max_iterations=200)
    reached = Status.CONVERGED, Status.STALLED, Status.NONFINITE, Status.MAX_ITERATIONS
    assert result.status in reached
    assert result.lower_bound <= result.objective * (1 + 1e-9)
    assert result.converged == (result.gap <= 1e-4)


def test_a_loss_that_falls_for_ever_is_unbounded():
    problem = fenchel.problem(np.eye(2), np.zeros(2), loss=Line(), strength=0.0)
    result = fenchel.minimize(problem)
    assert result.status is Status.UNBOUNDED
    assert not result.gap <= 1e-4  # nothing is certified
    with pytest.raises(fenchel.NotConverged, match="raise `strength`"):
        result.raise_for_status()


def test_a_loss_that_falls_for_ever_is_held_by_a_regulariser():
    problem = fenchel.problem(np.eye(2), np.zeros(2), loss=Line(), strength=0.5)
    for solver in ("lbfgs", "bmrm", "bmrm-noqp"):  # J = w'w / 4 + (w_1 + w_2) / 2
        result = fenchel.minimize(problem, solver, gap=1e-8)
        assert result.converged
        assert result.objective == pytest.approx(-0.5, rel=1e-7)
        assert np.allclose(result.w, -1.0, atol=1e-3)


def test_raise_for_status_says_what_to_do():
    result = fenchel.minimize(problem_for(losses.Hinge()), "ls-bmrm", gap=1e-9, max_iterations=3)
    with pytest.raises(fenchel.NotConverged, match=r"after 3 iterations.*raise `max_iterations`"):
        result.raise_for_status()


# What is returned.


@pytest.mark.parametrize(
    ("upper", "lower", "gap"),
    [(2.0, 1.0, 0.5), (0.0, 0.0, 0.0), (-2.0, -3.0, 0.5), (0.0, -1.0, math.inf), (1.0, 0.0, 1.0)],
)
def test_the_gap_is_relative_to_the_objective(upper, lower, gap):
    assert relative_gap(upper, lower) == gap
    assert fenchel.Certificate(lower, upper).gap == gap


def test_a_gap_without_a_bound_is_infinite():
    assert relative_gap(1.0, -math.inf) == math.inf


def test_a_problem_whose_minimum_is_zero_converges_with_gap_zero():
    result = fenchel.minimize(problem_for(losses.Perceptron()), gap=1e-6)
    assert (result.objective, result.lower_bound, result.gap) == (0.0, 0.0, 0.0)
    assert result.converged and result.iterations == 1


def test_the_result_is_the_best_of_the_history():
    problem = problem_for(losses.Hinge(), intercept=True, strength=0.01)
    result = fenchel.minimize(problem, BMRM(step=1.0), gap=1e-4, w0=np.ones(N_FEATURES))
    last = result.history[-1]
    assert (result.objective, result.lower_bound, result.gap) == last[1:4]
    assert (result.iterations, result.passes) == (last.iteration, last.passes)
    assert result.seconds >= last.seconds
    X, y = data_for(losses.Hinge())
    hinge = np.mean(np.maximum(0.0, 1 - y * (X @ result.w + result.intercept)))
    assert result.objective == pytest.approx(0.005 * result.w @ result.w + hinge, rel=1e-12)


def test_passes_are_those_of_this_run():
    problem = problem_for(losses.Logistic())
    first, second = (fenchel.minimize(problem, "lbfgs") for _ in range(2))
    assert second.passes <= first.passes  # what is known of the columns is kept
    assert problem.risk.passes == first.passes + second.passes


@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
@pytest.mark.parametrize("solver", ["bmrm", "bmrm-noqp", "lbfgs"])
def test_an_iteration_costs_two_passes(solver, intercept):
    problem = problem_for(losses.SquaredHinge(), intercept=intercept)
    result = fenchel.minimize(problem, solver, gap=1e-2)
    assert 2 * result.iterations <= result.passes <= 2 * result.iterations + 2
    assert result.history[-1].passes - result.history[-2].passes == 2


def test_the_same_input_gives_the_same_bits():
    runs = [fenchel.minimize(problem_for(losses.Hinge(), "l1")) for _ in range(2)]
    assert np.array_equal(runs[0].w, runs[1].w)
    assert [r[:5] for r in runs[0].history] == [r[:5] for r in runs[1].history]


def test_repr_is_one_line_that_tells_the_outcome():
    result = fenchel.minimize(problem_for(losses.Hinge()))
    assert repr(result).startswith(f"Result(converged by {result.solver}: ")
    assert "<= min J <=" in repr(result) and "\n" not in repr(result)
    assert f"{result.iterations} iterations" in repr(result)


# What is refused, and what is chosen.


@pytest.mark.parametrize(
    "options",
    [
        {"loss": "hinge", "quantile": 0.5},
        {"loss": "quantile", "quantile": 1.5},
        {"loss": "zeppelin"},
        {"loss": None},
        {"regularizer": "l3"},
        {"regularizer": "l2", "l1_ratio": 0.5},
        {"regularizer": "elastic_net", "l1_ratio": 1.0},
        {"strength": -1.0},
        {"strength": math.nan},
        {"strength": "1"},
        {"intercept": "yes"},
        {"loss": "novelty", "intercept": True},
        {"engine": "steam"},
    ],
    ids=str,
)
def test_bad_choices_are_refused_before_the_data_are_touched(options):
    with pytest.raises(fenchel.FenchelError):
        fenchel.problem(Untouchable(), Untouchable(), **options)


class Guarded:
    """A problem whose risk must not be evaluated."""

    def __init__(self, problem):
        self.regularizer, self.strength = problem.regularizer, problem.strength
        self.risk = Unevaluated(problem.risk)


class Unevaluated:
    def __init__(self, risk):
        self._risk = risk

    def __getattr__(self, name):
        assert name != "at", "the data were touched"
        return getattr(self._risk, name)


@pytest.mark.parametrize(
    "options",
    [
        {"gap": 0.0},
        {"gap": math.nan},
        {"max_iterations": 0},
        {"max_iterations": 2.5},
        {"max_seconds": 0},
        {"w0": np.ones(3)},
        {"w0": np.full(N_FEATURES, np.nan)},
        {"solver": "simplex"},
        {"solver": "lbfgs"},
    ],
    ids=str,
)
def test_bad_arguments_are_refused_before_the_data_are_touched(options):
    problem = Guarded(problem_for(losses.Hinge()))
    with pytest.raises(fenchel.FenchelError):
        fenchel.minimize(problem, **options)


@pytest.mark.parametrize(
    ("solver", "loss", "regularizer", "missing", "able"),
    [
        ("lbfgs", losses.Hinge(), L2(), "differentiable loss", "bmrm, ls-bmrm, bmrm-noqp"),
        (
            "lbfgs",
            losses.Logistic(),
            L1(),
            "L1.smooth.*l2, quadratic have it",
            "bmrm",
        ),
        ("bmrm-noqp", losses.Hinge(), ElasticNet(), "ElasticNet.quadratic, which is False", "bmrm"),
        ("bmrm-noqp", losses.Hinge(), L2(weights=[1, 0, 1, 1]), "weights > 0", "bmrm"),
        ("lbfgs", losses.Logistic(), L2(weights=[1, 0, 1, 1]), "unpenalised", "bmrm"),
    ],
    ids=lambda value: ids(value) if not isinstance(value, str) else value.replace(" ", "-"),
)
def test_refusals_name_what_is_missing_and_what_would_work(
    solver, loss, regularizer, missing, able
):
    with pytest.raises(fenchel.Incompatible, match=f"{missing}.*solvers that can: .*{able}"):
        fenchel.minimize(problem_for(loss, regularizer), solver)


def test_a_refusal_says_if_nothing_would_work():
    problem = problem_for(losses.Hinge(), "l1", strength=0.0)
    with pytest.raises(fenchel.Incompatible, match="no solver"):
        fenchel.minimize(problem, "bmrm")
    with pytest.raises(
        fenchel.Incompatible, match=r"for owlqn.*differentiable.*for bmrm.*strength"
    ):
        fenchel.minimize(problem, "auto")


def test_without_a_regulariser_auto_minimises_what_it_cannot_certify():
    """FAULTS #18."""
    result = fenchel.minimize(problem_for(losses.Hinge(), strength=0.0), gap=1e-9)
    assert result.solver == "sublbfgs" and "nothing can be certified" in result.reason
    assert result.objective < 0.5


def test_an_unknown_solver_comes_with_a_suggestion():
    with pytest.raises(fenchel.InvalidData, match="did you mean 'lbfgs'"):
        fenchel.minimize(problem_for(losses.Hinge()), "lbfg")


@pytest.mark.parametrize("regularizer", REGULARIZERS, ids=ids)
@pytest.mark.parametrize("loss", LOSSES, ids=ids)
def test_auto_chooses_a_solver_that_can_and_says_why(loss, regularizer):
    problem = problem_for(loss, regularizer)
    solver, reason = auto(problem)
    assert solver.obstacle(problem) is None and reason
    measured = CANDIDATES.get(kind_of(problem), ())
    if any(kind().obstacle(problem) is None for kind in measured):
        assert type(solver) in measured
        return
    free = len(regularizer.free(N_FEATURES)) > 0
    if loss.differentiable and regularizer.smooth and not free:
        suited = "lbfgs"
    elif loss.differentiable and isinstance(regularizer, Weighted) and not regularizer.smooth:
        suited = "owlqn"
    elif loss.differentiable and isinstance(regularizer, GroupL1):
        suited = "block-descent"
    elif isinstance(regularizer, Weighted | Boxed) or regularizer.has("conjugate_argmax"):
        suited = "ls-bmrm" if regularizer.piecewise and not free else "bmrm"
    else:
        suited = "fista" if loss.differentiable else "agm-1"
    assert solver.name == suited
    assert re.search("bundle" if "bmrm" in suited else "differentiable|smooth", reason)


SLACK = fenchel.losses.MulticlassHinge(rescaling="slack")  # of which polish knows nothing


@pytest.mark.parametrize("loss", ["hinge", "logistic", "softmax", "multiclass_hinge", SLACK])
def test_auto_takes_no_coordinate_ascent_for_few_numbers(loss):
    """Its models depend on the order of the rows, if by less than the gap."""
    X = np.random.default_rng(0).normal(size=(60, 3))
    assert auto(fenchel.problem(X, X[:, 0] > 0, loss=loss, intercept=True))[0].name != "sdca"


def test_the_table_of_auto_knows_every_candidate():
    table = json.loads(resources.files("fenchel.solvers").joinpath("auto_table.json").read_text())
    for kind, solvers in CANDIDATES.items():
        cases = [case for case in table["problems"] if case["kind"] == kind]
        assert len(cases) >= 3
        assert {solver.name for solver in solvers} <= set().union(*(c["seconds"] for c in cases))


@pytest.mark.parametrize("intercept", [False, True])
def test_auto_takes_newtons_steps_where_columns_are_few(intercept):
    X = np.random.default_rng(0).normal(size=(5000, 20))
    problem = fenchel.problem(X, X[:, 0] > 0, loss="logistic", intercept=intercept)
    assert auto(problem)[0].name == "newton"


@pytest.mark.parametrize("intercept", [False, True])
def test_auto_takes_newtons_products_where_columns_are_many(intercept):
    X = np.random.default_rng(0).normal(size=(3000, 1600)) / 40
    settings = {"loss": "logistic", "strength": 1e-6, "intercept": intercept}
    assert auto(fenchel.problem(X, X[:, 0] > 0, **settings))[0].name == "newton-cg"


@pytest.mark.parametrize(
    ("loss", "regularizer"),
    [("logistic", "l2"), ("hinge", "l2"), ("hinge", "elastic_net")],
)
def test_auto_leaves_columns_that_are_not_scaled_to_others_than_coordinate_ascent(
    loss, regularizer
):
    X = 1e4 * np.random.default_rng(0).normal(size=(1000, 400))
    problem = fenchel.problem(
        X, X[:, 0] > 0, loss=loss, regularizer=regularizer, strength=1e-4, intercept=True
    )
    solver, reason = auto(problem)
    assert solver.name != "sdca" and "sdca would be slow" in reason


def test_auto_does_so_where_nothing_else_is_measured():
    X = 1e4 * np.random.default_rng(0).normal(size=(1000, 400))
    assert auto(fenchel.problem(X, X[:, 0] > 0, loss=SLACK, intercept=True))[0].name == "bmrm"


def test_auto_knows_text_from_tables():
    """Few columns: Newton steps for the few rows at kinks. Many: one row at a time."""
    rng = np.random.default_rng(0)
    tall = fenchel.problem(
        rng.normal(size=(20_000, 10)), rng.normal(size=20_000) > 0, strength=1e-6
    )
    text = sparse.random_array((5000, 50_000), density=2e-3, format="csr", rng=rng)
    wide = fenchel.problem(text, rng.normal(size=5000) > 0, strength=1e-4)
    chosen = [auto(each) for each in (tall, wide)]
    assert [solver.name for solver, _ in chosen] == ["polish", "sdca"]
    assert all("most like it" in reason for _, reason in chosen)


def test_a_solver_that_was_asked_for_is_said_to_be():
    assert fenchel.minimize(problem_for(losses.Logistic()), LBFGS()).reason == "asked for"


# The package.


# Verification.


def solved(loss=None, *, n=1200, d=N_FEATURES, max_iterations=8, solver="bmrm", **options):
    """A problem and a short run of it; the witness is tangencies, or with d > n dual variables."""
    problem = problem_for(loss or losses.Hinge(), n=n, d=d, **options)
    result = fenchel.minimize(problem, solver, max_iterations=max_iterations)
    assert (len(result.witness.tangencies) > 0) == (d < n)
    return problem, result


def assert_caught(problem, result, **changes):
    fenchel.verify(result, problem)  # honest as it is
    with pytest.raises(InvalidCertificate):
        fenchel.verify(dataclasses.replace(result, **changes), problem)


def claimed(result, lower=0.0, upper=0.0):
    """The certificate with both bounds moved by fractions of the objective."""
    size = abs(result.objective)
    return fenchel.Certificate(result.lower_bound + lower * size, result.objective + upper * size)


def every_tangency(witness, change):
    return dataclasses.replace(witness, tangencies=[change(touch) for touch in witness.tangencies])


@pytest.mark.parametrize("lower", [1e-6, 1.0, math.inf, math.nan])
def test_a_lower_bound_that_is_not_proved_is_caught(lower):
    problem, result = solved()
    assert_caught(problem, result, certificate=claimed(result, lower=lower))


@pytest.mark.parametrize("upper", [-1e-6, 1e-6, -1.0, math.nan])
def test_an_objective_that_is_not_attained_is_caught(upper):
    problem, result = solved()
    assert_caught(problem, result, certificate=claimed(result, upper=upper))


@pytest.mark.parametrize("change", [lambda w: 1.001 * w, lambda w: w[::-1], lambda w: w * np.nan])
def test_another_w_is_caught(change):
    problem, result = solved()
    assert_caught(problem, result, w=change(result.w))


def test_a_w_at_which_the_objective_overflows_is_caught():
    problem, result = solved(losses.Exponential(), solver="lbfgs")
    assert_caught(problem, result, w=1e6 * result.w)


def test_another_intercept_is_caught():
    problem, result = solved(intercept=True)
    assert_caught(problem, result, intercept=result.intercept + 0.1)


@pytest.mark.parametrize("change", [lambda x: 1.01 * x, lambda x: 0.5 * x, lambda x: -x])
def test_tampered_weights_are_caught(change):
    problem, result = solved()
    weights = change(np.array(result.witness.weights))
    assert_caught(problem, result, witness=dataclasses.replace(result.witness, weights=weights))


def test_a_missing_weight_is_caught():
    problem, result = solved()
    short = dataclasses.replace(result.witness, weights=result.witness.weights[1:])
    assert_caught(problem, result, witness=short)


def test_swapped_weights_are_caught():
    problem, result = solved()
    order = np.argsort(result.witness.weights)
    weights = np.empty(len(order))
    weights[order] = np.array(result.witness.weights)[order][::-1]
    assert_caught(problem, result, witness=dataclasses.replace(result.witness, weights=weights))


@pytest.mark.parametrize("change", [lambda w: w + 0.3, lambda w: -w, lambda w: w * np.nan])
def test_tangencies_elsewhere_are_caught(change):
    problem, result = solved()
    moved = every_tangency(result.witness, lambda touch: touch._replace(w=change(touch.w)))
    assert_caught(problem, result, witness=moved)


@pytest.mark.parametrize(
    "change",
    [
        {"below": -3.0},
        {"above": 3.0},
        {"below": math.nan},
        {"weight_below": 1.0, "weight_above": 0.0},
        {"weight_below": 1.5, "weight_above": -0.5},
        {"weight_below": 0.2, "weight_above": 0.2},
        {"weight_below": 2.0, "weight_above": 2.0},
    ],
    ids=str,
)
def test_tampered_offsets_are_caught(change):
    problem, result = solved(intercept=True, weighted=True)

    def tampered(touch):
        return touch._replace(bracket=touch.bracket._replace(**change))

    assert_caught(problem, result, witness=every_tangency(result.witness, tampered))


@pytest.mark.parametrize("loss", [losses.Hinge(), SoftAbsolute()], ids=ids)
def test_a_witness_made_for_a_model_without_an_intercept_is_caught(loss):
    """Its bound is above the minimum with one: only the sum of the dual variables gives it away."""
    without, with_one = problem_for(loss), problem_for(loss, intercept=True)
    higher = fenchel.minimize(without, "bmrm", gap=1e-6)
    lower = fenchel.minimize(with_one, "bmrm", gap=1e-6)
    assert higher.lower_bound > lower.objective
    false = dataclasses.replace(
        lower,
        witness=higher.witness,
        certificate=fenchel.Certificate(lower.objective, lower.objective),
    )
    with pytest.raises(InvalidCertificate):
        fenchel.verify(false, with_one)


def test_a_witness_that_uses_an_unpenalised_coordinate_is_caught():
    penalised, free = (problem_for(losses.Hinge(), L2(weights=[1, c, 1, 1])) for c in (1e-3, 0))
    higher, lower = (fenchel.minimize(p, "bmrm", gap=1e-6) for p in (penalised, free))
    false = dataclasses.replace(lower, witness=higher.witness)
    with pytest.raises(InvalidCertificate, match="unpenalised coordinate"):
        fenchel.verify(false, free)


@pytest.mark.parametrize("regularizer", ["l2", "l1"])
@pytest.mark.parametrize(
    "change",
    [
        lambda alpha: 0.9 * alpha,
        lambda alpha: -alpha,
        lambda alpha: alpha[::-1],
        lambda alpha: alpha * np.nan,
        lambda alpha: alpha[1:],
        lambda alpha: alpha + 1.0,
    ],
    ids=["smaller", "negated", "reversed", "nan", "shorter", "outside"],
)
def test_tampered_dual_variables_are_caught(change, regularizer):
    problem, result = solved(n=25, d=40, regularizer=regularizer)
    assert result.witness.alpha is not None
    alpha = change(result.witness.alpha)
    assert_caught(problem, result, witness=dataclasses.replace(result.witness, alpha=alpha))


def test_dual_variables_of_rows_without_weight_are_caught():
    problem, result = solved(n=25, d=40, weighted=True)
    alpha = result.witness.alpha.copy()
    alpha[2] = -0.01  # row 2 has weight 0
    assert_caught(problem, result, witness=dataclasses.replace(result.witness, alpha=alpha))


def test_an_empty_witness_proves_zero_and_no_more():
    problem, result = solved()
    with pytest.raises(InvalidCertificate):
        fenchel.verify(dataclasses.replace(result, witness=Witness()), problem)
    modest = fenchel.Certificate(0.0, result.objective)
    certificate = fenchel.verify(
        dataclasses.replace(result, witness=Witness(), certificate=modest), problem
    )
    assert certificate.lower_bound == 0.0


def test_an_empty_witness_proves_nothing_for_a_loss_that_may_be_negative():
    problem = fenchel.problem(np.eye(2), np.zeros(2), loss=Line(), strength=0.5)
    result = fenchel.minimize(problem, "bmrm")
    with pytest.raises(InvalidCertificate, match="add up to 0"):
        fenchel.verify(dataclasses.replace(result, witness=Witness()), problem)


def test_a_witness_whose_weights_exceed_one_is_caught_without_a_conjugate():
    problem = fenchel.problem(np.eye(2), np.zeros(2), loss=Line(), strength=0.5)
    result = fenchel.minimize(problem, "bmrm")
    doubled = dataclasses.replace(
        result.witness, weights=[2 * weight for weight in result.witness.weights]
    )
    with pytest.raises(InvalidCertificate, match="add up to 2"):
        fenchel.verify(dataclasses.replace(result, witness=doubled), problem)


def test_a_result_of_another_problem_is_caught():
    here, there = problem_for(losses.Hinge(), seed=1), problem_for(losses.Hinge(), seed=2)
    with pytest.raises(InvalidCertificate):
        fenchel.verify(fenchel.minimize(here), there)


@pytest.mark.parametrize("loss", LOSSES, ids=ids)
def test_a_missing_witness_falls_back_to_the_tangent_and_says_so(loss):
    problem = problem_for(loss)
    result = fenchel.minimize(problem)
    certificate = fenchel.verify(dataclasses.replace(result, witness=None), problem)
    assert "no witness" in certificate.source
    assert certificate.lower_bound <= certificate.upper_bound
    assert certificate.upper_bound == pytest.approx(result.objective, rel=1e-12)


@pytest.mark.parametrize("solver", ["bmrm", "lbfgs", "bmrm-noqp"])
@pytest.mark.parametrize("d", [N_FEATURES, 40], ids=["tall", "wide"])
@pytest.mark.parametrize("intercept", [False, True], ids=["no-intercept", "intercept"])
def test_what_a_run_claims_is_verified_at_every_iteration(solver, d, intercept):
    problem = problem_for(losses.SquaredHinge(), d=d, intercept=intercept, weighted=True)
    for k in (1, 2, 3, 5, 8):
        result = fenchel.minimize(problem, solver, max_iterations=k, gap=1e-12)
        certificate = fenchel.verify(result, problem)
        assert certificate.source == "witness"
        assert certificate.lower_bound >= result.lower_bound - 1e-9 * result.objective
        assert certificate.upper_bound == pytest.approx(result.objective, rel=1e-12)


def test_verification_reads_float32_data_in_float64():
    X, y = data_for(losses.Logistic())
    problem = fenchel.problem(X.astype(np.float32), y, loss="logistic", strength=0.1)
    assert fenchel.verify(fenchel.minimize(problem, gap=1e-10), problem).gap <= 1e-9


class Careless(fenchel.losses.ScalarLoss):
    """A loss that forgets that it is one of many."""

    def value(self, z, y):
        return np.mean((z - y) ** 2)

    def slope(self, z, y):
        return 2 * (z - y)


def test_a_users_loss_of_the_wrong_shape_is_refused():
    problem = fenchel.problem(np.eye(3), np.ones(3), loss=Careless())
    with pytest.raises(fenchel.InvalidData, match="for each score"):
        fenchel.minimize(problem, "bmrm")


class Overflowing(fenchel.losses.ScalarLoss):
    """l(z) = exp(1000 z) - 1000 z - 1, which overflows within sight of its minimum."""

    differentiable = True

    def value(self, z, y):
        return np.exp(1000 * z) - 1000 * z - 1

    def slope(self, z, y):
        return 1000 * (np.exp(1000 * z) - 1)


def test_overflow_in_a_users_loss_is_quiet_in_every_thread(monkeypatch):
    monkeypatch.setattr("fenchel.data.shards.NUMBERS_PER_SHARD", 8)
    X = np.random.default_rng(0).normal(size=(40, 3))
    problem = fenchel.problem(
        X, np.zeros(40), loss=Overflowing(), engine=fenchel.engines.Threads(4)
    )
    assert problem.risk.engine.n_shards > 1
    fenchel.minimize(problem, "lbfgs", w0=np.ones(3), max_iterations=20)


def test_a_run_without_any_bound_does_not_count_as_stalled():
    """Nothing is known of min J at strength 0, but J keeps falling."""
    X = np.random.default_rng(0).normal(size=(200, 40)) * np.logspace(0, 4, 40)
    y = X @ np.ones(40) * 1e-3
    loss = type("Shy", (fenchel.losses.Huber,), {"nonnegative": False})()
    problem = fenchel.problem(X, y, loss=loss, strength=0.0)
    result = fenchel.minimize(problem, "lbfgs", max_iterations=120)
    values = [record.objective for record in result.history]
    assert len(values) < 52 or values[-52] > values[-1]


def test_a_step_lost_to_underflow_is_no_proof_that_the_objective_falls_without_end():
    problem = fenchel.problem([[1e-134]], loss="novelty", strength=1e28)
    result = fenchel.minimize(problem)
    assert result.status is not Status.UNBOUNDED
    assert 0 <= result.lower_bound <= result.objective <= 1
