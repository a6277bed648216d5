"""`fenchel evaluate`: its metrics are scikit-learn's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Command, rows, svmlight, table
from sklearn import metrics

import fenchel


def test_metrics_of_classes_are_scikit_learns(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--loss", "logistic", "--strength", 0.1)
    found = run("evaluate", "m", data, "--json").json["metrics"]
    model, (X, z) = fenchel.load("m"), rows()
    y, predicted = np.sign(z), model.predict(X)
    assert found == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(y, predicted),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
            "f1": metrics.f1_score(y, predicted),
            "roc_area": metrics.roc_auc_score(y, model.decision_function(X)),
            "log_loss": metrics.log_loss(y, model.predict_proba(X)),
        }
    )


def test_metrics_of_many_classes_are_means_over_them(run: Command) -> None:
    def labels(z: np.ndarray) -> np.ndarray:
        return np.digitize(z, [-0.5, 0.8])

    data = svmlight("data.svm", labels)
    run("train", data, "-o", "m", "--loss", "logistic", "--strength", 0.1)
    found = run("evaluate", "m", data, "--json").json["metrics"]
    model, (X, z) = fenchel.load("m"), rows()
    y, predicted = labels(z), model.predict(X)
    assert found["f1"] == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, model.predict_proba(X)))
    area = metrics.roc_auc_score(np.eye(3)[y], model.decision_function(X), average="macro")
    assert found["roc_area"] == pytest.approx(area)


def test_classes_the_model_does_not_know_count_as_wrong(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m", "--loss", "logistic")
    Path("new.svm").write_text("1 1:0.5\n-1 1:0.1\n7 2:1\n")
    done = run("evaluate", "m", "new.svm", "--json")
    assert done.code == 0
    assert "1 rows are of classes that the model does not know (7)" in done.err
    assert done.json["metrics"]["accuracy"] <= 2 / 3


def test_an_area_that_does_not_exist_is_null(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m")
    Path("one.svm").write_text("1 1:0.5\n1 1:0.1\n")
    assert run("evaluate", "m", "one.svm", "--json").json["metrics"]["roc_area"] is None
    assert "roc area" in run("evaluate", "m", "one.svm").out


def test_text_and_numbers_do_not_compare(run: Command) -> None:
    labels = np.where(rows()[1] > 0, "yes", "no")
    run("train", table("t.csv", labels), "-o", "m")
    done = run("evaluate", "m", table("n.csv", np.sign(rows()[1])))
    assert done.code == 3
    assert "'no', 'yes'" in done.err


def test_metrics_of_numbers_are_scikit_learns(run: Command) -> None:
    data = svmlight("data.svm", lambda z: z)
    run("train", data, "-o", "m", "--loss", "quantile", "--quantile", 0.8)
    found = run("evaluate", "m", data, "--json").json["metrics"]
    X, z = rows()
    predicted = fenchel.load("m").predict(X)
    assert found["mean_absolute_error"] == pytest.approx(metrics.mean_absolute_error(z, predicted))
    assert found["r2"] == pytest.approx(metrics.r2_score(z, predicted))
    assert found["pinball_loss"] == pytest.approx(
        metrics.mean_pinball_loss(z, predicted, alpha=0.8)
    )
    assert found["share_below"] == pytest.approx(0.8, abs=0.03)
