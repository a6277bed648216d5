"""`fenchel inspect` and `fenchel convert`."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from commands import Command, rows, svmlight, table

import fenchel
from fenchel.cli.inspect import Inspected


def test_inspect_shows_the_certificate_and_the_largest_coefficients(run: Command) -> None:
    data = table("data.csv", np.sign(rows()[1]))
    run("train", data, "-o", "m", "--regularizer", "l1", "--strength", 0.02)
    done = run("inspect", "m", "--top", 2)
    model = fenchel.load("m")
    assert done.code == 0
    assert "hinge + l1, strength 0.02, with intercept" in done.out
    assert f"min J <= {model.objective_:.7g}"[:18] in done.out
    nonzeros = int(np.count_nonzero(model.coef_))
    assert f"{nonzeros} of 6 coefficients nonzero" in done.out
    largest = np.argsort(-np.abs(model.coef_[0]))
    assert done.out.index(f"\n  {'abcdef'[largest[0]]}") < done.out.index(
        f"\n  {'abcdef'[largest[1]]}"
    )
    report = msgspec.json.decode(run("inspect", "m", "--json").out, type=Inspected)
    assert len(report.coefficients) == nonzeros
    assert report.coefficients[0]["weight"] == model.coef_[0][largest[0]]


def test_inspect_calls_features_by_their_index_in_the_file(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m", "--loss", "logistic")
    weights = fenchel.load("m").coef_[0]
    report = msgspec.json.decode(run("inspect", "m", "--json").out, type=Inspected)
    assert report.coefficients[0]["feature"] == str(int(np.argmax(np.abs(weights))) + 1)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "svm.gz"])
def test_convert_keeps_the_data(run: Command, suffix: str) -> None:
    data = svmlight("data.svm")
    assert run("convert", data, f"other.{suffix}").code == 0
    assert run("convert", f"other.{suffix}", "back.svm").code == 0
    (X, y), (X2, y2) = fenchel.read_svmlight(data), fenchel.read_svmlight("back.svm")
    assert np.array_equal(X.toarray(), X2.toarray())
    assert np.array_equal(y, y2)
