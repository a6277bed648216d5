"""`fenchel export`: a model file becomes an ONNX graph."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import onnxruntime
import pytest
from commands import Command, rows, table
from prepared import ESTIMATORS

import fenchel
from fenchel.cli.export import Exported


def answers(path: str, **inputs: object) -> list[np.ndarray]:
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found: list[np.ndarray] = session.run(None, inputs)
    return found


def test_a_model_is_exported(run: Command) -> None:
    X, y = rows()
    run("train", table("data.csv", np.sign(y)), "-o", "m", "--loss", "logistic")
    done = run("export", "m", "m.onnx")
    assert done.code == 0
    assert done.out == "m.onnx: X (float64) -> label (int64), probabilities (float64)\n"
    _, probabilities = answers("m.onnx", X=X)
    model = fenchel.load("m")
    del model.feature_names_in_  # else scikit-learn warns of an array without
    np.testing.assert_allclose(probabilities, model.predict_proba(X), atol=1e-12)
    report = msgspec.json.decode(
        run("export", "m", "m.onnx", "--dtype", "float32", "--json").out, type=Exported
    )
    assert report.inputs[0].type == "float32"
    assert report.bytes == Path("m.onnx").stat().st_size


def test_a_table_goes_into_the_graph_as_it_is(run: Command) -> None:
    lines = [f"{k % 7},{'abc'[k % 3]},{'' if k % 5 == 0 else k / 10},{k % 2}" for k in range(40)]
    Path("raw.csv").write_text("\n".join(["count,letter,size,y", *lines]) + "\n")
    assert run("train", "raw.csv", "-o", "m", "--loss", "logistic", "--target", "y").code == 0
    done = run("export", "m", "m.onnx")
    assert done.code == 0
    assert "letter (text)" in done.out
    cells = [line.split(",") for line in lines]
    column = [np.array([[float(row[j] or "nan")] for row in cells]) for j in (0, 2)]
    letters = np.array([[row[1]] for row in cells], dtype=object)
    _, probabilities = answers("m.onnx", count=column[0], size=column[1], letter=letters)
    model = fenchel.load("m")
    features = model[:-1].transform(_frame(cells))
    np.testing.assert_allclose(probabilities, model[-1].predict_proba(features), atol=1e-12)


def _frame(cells: list[list[str]]) -> object:
    import pandas as pd

    frame = pd.DataFrame(cells, columns=["count", "letter", "size", "y"])
    return frame.assign(
        count=frame["count"].astype(float), size=pd.to_numeric(frame["size"], errors="coerce")
    )


def test_what_cannot_be_exported_is_refused(run: Command) -> None:
    model, X, y = ESTIMATORS["calibrated-isotonic"]
    fenchel.save(model.fit(X, y), "m")
    assert "to_onnx converts" in run("export", "m", "m.onnx").err
    assert "ends in .onnx" in run("export", "m", "out.bin").err
    assert "there is no file" in run("export", "none", "m.onnx").err
    assert not Path("m.onnx").exists()


@pytest.mark.parametrize("name", ["frame", "calibrated-isotonic"])
def test_other_commands_send_such_a_pipeline_to_python(run: Command, name: str) -> None:
    model, X, y = ESTIMATORS[name]
    fenchel.save(model.fit(X, y), "m")
    done = run("predict", "m", table("data.csv", np.sign(rows()[1])))
    assert done.code == 2
    assert "holds a pipeline that fenchel train did not make: in Python, use" in done.err
