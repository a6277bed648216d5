"""`fenchel predict`: predictions, scores and probabilities, and how columns are found again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
from commands import Command, rows, svmlight, table
from sklearn.datasets import dump_svmlight_file

import fenchel


def test_predictions_are_one_a_line_on_stdout_or_in_a_file(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m")
    done = run("predict", "m", data)
    assert done.code == 0
    expected = fenchel.load("m").predict(rows()[0])
    assert done.out == "".join(f"{label:.0f}\n" for label in expected)
    run("predict", "m", data, "-o", "out.txt")
    assert Path("out.txt").read_text() == done.out


def test_scores_and_probabilities_are_exact(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--loss", "logistic")
    model, (X, _) = fenchel.load("m"), fenchel.read_svmlight(data)
    scores = np.loadtxt(run("predict", "m", data, "--scores").out.splitlines())
    assert np.array_equal(scores, model.decision_function(X))
    done = run("predict", "m", data, "--probabilities")
    chances = np.loadtxt(done.out.splitlines())
    assert np.array_equal(chances, model.predict_proba(X))
    assert "columns: -1 1" in done.err


def test_probabilities_need_the_logistic_loss(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m")
    done = run("predict", "m", data, "--probabilities")
    assert done.code == 2
    assert "--loss logistic" in done.err
    assert run("predict", "m", data, "--probabilities", "--scores").code == 2


def test_more_features_than_in_training_are_refused_with_both_numbers(run: Command) -> None:
    run("train", svmlight("six.svm"), "-o", "m")
    done = run("predict", "m", svmlight("nine.svm", d=9))
    assert done.code == 3
    assert "9 features" in done.err and "6" in done.err


def test_fewer_features_than_in_training_count_as_zero(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m")
    Path("narrow.svm").write_text("1 1:2.0\n1\n")
    X = np.array([[2.0, 0, 0, 0, 0, 0], [0] * 6])
    scores = np.loadtxt(run("predict", "m", "narrow.svm", "--scores").out.splitlines())
    assert np.array_equal(scores, fenchel.load("m").decision_function(X))


def test_an_index_0_in_data_that_should_count_from_1_is_warned_of(run: Command) -> None:
    """FAULTS #32."""
    run("train", svmlight("data.svm"), "-o", "m")
    model = fenchel.load("m")
    assert model.index_base_ == 1
    Path("zero.svm").write_text("1 0:7 1:2.0\n")
    done = run("predict", "m", "zero.svm", "--scores")
    assert "warning: zero.svm has an index 0" in done.err
    assert float(done.out) == model.decision_function([[2.0, 0, 0, 0, 0, 0]])[0]
    chosen = run("predict", "m", "zero.svm", "--scores", "--index-base", 0)
    assert "warning" not in chosen.err
    assert float(chosen.out) == model.decision_function([[7.0, 2, 0, 0, 0, 0]])[0]


def test_the_base_of_the_training_data_holds_for_the_test_data(run: Command) -> None:
    """FAULTS #32: without an index 0 the file alone would look as if it counted from 1."""
    X, z = rows()
    dump_svmlight_file(X, np.sign(z), "zero.svm", zero_based=True)
    run("train", "zero.svm", "-o", "m")
    Path("test.svm").write_text("1 1:2.0\n")
    done = run("predict", "m", "test.svm", "--scores")
    assert float(done.out) == fenchel.load("m").decision_function([[0, 2.0, 0, 0, 0, 0]])[0]


def test_columns_of_a_table_are_found_by_name(run: Command) -> None:
    labels = np.where(rows()[1] > 0, "yes", "no")
    data = table("train.csv", labels)
    run("train", data, "-o", "m", "--target", "y")
    assert list(fenchel.load("m").feature_names_in_) == list("abcdef")
    header, *lines = data.read_text().splitlines()
    order = [5, 0, 3, 6, 1, 2, 4]
    mixed = [",".join(line.split(",")[j] for j in order) for line in (header, *lines)]
    Path("mixed.csv").write_text("\n".join(mixed) + "\n")
    assert run("predict", "m", "mixed.csv").out == run("predict", "m", data).out
    assert run("evaluate", "m", "mixed.csv", "--target", "y").code == 0
    Path("lacking.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
    done = run("predict", "m", "lacking.csv")
    assert done.code == 3
    assert "'f'" in done.err


def test_stdin_is_read_as_svmlight(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m")
    done = subprocess.run(
        [sys.executable, "-m", "fenchel", "predict", "m", "-"],
        input=data.read_text(),
        capture_output=True,
        text=True,
    )
    assert done.stdout == run("predict", "m", data).out
    assert "read stdin: 200 rows" in done.stderr


def test_head_ends_predict_quietly(run: Command) -> None:
    data = svmlight("data.svm", n=30_000)
    run("train", data, "-o", "m", "--gap", 0.1)
    done = subprocess.run(
        f"{sys.executable} -m fenchel predict -q m data.svm --scores | head -1;"
        "echo ${PIPESTATUS[0]}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[1] == "0"
    assert done.stderr == ""
