"""Which work is shared among threads: never what it is, only who does it."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

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
        time.sleep(0.001)
        return meeting.wait() if meet else None

    placed.map(task, False)
    assert sorted(placed.map(task, True)) == [0, 1]  # each thread has met the other


def test_an_engine_without_shards_has_no_results():
    assert list(Threads(2).place([]).map(id)) == []
