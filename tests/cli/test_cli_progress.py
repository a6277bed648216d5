"""Progress: the pace of a run, and numbers in few words."""

from __future__ import annotations

import math

import pytest
from commands import Command, svmlight

import fenchel
from fenchel.cli.progress import Pace
from fenchel.cli.terminal import count, duration, size


def record(iteration: int, gap: float, seconds: float) -> fenchel.Record:
    return fenchel.Record(iteration, 1.0, 1.0 - gap, gap, 2 * iteration, seconds)


def test_the_time_left_is_exact_for_a_gap_that_falls_at_a_steady_rate() -> None:
    pace = Pace(gap=1e-6, n_rows=1000)
    for k in range(1, 31):
        pace.add(record(k, 10 ** (-k / 10), 0.5 * k))
    assert pace.seconds_left == pytest.approx(15)
    assert pace.rows_per_second == pytest.approx(4 * 1000)
    assert pace.share == pytest.approx((3 - 0.1) / (6 - 0.1))


def test_a_gap_that_does_not_fall_has_no_time_left() -> None:
    pace = Pace(gap=1e-6, n_rows=1000)
    assert pace.seconds_left == math.inf and pace.share == 0
    for k in range(1, 9):
        pace.add(record(k, 0.5, 0.5 * k))
    assert pace.seconds_left == math.inf


def test_a_record_that_counts_from_the_start_begins_the_next_run() -> None:
    pace = Pace(gap=1e-6, n_rows=10, n_runs=2)
    for k in (1, 2, 1):
        pace.add(record(k, 0.5, 1.0))
    assert pace.run == 2


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.256, "0.26 s"), (42.2, "42 s"), (59.9, "60 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (0.4, "0"),
        (812, "812"),
        (999.6, "1.0 k"),
        (2140, "2.1 k"),
        (9960, "10 k"),
        (35.4e6, "35 M"),
        (1.25e12, "1250 G"),
    ],
)
def test_counts_in_few_letters(number: float, words: str) -> None:
    assert count(number) == words


@pytest.mark.parametrize("name", ["d.svm", "d.store"])
@pytest.mark.usefixtures("clock")
def test_progress_shows_how_many_rows_a_second_are_seen(run: Command, name: str) -> None:
    svmlight("d.svm")
    run("convert", "d.svm", "d.store")
    done = run("train", name, "-o", "m", "--loss", "logistic", "--engine", "serial", "--json")
    lines = done.err.splitlines()
    at = next(k for k, line in enumerate(lines) if "rows/s" in line)
    ends = {title: lines[at].index(title) + len(title) for title in ("passes", "rows/s")}
    passes = int(lines[at + 1][: ends["passes"]].split()[-1])
    shown = lines[at + 1][ends["passes"] : ends["rows/s"]].strip()
    assert shown == count(200 * passes)  # in the first iteration, of a second


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(812, "812 bytes"), (2140, "2.14 kB"), (35_000_000, "35 MB")]
)
def test_sizes_in_words(n_bytes: int, words: str) -> None:
    assert size(n_bytes) == words
