"""The Dask engine on a real cluster of processes, on loopback, some of which are killed."""

from __future__ import annotations

import os
import signal
import time
from contextlib import contextmanager, suppress

import numpy as np
import pytest

pytest.importorskip("distributed")

import psutil
import structures
from catalogue import data_for
from distributed import Client, LocalCluster
from scipy import sparse

import fenchel
from fenchel import losses
from fenchel.engines import Dask, Serial, remote
from fenchel.errors import FenchelWarning
from fenchel.risks import shardwork

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning"),
]


@contextmanager
def connected(n_workers):
    """Workers that are started anew when they die."""
    cluster = LocalCluster(
        n_workers=n_workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=0,
        silence_logs=50,  # CRITICAL
    )
    # Dask loses count of workers that died, which is an error when it closes.
    with suppress(KeyError), cluster, Client(cluster, direct_to_workers=True) as client:
        yield client


@pytest.fixture(scope="module")
def client():
    with connected(3) as client:
        yield client


@pytest.fixture(autouse=True)
def shards(monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 400)


def fitted(engine, solver="lbfgs", loss="logistic", X=None, y=None, callback=None, **options):
    if X is None:
        X, y = data_for(losses.Logistic(), n=600)
    problem = fenchel.problem(X, y, loss=loss, strength=1e-3, engine=engine, **options)
    return fenchel.minimize(
        problem, solver, gap=1e-6, max_iterations=15, callback=callback
    ), problem


def same(one, other):
    assert np.array_equal(one.w, other.w) and one.intercept == other.intercept
    assert [r[:5] for r in one.history] == [r[:5] for r in other.history]


def pids(client):
    return {address: info["pid"] for address, info in client.run(_pid).items()}


def _pid():
    return {"pid": os.getpid()}


SOLVERS = {
    "bmrm": ("hinge", "l2"),
    "lbfgs": ("logistic", "l2"),
    "sublbfgs": ("hinge", "l2"),
    "owlqn": ("logistic", "l1"),
}


@pytest.fixture(params=[False, True], ids=["star", "tree"])
def tree(request, monkeypatch):
    """Whether workers pass requests on to each other, however few they are."""
    if request.param:
        monkeypatch.setattr(remote, "_MANY", 2)
    return request.param


# Every solver on all workers, and one of them on fewer.
@pytest.mark.parametrize(
    ("solver", "n_workers"), [*((name, 3) for name in SOLVERS), ("bmrm", 1), ("bmrm", 2)]
)
def test_dask_gives_the_bits_of_the_serial_engine(client, solver, n_workers, tree, monkeypatch):
    monkeypatch.setattr(Dask, "_n_hosts", lambda engine: n_workers)
    loss, regularizer = SOLVERS[solver]
    one, _ = fitted(Serial(), solver, loss, regularizer=regularizer)
    other, problem = fitted(Dask(client), solver, loss, regularizer=regularizer)
    assert len({host.where for host in problem.risk.engine.hosts}) == n_workers
    assert problem.risk.engine.n_shards > 5
    assert (problem.risk.engine._tree is not None) == (tree and n_workers > 1)
    same(one, other)
    fenchel.verify(other, problem)


def test_sparse_rows_and_a_gathered_loss(client):
    X, y = data_for(losses.ROC(), n=600)
    one, _ = fitted(Serial(), "bmrm", "roc", sparse.csr_array(X), y)
    other, _ = fitted(Dask(client), "bmrm", "roc", sparse.csr_array(X), y)
    same(one, other)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("name", ["a9a", "20news"])
def test_real_data_give_the_same_bits_too(client, real, name, solver, monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 1 << 18)
    X, y = real(name)
    y = np.where(y == y.max(), 1.0, -1.0)
    loss, regularizer = SOLVERS[solver]
    runs = []
    for engine in ("serial", "threads", Dask(client)):
        problem = fenchel.problem(
            X, y, loss=loss, regularizer=regularizer, strength=1e-4, engine=engine
        )
        runs.append(fenchel.minimize(problem, solver, gap=1e-9, max_iterations=5))
    assert len(problem.risk.engine.hosts) > 1
    same(runs[0], runs[1])
    same(runs[0], runs[2])


@pytest.mark.parametrize("name", structures.CASES)
def test_structures_give_the_same_bits(client, name):
    problem, result = structures.fitted(name, Dask(client))
    same(structures.fitted(name, Serial())[1], result)
    assert len(problem.risk.engine.hosts) == 3


def test_a_worker_that_answers_nan_is_not_believed(client):
    one, _ = fitted(Serial(), "bmrm", "hinge")
    X, y = data_for(losses.Logistic(), n=600)
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, engine=Dask(client))
    engine = problem.risk.engine
    client.run(_poison, workers=[engine.hosts[1].where])
    try:
        with pytest.warns(FenchelWarning, match="answered with nan"):
            result = fenchel.minimize(problem, "bmrm", gap=1e-6, max_iterations=15)
    finally:
        client.run(_heal)
    same(one, result)


def _poison():
    from fenchel.engines import host

    host.subtotals = lambda *args: {
        span: np.nan * value for span, value in _sums.subtotals(*args).items()
    }


def _heal():
    from fenchel.engines import host, sums

    host.subtotals = sums.subtotals


from fenchel.engines import sums as _sums  # noqa: E402 - for the poisoned worker


def test_dask_arrays_stay_with_their_workers(client):
    array = pytest.importorskip("dask.array")
    X, y = data_for(losses.Logistic(), n=600)
    one, problem = fitted(
        Dask(client), "bmrm", "hinge", array.from_array(X, chunks=(100, 2)), array.from_array(y)
    )
    assert problem.risk.engine.n_shards == 6
    other, _ = fitted(Serial(), "bmrm", "hinge", X, y)
    assert one.objective == pytest.approx(other.objective, rel=1e-5)
    fenchel.verify(one, problem)


def test_dask_dataframes_with_an_empty_partition(client):
    frames = pytest.importorskip("dask.dataframe")
    import pandas

    X, y = data_for(losses.Logistic(), n=600)
    table = pandas.DataFrame(X, columns=list("abcd"))
    parts = frames.from_pandas(table, npartitions=4)
    parts = frames.concat([parts, parts[parts.a > 1e9]])
    with pytest.warns(FenchelWarning, match="4 of the 8 blocks of X have no rows"):
        result, problem = fitted(Dask(client), "bmrm", "hinge", parts, y)
    assert problem.risk.n_rows == 600
    assert result.objective == pytest.approx(
        fitted(Serial(), "bmrm", "hinge")[0].objective, rel=1e-5
    )


def test_dask_arrays_need_the_engine_of_their_cluster():
    array = pytest.importorskip("dask.array")
    with pytest.raises(fenchel.Incompatible, match=r"engine=Dask\(client\)"):
        fenchel.problem(array.zeros((10, 2)), np.ones(10))


def test_a_bad_value_in_a_block_is_found_before_work_starts(client):
    array = pytest.importorskip("dask.array")
    X, y = data_for(losses.Logistic(), n=600)
    X[7, 1] = np.nan
    with pytest.raises(fenchel.InvalidData, match="row 7, column 1"):
        fitted(Dask(client), X=array.from_array(X, chunks=(100, 4)), y=y)


def test_what_cannot_be_sent_is_an_error_at_once(client):
    _, problem = fitted(Dask(client))
    with pytest.raises(fenchel.Incompatible, match="cannot be sent"):
        problem.risk.engine.gather(problem.risk.engine.map(shardwork.scores, (x for x in ())))


def test_an_address_without_a_scheduler_is_an_error(monkeypatch):
    monkeypatch.setattr("fenchel.engines.dask._CONNECT", 1)
    with pytest.raises(fenchel.InvalidData, match="no Dask scheduler answers"):
        fenchel.problem(np.eye(2), [1, -1], engine="tcp://127.0.0.1:1")


def test_the_address_of_a_scheduler_is_an_engine(client):
    address = client.scheduler.address
    same(fitted(Serial())[0], fitted(address)[0])


def test_a_checkpoint_goes_on_with_another_engine(client, tmp_path):
    X, y = data_for(losses.Logistic(), n=600)

    def run(name, engine, iterations):
        problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, engine=engine)
        return fenchel.minimize(
            problem, "bmrm", gap=1e-6, max_iterations=iterations, checkpoint=tmp_path / name
        )

    run("parts", Serial(), 8)
    run("parts", Dask(client), 16)
    one, other = run("whole", Serial(), 20), run("parts", Dask(client), 20)
    assert np.array_equal(one.w, other.w)
    assert [r[:4] for r in one.history] == [r[:4] for r in other.history]  # but for passes


def test_every_listener_is_on_loopback(client):
    me = psutil.Process()
    seen = [
        connection.laddr.ip
        for process in (me, *me.children(recursive=True))
        for connection in process.net_connections()
        if connection.status == psutil.CONN_LISTEN
    ]
    assert seen and set(seen) == {"127.0.0.1"}


def test_tls_passes_through():
    pytest.importorskip("cryptography")
    from distributed import Security

    security = Security.temporary()
    cluster = LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        host="127.0.0.1",
        protocol="tls://",
        dashboard_address="127.0.0.1:0",
        security=security,
        silence_logs=50,  # CRITICAL
    )
    with cluster:
        engine = Dask(cluster.scheduler_address, security=security)
        try:
            same(fitted(Serial())[0], fitted(engine)[0])
        finally:
            engine.client.close()


# Those that leave the cluster with fewer workers.


def _hanging(shard, flag):
    """Hangs the first time, for as long as there is the file that says so."""
    try:
        os.close(os.open(f"{flag}-was-there", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return 1.0
    while os.path.exists(flag):
        time.sleep(0.05)
    return 0.0


def test_a_worker_that_hangs_loses_its_shards_at_the_deadline(client, tmp_path, tree):
    X, y = data_for(losses.Logistic(), n=600)
    engine = fenchel.problem(X, y, engine=Dask(client, deadline=3)).risk.engine
    flag = tmp_path / "flag"
    flag.touch()
    with pytest.warns(FenchelWarning, match="did not answer in time"):
        total = engine.total(engine.map(_hanging, str(flag)))
    flag.unlink()
    assert total == engine.n_shards


def test_workers_that_are_gone_for_good_are_asked_for_again(monkeypatch):
    monkeypatch.setattr("fenchel.engines.dask._AGAIN", 0.5)
    cluster = LocalCluster(
        n_workers=1,
        processes=False,
        protocol="tcp://",
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        silence_logs=50,  # CRITICAL
    )
    with cluster, Client(cluster, direct_to_workers=True) as client:
        one, problem = fitted(Dask(client))
        cluster.scale(0)
        while client.nthreads():
            time.sleep(0.05)
        with pytest.warns(FenchelWarning, match="placed anew"):
            again = fenchel.minimize(problem, "lbfgs", gap=1e-6, max_iterations=15)
    assert np.array_equal(one.w, again.w)


def test_workers_that_join_and_leave_while_a_fit_runs(monkeypatch):
    monkeypatch.setattr(remote, "_LOOK", 0.0)
    counts = []

    def scale(record):
        if record.iteration in (3, 8):
            n = 3 if record.iteration == 3 else 1
            client.cluster.scale(n)
            while len(client.nthreads()) != n:
                time.sleep(0.05)
        counts.append(len({host.where for host in problem.risk.engine.hosts}))

    X, y = data_for(losses.Logistic(), n=600)
    with connected(1) as client:
        problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, engine=Dask(client))
        with pytest.warns(FenchelWarning, match="placed anew"):  # those of workers that left
            result = fenchel.minimize(problem, "bmrm", gap=1e-6, max_iterations=15, callback=scale)
    same(fitted(Serial(), "bmrm", "hinge")[0], result)
    assert counts[0] == 1 and max(counts) == 3 and counts[-1] == 1


def test_kills_in_one_run_lose_nothing(tree):
    one, _ = fitted(Serial(), "bmrm", "hinge")
    killed, kills = [], 3 if tree else 2  # the first host, the second, and the first once more

    def kill(record):
        if record.iteration % 2 == 0 and len(killed) < kills:
            where = problem.risk.engine.hosts[len(killed) % 2].where
            pid = pids(client).get(where)
            if pid is not None:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    X, y = data_for(losses.Logistic(), n=600)
    with connected(3) as client:  # nobody waits for those who died until the deadline, 300 s
        problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, engine=Dask(client))
        with pytest.warns(FenchelWarning, match=r"failed in round \d+"):
            result = fenchel.minimize(problem, "bmrm", gap=1e-6, max_iterations=15, callback=kill)
    assert len(killed) == kills
    assert sum(host.replacements for host in problem.risk.engine.hosts) >= kills
    same(one, result)
