"""Runs that do not converge, and `fenchel resume`, which goes on with them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from commands import Command, svmlight

import fenchel


def test_an_unreachable_gap_exits_with_4_and_saves_the_model(run: Command) -> None:
    """FAULTS #20."""
    done = run("train", svmlight("data.svm"), "-o", "m", "--gap", 1e-20)
    assert done.code == 4
    model = fenchel.load("m")
    assert model.status_ == "stalled" and 1e-20 < model.gap_ < 1e-6
    assert f"not converged (stalled), gap {model.gap_:.1e}, not 1.0e-20" in done.out
    assert "Warning" not in done.err
    assert not list(Path().glob("*checkpoint*"))


def test_a_limit_exits_with_4_and_can_be_gone_on_from(run: Command) -> None:
    data = svmlight("data.svm", n=500)
    flags = ["--gap", 1e-9, "--solver", "bmrm", "--threads", 1]
    whole = run("train", data, "-o", "whole", *flags, "--json").json
    done = run("train", data, "-o", "part", *flags, "--max-iterations", 20)
    assert done.code == 4
    assert "max iterations" in done.out
    assert "fenchel resume part.checkpoint --max-iterations" in done.err
    assert run("resume", "part.checkpoint").code == 4
    again = run("resume", "part.checkpoint", "--max-iterations", 10_000, "--json")
    assert again.code == 0
    assert again.json["runs"][0]["objective"] == whole["runs"][0]["objective"]
    assert again.json["runs"][0]["iterations"] == whole["runs"][0]["iterations"]
    assert np.array_equal(fenchel.load("part").coef_, fenchel.load("whole").coef_)
    assert not list(Path().glob("*checkpoint*"))


def test_several_classes_go_on_too(run: Command) -> None:
    data = svmlight("data.svm", lambda z: np.digitize(z, [-0.5, 0.8]), n=400)
    flags = ["--gap", 1e-9, "--solver", "bmrm"]
    run("train", data, "-o", "whole", *flags)
    assert run("train", data, "-o", "part", *flags, "--max-iterations", 20).code == 4
    assert run("resume", "part.checkpoint", "--max-iterations", 10_000).code == 0
    assert np.array_equal(fenchel.load("part").coef_, fenchel.load("whole").coef_)
    assert not list(Path().glob("*checkpoint*"))


def test_train_starts_afresh_beside_an_old_checkpoint(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--gap", 1e-9, "--solver", "bmrm", "--max-iterations", 20)
    assert Path("m.checkpoint").exists()
    assert run("train", data, "-o", "m", "--strength", 0.1).code == 0
    assert not Path("m.checkpoint").exists()


def test_changed_data_are_not_gone_on_with(run: Command) -> None:
    run(
        "train", svmlight("d"), "-o", "m", "--gap", 1e-9, "--solver", "bmrm", "--max-iterations", 20
    )
    svmlight("d", seed=1)
    done = run("resume", "m.checkpoint", "--max-iterations", 1000)
    assert done.code == 3
    assert "another problem" in done.err
