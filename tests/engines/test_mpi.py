"""The MPI engine: real ranks in a network of their own, which has nothing but loopback."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
import structures
from catalogue import data_for
from commands import HANGS

import fenchel
from fenchel import losses
from fenchel.data import files
from fenchel.data.svmlight_writing import write_svmlight

pytestmark = pytest.mark.slow

pytest.importorskip("mpi4py")
MPIEXEC = Path(sys.executable).with_name("mpiexec")

RUNS = {
    "bmrm": ("hinge", "l2"),
    "lbfgs": ("logistic", "l2"),
    "sublbfgs": ("hinge", "l2"),
    "owlqn": ("logistic", "l1"),
}
START = """
    import os, signal, sys
    import numpy as np
    import fenchel
    import fenchel.data.shards
    from fenchel.engines import MPI

    fenchel.data.shards.NUMBERS_PER_SHARD = 400
    X, y = np.load("X.npy"), np.load("y.npy")
    engine = MPI()
"""


@pytest.fixture
def ranks(tmp_path, monkeypatch):
    """`ranks(n, code)` runs Python on n ranks, in a network namespace with loopback alone."""
    alone = ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    tools = shutil.which("unshare") and shutil.which("ip") and MPIEXEC.exists()
    if not tools or subprocess.run([*alone, "true"], capture_output=True).returncode:
        pytest.skip("needs an MPI library and the right to make a network namespace")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(fenchel.data.shards, "NUMBERS_PER_SHARD", 400)
    X, y = data_for(losses.Logistic(), n=600)
    np.save("X.npy", X)
    np.save("y.npy", y)
    write_svmlight("d.svm", X, y)

    def run(n, code, *arguments):
        command = "-c", textwrap.dedent(START) + textwrap.dedent(code), *arguments
        if code == "fenchel":
            command = "-m", code, *arguments
        return subprocess.run(
            [*alone, MPIEXEC, "-n", str(n), sys.executable, *command],
            capture_output=True,
            text=True,
            timeout=HANGS,
        )

    return run


def serial(solver, **options):
    loss, regularizer = RUNS[solver]
    X, y = np.load("X.npy"), np.load("y.npy")
    problem = fenchel.problem(
        X, y, loss=loss, regularizer=regularizer, strength=1e-3, engine="serial"
    )
    return fenchel.minimize(problem, solver, gap=1e-6, **options)


@pytest.mark.parametrize("n", [2, 3])
def test_every_rank_has_the_bits_of_one_process(ranks, n):
    done = ranks(
        n,
        f"""
        for solver, (loss, regularizer) in {RUNS!r}.items():
            problem = fenchel.problem(
                X, y, loss=loss, regularizer=regularizer, strength=1e-3, engine=engine
            )
            assert len(problem.risk.engine._own.shards) < problem.risk.engine.n_shards > 5
            result = fenchel.minimize(problem, solver, gap=1e-6, max_iterations=20)
            history = np.array([record[:5] for record in result.history])
            np.savez(f"{{solver}}.{{engine.rank}}", w=result.w, history=history)
            fenchel.verify(result, problem)
        """,
    )
    assert done.returncode == 0, done.stderr
    for solver in RUNS:
        one = serial(solver, max_iterations=20)
        for rank in range(n):
            found = np.load(f"{solver}.{rank}.npz")
            assert np.array_equal(found["w"], one.w)
            assert np.array_equal(found["history"], [record[:5] for record in one.history])


def test_structures_give_the_same_bits(ranks):
    done = ranks(
        3,
        f"""
        sys.path.insert(0, {str(Path(__file__).parent.parent)!r})
        import structures
        for name in structures.CASES:
            result = structures.fitted(name, MPI())[1]
            np.save(f"{{name}}.{{engine.rank}}.npy", result.w)
        """,
    )
    assert done.returncode == 0, done.stderr
    for name in structures.CASES:
        one = structures.fitted(name, "serial")[1]
        for rank in range(3):
            assert np.array_equal(np.load(f"{name}.{rank}.npy"), one.w)


def test_a_killed_rank_ends_the_job_which_goes_on_from_its_checkpoint(ranks):
    script = """
        iterations, dies = int(sys.argv[1]), sys.argv[2:] == ["dies"]

        def die(record):
            if dies and record.iteration == 20 and engine.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)

        problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, engine=engine)
        result = fenchel.minimize(
            problem, "bmrm", gap=1e-6, max_iterations=iterations, checkpoint="s", callback=die
        )
        np.save(f"w.{engine.rank}.npy", result.w)
    """
    assert ranks(2, script, "16").returncode == 0
    lost = ranks(2, script, "25", "dies")
    assert lost.returncode != 0  # no rank outlives another
    assert "signal 9" in lost.stdout + lost.stderr
    done = ranks(2, script, "25")
    assert done.returncode == 0, done.stderr
    one = serial("bmrm", max_iterations=25, checkpoint="whole")
    for rank in range(2):
        assert np.array_equal(np.load(f"w.{rank}.npy"), one.w)


def test_a_path_runs_on_ranks_and_only_the_first_speaks(ranks):
    files.write(files.read("d.svm"), "d.store")
    flags = "path", "d.store", "--loss", "logistic", "--strengths", "0.1,0.01", "--json"
    more = "--validation", "d.svm", "-o", "best"
    done = ranks(2, "fenchel", *flags, *more, "--engine", "mpi")
    assert done.returncode == 0 and done.stderr.count("save best") == 1, done.stderr
    found = json.loads(done.stdout)
    alone = subprocess.run(
        [sys.executable, "-m", "fenchel", *flags, "--engine", "serial"],
        capture_output=True,
        text=True,
    )
    points = [
        [p["objective"] for p in each["points"]] for each in (found, json.loads(alone.stdout))
    ]
    assert points[0] == points[1] and found["model"] == "best"


def test_the_command_line_trains_on_ranks_and_only_the_first_speaks(ranks):
    flags = "train", "d.svm", "--loss", "logistic", "--solver", "lbfgs", "--gap", "1e-4"
    done = ranks(2, "fenchel", *flags, "--engine", "mpi", "-o", "model")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("fit logistic") == 1 and done.stdout.count("converged") <= 1
    alone = subprocess.run(
        [sys.executable, "-m", "fenchel", *flags, "--engine", "serial", "-o", "alone"],
        capture_output=True,
    )
    assert alone.returncode == 0
    assert np.array_equal(fenchel.load("model").coef_, fenchel.load("alone").coef_)


def test_clocks_and_callbacks_of_one_rank_stop_all(ranks):
    done = ranks(
        2,
        """
        problem = fenchel.problem(X, y, strength=1e-6, engine=engine)
        stopped = fenchel.minimize(
            problem, gap=1e-14, callback=lambda record: record.iteration == 5 + engine.rank
        )
        seconds = 1e-9 if engine.rank == 0 else None
        late = fenchel.minimize(problem, gap=1e-14, max_seconds=seconds)
        assert late.status is fenchel.Status.TIME_LIMIT
        sys.stdout.write(f"{stopped.status.name} {stopped.iterations}\\n")
        """,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["INTERRUPTED 5"] * 2


def test_an_error_of_one_rank_is_raised_on_all_of_them(ranks):
    done = ranks(
        3,
        """
        from fenchel.risks import shardwork
        engine = fenchel.problem(X, y, engine=engine).risk.engine
        try:
            engine.total(engine.map(shardwork.scores, np.ones(99 if engine.rank == 1 else 4)))
        except ValueError as error:
            sys.stdout.write(f"{error}\\n")
        sys.stdout.write(f"{engine.total(engine.map(shardwork.weight))}\\n")
        """,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines.count("600.0") == 3 and sum("99" in line for line in lines) == 3


def test_ranks_with_other_data_are_told_so(ranks):
    done = ranks(
        2,
        """
        try:
            fenchel.problem(X, y[::-1] if engine.rank else y, engine=engine)
        except fenchel.InvalidData as error:
            sys.stdout.write(f"{error}\\n")
        """,
    )
    assert done.stdout.count("rank 1 was given other rows than rank 0") == 2


def test_a_rank_that_leaves_alone_ends_the_job(ranks):
    done = ranks(
        2,
        """
        from fenchel.engines import mpi
        mpi._PATIENCE = 0.5
        if engine.rank == 1:
            sys.exit("no data here")
        fenchel.problem(X, y, engine=engine)
        """,
    )
    assert done.returncode != 0
    assert "no data here" in done.stderr and "rank 1 ended" in done.stderr
