"""One thing goes by several names; each surface has one, and says so to whoever uses another."""

from __future__ import annotations

import numpy as np
import pytest

import fenchel
from fenchel.cli import main

X, Y = np.eye(4), [0, 1, 0, 1]


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: fenchel.problem(X, Y, alpha=1.0), "Did you mean strength?"),
        (lambda: fenchel.problem(X, Y, penalty="l1"), "Did you mean regularizer?"),
        (lambda: fenchel.problem(X, Y, fit_intercept=True), "Did you mean intercept?"),
        (lambda: fenchel.problem(X, Y, loss="roc_auc"), "did you mean 'roc'?"),
        (lambda: fenchel.problem(X, Y, loss="log_loss"), "did you mean 'logistic'?"),
        (lambda: fenchel.problem(X, Y, regularizer="elasticnet"), "did you mean 'elastic_net'?"),
        (lambda: fenchel.minimize(fenchel.problem(X, Y), tol=1e-3), "did you mean gap?"),
        (lambda: fenchel.minimize(fenchel.problem(X, Y), max_iter=3), "mean max_iterations?"),
        (lambda: fenchel.path(fenchel.problem(X, Y), tol=1e-3), "did you mean gap?"),
        (lambda: fenchel.path(fenchel.problem(X, Y), alphas=3), "did you mean strengths?"),
        (lambda: fenchel.Classifier(strength=1.0), "did you mean alpha?"),
        (lambda: fenchel.Classifier(regularizer="l1"), "did you mean penalty?"),
        (lambda: fenchel.Regressor(gap=1e-3), "did you mean tol?"),
        (lambda: fenchel.RegressorCV(max_iterations=3), "did you mean max_iter?"),
        (lambda: fenchel.Classifier(class_weights="balanced"), "did you mean class_weight?"),
        (lambda: fenchel.MetricClassifier(metric="roc").fit(X, Y), "did you mean 'roc_auc'?"),
    ],
)
def test_another_name_is_refused_with_the_right_one(call, said):
    with pytest.raises((fenchel.Incompatible, fenchel.InvalidData)) as caught:
        call()
    assert said in str(caught.value)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--alpha", "1"), "did you mean --strength?"),
        (("--penalty", "l1"), "did you mean --regularizer?"),
        (("--tol", "1e-3"), "did you mean --gap?"),
        (("--n-jobs", "2"), "did you mean --threads?"),
        (("--loss", "roc_auc"), "did you mean 'roc'?"),
        (("--gapp", "1"), "did you mean --gap?"),
    ],
)
def test_so_it_is_on_the_command_line(flags, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "d.csv").write_text("a,y\n0,0\n1,1\n")
    with pytest.raises(SystemExit) as caught:
        main(["train", "d.csv", "-o", "m", *flags])
    assert caught.value.code == 2 and said in " ".join(capsys.readouterr().err.split())


def test_what_is_meant_by_nothing_is_refused_with_all_there_is():
    with pytest.raises(TypeError, match="has no setting 'q'; it has problem, solver, gap"):
        fenchel.minimize(fenchel.problem(X, Y), q=1)
