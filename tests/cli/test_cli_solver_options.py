"""`--solver-option`, and the options of regularisers."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command, svmlight

import fenchel
from fenchel import regularizers
from fenchel.solvers import BMRM


def test_options_reach_the_solver(run: Command) -> None:
    data = svmlight("data.svm")
    flags = ("--solver", "bmrm", "--solver-option", "step=1", "--solver-option", "max-cuts=50")
    done = run("train", data, "-o", "m", "--strength", 0.1, *flags, "--json")
    assert done.code == 0
    assert done.json["settings"]["solver_option"] == {"step": 1, "max_cuts": 50}
    solver = fenchel.load("m").solver
    assert isinstance(solver, BMRM) and (solver.step, solver.max_cuts) == (1.0, 50)
    Path("s.toml").write_text("solver = 'bmrm'\n[solver_option]\nstep = 0.5\n")
    run("train", data, "-o", "m", "--strength", 0.1, "--config", "s.toml")
    assert fenchel.load("m").solver.step == 0.5


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--solver", "bmrm", "--solver-option", "stpe=1"), "did you mean 'step'"),
        (("--solver", "bmrm", "--solver-option", "step=2"), "step must be <= 1"),
        (("--solver", "bmrm", "--solver-option", "step=x"), "step must be a finite number"),
        (("--solver", "bmrm", "--solver-option", "step"), "expected name=value"),
        (("--solver-option", "step=1"), "name one"),
        (("--solver", "sdca", "--seed", "1", "--solver-option", "seed=1"), "say the same"),
        (("--radius", "1"), "--radius goes with --regularizer elastic_net_ball only"),
        (("--p", "1.2"), "squared_p_norm only"),
        (("--cap", "0.5"), "entropy only"),
        (("--regularizer", "squared_p_norm", "--p", "3"), "--p: expected a number <= 2"),
        (("--regularizer", "elastic_net_ball", "--radius", "0"), "--radius: expected a number > 0"),
    ],
)
def test_wrong_options_are_refused_before_the_data_are_read(
    run: Command, flags: tuple[str, ...], said: str
) -> None:
    Path("broken.svm").write_text("1 2=3\n")
    done = run("train", "broken.svm", "-o", "m", *flags)
    assert done.code == 2 and said in done.err


@pytest.mark.parametrize(
    ("name", "flags", "expected"),
    [
        (
            "elastic_net_ball",
            ("--radius", 0.3, "--l1-ratio", 0.7),
            {"radius": 0.3, "l1_ratio": 0.7},
        ),
        ("squared_p_norm", ("--p", 1.2), {"p": 1.2}),
        ("entropy", ("--cap", 0.5), {"cap": 0.5}),
    ],
)
def test_options_reach_the_regulariser_and_come_back(
    run: Command, name: str, flags: tuple[object, ...], expected: dict[str, float]
) -> None:
    data = svmlight("data.svm", lambda z: z)
    more = ("--loss", "squared_error", "--strength", 0.1, "--gap", 0.01)
    assert run("train", data, "-o", "m", *more, "--regularizer", name, *flags).code == 0
    penalty = fenchel.load("m").penalty
    assert type(penalty) is regularizers.REGULARIZERS[name]
    assert penalty.settings() == expected
    assert run("inspect", "m").code == 0
