"""Real data sets, and settings that make property tests repeatable."""

from __future__ import annotations

import functools
import gc
import itertools
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from commands import Command, Outcome
from hypothesis import HealthCheck, settings
from scipy import sparse

import fenchel
from fenchel.cli import main
from fenchel.cli.settings import Settings

# No example is late, and none is drawn too slowly: that depends on what else the machine does.
patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", patient, derandomize=True)
settings.register_profile("few", patient, derandomize=True, max_examples=15)
settings.register_profile("explore", patient, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

# What a CI may set to have colours, which would be seen in all that commands print.
for name in "FORCE_COLOR NO_COLOR PY_COLORS TTY_COMPATIBLE TTY_INTERACTIVE GITHUB_ACTIONS".split():
    os.environ.pop(name, None)

# A shell that starts tests in the background has them and their children ignore Ctrl-C.
signal.signal(signal.SIGINT, signal.default_int_handler)


_CASES = int(os.environ.get("FENCHEL_CASES", "2"))  # of each test, in the fast lane


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks as slow what needs real data, and of a test with many cases all but a few of them.

    Other tests say themselves that they are slow; `make quick` leaves all of these out.
    """
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    for several in cases.values():
        for k, item in enumerate(several):
            spread = k * _CASES % len(several) < _CASES
            if not spread or "real" in getattr(item, "fixturenames", ()):
                item.add_marker("slow")


def pytest_collection_finish() -> None:
    """Takes what is there for good, a million objects, out of every collection of garbage to come.

    Each of these would take half a second, and there is one after each module.
    """
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="module", autouse=True)
def no_cluster_stays() -> Iterator[None]:
    """Closes what a module's tests left of Dask: its threads would go on below those of others."""
    yield
    if "distributed" not in sys.modules:
        return
    from distributed import Client
    from distributed.deploy.spec import SpecCluster

    from fenchel.engines import dask

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        left = (*Client._instances, *SpecCluster._instances)
        if not left:
            return  # a collection of garbage after every module takes half a minute in all
        for open_ in left:
            open_.close()
        dask._local.cache_clear()
        dask._connected.cache_clear()
        gc.collect()


@pytest.fixture
def own_module() -> Iterator[None]:
    """For tests that write a module `my_losses`: it is forgotten before and after them."""
    sys.modules.pop("my_losses", None)
    yield
    sys.modules.pop("my_losses", None)


Data = tuple[sparse.csr_matrix, np.ndarray]

# The training part of a set, under one of the names that the folder's README uses.
_FILES = ("{name}.xz", "{name}.svm.xz", "train.tfidf.svm.xz", "train.svm.xz", "train.counts.svm.xz")


@pytest.fixture(scope="session")
def real() -> Callable[[str], Data]:
    """`real("a9a")` gives (X, y), X in CSR, float64 and int32, unscaled; skips if absent."""
    return _load


@functools.cache
def _load(name: str) -> Data:
    rows, y = fenchel.read_svmlight(_path(name))  # as scikit-learn does, see test_svmlight.py
    X = sparse.csr_matrix(rows)
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # for liblinear
    for array in (X.data, X.indices, X.indptr, y):
        array.setflags(write=False)  # shared by all tests of the session
    return X, y


def _path(name: str) -> Path:
    root = os.environ.get("FENCHEL_DATA")
    if not root:
        pytest.skip("set FENCHEL_DATA to the folder of real data sets to run this test")
    for pattern in _FILES:
        path = Path(root) / name / pattern.format(name=name)
        if path.is_file():
            return path
    pytest.skip(f"FENCHEL_DATA={root} holds no data set {name!r}")


@pytest.fixture
def run(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Command:
    """`run("train", ...)` as typed in a fresh folder, without settings in the environment."""
    monkeypatch.chdir(tmp_path)
    for name in Settings.__struct_fields__:
        monkeypatch.delenv(f"FENCHEL_{name.upper()}", raising=False)
    monkeypatch.delenv("FENCHEL_DEBUG", raising=False)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("FENCHEL_NUM_THREADS", "2")

    def call(*arguments: object) -> Outcome:
        with pytest.raises(SystemExit) as exit_:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        assert isinstance(exit_.value.code, int)
        return Outcome(exit_.value.code, out, err)

    return call


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever the driver looks at its clock it is a second later: an iteration takes one."""
    ticks = itertools.count()
    fake = SimpleNamespace(perf_counter=lambda: float(next(ticks)))
    monkeypatch.setattr("fenchel.minimisation.time", fake)


@pytest.fixture
def process() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """`process("worker", ...)` starts a command, which is ended with the test."""
    running: list[subprocess.Popen[str]] = []

    def start(*arguments: object) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "fenchel", *map(str, arguments)]
        running.append(subprocess.Popen(command, stderr=subprocess.PIPE, text=True))
        return running[-1]

    yield start
    for each in running:
        each.kill()
        each.communicate()
