"""The MPI engine: three ranks in a network of their own, which has nothing but loopback."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from catalogue import data_for

import fenchel
from fenchel import losses

pytest.importorskip("mpi4py")
MPIEXEC = Path(sys.executable).with_name("mpiexec")

SCRIPT = """
import os, sys
import numpy as np
import fenchel
import fenchel.data.shards
from fenchel.engines import MPI

fenchel.data.shards.NUMBERS_PER_SHARD = 400
folder, iterations, dies = sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["dies"]
engine = MPI()
X, y = np.load(f"{folder}/X.npy"), np.load(f"{folder}/y.npy")

def die(record):
    if dies and record.iteration == 20:
        os.kill(os.getpid(), 9)

for solver, loss in (("lbfgs", "logistic"), ("bmrm", "hinge")):
    problem = fenchel.problem(X, y, loss=loss, strength=1e-3, engine=engine)
    assert len(problem.risk.engine.hosts) == 3
    file = None if solver == "lbfgs" else f"{folder}/checkpoint"
    result = fenchel.minimize(
        problem, solver, gap=1e-6, max_iterations=iterations, checkpoint=file, callback=die
    )
    np.save(f"{folder}/{solver}.npy", result.w)
"""


def alone() -> list[str]:
    """A command that runs others in a network namespace with loopback alone."""
    command = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    tools = shutil.which("unshare") and shutil.which("ip") and MPIEXEC.exists()
    if not tools or subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("needs an MPI library and the right to make a network namespace")
    return command


def ranks(folder, *arguments):
    script = folder / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    return subprocess.run(
        [*alone(), MPIEXEC, "-n", "3", sys.executable, script, folder, *arguments],
        capture_output=True,
        text=True,
        timeout=100,
    )


def test_ranks_give_the_bits_of_the_serial_engine_and_go_on_after_a_crash(tmp_path, monkeypatch):
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 400)
    X, y = data_for(losses.Logistic(), n=600)
    np.save(tmp_path / "X.npy", X)
    np.save(tmp_path / "y.npy", y)
    (tmp_path / "whole").mkdir()
    serial = {}
    for solver, loss in (("lbfgs", "logistic"), ("bmrm", "hinge")):
        problem = fenchel.problem(X, y, loss=loss, strength=1e-3, engine="serial")
        file = None if solver == "lbfgs" else tmp_path / "whole" / "checkpoint"
        serial[solver] = fenchel.minimize(
            problem, solver, gap=1e-6, max_iterations=25, checkpoint=file
        ).w
    assert ranks(tmp_path, "16").returncode == 0
    assert ranks(tmp_path, "25", "dies").returncode != 0  # no rank outlives another
    done = ranks(tmp_path, "25")
    assert done.returncode == 0, done.stderr
    for solver, w in serial.items():
        assert np.array_equal(np.load(tmp_path / f"{solver}.npy"), w)
