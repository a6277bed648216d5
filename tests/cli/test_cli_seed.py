"""`--seed` reaches the solvers that draw rows at random; others refuse it."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from commands import Command, svmlight

import fenchel
from fenchel.cli import choices
from fenchel.data.files import read
from fenchel.solvers import SDCA, Pegasos

DRAWING: dict[str, list[Any]] = {
    "sdca": ["--solver", "sdca", "--gap", 1e-10],
    "pegasos": ["--solver", "pegasos", "--batch", 20, "--max-iterations", 40],
}
Steps = list[tuple[float, float]]


def steps(path: str) -> Steps:
    """The bounds after each iteration of a model's run."""
    return bounds(fenchel.load(path))


def bounds(model: Any) -> Steps:
    return [(record.objective, record.lower_bound) for record in model.result_.history]


def trained(run: Command, *flags: Any) -> Steps:
    run("train", "d.svm", "-o", "m", *flags)
    return steps("m")


@pytest.mark.parametrize("solver", DRAWING)
def test_a_seed_decides_every_step(run: Command, solver: str) -> None:
    svmlight("d.svm")
    flags = DRAWING[solver]
    without, zero, three, again, four = (
        trained(run, *flags, *(["--seed", seed] if seed is not None else []))
        for seed in (None, 0, 3, 3, 4)
    )
    assert without == zero and three == again
    assert all(a != b for a, b in itertools.combinations((zero, three, four), 2))


@pytest.mark.filterwarnings("ignore:Classifier stopped short")
@pytest.mark.parametrize(("solver", "kind"), [("sdca", SDCA), ("pegasos", Pegasos)])
def test_the_steps_are_those_of_the_library(run: Command, solver: str, kind: Any) -> None:
    svmlight("d.svm")
    found = trained(run, *DRAWING[solver], "--seed", 3)
    model = fenchel.load("m")
    assert isinstance(model.solver, kind) and model.solver.seed == 3
    data = read("d.svm")
    again = bounds(model.fit(data.X, data.y))
    assert again[:8] == found[:8]  # where the command line first takes the state of the run


@pytest.mark.parametrize("solver", DRAWING)
def test_a_run_that_goes_on_keeps_its_seed(run: Command, solver: str) -> None:
    svmlight("d.svm")
    flags = [*DRAWING[solver], "--seed", 3]
    assert run("train", "d.svm", "-o", "whole", *flags, "--max-iterations", 24).code == 4
    assert run("train", "d.svm", "-o", "part", *flags, "--max-iterations", 16).code == 4
    assert run("resume", "part.checkpoint", "--max-iterations", 24).code == 4
    assert steps("part") == steps("whole")


@pytest.mark.parametrize("solver", sorted(set(choices.SOLVERS) - set(DRAWING)))
def test_a_solver_that_draws_nothing_refuses_a_seed(run: Command, solver: str) -> None:
    svmlight("d.svm")
    done = run("train", "d.svm", "-o", "m", "--solver", solver, "--seed", 3)
    assert done.code == 2
    said = f"--seed does not go with --solver {solver}: it is for pegasos and sdca"
    assert said in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["train", "--solver", "pegasos", "--seed", 3], "without --batch pegasos takes all rows"),
        (["train", "--solver", "sdca", "--batch", 3], "--batch does not go with --solver sdca"),
        (["train", "--batch", 0, "--solver", "pegasos"], "--batch: expected a whole number >= 1"),
        (["train", "--seed", 1 << 63, "--solver", "sdca"], "--seed: expected a whole number <="),
        (["path", "--seed", 3], "--seed is of the folds of --cv"),
        (["path", "--seed", 3, "--solver", "sdca"], "--seed is of the folds of --cv"),
    ],
)
def test_a_seed_without_effect_is_refused(run: Command, command: list[Any], said: str) -> None:
    svmlight("d.svm")
    output = ["-o", "m"] if command[0] == "train" else []
    done = run(command[0], "d.svm", *output, *command[1:])
    assert done.code == 2 and said in " ".join(done.err.split())


def test_the_seed_of_a_path_draws_its_folds_and_no_more(run: Command) -> None:
    svmlight("d.svm")
    flags = ["--strengths", "0.1,0.01", "--solver", "sdca", "--json", "--cv", 3]
    one, two = (run("path", "d.svm", *flags, "--seed", seed).json for seed in (1, 2))
    columns = [[(p["objective"], p["passes"]) for p in each["points"]] for each in (one, two)]
    assert columns[0] == columns[1]
    assert [p["score"] for p in one["points"]] != [p["score"] for p in two["points"]]
