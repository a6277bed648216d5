"""docs/how-to/clusters.md: its commands, scripts and files do what the page says, where they can.

What needs SLURM or Kubernetes is parsed and looked at; the machines of the rest are this one.
"""

from __future__ import annotations

import ast
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import types
import warnings
from pathlib import Path

import numpy as np
import pytest
from commands import HANGS
from pages import DOCS

import fenchel
from fenchel.data.dataset import Dataset
from fenchel.data.files import write

yaml = pytest.importorskip("yaml")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::ResourceWarning")

PAGE = (DOCS / "how-to" / "clusters.md").read_text(encoding="utf-8")
rng = np.random.default_rng(0)
X = rng.standard_normal((400, 5))
Y = np.where(X[:, 0] + 0.5 * rng.standard_normal(400) > 0, 1.0, -1.0)


def shown(language: str) -> list[str]:
    """The blocks of the page in a language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


CERTIFICATES, SCHEDULER, WORKER, TRAIN = shown("sh")
SECURITY, SLURM = shown("py")
(SBATCH,) = shown("bash")
KUBERNETES, SPOT = shown("yaml")


# Machines over TLS


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with the certificates, made by the commands of the page."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there")
    folder = tmp_path_factory.mktemp("certificates")
    subprocess.run(["sh", "-ec", CERTIFICATES], cwd=folder, check=True, capture_output=True)
    return folder


def test_the_certificates_are_good_by_the_strictest_rules(folder):
    for part in ("scheduler", "worker", "client"):
        command = ["openssl", "verify", "-x509_strict", "-CAfile", "authority.pem", f"{part}.pem"]
        subprocess.run(command, cwd=folder, check=True, capture_output=True)
    assert not [path for path in folder.glob("*.key") if path.stat().st_mode & 0o077]


@pytest.fixture(scope="module")
def scheduler(folder):
    """A scheduler and two workers, started by the commands of the page; its address."""
    pytest.importorskip("distributed")
    port, started = free_port(), []

    def start(command: str) -> None:
        here = re.sub(r"10\.0\.0\.\d", "127.0.0.1", command.replace("\\\n", ""))
        words = shlex.split(
            here.replace("8786", str(port)).replace("127.0.0.1:8787", "127.0.0.1:0")
        )
        program = {"dask": "dask", "fenchel": "fenchel"}[words[0]]
        started.append(
            subprocess.Popen(
                [sys.executable, "-m", program, *words[1:]],
                cwd=folder,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )

    start(SCHEDULER)
    start(WORKER)
    start(WORKER)
    yield f"tls://127.0.0.1:{port}"
    for each in reversed(started):
        each.terminate()
    for each in started:
        each.wait(HANGS)


def files_of(folder, part):
    return {
        "--authority": folder / "authority.pem",
        "--certificate": folder / f"{part}.pem",
        "--key": folder / f"{part}.key",
    }


@pytest.mark.slow
def test_a_model_is_trained_over_tls(folder, scheduler, run, monkeypatch):
    pytest.importorskip("pyarrow")
    monkeypatch.setattr("fenchel.engines.dask._CONNECT", HANGS)
    for k, part in enumerate((slice(0, 150), slice(150, 400))):
        write(Dataset(X[part], Y[part]), f"rows-{k}.parquet")
    program, *words = shlex.split(TRAIN.replace("\\\n", "").replace("/data/", ""))
    assert program == "fenchel"
    words = [scheduler if word.startswith("tls://") else word for word in words]
    words = [str(folder / word) if word.endswith((".pem", ".key")) else word for word in words]
    done = run(*words)
    assert done.code == 0 and "workers read them by the same paths" in done.err, done.err
    here = (
        "--loss",
        "logistic",
        "--strength",
        1e-5,
        "--stream",
        "--engine",
        "serial",
        "-o",
        "here",
    )
    assert run("train", "rows-*.parquet", *here).code == 0
    assert np.array_equal(fenchel.load("rows.model").coef_, fenchel.load("here").coef_)


@pytest.mark.slow
def test_so_it_is_in_python(folder, scheduler, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.setattr("fenchel.engines.dask._CONNECT", HANGS)
    names: dict = {}
    exec(SECURITY.replace("tls://10.0.0.1:8786", scheduler), names)
    problem = fenchel.problem(X, Y, loss="logistic", engine=names["engine"])
    other = fenchel.problem(X, Y, loss="logistic", engine="serial")
    found = [fenchel.minimize(each, "lbfgs").w for each in (problem, other)]
    assert np.array_equal(*found)


@pytest.mark.slow
def test_who_has_no_certificate_of_the_authority_is_not_let_in(folder, scheduler, run, monkeypatch):
    credentials = pytest.importorskip("credentials")
    monkeypatch.setattr("fenchel.engines.dask._CONNECT", 5)
    other = Path("others")
    other.mkdir()
    credentials.issued(other, "client", credentials.authority(other, "authority"))
    write(Dataset(X, Y), "rows.svm")
    for flags in ((), tuple(map(str, sum(files_of(other, "client").items(), ())))):
        done = run("train", "rows.svm", "--engine", scheduler, "-o", "m", *flags)
        assert done.code != 0 and not Path("m").exists(), done.err


# SLURM


def test_the_script_of_the_job_is_one():
    if shutil.which("bash") is None:
        pytest.skip("bash is not there")
    subprocess.run(["bash", "-n"], input=SBATCH, text=True, check=True)
    lines = SBATCH.splitlines()
    assert lines[0] == "#!/bin/bash" and lines[-1] == "exec python fit.py"
    assert all(line.startswith("#SBATCH --") for line in lines[1:-2])


def slurm_settings():
    """What the page gives SLURMCluster."""
    calls = [node for node in ast.walk(ast.parse(SLURM)) if isinstance(node, ast.Call)]
    (call,) = [call for call in calls if ast.unparse(call.func) == "SLURMCluster"]
    return {word.arg: ast.literal_eval(word.value) for word in call.keywords}


def test_a_job_of_slurm_is_what_the_page_says(tmp_path):
    jobqueue = pytest.importorskip("dask_jobqueue")
    here = {"interface": "lo", "shared_temp_directory": str(tmp_path)}
    options = {"dashboard_address": "127.0.0.1:0"}
    with jobqueue.SLURMCluster(**slurm_settings() | here, scheduler_options=options) as cluster:
        script = cluster.job_script()
    for line in ("-p cpu", "-A ours", "--cpus-per-task=8", "--mem=15G", "-t 04:00:00"):
        assert f"#SBATCH {line}\n" in script
    for words in (
        "--nthreads 8",
        "--lifetime 230m --lifetime-stagger 5m",
        "tls://",
        "--tls-ca-file",
    ):
        assert words in script


@pytest.mark.slow
def test_the_script_fits_on_workers_of_this_machine(tmp_path, monkeypatch):
    """And goes on from its checkpoint when it is started again."""
    distributed = pytest.importorskip("distributed")
    write(Dataset(X, Y), tmp_path / "rows.store")
    asked = {}

    class Local(distributed.LocalCluster):
        def __init__(self, **settings):
            asked.update(settings)
            super().__init__(
                n_workers=4,
                processes=False,
                protocol="tcp://",
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=50,
            )

        def adapt(self, **_):
            asked["adapted"] = True

    module = types.SimpleNamespace(SLURMCluster=Local)
    monkeypatch.setitem(sys.modules, "dask_jobqueue", module)
    for _ in range(2):
        names: dict = {}
        exec(SLURM.replace("/shared/", f"{tmp_path}/"), names)
        names["client"].close()
        names["cluster"].close()
    assert asked["adapted"] and asked["walltime"] == "04:00:00"
    assert fenchel.load(tmp_path / "rows.model").gap_ <= 1e-3


# Kubernetes


def test_the_file_of_kubernetes_has_what_its_parts_need():
    cluster, job, policy = yaml.safe_load_all(KUBERNETES)
    kinds = [(each["apiVersion"], each["kind"]) for each in (cluster, job, policy)]
    assert kinds == [
        ("kubernetes.dask.org/v1", "DaskCluster"),
        ("batch/v1", "Job"),
        ("networking.k8s.io/v1", "NetworkPolicy"),
    ]
    name = cluster["metadata"]["name"]
    worker, scheduler = cluster["spec"]["worker"], cluster["spec"]["scheduler"]
    (container,) = worker["spec"]["containers"]
    assert worker["replicas"] == 8 and container["args"][:4] == [
        "dask",
        "worker",
        "--name",
        "$(DASK_WORKER_NAME)",
    ]
    assert scheduler["service"]["selector"] == {
        "dask.org/cluster-name": name,
        "dask.org/component": "scheduler",
    }
    ports = [port["name"] for port in scheduler["spec"]["containers"][0]["ports"]]
    assert ports == [port["targetPort"] for port in scheduler["service"]["ports"]]
    (run,) = job["spec"]["template"]["spec"]["containers"]
    assert f"tcp://{name}-scheduler:8786" in run["args"][0]
    same = {"dask.org/cluster-name": name}
    assert policy["spec"]["podSelector"]["matchLabels"] == same
    assert same.items() <= job["spec"]["template"]["metadata"]["labels"].items()
    images = {run["image"], container["image"], scheduler["spec"]["containers"][0]["image"]}
    assert len(images) == 1


def test_its_pods_have_the_volumes_that_they_mount():
    cluster, job, _ = yaml.safe_load_all(KUBERNETES)
    for pod in (cluster["spec"]["worker"]["spec"], job["spec"]["template"]["spec"]):
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_its_commands_are_commands(tmp_path):
    cluster, job, _ = yaml.safe_load_all(KUBERNETES)
    (run,) = job["spec"]["template"]["spec"]["containers"]
    assert run["command"] == ["sh", "-c"]
    subprocess.run(["sh", "-n"], input=run["args"][0], text=True, check=True)
    pytest.importorskip("distributed")
    for pod in (cluster["spec"]["worker"]["spec"], cluster["spec"]["scheduler"]["spec"]):
        program, command, *words = pod["containers"][0]["args"]
        told = subprocess.run(
            [sys.executable, "-m", program, command, "--help"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert all(word in told for word in words if word.startswith("--"))


@pytest.mark.slow
def test_the_job_goes_on_where_it_was_if_it_is_started_again(run, tmp_path):
    _, job, _ = yaml.safe_load_all(KUBERNETES)
    (container,) = job["spec"]["template"]["spec"]["containers"]
    write(Dataset(X, Y), "rows.store")
    script = (
        container["args"][0].replace("/rows/", f"{tmp_path}/").replace("/models/", f"{tmp_path}/")
    )
    script = script.replace("tcp://fenchel-scheduler:8786", "threads")
    script = script.replace("exec fenchel", f"exec {shlex.quote(sys.executable)} -m fenchel")
    first = script.replace("train", "train --solver bmrm --gap 1e-9 --max-iterations 9", 1)
    first = first.replace("--strength 1e-5", "--strength 1e-2")
    assert subprocess.run(["sh", "-c", first], capture_output=True).returncode == 4
    assert (tmp_path / "rows.model.checkpoint").exists()
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True)
    assert "fit hinge" not in done.stderr and done.returncode == 4  # the limit is the same
    report = run("inspect", tmp_path / "rows.model", "--json").json
    assert report["runs"][0]["solver"] == "bmrm"


def test_the_part_for_spot_machines_belongs_to_a_pod():
    spot = yaml.safe_load(SPOT)
    assert set(spot) == {"nodeSelector", "tolerations", "terminationGracePeriodSeconds"}
    assert all({"key", "operator", "value", "effect"} == set(each) for each in spot["tolerations"])


# Machines that come and go


@pytest.mark.slow
@pytest.mark.parametrize(("least", "left"), [(1, 1), (2, 2)])
def test_adaptive_scaling_keeps_its_minimum_and_the_fit_its_bits(least, left, monkeypatch):
    """Dask counts tasks that wait: it would take all workers that it may."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr("fenchel.data.shards.NUMBERS_PER_SHARD", 200)
    cluster = distributed.LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit="1GB",
        silence_logs=50,  # CRITICAL
    )
    seen = []

    def look(record):
        if record.iteration == 4:  # time for Dask to look twice; beyond that only as it needs
            time.sleep(1.0)
            until = time.monotonic() + 60
            while len(client.nthreads()) != left and time.monotonic() < until:
                time.sleep(0.05)
        seen.append(len(client.nthreads()))

    with cluster, distributed.Client(cluster, direct_to_workers=True) as client:
        engine = fenchel.engines.Dask(client, deadline=60)
        problem = fenchel.problem(X, Y, loss="logistic", strength=1e-4, engine=engine)
        assert len(problem.risk.engine.hosts) == 2
        cluster.adapt(minimum=least, maximum=2, interval="200ms", wait_count=2)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = fenchel.minimize(problem, "bmrm", gap=1e-12, max_iterations=12, callback=look)
    alone = fenchel.problem(X, Y, loss="logistic", strength=1e-4, engine="serial")
    same = fenchel.minimize(alone, "bmrm", gap=1e-12, max_iterations=12)
    assert seen[-1] == left and np.array_equal(found.w, same.w)
