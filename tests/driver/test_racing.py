"""Several solvers on one problem: what each proves, who is first, and how a race ends."""

import numpy as np
import pytest

import fenchel

SOLVERS = ["bmrm", "ls-bmrm", "sdca", "auto"]


@pytest.fixture(scope="module")
def problem() -> fenchel.Problem:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(150, 8))
    y = np.sign(X @ rng.normal(size=8) + 0.3 * rng.normal(size=150))
    return fenchel.problem(X, y, loss="hinge", strength=1e-2)


def test_each_runs_as_it_would_alone(problem):
    race = fenchel.race(problem, SOLVERS, gap=1e-3)
    assert list(race) == SOLVERS
    for name, result in race.items():
        alone = fenchel.minimize(problem, name, gap=1e-3)
        assert result.converged
        assert (result.objective, result.passes) == (alone.objective, alone.passes)


def test_the_best_bound_judges_all(problem):
    race = fenchel.race(problem, SOLVERS, gap=1e-2)
    assert race.lower_bound == max(result.lower_bound for result in race.values())
    assert race.lower_bound <= race.objective
    assert all(0 <= race.excess(name) <= race[name].gap for name in race)


def test_milestones_name_the_first(problem):
    race = fenchel.race(problem, SOLVERS, gap=1e-4)
    gaps = [milestone.gap for milestone in race.milestones]
    assert gaps == sorted(gaps, reverse=True) and min(gaps) <= 1e-4
    for gap, (fewest, passes), (_, seconds) in race.milestones:
        reached = [
            next((r for r in result.history if r.gap <= gap), None) for result in race.values()
        ]
        assert passes == min(r.passes for r in reached if r is not None)
        assert seconds == min(r.seconds for r in reached if r is not None)
        assert any(r.passes == passes and r.gap <= gap for r in race[fewest].history)


def test_instances_are_named_by_what_is_unusual_about_them(problem):
    solvers = ["sublbfgs", fenchel.solver("sublbfgs", memory=5), fenchel.solver("bmrm")]
    assert list(fenchel.race(problem, solvers, gap=0.1)) == [
        "sublbfgs",
        "sublbfgs(memory=5)",
        "bmrm",
    ]
    assert list(fenchel.race(problem, {"mine": "bmrm"}, gap=0.1)) == ["mine"]


def test_all_takes_those_that_can(problem):
    race = fenchel.race(problem, gap=0.5, max_iterations=2)
    assert {"bmrm", "sublbfgs", "sdca"} <= set(race)
    assert not {"lbfgs", "owlqn", "newton"} & set(race)  # which need a gradient


@pytest.mark.parametrize(
    "solvers, words",
    [(["bmrm", "lbfgs"], "lbfgs cannot"), (["bmrm", "bmrm"], "twice"), ([], "no solver")],
)
def test_what_cannot_run_is_refused_before_any_does(problem, solvers, words):
    seen = []
    with pytest.raises(fenchel.FenchelError, match=words):
        fenchel.race(problem, solvers, callback=lambda *_: seen.append(1))
    assert not seen


def test_a_callback_ends_the_race_with_the_run_under_way(problem):
    seen = []

    def stop(name, record):
        seen.append(name)
        return name == "ls-bmrm" and record.iteration == 2

    race = fenchel.race(problem, SOLVERS, gap=1e-3, callback=stop)
    assert list(race) == ["bmrm", "ls-bmrm"] and set(seen) == {"bmrm", "ls-bmrm"}
    assert race["ls-bmrm"].status is fenchel.Status.INTERRUPTED


def test_its_page_says_who_was_first(problem, tmp_path):
    race = fenchel.race(problem, SOLVERS, gap=1e-3)
    race.plot(tmp_path / "race.html")
    page = (tmp_path / "race.html").read_text()
    assert "Who certified what first" in page and "Objectives and lower bounds" in page
    assert all(name in race._repr_html_() for name in SOLVERS)
    assert "4 solvers, 4 converged" in repr(race)
