"""The certificate campaign of fuzz/: it runs, it repeats itself, and its judge can fail."""

from __future__ import annotations

import dataclasses
import re
import warnings
from fractions import Fraction

import certificates
import judging
import numpy as np
import pytest
import soak
from draws import draw, posed
from judging import Run, compare, judged
from script import script
from shrink import shrunk
from tally import Tally
from values import Reference, Value
from workers import verdict, verdicts

import fenchel
from fenchel import losses, regularizers
from fenchel.losses.table import TABLE
from fenchel.result import Certificate
from fenchel.solvers import SOLVERS

SEEDS = (7, 10, 16, 17, 28, 31, 44, 51, 65, 74, 81, 95)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def problem_of(seed):
    drawn = draw(seed)
    problem = posed(drawn)
    assert isinstance(problem, fenchel.Problem)
    return drawn, problem, Reference(drawn.X, drawn.y, drawn.given, problem)


def a_run(seed=7, solver="bmrm"):
    drawn, problem, reference = problem_of(seed)
    made = judging.run(problem, drawn, solver, reference)
    assert made.result is not None and not made.faults
    return drawn, problem, reference, made


def forged(result, lower=None, upper=None, **changes):
    bounds = (
        (result.lower_bound if lower is None else lower),
        (result.objective if upper is None else upper),
    )
    return dataclasses.replace(result, certificate=Certificate(*bounds), **changes)


def kinds(made):
    return {fault.kind for fault in made.faults}


def looked_at(result, reference, problem):
    made = Run("forged", result.status.name, result=result)
    judging._look(made, result, reference)
    judging._verify(made, result, problem)
    return made


def test_a_handful_of_problems_has_no_fault():
    tally = Tally()
    for seed in SEEDS:
        tally.add(verdict(seed))
    assert tally.n_faults == 0, tally.summary()
    assert tally.runs > 40 and tally.verified > 30


def test_workers_give_the_verdicts_of_one_process_in_order():
    seeds = (17, 65, 74)
    found = list(verdicts(iter(seeds), jobs=2))
    assert [each.seed for each in found] == list(seeds)
    for each in found:
        alone = verdict(each.seed)
        assert [line.outcome for line in each.lines] == [line.outcome for line in alone.lines]


def test_a_seed_is_always_the_same_problem():
    one, other = draw(7), draw(7)
    assert np.array_equal(one.X, other.X) and repr(one.given) == repr(other.given)


def test_every_loss_regulariser_and_solver_is_drawn():
    drawn = [draw(seed) for seed in range(400)]
    assert {each.loss for each in drawn} == {row.name for row in TABLE}
    assert {each.regularizer for each in drawn} >= set(regularizers.REGULARIZERS) | {"boxed"}
    assert set(drawn[0].solvers()) == {"auto", *SOLVERS}


def test_a_bound_above_another_solvers_objective_is_false():
    _, _, _, made = a_run()
    best = made.value.above
    made.result = forged(made.result, lower=float(best) * (1 + 1e-15))
    compare([made])
    assert kinds(made) == {"false"}


def test_a_conic_reference_refutes_too():
    _, _, _, made = a_run()
    low = np.longdouble(made.result.lower_bound) / 2
    compare([made], Value(low, low, np.longdouble(0), 0.0))
    assert "false" in kinds(made)


def test_a_verified_bound_above_the_reference_is_false():
    _, _, _, made = a_run()
    made.verified = made.result.objective * 1.001
    compare([made])
    assert kinds(made) == {"false-verified"}


def test_forged_results_are_found_out():
    _, problem, reference, made = a_run()
    result, J = made.result, made.result.objective
    assert "crossed" in kinds(looked_at(forged(result, lower=J * 1.01), reference, problem))
    assert "crossed" in kinds(looked_at(forged(result, lower=float("nan")), reference, problem))
    assert "off" in kinds(looked_at(forged(result, upper=J * 1.0001), reference, problem))
    claimed = forged(result, lower=np.nextafter(made.verified, np.inf))
    assert "overclaimed" in kinds(looked_at(claimed, reference, problem))
    broken = forged(result, w=np.full_like(result.w, np.nan), status=fenchel.Status.CONVERGED)
    assert "nonfinite" in kinds(looked_at(broken, reference, problem))
    nothing = dataclasses.replace(result, witness=fenchel.Witness(alpha=np.ones(3)))
    assert "rejected" in kinds(looked_at(nothing, reference, problem))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ZeroDivisionError("by zero"), "raw"),
        (fenchel.InvalidCertificate("contradict"), "contradiction"),
        (fenchel.Incompatible("refused"), None),
    ],
)
def test_what_a_run_raises_is_judged(monkeypatch, error, kind):
    drawn, problem, reference = problem_of(7)

    def fails(*args, **options):
        raise error

    monkeypatch.setattr(fenchel, "minimize", fails)
    made = judging.run(problem, drawn, "bmrm", reference)
    assert kinds(made) == ({kind} if kind else set())


def test_a_run_that_does_not_end_is_ended(monkeypatch):
    drawn, problem, reference = problem_of(7)

    def hangs(*args, **options):
        while True:
            pass

    monkeypatch.setattr(fenchel, "minimize", hangs)
    monkeypatch.setattr(judging, "SLOW", 0.05)
    assert kinds(judging.run(problem, drawn, "bmrm", reference)) == {"slow"}


@pytest.mark.parametrize(("loss", "power"), [(losses.Hinge(), 1), (losses.SquaredHinge(), 2)])
def test_the_reference_is_exact_to_its_claim(loss, power):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.normal(size=(5, 3)) * 10.0 ** rng.uniform(-6, 6, size=3)
        y, w = np.where(rng.random(5) < 0.5, 1.0, -1.0), rng.normal(size=3)
        given = {"loss": loss, "intercept": True, "strength": 1e-3, "regularizer": "l2"}
        y[:2] = 1.0, -1.0
        problem = fenchel.problem(X, y, **given)
        value = Reference(X, y, given, problem).at(w, 0.25)
        exact = _objective(X, y, w, 0.25, 1e-3, power)
        at, above = (Fraction(*each.as_integer_ratio()) for each in value[:2])
        assert abs(at - exact) <= above - at
        assert above - at <= Fraction(1, 10**15) * (1 + abs(exact))


def _objective(X, y, w, b, strength, power):
    """J by fractions."""
    w = [Fraction(float(each)) for each in w]
    total = Fraction(0)
    for row, label in zip(X, y, strict=True):
        z = sum((Fraction(float(x)) * each for x, each in zip(row, w, strict=True)), Fraction(b))
        total += max(Fraction(0), 1 - Fraction(float(label)) * z) ** power / power
    return Fraction(strength) * sum(each * each for each in w) / 2 + total / len(y)


def test_a_fault_is_kept_while_its_problem_shrinks(monkeypatch):
    minimize = fenchel.minimize

    def lies(problem, solver, **limits):  # about any problem with an empty row
        result = minimize(problem, solver, **limits)
        empty = (
            not np.abs(np.asarray(problem.risk.engine.shards[0].rows.matrix())).sum(axis=1).all()
        )
        return forged(result, lower=result.objective + 1.0) if empty else result

    monkeypatch.setattr(fenchel, "minimize", lies)
    drawn = draw(7)
    drawn.X = np.vstack([np.ones((3, 2)), np.zeros((1, 2))])
    drawn.y = np.array([1.0, -1.0, 1.0, -1.0])
    drawn.given = {"loss": losses.Hinge(), "regularizer": regularizers.L2(), "strength": 0.1}
    drawn.given |= {"intercept": False, "engine": "serial"}
    small = shrunk(drawn, "bmrm", "crossed")
    assert small.X.shape == (2, 1)  # one of each class
    names = {}
    monkeypatch.undo()
    exec(script(small, "bmrm"), names)
    assert names["result"].converged


def test_memory_that_grows_is_told_from_memory_that_is_kept():
    def history(rate, noise=0):
        rng = np.random.default_rng(0)
        return [
            soak.Sample(100 * i, 10**8 + rate * 100 * i + int(noise * rng.random()), 6, 5)
            for i in range(1, 401)
        ]

    assert soak.growth(history(0)) == [] and soak.growth(history(0, noise=10**6)) == []
    assert soak.growth(history(10)) == []  # less than any object
    assert any("memory" in line for line in soak.growth(history(144, noise=10**6)))
    leaking = [each._replace(files=6 + i // 50) for i, each in enumerate(history(0))]
    assert any("files" in line for line in soak.growth(leaking))
    assert "too few" in soak.growth(history(0)[:5])[0]


def test_what_a_process_holds_is_counted():
    held = soak.sample(3)
    assert held.fits == 3 and held.memory > 10**6 and held.files >= 3 and held.threads >= 1


def test_the_crew_is_complete_before_threads_are_counted():
    soak.crew(soak.POOL)
    before = soak.sample(0).threads
    assert len(soak.crew(soak.POOL).helpers) == soak.POOL - 1
    assert soak.sample(0).threads == before


def test_judged_needs_no_other_solver():
    drawn, problem, _ = problem_of(7)
    runs = judged(problem, drawn, ["bmrm"])
    assert [run.solver for run in runs] == ["bmrm"] and not runs[0].faults


def test_a_campaign_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setattr(certificates, "EVERY_SECONDS", 0.0)
    arguments = "--new --first=7 --problems=1 --jobs=1".split()
    monkeypatch.setattr("sys.argv", ["certificates.py", *arguments])
    assert certificates.main() == 0
    said = re.findall(
        r"(\d+) s: (\d+) problems, (\d+) runs, 0 faults, seed 7", capsys.readouterr().out
    )
    assert len(said) == 1 and said[0][1] == "1" and int(said[0][2]) > 0
