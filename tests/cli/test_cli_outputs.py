"""`predict -o out.csv|parquet` with ids and probabilities; one JSON object from each command."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import Command, Outcome, rows, svmlight, table

import fenchel
from fenchel.cli.convert import Converted
from fenchel.cli.evaluate import Evaluated
from fenchel.cli.inspect import Inspected
from fenchel.cli.path_summary import Report
from fenchel.cli.prediction_files import Predicted
from fenchel.cli.summary import Trained
from fenchel.cli.verify import Verified

X, Z = rows()
WORDS = np.where(Z > 0, "up", "down")
READ = {
    ".csv": pd.read_csv,
    ".tsv": lambda path: pd.read_csv(path, sep="\t"),
    ".parquet": pd.read_parquet,
}


@pytest.fixture
def data(run: Command) -> Path:
    """A table with a column of ids, and a model m of it."""
    path = table("data.csv", WORDS)
    run("train", path, "-o", "m", "--loss", "logistic")
    lines = path.read_text().splitlines()
    named = [f"{'id' if k == 0 else f'n{k}'},{line}" for k, line in enumerate(lines)]
    Path("named.csv").write_text("\n".join(named))
    return Path("named.csv")


@pytest.mark.parametrize("suffix", READ)
def test_a_table_has_ids_predictions_and_probabilities(
    run: Command, data: Path, suffix: str
) -> None:
    frame, model = pd.DataFrame(X, columns=list("abcdef")), fenchel.load("m")
    assert run("predict", "m", data, "-o", f"out{suffix}", "--id", "id").out == ""
    found = READ[suffix](f"out{suffix}")
    assert list(found) == ["id", "prediction", "probability_down", "probability_up"]
    assert found["id"].tolist() == [f"n{k}" for k in range(1, 201)]
    assert found["prediction"].tolist() == model.predict(frame).tolist()
    np.testing.assert_allclose(found["probability_up"], model.predict_proba(frame)[:, 1])
    run("predict", "m", data, "-o", f"out{suffix}", "--scores")
    found = READ[suffix](f"out{suffix}")
    assert list(found)[:2] == ["row", "prediction"] and list(found)[-1] == "score"
    assert found["row"].tolist() == list(range(200))
    np.testing.assert_allclose(found["score"], model.decision_function(frame))


def test_ids_and_predictions_are_in_json(run: Command, data: Path) -> None:
    done = run("predict", "m", data, "--json", "--id", "id", "--quiet")
    found = one_object(done)
    assert found["ids"][:2] == ["n1", "n2"] and found["classes"] == ["down", "up"]
    assert found["predictions"] == run("predict", "m", data).out.split()
    assert np.allclose(np.sum(found["probabilities"], axis=1), 1) and found["scores"] is None
    found = one_object(run("predict", "m", data, "--json", "-o", "out.parquet"))
    assert found["output"] == "out.parquet" and found["predictions"] is None
    assert found["columns"] == list(pd.read_parquet("out.parquet"))
    assert set(found) == set(Predicted.__struct_fields__)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--id", "id"), "--id is for tables and JSON"),
        (("--id", "ix", "-o", "o.csv"), "no column 'ix'"),
        (("-o", "no/such/o.csv"), "cannot write"),
        (("-o", "o.parquet.gz"), "without .gz"),
    ],
)
def test_what_cannot_be_written_is_said(
    run: Command, data: Path, flags: tuple[str, ...], said: str
) -> None:
    done = run("predict", "m", data, *flags)
    assert done.code in (2, 3) and said in done.err
    assert not Path("o.csv").exists()


def test_ids_need_a_table(run: Command) -> None:
    path = svmlight("data.svm")
    run("train", path, "-o", "m")
    done = run("predict", "m", path, "-o", "o.csv", "--id", "id")
    assert done.code == 2 and "is a column of a table" in done.err


def one_object(done: Outcome) -> dict[str, object]:
    """All that is on stdout, which is one line."""
    assert done.code == 0 and done.out.count("\n") == 1 and done.out.endswith("}\n")
    return done.json  # type: ignore[no-any-return]


def test_every_command_answers_with_one_object_of_its_fields(run: Command) -> None:
    path = svmlight("data.svm")
    flags = ("--strengths", "0.1,0.01", "--validation", path)
    for report, *arguments in (
        (Trained, "train", path, "-o", "m", "--proof", "p"),
        (Report, "path", path, *flags, "-o", "best"),
        (Predicted, "predict", "m", path),
        (Evaluated, "evaluate", "m", path),
        (Inspected, "inspect", "m"),
        (Verified, "verify", "m", path, "--proof", "p"),
        (Converted, "convert", path, "data.csv"),
    ):
        found = one_object(run(*arguments, "--json"))
        assert set(found) == set(report.__struct_fields__)
