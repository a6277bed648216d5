"""Which work is shared among threads: never what it is, only who does it."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from fenchel._system.threads import shared
from fenchel.data.rows import DenseRows
from fenchel.data.shards import Shard
from fenchel.engines import Threads

AT_LEAST = 60.0  # seconds that a thread is waited for before the test fails


@pytest.fixture
def placed():
    rows = DenseRows(np.ones((2, 3)))
    return Threads(2).place([Shard(rows, np.ones(2), None) for _ in range(2)])


def test_small_shards_are_done_by_the_calling_thread(placed):
    workers = placed.map(lambda shard: threading.get_ident())
    assert set(workers) == {threading.get_ident()}


def test_a_task_that_took_long_is_shared(placed):
    meeting = threading.Barrier(2, timeout=AT_LEAST)

    def task(shard, meet):
        sum(range(100_000))  # a thousand microseconds
        return meeting.wait() if meet else None

    placed.map(task, False)
    assert sorted(placed.map(task, True)) == [0, 1]  # each thread has met the other


def test_an_engine_without_shards_has_no_results():
    assert list(Threads(2).place([]).map(id)) == []


def square(x):
    return x * x


def test_results_stand_in_the_order_of_the_calls():
    calls = [(i,) for i in range(50)]
    for n_threads in (1, 2, 5):
        assert shared(n_threads, square, calls) == [i * i for i in range(50)]


def test_work_may_share_its_own_work():
    def sums(x):
        return sum(shared(2, square, [(x,), (x + 1,)]))

    for _ in range(100):
        assert shared(2, sums, [(1,), (2,), (3,)]) == [5, 13, 25]


def test_several_threads_share_their_work_at_once():
    wrong = []

    def often():
        for _ in range(300):
            if shared(3, square, [(1,), (2,), (3,)]) != [1, 4, 9]:
                wrong.append(threading.get_ident())

    threads = [threading.Thread(target=often) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(AT_LEAST)
    assert not wrong
    assert not any(thread.is_alive() for thread in threads)


@pytest.mark.parametrize("fails", [0, 1, 7])
def test_an_error_of_any_call_is_raised_and_the_next_work_is_done(fails):
    def task(i):
        time.sleep(0.0005)  # so that both threads have some
        if i == fails:
            raise ValueError(f"call {i}")
        return i

    with pytest.raises(ValueError, match=f"call {fails}"):
        shared(2, task, [(i,) for i in range(8)])
    assert shared(2, square, [(2,), (3,)]) == [4, 9]


def test_a_helper_that_fell_asleep_is_woken():
    meeting = threading.Barrier(2, timeout=AT_LEAST)
    for pause in (0.0, 0.0, 0.05, 0.05):  # the second is longer than it stays awake
        time.sleep(pause)
        shared(2, meeting.wait, [(), ()])  # each thread has met the other


def test_python_ends_while_helpers_are_still_awake():
    code = "from fenchel._system.threads import shared\nshared(4, abs, [(-1,)] * 8)"
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=AT_LEAST)
        assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no processes are forked here")
def test_a_forked_child_has_helpers_of_its_own():
    code = (
        "import os\n"
        "from fenchel._system.threads import shared\n"
        "calls = [(-1,), (-2,)]\n"
        "assert shared(2, abs, calls) == [1, 2]\n"
        "child = os.fork()\n"
        "assert shared(2, abs, calls) == [1, 2]\n"
        "if child: assert os.waitpid(child, 0)[1] == 0\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=AT_LEAST)
    assert (done.returncode, done.stderr) == (0, b"")
