"""`--lower` and `--upper`: bounds on all coefficients; and regularisers that flags cannot give."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from commands import Command, rows, svmlight, table

import fenchel
from fenchel.model.proof import proof_of


def three(z):
    return np.digitize(z, [-0.5, 0.5])


@pytest.mark.parametrize(
    ("loss", "y"), [("squared_error", np.asarray), ("hinge", three), ("softmax", three)]
)
def test_coefficients_are_within_them_and_the_bounds_are_verified(run: Command, loss, y):
    svmlight("d.svm", y)
    flags = ("--loss", loss, "--lower", "-0.25", "--upper", "0.5")
    done = run("train", "d.svm", "-o", "m", "--proof", "p", *flags)
    assert done.code == 0, done.err
    model = fenchel.load("m")
    assert (model.lower, model.upper) == (-0.25, 0.5)
    assert np.min(model.coef_) == pytest.approx(-0.25, abs=1e-3)
    assert np.max(model.coef_) == pytest.approx(0.5, abs=1e-3)
    checked = run("verify", "m", "d.svm", "--proof", "p")
    assert checked.code == 0, checked.err


@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_a_path_has_them_at_each_strength(run: Command, regularizer):
    svmlight("d.svm", np.asarray)
    flags = ("--loss", "squared_error", "--regularizer", regularizer, "--lower", "0")
    done = run("path", "d.svm", "-o", "m", "--cv", "3", "--strengths", "0.1,0.01", *flags)
    assert done.code == 0, done.err
    assert np.min(fenchel.load("m").coef_) >= 0


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--lower", "2", "--upper", "1"), "--lower 2 is above --upper 1"),
        (("--lower", "nan"), "--lower: expected a number"),
        (("--lower", "0", "--solver", "lbfgs"), "lbfgs cannot minimise this problem"),
        (("--lower", "0", "--regularizer", "squared_p_norm"), "need a separable regulariser"),
        (("--regularizer", "group_l1"), "group_l1 needs groups of columns, which flags cannot"),
        (("--regularizer", "quadratic"), "quadratic needs a matrix, which flags cannot give"),
    ],
)
def test_what_cannot_be_is_refused_before_the_data_are_read(run: Command, flags, said):
    svmlight("d.svm")
    for command in (("train", "d.svm", "-o", "m"), ("path", "d.svm")):
        done = run(*command, *flags)
        assert done.code in (2, 3) and said in done.err
        assert "read d.svm" not in done.err


def test_models_of_groups_by_name_are_verified_on_their_table(run: Command):
    X, y = rows()
    table("t.csv", y)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    groups = [["a", "f"], ["b", "e"], ["c", "d"]]
    model = fenchel.Regressor(penalty="group_l1", feature_groups=groups, alpha=0.1).fit(frame, y)
    fenchel.save(model, "m")
    proof_of([model.result_]).write("p")
    checked = run("verify", "m", "t.csv", "--proof", "p")
    assert checked.code == 0, checked.err
    assert run("predict", "m", "t.csv").code == 0
    assert "group_l1" in run("inspect", "m").out
