"""`--metric`: scikit-learn's measures by name, for evaluate and for the scores of a path."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Command, rows, svmlight
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file

import fenchel
from fenchel.cli.measures import METRICS

X, Z = rows()
TWO = np.where(Z > 0, 7.0, 3.0)
THREE = np.digitize(Z, [-0.5, 0.8])


def evaluated(run: Command, data: Path, *names: str) -> dict[str, float]:
    flags = [flag for name in names for flag in ("--metric", name)]
    done = run("evaluate", "m", data, *flags, "--json")
    assert done.code == 0, done.err
    found: dict[str, float] = done.json["metrics"]
    assert list(found) == list(names)
    return found


def test_two_classes(run: Command) -> None:
    data = svmlight("data.svm", lambda z: np.where(z > 0, 7.0, 3.0))
    run("train", data, "-o", "m", "--loss", "logistic", "--strength", 0.1)
    model = fenchel.load("m")
    said, scores, chances = model.predict(X), model.decision_function(X), model.predict_proba(X)
    expected = {
        "accuracy": metrics.accuracy_score(TWO, said),
        "f1": metrics.f1_score(TWO, said, pos_label=7),
        "precision": metrics.precision_score(TWO, said, pos_label=7),
        "recall": metrics.recall_score(TWO, said, pos_label=7),
        "matthews_corrcoef": metrics.matthews_corrcoef(TWO, said),
        "auc": metrics.roc_auc_score(TWO, scores),
        "average_precision": metrics.average_precision_score(TWO, scores, pos_label=7),
        "log_loss": metrics.log_loss(TWO, chances),
        "brier": metrics.brier_score_loss(TWO, chances[:, 1], pos_label=7),
    }
    assert evaluated(run, data, *expected) == pytest.approx(expected)


def test_three_classes(run: Command) -> None:
    dump_svmlight_file(X, THREE, "data.svm", zero_based=False)
    run("train", "data.svm", "-o", "m", "--loss", "softmax", "--strength", 0.1)
    model = fenchel.load("m")
    said, chances = model.predict(X), model.predict_proba(X)
    expected = {
        "f1_macro": metrics.f1_score(THREE, said, average="macro"),
        "f1": metrics.f1_score(THREE, said, average="macro"),
        "f1_weighted": metrics.f1_score(THREE, said, average="weighted"),
        "balanced_accuracy": metrics.balanced_accuracy_score(THREE, said),
        "log_loss": metrics.log_loss(THREE, chances),
        "brier": metrics.brier_score_loss(THREE, chances, scale_by_half=False),
    }
    assert evaluated(run, Path("data.svm"), *expected) == pytest.approx(expected)


def test_numbers(run: Command) -> None:
    y = np.exp(Z)
    dump_svmlight_file(X, y, "data.svm", zero_based=False)
    run("train", "data.svm", "-o", "m", "--loss", "gamma", "--strength", 0.1)
    y, said = fenchel.read_svmlight("data.svm")[1], fenchel.load("m").predict(X)
    expected = {
        "mae": metrics.mean_absolute_error(y, said),
        "mse": metrics.mean_squared_error(y, said),
        "rmse": metrics.root_mean_squared_error(y, said),
        "r2": metrics.r2_score(y, said),
        "mape": metrics.mean_absolute_percentage_error(y, said),
        "pinball": metrics.mean_pinball_loss(y, said),
        "pinball@0.9": metrics.mean_pinball_loss(y, said, alpha=0.9),
        "poisson_deviance": metrics.mean_poisson_deviance(y, said),
        "gamma_deviance": metrics.mean_gamma_deviance(y, said),
        "tweedie_deviance@1.2": metrics.mean_tweedie_deviance(y, said, power=1.2),
    }
    assert evaluated(run, Path("data.svm"), *expected) == pytest.approx(expected)


def test_rankings(run: Command) -> None:
    qid = np.repeat(np.arange(20), 10)
    grades = np.clip(THREE, 0, 2)
    dump_svmlight_file(X, grades, "data.svm", zero_based=False, query_id=qid)
    run("train", "data.svm", "-o", "m", "--loss", "rank_hinge", "--strength", 0.1)
    found = evaluated(run, Path("data.svm"), "ndcg", "ndcg@3", "mrr")
    plain = run("evaluate", "m", "data.svm", "--json").json["metrics"]
    assert found["ndcg"] == plain["ndcg_at_10"] and found["mrr"] == plain["mean_reciprocal_rank"]
    assert 0 < found["ndcg@3"] <= 1 and found["ndcg@3"] != found["ndcg"]


def test_a_path_is_scored_by_it(run: Command) -> None:
    data = svmlight("data.svm", lambda z: np.where(z > 0, 7.0, 3.0))
    strengths = ("--loss", "logistic", "--strengths", "1,0.1,0.01")
    flags = ("--validation", data, "--metric", "log_loss", "-o", "best", "--json")
    found = run("path", data, *strengths, *flags).json
    assert found["score"] == "neg_log_loss" and found["settings"]["metric"] == "log_loss"
    scores = [point["score"] for point in found["points"]]
    assert found["best"] == found["points"][int(np.argmax(scores))]["strength"]
    model = fenchel.load("best")
    assert max(scores) == pytest.approx(-metrics.log_loss(TWO, model.predict_proba(X)))
    found = run("path", data, *strengths, "--cv", 3, "--metric", "auc", "--json").json
    assert found["score"] == "auc" and 0.5 < found["points"][0]["score"] <= 1
    done = run("path", data, *strengths, "--metric", "auc")
    assert done.code == 2 and "add --cv 5 or --validation FILE" in done.err


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("acuracy", "did you mean 'accuracy'"),
        ("rmse", "--metric rmse is for models of numbers, not for loss hinge: it has accuracy"),
        ("log_loss", "needs probabilities"),
        ("accuracy@3", "takes nothing after an @"),
        ("nothing", "available are accuracy"),
    ],
)
def test_wrong_metrics_are_refused_before_the_data_are_read(
    run: Command, name: str, said: str
) -> None:
    run("train", svmlight("data.svm"), "-o", "m")
    done = run("evaluate", "m", "none.svm", "--metric", name)
    assert done.code == 2 and said in done.err


@pytest.mark.parametrize(
    ("name", "said"), [("pinball@1", "a level between"), ("pinball@x", "a level")]
)
def test_wrong_numbers_after_the_at_are_refused(run: Command, name: str, said: str) -> None:
    run("train", svmlight("data.svm"), "-o", "m", "--loss", "squared_error")
    assert said in run("evaluate", "m", "data.svm", "--metric", name).err


def test_all_of_one_class_has_no_area(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m")
    Path("one.svm").write_text("1 1:1\n1 1:2\n")
    done = run("evaluate", "m", "one.svm", "--metric", "auc")
    assert done.code == 3 and "all of one class" in done.err


def test_every_metric_is_in_the_help(run: Command) -> None:
    said = "".join(run("evaluate", "--help").out.replace("│", "").split())
    assert all(name in said for name in METRICS)
