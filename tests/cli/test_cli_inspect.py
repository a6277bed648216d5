"""`fenchel inspect` and `fenchel convert`."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from commands import Command, rows, svmlight, table
from prepared import ESTIMATORS

import fenchel
from fenchel.cli.inspect import Inspected, InspectedParts


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


def test_inspect_shows_the_steps_of_a_pipeline(run: Command) -> None:
    model, X, y = ESTIMATORS["frame"]
    fenchel.save(model.fit(X, y), "m")
    done = run("inspect", "m", "--top", 1)
    assert done.code == 0
    assert "  columntransformer: ColumnTransformer\n    numbers: Pipeline of age, incom" in done.out
    assert "      onehotencoder: OneHotEncoder(handle_unknown='ignore')\n" in done.out
    assert "3 of 3 classes converged" in done.out
    assert "words__city_" in run("inspect", "m").out  # a coefficient by its name
    report = msgspec.json.decode(run("inspect", "m", "--json").out, type=Inspected)
    assert report.steps is not None
    assert [step.kind for step in report.steps] == ["ColumnTransformer", "Classifier"]
    assert len(report.runs) == 3


def test_inspect_shows_what_was_proved_inside_of_a_meta_estimator(run: Command) -> None:
    model, X, y = ESTIMATORS["calibrated-isotonic"]
    fenchel.save(model.fit(X, y), "m")
    assert run("inspect", "m").out.count("converged, gap") == 3
    report = msgspec.json.decode(run("inspect", "m", "--json").out, type=InspectedParts)
    assert [*report.runs] == ["0 > classifier", "1 > classifier", "2 > classifier"]
    inside = [each.estimator[-1] for each in fenchel.load("m").calibrated_classifiers_]
    assert [each[0].lower_bound for each in report.runs.values()] == [
        each.lower_bound_ for each in inside
    ]


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "svm.gz"])
def test_convert_keeps_the_data(run: Command, suffix: str) -> None:
    data = svmlight("data.svm")
    assert run("convert", data, f"other.{suffix}").code == 0
    assert run("convert", f"other.{suffix}", "back.svm").code == 0
    (X, y), (X2, y2) = fenchel.read_svmlight(data), fenchel.read_svmlight("back.svm")
    assert np.array_equal(X.toarray(), X2.toarray())
    assert np.array_equal(y, y2)
