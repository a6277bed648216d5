"""Rows that stay in svmlight and Parquet files: the models of a store, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import data_for
from fragile import Fragile
from scipy import sparse

import fenchel
from fenchel import losses
from fenchel.data import files
from fenchel.data.dataset import Dataset
from fenchel.data.parquet_rows import stream_parquet
from fenchel.data.store import Piece, read_store, write_pieces
from fenchel.data.store_stream import svmlight_to_store
from fenchel.data.svmlight import parse_svmlight
from fenchel.data.svmlight_rows import stream_rows
from fenchel.data.svmlight_writing import write_svmlight

X, Y = data_for(losses.Logistic(), n=300)
QID = np.repeat(np.arange(20), 15)


def streamed_table(path, numbers):
    return stream_parquet(path, numbers=numbers, target=None, features=None, n_features=None)


@pytest.fixture(params=[64, 1000, 1 << 22])
def block(request, monkeypatch):
    """Bytes of text read at a time."""
    monkeypatch.setattr("fenchel.data.svmlight._BLOCK", request.param)


def matrix(rows):
    parts = [part.matrix() for part in rows.parts]
    assert [part.shape[0] for part in parts] == [part.n_rows for part in rows.parts]
    return sparse.vstack(parts) if sparse.issparse(parts[0]) else np.vstack(parts)


def minimized(X, y, engine="serial", **settings):
    problem = fenchel.problem(X, y, strength=1e-3, engine=engine, **settings)
    assert problem.risk.engine.n_shards > 3
    return fenchel.minimize(problem, gap=1e-4), problem


def same_bits(one, other):
    return np.array_equal(one.w, other.w) and one.intercept == other.intercept


@pytest.mark.parametrize(
    "engine", ["serial", "threads", Fragile(2)], ids=["serial", "threads", "hosts"]
)
@pytest.mark.parametrize(("loss", "intercept"), [("hinge", False), ("logistic", True)])
def test_svmlight_gives_the_bits_of_the_store(tmp_path, engine, loss, intercept):
    write_svmlight(tmp_path / "d.svm", X, Y)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fenchel.data.svmlight._BLOCK", 500)
        svmlight_to_store(tmp_path / "d.svm", tmp_path / "d.store", numbers=100)
        streamed = stream_rows(tmp_path / "d.svm", numbers=100)
    stored = read_store(tmp_path / "d.store")
    settings = {"loss": loss, "intercept": intercept}
    one, _ = minimized(stored.X, stored.y, **settings)
    other, problem = minimized(streamed.X, streamed.y, engine, **settings)
    assert same_bits(one, other)
    fenchel.verify(other, problem)


def test_parquet_gives_the_bits_of_the_store(tmp_path):
    pytest.importorskip("pyarrow")
    groups(tmp_path / "d.parquet", 20)
    streamed = streamed_table(tmp_path / "d.parquet", 200)
    assert [part.n_rows for part in streamed.X.parts] == [40] * 7 + [20]
    ends = np.cumsum([0, *(part.n_rows for part in streamed.X.parts)])
    pieces = []
    for part, first, last in zip(streamed.X.parts, ends[:-1], ends[1:], strict=True):
        with part.opened() as rows:
            pieces.append(Piece(rows, streamed.y[first:last], None))
    write_pieces(pieces, tmp_path / "d.store", lambda: (4, None, None))
    stored = read_store(tmp_path / "d.store")
    one, _ = minimized(stored.X, stored.y, loss="logistic", intercept=True)
    other, _ = minimized(streamed.X, streamed.y, "threads", loss="logistic", intercept=True)
    assert same_bits(one, other)


def groups(path, n_rows, **columns):
    """A Parquet file of X and Y with row groups of so many rows."""
    import pyarrow
    from pyarrow import parquet

    content = {f"x{j}": X[:, j] for j in range(4)} | {"y": Y} | columns
    parquet.write_table(pyarrow.table(content), path, row_group_size=n_rows)


@pytest.mark.parametrize("qid", [None, QID])
def test_streamed_svmlight_is_what_the_file_holds(tmp_path, block, qid):
    write_svmlight(tmp_path / "d.svm", X, Y, qid)
    text = (tmp_path / "d.svm").read_text().splitlines()
    text[40:40] = ["", "# a comment", "  \t"]
    for ending in ("\n", "", "\r\n# the end\r\n\r\n"):
        content = ("\r\n" if "\r" in ending else "\n").join(text) + ending
        (tmp_path / "d.svm").write_bytes(content.encode())
        found, whole = (
            stream_rows(tmp_path / "d.svm", numbers=100),
            parse_svmlight(tmp_path / "d.svm"),
        )
        assert (matrix(found.X) != whole.X).nnz == 0
        assert np.array_equal(found.y, whole.y) and found.index_base == whole.index_base
        assert (found.qid is None) == (qid is None)
        if qid is not None:
            assert np.array_equal(found.qid, qid)
            edges = np.cumsum([part.n_rows for part in found.X.parts])[:-1]
            assert all(qid[edge - 1] != qid[edge] for edge in edges)


def test_queries_longer_than_a_look_back_are_kept_whole(tmp_path, monkeypatch):
    monkeypatch.setattr("fenchel.data.svmlight._BLOCK", 200)
    monkeypatch.setattr("fenchel.data.svmlight_rows._LOOK_BACK", 100)
    qid = np.repeat(np.arange(3), 100)
    write_svmlight(tmp_path / "d.svm", X, Y, qid)
    found = stream_rows(tmp_path / "d.svm", numbers=10)
    assert [part.n_rows for part in found.X.parts] == [100, 100, 100]
    assert (matrix(found.X) != sparse.csr_array(X)).nnz == 0


def test_an_index_0_that_turns_up_late_makes_all_count_from_0(tmp_path, monkeypatch):
    monkeypatch.setattr("fenchel.data.svmlight._BLOCK", 500)
    lines = [f"{(-1) ** i} 1:1 3:{i}" for i in range(200)] + ["1 0:5"]
    (tmp_path / "d.svm").write_text("\n".join(lines))
    found = stream_rows(tmp_path / "d.svm", numbers=50)
    assert found.index_base == 0 and found.X.shape == (201, 4) and len(found.X.parts) > 3
    assert matrix(found.X)[200, 0] == 5
    with pytest.raises(fenchel.InvalidData, match=r"d\.svm:201:3: the index is 0"):
        stream_rows(tmp_path / "d.svm", index_base=1)


def test_streamed_tables_have_targets_groups_and_names(tmp_path):
    pytest.importorskip("pyarrow")
    names = np.where(Y > 0, "yes", "no")
    groups(tmp_path / "d.parquet", 30, label=names, qid=QID)
    found = files.read(tmp_path / "d.parquet", target="label", stream=True)
    whole = files.read(tmp_path / "d.parquet", target="label")
    assert found.feature_names == whole.feature_names == ("x0", "x1", "x2", "x3", "y")
    assert np.array_equal(found.y, names) and np.array_equal(found.qid, QID)
    assert np.array_equal(matrix(found.X), whole.X)


def test_what_is_wrong_with_a_table_is_found_before_the_work(tmp_path):
    pytest.importorskip("pyarrow")
    bad = X[:, 0].copy()
    bad[250] = np.nan
    groups(tmp_path / "d.parquet", 100, x0=bad)
    with pytest.raises(
        fenchel.InvalidData, match=r"d\.parquet: counted from row 200: .*'x0'.* in row 50"
    ):
        streamed_table(tmp_path / "d.parquet", 10)
    bad[250], bad[3] = 0.0, np.inf
    groups(tmp_path / "d.parquet", 100, x0=bad)
    with pytest.raises(fenchel.InvalidData, match=r"d\.parquet: .*inf"):
        streamed_table(tmp_path / "d.parquet", 10)
    (tmp_path / "d.parquet").write_bytes(b"PAR1 and then nothing")
    with pytest.raises(fenchel.InvalidData, match="no readable Parquet file"):
        streamed_table(tmp_path / "d.parquet", 10)


@pytest.mark.parametrize("name", ["d.svm", "d.parquet"])
def test_a_file_that_changes_under_a_run_is_refused(tmp_path, name):
    path = tmp_path / name
    files.write(Dataset(X, Y), path)
    data = files.read(path, stream=True)
    problem = fenchel.problem(data.X, data.y, strength=1e-3)

    def touch(record):
        if record.iteration == 2:
            files.write(Dataset(X[:200], Y[:200]), path)

    with pytest.raises(fenchel.InvalidData, match="changed while it was in use"):
        fenchel.minimize(problem, "bmrm", gap=1e-9, callback=touch)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("d.svm.gz", "compressed text cannot be read from its middle"),
        ("d.csv", r"\.csv files cannot be streamed"),
        ("d.npz", r"\.npz files cannot be streamed"),
    ],
)
def test_files_without_a_middle_are_refused(tmp_path, name, said):
    files.write(Dataset(X, Y), tmp_path / name)
    with pytest.raises(fenchel.InvalidData, match=said):
        files.read(tmp_path / name, stream=True)


def test_the_command_line_streams(run, tmp_path):
    write_svmlight("d.svm", X, Y)
    files.write(Dataset(X, Y), "d.parquet")
    settings = ("--loss", "logistic", "--solver", "lbfgs")
    assert run("train", "d.svm", "-o", "whole", *settings).code == 0
    for name in ("d.svm", "d.parquet"):
        done = run("train", name, "--stream", "-o", "model", *settings)
        assert done.code == 0 and "300 rows" in done.err, done.err
        model, whole = fenchel.load("model"), fenchel.load("whole")
        assert np.allclose(model.coef_, whole.coef_, rtol=1e-9)
    for arguments, said in (
        (("-", "--stream"), "--stream reads a file"),
        (("d.csv", "--stream"), "there is no file"),
    ):
        done = run("train", *arguments, "-o", "model")
        assert done.code == 2 and said in done.err


@pytest.mark.parametrize("suffix", [".svm", ".svm.gz", ".npz", ".parquet", ".csv", ".store"])
@pytest.mark.parametrize("source", ["d.store", "d.parquet"])
def test_what_is_on_disk_is_written_in_every_format(run, source, suffix):
    files.write(Dataset(sparse.csr_array(X), Y, QID), source)
    done = run("convert", source, f"other{suffix}")
    assert done.code == 0, done.err
    found = files.read(f"other{suffix}")
    rows = matrix(found.X) if suffix == ".store" else found.X
    values = rows.toarray() if sparse.issparse(rows) else rows
    assert np.array_equal(values, X)
    assert np.array_equal(found.y, Y) and np.array_equal(found.qid, QID)


def test_a_store_of_a_table_is_made_block_by_block(run):
    pytest.importorskip("pyarrow")
    groups("d.parquet", 20)
    streamed = streamed_table("d.parquet", 100)
    files.write(streamed, "d.store")
    stored = read_store("d.store")
    assert [part.n_rows for part in stored.X.parts] == [20] * 15
    assert stored.feature_names == streamed.feature_names
