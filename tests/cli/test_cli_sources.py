"""Several files, globs, stdin and formats that names do not tell: one data set, in that order."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from commands import Command, rows, svmlight, table
from sklearn.datasets import dump_svmlight_file

import fenchel

CHEAP = ("--loss", "squared_error", "--strength", 0.1)


def halves(name: str, text: str, header: int) -> None:
    """A text file cut in two, each with the lines above the data."""
    lines = text.splitlines(keepends=True)
    top, rest = lines[:header], lines[header:]
    cut = len(rest) // 3
    for part, kept in (("1", rest[:cut]), ("2", rest[cut:])):
        Path(name.replace("*", part)).write_text("".join([*top, *kept]))


def coefficients(model: str) -> list[float]:
    return list(fenchel.load(model).coef_.ravel())


@pytest.fixture
def whole(run: Command) -> list[float]:
    """Of the model of all rows, from svmlight in one file and in two."""
    data = svmlight("data.svm", lambda z: z)
    halves("part-*.svm", data.read_text(), 0)
    assert run("train", data, "-o", "m", *CHEAP).code == 0
    return coefficients("m")


def test_files_and_globs_are_one_data_set_in_their_order(run: Command, whole: list[float]) -> None:
    done = run("train", "part-1.svm", "part-2.svm", "-o", "two", *CHEAP, "--json")
    assert coefficients("two") == whole
    report = done.json
    assert [Path(name).name for name in report["files"]] == ["part-1.svm", "part-2.svm"]
    assert report["data"] == report["files"][0] and report["rows"] == 200
    assert "read part-1.svm and 1 more: 200 rows" in done.err
    assert run("train", "part-*.svm", "-o", "glob", *CHEAP).code == 0
    assert coefficients("glob") == whole
    each = run("predict", "m", "part-2.svm").out + run("predict", "m", "part-1.svm").out
    assert run("predict", "m", "part-2.svm", "part-1.svm").out == each
    assert run("evaluate", "m", "part-*.svm").out == run("evaluate", "m", "data.svm").out
    done = run("path", "part-1.svm", "part-2.svm", "--strengths", "0.1", *CHEAP[:2], "--json")
    assert done.json["rows"] == 200 and len(done.json["files"]) == 2


def test_a_proof_is_verified_on_the_same_files(run: Command, whole: list[float]) -> None:
    run("train", "part-1.svm", "part-2.svm", "-o", "two", *CHEAP, "--proof", "proof")
    done = run("verify", "two", "part-1.svm", "part-2.svm", "--proof", "proof", "--json")
    assert done.code == 0 and len(done.json["files"]) == 2
    assert run("verify", "two", "part-2.svm", "part-1.svm", "--proof", "proof").code in (0, 3)
    assert run("verify", "two", "part-1.svm", "--proof", "proof").code == 3


def test_a_run_of_several_files_goes_on(run: Command, whole: list[float]) -> None:
    flags = ("--loss", "hinge", "--solver", "bmrm", "--gap", 1e-9)
    data = svmlight("classes.svm")
    halves("class-*.svm", data.read_text(), 0)
    run("train", data, "-o", "all", *flags)
    run("train", "class-1.svm", "class-2.svm", "-o", "two", *flags, "--max-iterations", 20)
    assert run("resume", "two.checkpoint", "--max-iterations", 10_000).code == 0
    assert coefficients("two") == coefficients("all")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_are_joined_by_their_columns(run: Command, suffix: str) -> None:
    _, z = rows()
    data = table("data.csv", z)
    halves("part-*.csv", data.read_text(), 1)
    for part in ("1", "2"):
        run("convert", f"part-{part}.csv", f"again-{part}.{suffix}")
    run("train", data, "-o", "m", *CHEAP)
    assert run("train", f"again-*.{suffix}", "-o", "two", *CHEAP).code == 0
    assert coefficients("two") == pytest.approx(coefficients("m"), rel=1e-12)
    assert fenchel.load("two").feature_names_in_.tolist() == list("abcdef")


def test_files_whose_columns_differ_are_refused_by_name(run: Command) -> None:
    _, z = rows()
    table("one.csv", z), table("other.csv", z, "abcdeg"), table("more.csv", z, "abcdefg")
    table("turned.csv", z, "bacdef")
    Path("words.csv").write_text("a,b,c,d,e,f,y\n1,2,3,4,5,6,yes\n")
    for other, said in {
        "other.csv": "other.csv: it lacks column 'f' of one.csv",
        "more.csv": "more.csv: it has a column 'g' that is not in one.csv",
        "words.csv": "not numbers",
        "none.csv": "there is no file none.csv",
        "no-*.csv": "no file matches 'no-*.csv'",
    }.items():
        done = run("train", "one.csv", other, "-o", "m", *CHEAP)
        assert done.code in (2, 3) and said in done.err
        assert not Path("m").exists()


def test_columns_of_tables_may_stand_in_another_order(run: Command) -> None:
    _, z = rows()
    lines = [line.split(",") for line in table("one.csv", z).read_text().splitlines()]
    Path("turned.csv").write_text("\n".join(",".join(reversed(line)) for line in lines))
    run("train", "one.csv", "one.csv", "-o", "m", *CHEAP)
    assert run("train", "one.csv", "turned.csv", "-o", "two", *CHEAP).code == 0
    assert coefficients("two") == coefficients("m")


def test_text_in_one_file_makes_a_column_text_in_all(run: Command) -> None:
    Path("a.csv").write_text("n,code,y\n1,1,0\n2,2,1\n3,1,0\n")
    Path("b.csv").write_text("n,code,y\n4,x,1\n5,2,0\n,1,1\n")
    flags = ("-o", "m", "--loss", "logistic", "--categorical", "code")
    done = run("train", "a.csv", "b.csv", *flags)
    assert done.code == 0 and "1 of text with 3 levels" in done.err
    scores = [run("predict", "m", name, "--scores").out for name in ("a.csv", "b.csv")]
    assert run("predict", "m", "a.csv", "b.csv", "--scores").out == "".join(scores)
    done = run("train", "a.csv", "b.csv", "-o", "m", "--loss", "logistic")
    assert done.code == 3 and "b.csv:2: column 'code' holds numbers, but" in done.err
    Path("c.csv").write_text("n,code,y\n1,1,0\n2,2,\n")
    done = run("train", "a.csv", "c.csv", "-o", "m", "--loss", "logistic")
    assert done.code == 3 and "c.csv:3: " in done.err


def test_a_row_at_fault_is_named_by_its_own_file_and_line(run: Command) -> None:
    Path("a.svm").write_text("1 1:1\n2 1:2\n")
    Path("b.svm").write_text("# counts\n3 1:1\n-4 1:2\n")
    done = run("train", "a.svm", "b.svm", "-o", "m", "--loss", "poisson")
    assert done.code == 3 and "b.svm:3: " in done.err


def test_an_index_0_anywhere_holds_for_all_files(run: Command) -> None:
    X, z = rows()
    dump_svmlight_file(X, z, "all.svm", zero_based=True)
    lines = Path("all.svm").read_text().splitlines(keepends=True)
    without = [line.replace(" 0:", " 1:", 1) if " 1:" not in line else line for line in lines]
    assert without == lines  # all of them have all indices
    Path("a.svm").write_text("1.0 2:3\n")
    Path("b.svm").write_text("2.0 0:1 1:5\n")
    run("train", "a.svm", "b.svm", "-o", "m", *CHEAP)
    model = fenchel.load("m")
    assert (model.index_base_, model.n_features_in_) == (0, 3)


def test_queries_may_not_stand_in_two_files(run: Command) -> None:
    Path("a.svm").write_text("1 qid:1 1:1\n0 qid:1 1:2\n")
    Path("b.svm").write_text("1 qid:1 1:1\n0 qid:1 1:3\n")
    Path("c.svm").write_text("1 qid:2 1:1\n0 qid:2 1:3\n")
    done = run("train", "a.svm", "b.svm", "-o", "m", "--loss", "rank_hinge")
    assert done.code == 3 and "b.svm: rows of qid 1 stand in a.svm too" in done.err
    assert run("train", "a.svm", "c.svm", "-o", "m", "--loss", "rank_hinge").code == 0


class Stdin:
    def __init__(self, content: bytes):
        self.buffer = io.BytesIO(content)


def test_tables_come_from_stdin_if_the_format_is_said(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, z = rows()
    data = table("data.csv", z)
    run("train", data, "-o", "m", *CHEAP)
    monkeypatch.setattr("sys.stdin", Stdin(data.read_bytes()))
    done = run("train", "-", "--format", "csv", "-o", "piped", *CHEAP)
    assert done.code == 0 and "read stdin: 200 rows" in done.err
    assert coefficients("piped") == coefficients("m")
    monkeypatch.setattr("sys.stdin", Stdin(data.read_bytes()))
    done = run("predict", "m", "-", "--format", "csv")
    assert done.out == run("predict", "m", data).out
    monkeypatch.setattr("sys.stdin", Stdin(data.read_bytes()))
    done = run("evaluate", "m", "-")
    assert done.code == 3 and "stdin: this looks like a table; give --format csv" in done.err
    monkeypatch.setattr("sys.stdin", Stdin(data.read_bytes().replace(b"\n", b",1\n", 3)))
    done = run("train", "-", "--format", "csv", "-o", "m", *CHEAP)
    assert done.code == 3 and "stdin:" in done.err and "fields" in done.err


def test_a_format_may_be_said_of_files_too(run: Command) -> None:
    _, z = rows()
    table("data.csv", z).rename("data.txt")
    done = run("train", "data.txt", "--format", "csv", "-o", "m", *CHEAP)
    assert done.code == 0 and "read data.txt: 200 rows, 6 features" in done.err
    lines = Path("data.txt").read_text().splitlines()
    Path("bad.txt").write_text("\n".join([*lines[:5], lines[5].rpartition(",")[0] + ",-1"]))
    done = run("train", "bad.txt", "--format", "csv", "-o", "m", "--loss", "gamma")
    assert done.code == 3 and "bad.txt:" in done.err and "fenchel-" not in done.err
    done = run("train", "data.txt", "--format", "cvs", "-o", "m")
    assert done.code == 2 and "did you mean 'csv'" in done.err
    assert run("train", "-", "-", "-o", "m").code == 2
    assert "cannot be streamed" in run("train", "data.txt", "data.txt", "--stream", "-o", "m").err


def test_tokens_are_read_from_one_file(run: Command) -> None:
    Path("a.txt").write_text("the D\ncat N\n\n")
    done = run("train", "a.txt", "a.txt", "-o", "m", "--loss", "crf")
    assert done.code == 2 and "read from one file" in done.err


def test_convert_says_in_json_what_it_did(run: Command) -> None:
    data = svmlight("data.svm")
    found = run("convert", data, "data.npz", "--json").json
    assert found["rows"] == 200 and found["features"] == 6
    assert found["bytes"] == Path("data.npz").stat().st_size
    assert run("convert", data, "data.store", "--json").json["features"] is None
    data.rename("rows.csv")
    assert run("convert", "rows.csv", "again.npz", "--format", "svmlight").code == 0
    assert np.load("again.npz", allow_pickle=False)
