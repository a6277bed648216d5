"""`path`, `predict` and `evaluate` of rows that stay in their files, one or several."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from commands import Command, rows, svmlight, table

import fenchel
from fenchel.cli.exits import Code
from fenchel.data import files
from fenchel.data.blocks import Blocks, KeptRows
from fenchel.data.dataset import Dataset
from fenchel.data.parquet_rows import stream_parquet
from fenchel.data.store import read_store
from fenchel.data.svmlight_rows import stream_rows

pytest.importorskip("pyarrow")

X, Z = rows()
FITTED = ("--loss", "logistic", "--strength", 1e-2)


@pytest.fixture(autouse=True)
def in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks of a few rows, all of which are never in one matrix."""
    for stream in (stream_rows, stream_parquet):
        monkeypatch.setitem(stream.__kwdefaults__, "numbers", 100)
    monkeypatch.setattr("fenchel.data.svmlight._BLOCK", 500)
    monkeypatch.setattr("fenchel.data.shards.NUMBERS_PER_SHARD", 400)

    def refused(blocks: Blocks, *_: object) -> None:
        raise AssertionError("all rows were put into one matrix")

    monkeypatch.setattr(Blocks, "matrix", refused)


@pytest.fixture
def most(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the blocks that were read."""
    seen: list[int] = []
    scores = KeptRows.scores

    def counted(block: KeptRows, w: np.ndarray) -> np.ndarray:
        seen.append(block.n_rows)
        return scores(block, w)

    monkeypatch.setattr(KeptRows, "scores", counted)
    return seen


def parquet(name: str, y: np.ndarray, names: str = "abcdef", X: np.ndarray = X) -> Path:
    """A Parquet file with small row groups, its target in a column called y."""
    import pyarrow
    from pyarrow import parquet as format

    columns = {each: X[:, "abcdef".index(each)] for each in names} | {"y": y}
    format.write_table(pyarrow.table(columns), name, row_group_size=20)
    return Path(name)


def store(name: str, y: np.ndarray = Z) -> Path:
    files.write(Dataset(X, np.sign(y)), name)
    return Path(name)


@pytest.mark.parametrize("kind", ["svm", "parquet", "store"])
def test_predictions_and_measures_are_those_of_rows_in_memory(
    run: Command, kind: str, most: list[int]
) -> None:
    data = {
        "svm": lambda: svmlight("d.svm"),
        "parquet": lambda: parquet("d.parquet", np.sign(Z)),
        "store": lambda: store("d.store"),
    }[kind]()
    whole = svmlight("whole.svm")
    assert run("train", data, "--stream", "-o", "m", *FITTED).code == 0
    other = table("whole.csv", np.sign(Z)) if kind == "parquet" else whole
    for flags in ((), ("--scores",), ("--probabilities",)):
        done = run("predict", "m", data, "--stream", *flags)
        expected = run("predict", "m", other, *flags)
        assert done.code == expected.code == 0, done.err
        assert np.loadtxt(done.out.splitlines()) == pytest.approx(
            np.loadtxt(expected.out.splitlines()), rel=1e-12
        )
    found = run("evaluate", "m", data, "--stream", "--json").json["metrics"]
    assert found == pytest.approx(run("evaluate", "m", other, "--json").json["metrics"])
    named = ("--metric", "roc_auc", "--metric", "brier", "--json")
    found = run("evaluate", "m", data, "--stream", *named).json["metrics"]
    assert found == pytest.approx(run("evaluate", "m", other, *named).json["metrics"])
    assert most and max(most) < 100


def test_a_table_of_predictions_is_written_from_streamed_rows(run: Command) -> None:
    data = parquet("d.parquet", np.sign(Z))
    run("train", data, "-o", "m", *FITTED)
    for flags, name in (((), "whole.csv"), (("--stream",), "streamed.csv")):
        assert run("predict", "m", data, "--id", "a", "--scores", "-o", name, *flags).code == 0
    whole, streamed = (
        np.loadtxt(name, delimiter=",", skiprows=1) for name in ("whole.csv", "streamed.csv")
    )
    assert streamed == pytest.approx(whole, rel=1e-12)


def test_columns_of_a_streamed_table_are_found_by_name(run: Command) -> None:
    run("train", parquet("d.parquet", np.sign(Z)), "-o", "m", *FITTED)
    turned = parquet("turned.parquet", np.sign(Z), "fbdeca")
    expected = run("predict", "m", "d.parquet", "--scores").out
    for flags in ((), ("--stream",)):
        done = run("predict", "m", turned, "--scores", *flags)
        assert np.loadtxt(done.out.splitlines()) == pytest.approx(
            np.loadtxt(expected.splitlines()), rel=1e-12
        )
    done = run("predict", "m", parquet("less.parquet", np.sign(Z), "abcde"), "--stream")
    assert done.code == Code.BAD_DATA and "no column 'f'" in done.err


def test_targets_of_another_name_are_found_again(run: Command) -> None:
    import pyarrow
    from pyarrow import parquet as format

    columns = {"late": np.sign(Z), **{name: X[:, j] for j, name in enumerate("abcdef")}}
    format.write_table(pyarrow.table(columns), "d.parquet", row_group_size=20)
    run("train", "d.parquet", "--target", "late", "--stream", "-o", "m", *FITTED)
    found = run("evaluate", "m", "d.parquet", "--stream", "--json").json["metrics"]
    assert found == pytest.approx(run("evaluate", "m", "d.parquet", "--json").json["metrics"])
    format.write_table(pyarrow.table({n: columns[n] for n in "abcdef"}), "new.parquet")
    assert len(run("predict", "m", "new.parquet", "--stream").out.splitlines()) == 200


def test_streamed_svmlight_may_lack_features(run: Command) -> None:
    run("train", svmlight("d.svm"), "-o", "m", *FITTED)
    Path("narrow.svm").write_text("1 1:2.0\n1\n" * 60)
    done = run("predict", "m", "narrow.svm", "--stream", "--scores")
    assert done.out == run("predict", "m", "narrow.svm", "--scores").out


def test_rows_of_classes_that_are_not_known_are_streamed_too(run: Command) -> None:
    run("train", svmlight("d.svm"), "-o", "m", *FITTED)
    data = svmlight("new.svm", lambda z: np.where(np.arange(len(z)) % 9, np.sign(z), 7))
    done = run("evaluate", "m", data, "--stream", "--json")
    assert "rows are of classes that the model does not know (7)" in done.err
    assert done.json["metrics"] == pytest.approx(
        run("evaluate", "m", data, "--json").json["metrics"]
    )


def test_an_infinite_value_is_found_where_it_stands(run: Command) -> None:
    run("train", parquet("d.parquet", np.sign(Z)), "-o", "m", *FITTED)
    bad = X.copy()
    bad[150, 2] = np.inf
    done = run("predict", "m", parquet("bad.parquet", np.sign(Z), X=bad), "--stream")
    assert done.code == Code.BAD_DATA and done.out == ""
    assert "bad.parquet: counted from row 140: " in done.err and "row 10" in done.err


# Several files


@pytest.mark.parametrize("kind", ["svm", "parquet", "store"])
def test_rows_of_several_files_stay_in_them(run: Command, kind: str) -> None:
    half = slice(0, 80), slice(80, 200)
    for k, part in enumerate(half):
        if kind == "parquet":
            parquet(f"part-{k}.parquet", np.sign(Z[part]), ["abcdef", "fbdeca"][k], X[part])
        else:
            files.write(Dataset(X[part], np.sign(Z[part])), f"part-{k}.{kind}")
    settings = (*FITTED, "--solver", "lbfgs", "--gap", 1e-8)
    done = run("train", f"part-*.{kind}", "--stream", "-o", "two", *settings)
    assert done.code == 0 and "200 rows" in done.err, done.err
    run("train", svmlight("d.svm"), "-o", "one", *settings)
    one, two = fenchel.load("one"), fenchel.load("two")
    assert two.coef_ == pytest.approx(one.coef_, abs=2e-3)
    done = run("predict", "two", f"part-*.{kind}", "--stream", "--scores")
    assert np.loadtxt(done.out.splitlines()) == pytest.approx(one.decision_function(X), abs=1e-2)


def test_a_streamed_run_of_several_files_goes_on(run: Command) -> None:
    for k, part in enumerate((slice(0, 80), slice(80, 200))):
        parquet(f"part-{k}.parquet", np.sign(Z[part]), X=X[part])
    settings = ("--stream", "--solver", "bmrm", "--gap", 1e-9)
    assert run("train", "part-*.parquet", "-o", "w", *settings, "--max-iterations", 20).code == 4
    assert run("train", "part-*.parquet", "-o", "m", *settings, "--max-iterations", 12).code == 4
    assert run("resume", "m.checkpoint", "--max-iterations", 20).code == 4
    assert np.array_equal(fenchel.load("m").coef_, fenchel.load("w").coef_)


def test_files_that_do_not_go_together_are_refused(run: Command) -> None:
    store("d.store"), svmlight("d.svm")
    done = run("train", "d.store", "d.svm", "-o", "m")
    assert done.code == Code.BAD_DATA and "d.svm is read into memory" in done.err
    Path("zero.svm").write_text("1 0:1 2:5\n-1 1:1\n")
    done = run("train", "d.svm", "zero.svm", "--stream", "-o", "m")
    assert done.code == Code.BAD_DATA and "give --index-base 0" in done.err
    assert run("train", "zero.svm", "zero.svm", "--stream", "-o", "m").code == 0
    parquet("one.parquet", Z), parquet("other.parquet", Z, "abcde")
    done = run("train", "one.parquet", "other.parquet", "--stream", "-o", "m")
    assert done.code == Code.BAD_DATA and "other.parquet: it lacks column 'f'" in done.err


# Paths


@pytest.mark.parametrize("kind", ["svm", "parquet", "store"])
def test_a_path_of_rows_that_stay_in_their_file(run: Command, kind: str) -> None:
    data = {
        "svm": lambda: svmlight("d.svm"),
        "parquet": lambda: parquet("d.parquet", np.sign(Z)),
        "store": lambda: store("d.store"),
    }[kind]()
    flags = ("--loss", "logistic", "--strengths", "0.1,0.01", "--json")
    expected = run("path", svmlight("whole.svm"), *flags).json["points"]
    done = run("path", data, "--stream", *flags)
    assert done.code == 0, done.err
    assert [point["objective"] for point in done.json["points"]] == pytest.approx(
        [point["objective"] for point in expected], rel=2e-4
    )


def test_strengths_are_scored_on_streamed_rows(run: Command, most: list[int]) -> None:
    data, unseen = svmlight("d.svm"), svmlight("unseen.svm", seed=1)
    flags = ("--validation", unseen, "--strengths", "0.1,0.01", "--json")
    expected = run("path", data, *flags).json["points"]
    most.clear()
    done = run("path", data, *flags, "--stream", "-o", "best")
    assert [point["score"] for point in done.json["points"]] == pytest.approx(
        [point["score"] for point in expected], abs=0.01
    )
    assert max(most) < 100 and run("predict", "best", unseen, "--stream").code == 0


def test_a_path_runs_on_the_engine_that_is_asked_for(run: Command) -> None:
    used: list[str] = []

    def note(engine: object) -> object:
        used.append(str(engine))
        return named(engine)

    from fenchel import engines

    named = engines.named
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(engines, "named", note)
        done = run("path", svmlight("d.svm"), "--strengths", "0.1", "--engine", "serial")
    assert done.code == 0 and "serial" in used


# What is refused, before the data are read


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("path", "d.store", "--cv", "3"), "give --validation FILE"),
        (("path", "d.svm", "--stream", "--cv", "3"), "give --validation FILE"),
        (("path", "-", "--stream"), "--stream reads a file"),
        (("path", "d.svm", "--engine", "owners:d.svm"), "is for train"),
        (("path", "d.svm", "--engine", "steam"), "available are serial, threads, dask"),
        (("path", "d.svm", "--key", "d.svm"), "--key is for owners and clusters"),
        (("path", "d.svm", "--engine", "tls://a:1", "--key", "d.svm"), "go together"),
        (
            ("path", "d.svm", "--engine", "tls://a:1", "--certificate", "c", "--authority", "a"),
            "there is no file 'c'",
        ),
        (("path", "d.csv", "--stream", "--missing", "median"), "--stream leaves in the file"),
        (("train", "d.csv", "--stream", "--loss", "multivariate_squared", "-o", "n"), "--stream"),
        (("train", "d.csv", "--stream", "-o", "n"), "cannot be streamed"),
        (("predict", "m", "-", "--stream"), "--stream reads a file"),
        (("predict", "m", "d.txt", "--format", "csv", "--stream"), "--stream reads a file"),
        (("predict", "m", "d.csv", "--stream"), "cannot be streamed"),
        (("evaluate", "m", "d.csv", "--stream"), "cannot be streamed"),
        (("predict", "m", "zero.svm", "--stream"), "leave out --stream"),
        (("predict", "text", "d.parquet", "--stream"), "this model makes features of text"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_what_cannot_be_streamed_is_refused(
    run: Command, arguments: tuple[str, ...], said: str
) -> None:
    svmlight("d.svm"), store("d.store"), parquet("d.parquet", np.sign(Z))
    table("d.csv", np.sign(Z)), Path("zero.svm").write_text("1 0:1 2:5\n")
    run("train", "d.svm", "-o", "m")
    words = "\n".join(f"{'uv'[i % 2]},{i},{i % 3 % 2}" for i in range(30))
    Path("words.csv").write_text(f"a,b,y\n{words}\n")
    run("train", "words.csv", "-o", "text", "--loss", "logistic")
    done = run(*arguments)
    assert done.code in (Code.USAGE, Code.BAD_DATA), done.err
    assert said in " ".join(done.err.split()) and done.out == ""


def test_the_blocks_of_a_store_are_small_here(run: Command) -> None:
    assert len(read_store(store("d.store")).X.parts) > 1
