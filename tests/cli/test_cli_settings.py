"""Settings of a file, of the environment and of flags, and which of them wins."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command, svmlight

import fenchel


def test_config_is_overridden_by_the_environment_and_that_by_flags(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = svmlight("data.svm")
    Path("c.toml").write_text('loss = "logistic"\nstrength = 1\ngap = 0.1\nintercept = false\n')
    monkeypatch.setenv("FENCHEL_STRENGTH", "2")
    monkeypatch.setenv("FENCHEL_GAP", "0.2")
    done = run("train", data, "-o", "m", "--config", "c.toml", "--gap", 0.3, "--json")
    settings = done.json["settings"]
    assert settings["loss"] == "logistic"
    assert settings["strength"] == 2
    assert settings["gap"] == 0.3
    assert settings["intercept"] is False


def test_a_flag_for_cost_replaces_a_strength_from_below(run: Command) -> None:
    Path("c.toml").write_text("strength = 0.5\n")
    done = run(
        "train", svmlight("data.svm"), "-o", "m", "--config", "c.toml", "--cost", 1, "--json"
    )
    assert done.code == 0
    assert fenchel.load("m").alpha == 1 / 200


def test_a_flag_for_strength_replaces_a_cost_from_below(run: Command) -> None:
    Path("c.toml").write_text("cost = 1\n")
    run("train", svmlight("data.svm"), "-o", "m", "--config", "c.toml", "--strength", 0.5)
    assert fenchel.load("m").alpha == 0.5


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("strenght = 1", ["c.toml: strenght is no setting", "did you mean 'strength'?"]),
        ("strength = '1'", ["c.toml: strength: expected a number", "'1'"]),
        ("strength = -1", ["c.toml: strength: expected a number >= 0"]),
        ("loss = 'hing'", ["unknown loss 'hing'; did you mean 'hinge'?"]),
        ("[train]\nloss = 'hinge'", ["train is no setting"]),
        ("strength 1", ["c.toml is not a TOML file"]),
        ("strength = 1\ncost = 1", ["--strength or --cost, not both"]),
    ],
)
def test_a_wrong_config_is_refused(run: Command, toml: str, said: list[str]) -> None:
    Path("c.toml").write_text(toml)
    done = run("train", svmlight("data.svm"), "-o", "m", "--config", "c.toml")
    assert done.code == 2
    assert all(part in done.err for part in said)
    assert not Path("m").exists()


def test_a_wrong_variable_is_named(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCHEL_MAX_ITERATIONS", "many")
    done = run("train", svmlight("data.svm"), "-o", "m")
    assert done.code == 2
    assert "FENCHEL_MAX_ITERATIONS: expected a whole number; got 'many'" in done.err
