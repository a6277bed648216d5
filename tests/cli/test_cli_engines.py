"""Engines from the command line, with real processes on loopback."""

from __future__ import annotations

import numpy as np
import pytest
from catalogue import data_for
from commands import HANGS

pytest.importorskip("distributed")

from distributed import Client, LocalCluster

import fenchel
from fenchel import engines, losses
from fenchel.data.svmlight_writing import write_svmlight
from fenchel.engines import Dask, Serial

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]

X, Y = data_for(losses.Logistic(), n=600)


@pytest.fixture(autouse=True)
def shards(monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 400)


def model(path):
    return fenchel.load(path)


def test_train_runs_on_the_engine_that_is_asked_for(run, tmp_path):
    write_svmlight(tmp_path / "d.svm", X, Y)
    assert run("convert", "d.svm", "d.store").code == 0
    settings = ("--loss", "logistic", "--gap", "1e-3", "--solver", "lbfgs")
    for output, *flags in (
        ("serial", "d.svm", "--engine", "serial"),
        ("dask", "d.svm", "--engine", "dask"),
        ("stored", "d.store", "--engine", "dask"),
    ):
        done = run("train", *flags, "-o", output, *settings)
        assert done.code == 0, done.err
    one = model("serial")
    assert np.array_equal(one.coef_, model("dask").coef_)
    assert np.allclose(one.coef_, model("stored").coef_, rtol=1e-6)


def test_an_interrupted_run_goes_on_with_another_engine(run, tmp_path):
    write_svmlight(tmp_path / "d.svm", X, Y)
    settings = ("--solver", "bmrm", "--gap", "1e-9")
    short = run("train", "d.svm", "-o", "m", *settings, "--max-iterations", "16")
    assert short.code == 4
    assert run("resume", "m.checkpoint", "--max-iterations", "20", "--engine", "dask").code == 4
    assert run("train", "d.svm", "-o", "w", *settings, "--max-iterations", "20").code == 4
    assert np.array_equal(model("m").coef_, model("w").coef_)


def test_an_engine_that_is_none_is_a_usage_error(run, tmp_path):
    write_svmlight(tmp_path / "d.svm", X, Y)
    done = run("train", "d.svm", "-o", "m", "--engine", "steam")
    assert done.code != 0 and "available are serial, threads, dask" in " ".join(done.err.split())


def test_estimators_run_on_the_engine_in_use():
    with engines.using(Serial()) as engine:
        assert engines.named(None) is engine
        fenchel.Classifier(loss="logistic").fit(X, Y)
    assert engines.named(None) is not engine


def test_a_worker_joins_a_cluster(process):
    with (
        LocalCluster(
            n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0", silence_logs=50
        ) as cluster,
        Client(cluster, direct_to_workers=True) as client,
    ):
        process("worker", cluster.scheduler_address, "--threads", "2")
        client.wait_for_workers(1, timeout=HANGS)
        assert list(client.nthreads().values()) == [2]
        result = fenchel.minimize(fenchel.problem(X, Y, engine=Dask(client)), "bmrm", gap=1e-2)
        serial = fenchel.minimize(fenchel.problem(X, Y, engine="serial"), "bmrm", gap=1e-2)
        assert np.array_equal(result.w, serial.w)
