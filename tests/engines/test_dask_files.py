"""Files that the workers of a Dask cluster read themselves: the driver never sees their rows."""

from __future__ import annotations

import os
from contextlib import suppress

import numpy as np
import pytest
from catalogue import data_for

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

import pyarrow
from distributed import Client, LocalCluster
from pyarrow import parquet

import fenchel
from fenchel import engines, losses
from fenchel.data.blocks import KeptRows
from fenchel.data.dataset import Dataset
from fenchel.data.files import write
from fenchel.data.parquet_rows import ParquetRows, stream_parquet
from fenchel.data.store import StoredRows
from fenchel.engines.dask import _packed
from fenchel.errors import HostLost

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

X, Y = data_for(losses.Logistic(), n=900)
SETTINGS = ("--loss", "logistic", "--strength", 1e-3, "--gap", 1e-6, "--solver", "lbfgs")


@pytest.fixture(scope="module")
def client():
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=50,  # CRITICAL
    )
    with suppress(KeyError), cluster, Client(cluster, direct_to_workers=True) as client:
        yield client


@pytest.fixture
def address(client, monkeypatch):
    """Of the scheduler; files are cut into blocks of a few rows."""
    monkeypatch.setitem(stream_parquet.__kwdefaults__, "numbers", 200)
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 400)
    return client.scheduler.address


@pytest.fixture
def opened(monkeypatch):
    """The blocks whose rows this process has read."""
    seen: list[KeptRows] = []
    for kind in (ParquetRows, StoredRows):

        def noted(block, kind_opened=kind.opened):
            seen.append(block)
            return kind_opened(block)

        monkeypatch.setattr(kind, "opened", noted)
    return seen


def parts(X=X, **columns):
    """Three Parquet files, of different lengths and orders of columns."""
    for k, (i, j) in enumerate([(0, 200), (200, 500), (500, 900)]):
        content = {f"x{c}": X[i:j, c] for c in range(4)} | {"y": Y[i:j]}
        content |= {name: values[i:j] for name, values in columns.items()}
        turned = dict(reversed(content.items())) if k == 1 else content
        parquet.write_table(pyarrow.table(turned), f"data-{k}.parquet", row_group_size=50)


def test_workers_read_several_parquet_files_themselves(run, address, opened):
    parts()
    done = run("train", "data-*.parquet", "--engine", address, "-o", "there", *SETTINGS)
    assert done.code == 0, done.err
    assert "900 rows" in done.err and "workers read them by the same paths" in done.err
    assert opened == []
    here = ("--engine", "serial", "--stream", "-o", "here")
    assert run("train", "data-*.parquet", *here, *SETTINGS).code == 0 and opened
    one, other = fenchel.load("here"), fenchel.load("there")
    assert np.array_equal(one.coef_, other.coef_) and one.intercept_ == other.intercept_


def test_workers_read_several_stores_themselves(run, address, opened):
    for k, part in enumerate((slice(0, 300), slice(300, 900))):
        write(Dataset(X[part], Y[part]), f"data-{k}.store")
    done = run("train", "data-*.store", "--engine", address, "-o", "there", *SETTINGS)
    assert done.code == 0 and opened == [], done.err
    run("train", "data-*.store", "--engine", "serial", "-o", "here", *SETTINGS)
    assert np.array_equal(fenchel.load("here").coef_, fenchel.load("there").coef_)


def test_so_they_do_for_a_path(run, address, opened):
    parts()
    flags = ("--loss", "logistic", "--strengths", "1e-1,1e-2,1e-3", "--json")
    done = run("path", "data-*.parquet", "--engine", address, *flags)
    assert done.code == 0 and opened == [], done.err
    here = run("path", "data-*.parquet", "--stream", "--engine", "serial", *flags)
    found = [[p["objective"] for p in each.json["points"]] for each in (done, here)]
    assert found[0] == found[1]


def test_what_is_sent_is_small_beside_the_rows(address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    wide = np.random.default_rng(0).standard_normal((900, 200))
    columns = {f"x{c}": wide[:, c] for c in range(200)} | {"y": Y}
    parquet.write_table(pyarrow.table(columns), "wide.parquet", row_group_size=100)
    data = stream_parquet("wide.parquet", check=False, target="y", features=None, n_features=None)
    problem = fenchel.problem(data.X, data.y, engine="serial")
    content, buffers = _packed(list(problem.risk.engine.shards))
    sent = len(content) + sum(buffer.nbytes for buffer in buffers)
    assert sent < 0.05 * wide.nbytes


def test_a_value_that_is_missing_is_found_by_the_worker_that_reads_it(run, address, opened):
    bad = X.copy()
    bad[620, 2] = np.nan
    parts(bad)
    done = run("train", "data-*.parquet", "--engine", address, "-o", "m", *SETTINGS)
    said = " ".join(done.err.split())
    assert done.code == 3 and opened == [], said
    assert "data-2.parquet: counted from row 100: column 'x2' has 1 missing value" in said


def test_rows_are_read_here_where_workers_cannot(run, address, opened):
    parts(city=np.where(np.arange(900) % 3, "Oslo", "Bergen"))
    done = run(
        "train", "data-*.parquet", "--target", "y", "--engine", address, "-o", "m", *SETTINGS
    )
    assert done.code == 0 and "1 of text with 2 levels" in done.err, done.err
    assert "workers read them" not in done.err
    parts()
    for flags in (("--no-stream",), ("--missing", "median")):
        done = run("train", "data-*.parquet", "--engine", address, "-o", "m", *flags, *SETTINGS)
        assert done.code == 0 and "workers read them" not in done.err, done.err
    assert opened == []


def test_gaps_that_the_footer_tells_of_are_filled_here(run, address):
    values = [None if i == 7 else float(v) for i, v in enumerate(X[:, 0])]
    content = {"x0": values, "x1": X[:, 1], "y": Y}
    parquet.write_table(pyarrow.table(content), "gaps.parquet")
    done = run("train", "gaps.parquet", "--engine", address, "-o", "m", *SETTINGS)
    assert done.code == 0 and "missing values were filled" in done.err, done.err


def test_folds_are_cut_here(run, address):
    parts()
    done = run("path", "data-*.parquet", "--engine", address, "--strengths", "0.1", "--cv", 2)
    assert done.code == 0 and "workers read them" not in done.err, done.err


def test_files_that_workers_do_not_see_are_named(client, address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts()
    data = stream_parquet("data-0.parquet", check=False, target="y", features=None, n_features=None)
    os.rename("data-0.parquet", "elsewhere.parquet")
    with pytest.raises(HostLost, match=r"No such file or directory: .*data-0\.parquet"):
        fenchel.problem(data.X, data.y, engine=engines.Dask(client))


def test_workers_keep_what_they_were_to_read_once(client, address, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    parts()
    data = stream_parquet("data-2.parquet", check=False, target="y", features=None, n_features=None)
    here = fenchel.minimize(fenchel.problem(data.X, data.y, loss="logistic"), "lbfgs")
    problem = fenchel.problem(
        data.X.read_once(), data.y, loss="logistic", engine=engines.Dask(client)
    )
    os.rename("data-2.parquet", "elsewhere.parquet")
    assert np.array_equal(fenchel.minimize(problem, "lbfgs").w, here.w)
    with pytest.raises(FileNotFoundError):  # nothing is kept here
        fitted = fenchel.problem(data.X.read_once(), data.y, loss="logistic", engine="serial")
        fenchel.minimize(fitted, "lbfgs")
