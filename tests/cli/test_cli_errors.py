"""What is refused: wrong usage, bad data and internal errors, each with its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import Command, svmlight

from fenchel.checkpoint import Checkpoint

# Wrong usage: exit 2, one message, nothing written


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "d"], "--output"),
        (["train", "-o", "m"], "DATA"),
        (["train", "none.svm", "-o", "m"], "there is no file none.svm"),
        (["train", ".", "-o", "m"], "cannot read ."),
        (["train", "d", "-o", "m", "--los", "hinge"], "--los"),
        (["train", "d", "-o", "m", "--loss", "hing"], "did you mean 'hinge'?"),
        (["train", "d", "-o", "m", "--loss", "mse"], "available are hinge"),
        (["train", "d", "-o", "m", "--solver", "lbgfs"], "did you mean 'lbfgs'?"),
        (["train", "d", "-o", "m", "--strength", "x"], "--strength"),
        (["train", "d", "-o", "m", "--strength", "-1"], "--strength: expected a number >= 0"),
        (["train", "d", "-o", "m", "--strength", "nan"], "--strength"),
        (["train", "d", "-o", "m", "--gap", "0"], "--gap: expected a number > 0"),
        (["train", "d", "-o", "m", "--threads", "0"], "--threads: expected a whole number >= 1"),
        (["train", "d", "-o", "m", "--index-base", "2"], "--index-base"),
        (["train", "d", "-o", "m", "--quantile", "0.5"], "is for quantile"),
        (["train", "d", "-o", "m", "--l1-ratio", "0.5"], "elastic_net"),
        (["train", "d", "-o", "m", "--loss", "novelty", "--intercept"], "no intercept"),
        (["train", "d", "-o", "m", "--loss", "huber", "--balanced"], "classes"),
        (["train", "d", "-o", "m", "--strength", "1", "-c", "1"], "not both"),
        (["train", "d", "-o", "m", "--solver", "lbfgs"], "differentiable"),
        (["train", "d", "-o", "m", "--taxonomy", "d"], "is for hierarchical_hinge"),
        (["train", "d", "-o", "m", "--loss", "multivariate_squared"], "only tables have"),
        (["train", "d", "-o", "m", "--loss", "softmax", "--mu", "1"], "is for smoothed_hinge"),
        (["train", "d", "-o", "d"], "is the data"),
        (["train", "d", "-o", "."], "cannot write"),
        (["train", "d", "-o", "-"], "name of a file"),
        (["train", "none", "-o", "/dev/null"], "it is a device"),
        (["train", "none", "-o", "no/such/folder/m"], "folder"),
        (["train", "d", "-o", "m", "--plot", "no/folder/p.svg"], "folder"),
        (["train", "d", "-o", "m", "--plot", "p.bmp"], ".png"),
        (["train", "d", "-o", "m", "--config", "none.toml"], "cannot read none.toml"),
        (["predict", "none", "d"], "there is no file none"),
        (["evaluate", "none", "d"], "there is no file none"),
        (["inspect", "none"], "there is no file none"),
        (["inspect", "d", "--top", "-1"], "--top"),
        (["convert", "d", "d"], "another name"),
        (["convert", "none", "e.npz"], "there is no file none"),
        (["resume", "none"], "there is no checkpoint none"),
        (["trian", "d"], "trian"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_with_2(run: Command, arguments: list[str], said: str) -> None:
    svmlight("d")
    before = Path("d").read_bytes()
    done = run(*arguments)
    assert done.code == 2
    assert done.err.startswith("error: ") and said in done.err
    assert done.err.count("\n") <= 2 and "Traceback" not in done.err
    assert done.out == ""
    assert os.listdir() == ["d"] and Path("d").read_bytes() == before


@pytest.mark.slow
def test_a_full_disk_leaves_the_old_model(run: Command) -> None:
    """FAULTS #25: a limit on the size of files stands for the disk."""
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--strength", 1)
    before = Path("m").read_bytes()
    done = subprocess.run(
        f"ulimit -f 1; {sys.executable} -m fenchel train -q data.svm -o m --gap 1e-6",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "File too large while writing" in done.stderr
    assert "fault of fenchel" not in done.stderr
    assert Path("m").read_bytes() == before
    assert sorted(os.listdir()) == ["data.svm", "m"]


def test_a_named_pipe_is_not_written_to(run: Command) -> None:
    """FAULTS #26."""
    os.mkfifo("pipe")
    done = run("train", svmlight("data.svm"), "-o", "pipe")
    assert done.code == 2
    assert "named pipe" in done.err


def test_the_output_is_checked_before_the_data_are_read(run: Command) -> None:
    Path("bad.svm").write_text("not svmlight\n")
    assert "cannot write" in run("train", "bad.svm", "-o", ".").err


# Bad data: exit 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 1:0.5\n-1 2=3\n", "d:2:"),
        ("1 1:0.5\n-1 1:nan\n", "d:2:"),
        ("spam 1:0.5\n", "d:1:"),
        ("1 1:0.5\n1 2:3\n", "single class"),
        ("0.5 1:0.5\n0.25 2:3\n0.125 1:1\n", "--loss squared_error"),
        ("", "d"),
        ("1 qid:1 1:1\n-1 qid:2 1:1\n1 qid:1 1:2\n", "d:3:"),
        ("1 1:1e200\n-1 1:1\n", "rescale"),
    ],
    ids=["colon", "nan", "label", "one class", "continuous", "empty", "qid", "large"],
)
def test_bad_data_exit_with_3_and_say_where(run: Command, text: str, said: str) -> None:
    """FAULTS #6, #8, #17, #27, #28, #34 as the command line shows them."""
    Path("d").write_text(text)
    done = run("train", "d", "-o", "m")
    assert done.code == 3
    assert said in done.err and "Traceback" not in done.err
    assert os.listdir() == ["d"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lists.svm", "1 qid:1 1:1\n0 qid:1 1:2\n\n# here\n0 qid:2 1:3\n0 qid:2 1:4\n"),
        ("lists.csv", "y,a,qid\n1,1,1\n0,2,1\n\n\n0,3,2\n0,4,2\n"),
    ],
)
def test_lists_without_gold_are_named_by_their_line(run: Command, name: str, text: str) -> None:
    Path(name).write_text(text)
    done = run("train", name, "--loss", "rerank_likelihood", "-o", "m")
    assert done.code == 3
    line = 5 if name.endswith("svm") else 6
    assert f"{name}:{line}: list 1, which begins in row 2, has no gold" in done.err


def test_targets_that_a_loss_refuses_are_named_by_their_line(run: Command) -> None:
    Path("d").write_text("1 1:1\n# less than 0\n-1 1:2\n")
    assert "d:3: the loss needs y >= 0" in run("train", "d", "--loss", "poisson", "-o", "m").err


def test_a_file_that_is_no_model_exits_with_3(run: Command) -> None:
    data = svmlight("d")
    for wrong in (data, "."):
        done = run("predict", wrong, data)
        assert done.code == 3
        assert f"cannot use {wrong}" in done.err


def test_a_model_is_no_checkpoint(run: Command) -> None:
    run("train", svmlight("d"), "-o", "m")
    assert run("resume", "m").code == 3
    Checkpoint("m.checkpoint", note="mine")
    assert run("resume", "m.checkpoint").code == 2


# Internal errors: exit 1, and a traceback only on request


def test_an_internal_error_exits_with_1(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a screw came loose")

    monkeypatch.setattr("fenchel.data.files.read", broken)
    svmlight("d")
    done = run("train", "d", "-o", "m")
    assert done.code == 1
    assert "RuntimeError: a screw came loose" in done.err and "Traceback" not in done.err
    assert "Traceback" in run("train", "d", "-o", "m", "-v").err
    monkeypatch.setenv("FENCHEL_DEBUG", "1")
    assert "Traceback" in run("train", "d", "-o", "m").err
