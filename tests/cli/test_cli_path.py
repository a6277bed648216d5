"""`fenchel path`: what it prints, saves and draws, how it exits, and what it refuses."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from commands import Command, rows, svmlight, table
from sklearn.datasets import dump_svmlight_file

import fenchel
from fenchel.cli.exits import Code
from fenchel.cli.path import parsed
from fenchel.cli.path_summary import PathPoint, Report

STRENGTHS = ("--strengths", "1e-1:1e-3:5")


def test_the_table_has_a_line_for_each_strength(run: Command) -> None:
    done = run("path", svmlight("data.svm"), "--loss", "logistic", *STRENGTHS)
    head, *lines, total = done.out.splitlines()
    assert done.code == Code.OK
    assert head.split() == ["strength", "objective", "gap", "nonzeros", "passes", "seconds"]
    assert [line.split()[0] for line in lines] == ["0.1", "0.03162", "0.01", "0.003162", "0.001"]
    assert total.startswith("5 of 5 strengths converged to a gap of 1.0e-04: ")
    assert "fit logistic + l2, 5 strengths from 0.1 to 0.001, to a gap of 1.0e-04" in done.err
    assert "5/5" in done.err


def test_the_numbers_are_those_of_the_library(run: Command) -> None:
    X, z = rows()
    done = run("path", svmlight("data.svm"), "--loss", "logistic", *STRENGTHS, "--json", "-q")
    points = done.json["points"]
    problem = fenchel.problem(X, np.sign(z), loss="logistic", intercept=True)
    path = fenchel.path(problem, np.geomspace(1e-1, 1e-3, 5))
    assert [point["objective"] for point in points] == pytest.approx(path.objectives, rel=1e-4)
    assert all(0 <= point["gap"] <= 1e-4 for point in points)
    assert done.err == ""


def test_cross_validation_chooses_and_saves_the_best(run: Command) -> None:
    data = svmlight("data.svm")
    done = run("path", data, "--loss", "hinge", *STRENGTHS, "--cv", 3, "-o", "best.model", "--json")
    report = done.json
    scores = [point["score"] for point in report["points"]]
    best = report["points"][int(np.argmax(scores))]
    assert (done.code, report["score"], report["best"]) == (0, "accuracy", best["strength"])
    model = fenchel.load("best.model")
    assert model.alpha == best["strength"] and model.result_.objective == best["objective"]
    assert model.gap_ <= 1e-4 and run("predict", "best.model", data).code == 0


def test_a_validation_file_scores_as_evaluate_does(run: Command) -> None:
    data, unseen = svmlight("data.svm"), svmlight("unseen.svm", seed=1)
    done = run("path", data, "--validation", unseen, *STRENGTHS, "-o", "best.model")
    best = next(line for line in done.out.splitlines() if line.endswith("  best"))
    evaluated = run("evaluate", "best.model", unseen, "--json").json
    assert float(best.split()[-2]) == pytest.approx(evaluated["metrics"]["accuracy"], abs=1e-4)
    assert re.search(r"best accuracy 0\.\d{4} at strength \S+, saved in best\.model", done.out)


@pytest.mark.parametrize(
    ("loss", "score"), [("squared_error", "r2"), ("quantile", "d2 pinball"), ("poisson", "d2")]
)
def test_the_score_suits_the_loss(run: Command, loss: str, score: str) -> None:
    def y(z: np.ndarray) -> np.ndarray:
        return np.floor(np.exp(z / 2)) if loss == "poisson" else z

    done = run("path", svmlight("d.svm", y), "--loss", loss, *STRENGTHS, "--cv", 3, "--json")
    assert done.json["score"] == score and 0.1 < done.json["points"][-1]["score"] <= 1


@pytest.mark.slow
def test_classes_one_against_the_rest_add_up(run: Command) -> None:
    _, z = rows()
    words = np.array(["low", "mid", "top"])[np.digitize(z, [0.0, 1.0])]
    data = table("data.csv", words)
    done = run(
        "path", data, "--loss", "logistic", *STRENGTHS, "--cv", 3, "--json", "--plot", "p.svg"
    )
    model = fenchel.Classifier(loss="logistic", alpha=1e-3)
    X, _ = rows(len(words))
    assert done.json["points"][-1]["coefficients"] == 18
    assert done.json["points"][-1]["objective"] == pytest.approx(
        model.fit(X, words).objective_, rel=1e-4
    )
    drawn = Path("p.svg").read_text(encoding="utf-8")
    assert "low: " in drawn and "accuracy" in drawn and "certified gap" in drawn


@pytest.mark.slow
@pytest.mark.parametrize("name", ["p.png", "p.pdf", "p.html"])
def test_the_path_is_drawn(run: Command, name: str) -> None:
    done = run("path", svmlight("data.svm"), "--regularizer", "l1", *STRENGTHS, "--plot", name)
    assert done.code == 0 and f"draw {name}" in done.err
    starts = {"p.png": b"\x89PNG", "p.pdf": b"%PDF", "p.html": b"<!DOCTYPE html>"}
    assert Path(name).read_bytes().startswith(starts[name])


def test_without_strengths_l1_starts_where_all_coefficients_are_0(run: Command) -> None:
    done = run("path", svmlight("d.svm"), "--loss", "logistic", "--regularizer", "l1", "--json")
    points = done.json["points"]
    assert len(points) == 30 and points[0]["nonzeros"] == 0 < points[1]["nonzeros"]


def test_a_strength_that_falls_short_is_said_and_the_rest_is_done(run: Command) -> None:
    few = ("--solver", "ls-bmrm", "--max-iterations", 3)
    done = run("path", svmlight("data.svm"), *STRENGTHS, *few)
    assert done.code == Code.NOT_CONVERGED
    assert done.out.count("max iterations") >= 1
    assert len(done.out.splitlines()) == 7


def test_the_folds_are_those_of_the_seed(run: Command) -> None:
    def scores(*options: object) -> list[float]:
        done = run("path", data, *STRENGTHS, "--loss", "logistic", "--cv", 3, "--json", *options)
        return [point["score"] for point in done.json["points"]]

    data = svmlight("data.svm", lambda z: np.sign(np.sin(9 * z)))
    assert scores() == scores() == scores("--seed", 0) != scores("--seed", 1)


def test_the_report_has_the_fields_that_are_documented(run: Command) -> None:
    done = run("path", svmlight("data.svm"), *STRENGTHS, "--json")
    assert msgspec.convert(done.json, Report).points
    assert done.json.keys() == set(Report.__struct_fields__)
    assert done.json["points"][0].keys() == set(PathPoint.__struct_fields__)


# What is refused


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--loss", "roc"], "path takes losses of single rows"),
        (["-o", "m"], "add --cv 5 or --validation FILE"),
        (["--cv", "1"], "--cv: expected a whole number >= 2; got 1"),
        (["--cv", "3", "--validation", "data.svm"], "give --cv or --validation, not both"),
        (["--validation", "none.svm"], "there is no file none.svm"),
        (["--loss", "novelty", "--cv", "3"], "--loss novelty has no score"),
        (["--strengths", "1:2"], "a range is from:to:number"),
        (["--strengths", "1:2:3:4"], "a range is from:to:number"),
        (["--strengths", "1:0.1:0"], "a range is from:to:number"),
        (["--strengths", "1:0:5"], "expected a number >= 1e-100; got '0'"),
        (["--strengths", "1,much"], "expected a number >= 0; got 'much'"),
        (["--strengths", "nan"], "expected a number >= 0; got 'nan'"),
        (["--loss", "hing"], "did you mean 'hinge'"),
        (["--plot", "p.gif"], "its name must end in one of"),
        (["--plot", "data.svm"], "data.svm is the data"),
        (["--strength", "1"], "no such option: --strength"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_options_are_refused_before_the_data_are_read(
    run: Command, options: list[str], message: str
) -> None:
    done = run("path", svmlight("data.svm"), *options)
    assert done.code == Code.USAGE and message in done.err
    assert "read data.svm" not in done.err and done.out == ""


def test_more_folds_than_rows_of_a_class_are_refused(run: Command) -> None:
    X, _ = rows(8)
    dump_svmlight_file(X, [1, -1] * 4, "data.svm", zero_based=False)
    done = run("path", "data.svm", "--cv", 5)
    assert done.code == Code.BAD_DATA and "--cv 5 is too much for data.svm" in done.err


def test_validation_rows_of_other_classes_are_refused(run: Command) -> None:
    numbers = table("data.csv", np.array([1, 2] * 20))
    words = table("words.csv", np.array(["a", "b"] * 20))
    done = run("path", numbers, "--validation", words, *STRENGTHS)
    assert done.code == Code.BAD_DATA and "the labels cannot be the model's" in done.err


@pytest.mark.parametrize("y", [[0.3, 1.5] * 20, [1, 2.5] * 20, [3, 4] * 20])
def test_validation_rows_of_no_classes_are_refused(run: Command, y: list[float]) -> None:
    data, other = table("data.csv", np.array([1, 2] * 20)), table("other.csv", np.array(y))
    done = run("path", data, "--validation", other, *STRENGTHS)
    assert done.code == Code.BAD_DATA and "the labels cannot be the model's" in done.err


def test_ranges_and_lists() -> None:
    assert parsed("1e-1:1e-3:3") == pytest.approx([1e-1, 1e-2, 1e-3])
    assert parsed("0.001:10:2") == pytest.approx([0.001, 10])
    assert parsed("5:1:1") == [5.0]
    assert parsed("0.1, 0,3") == [0.1, 0.0, 3.0]
