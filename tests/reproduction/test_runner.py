"""The runner: what is run once and what again, what fails and how, what a script must have."""

import json
import math
import os
import time
from pathlib import Path

import numpy as np
import pytest

from reproduction import Check, Found, data, registry, run, solve
from reproduction.cache import Cache
from reproduction.machine import made
from reproduction.runner import Watch, make, reproduce
from reproduction.shape import Script, verdict_of


def counted(folder, name):
    """Leaves a file for each call."""
    (Path(folder) / f"{name}-{time.monotonic_ns()}").touch()
    return {"name": name, "array": np.arange(3), "history": {"gap": [0.5, 0.05], "passes": [2, 9]}}


def wrong():
    raise ValueError("no such thing")


def slow():
    time.sleep(60)


def huge():
    return {"size": len(np.ones(1 << 40))}


def killed():
    os.kill(os.getpid(), 9)


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache")


def calls(folder):
    return sorted(path.name.partition("-")[0] for path in folder.iterdir() if path.is_file())


def test_a_run_is_made_once_and_remembered(tmp_path, cache):
    a, again, b = (run(counted, folder=str(tmp_path), name=n) for n in "aab")
    first = make({"one": {1: a, 2: b}, "two": {3: again}}, cache, jobs=1)
    assert calls(tmp_path) == ["a", "b"]
    second = make({"two": {3: again}}, cache, jobs=1)
    assert calls(tmp_path) == ["a", "b"]
    assert second[a.key] == first[a.key] | {"array": [0, 1, 2]}
    assert second[a.key].made["commit"] == made()["commit"]


def test_a_run_of_other_arguments_is_another(tmp_path):
    same = run(counted, folder="x", name="a")
    assert same.key == run(counted, name="a", folder="x").key
    assert same.key != run(counted, folder="x", name="b").key
    assert same.key != run(wrong, folder="x", name="a").key
    assert same.key != run(counted, limit=5.0, folder="x", name="a").key


def test_a_file_that_was_cut_off_is_run_again(tmp_path, cache):
    a = run(counted, folder=str(tmp_path), name="a")
    make({"": {0: a}}, cache, jobs=1)
    path = next(cache.folder.iterdir())
    path.write_text(path.read_text()[:20])
    make({"": {0: a}}, cache, jobs=1)
    assert calls(tmp_path) == ["a", "a"] and json.loads(path.read_text())


def test_failures_are_told_and_the_rest_goes_on(tmp_path, cache):
    runs = {
        "wrong": run(wrong),
        "slow": run(slow, limit=1.0),
        "huge": run(huge),
        "killed": run(killed),
        "fine": run(counted, folder=str(tmp_path), name="a"),
    }
    results = make({"figure": runs}, cache, jobs=1)
    failed = {name: results[each.key].failed for name, each in runs.items()}
    assert failed["fine"] == "" and "ValueError: no such thing" in failed["wrong"]
    assert "given up after 1 s" in failed["slow"] and "memory" in failed["huge"]
    assert "died" in failed["killed"]
    assert results[runs["slow"].key].first("passes", gap=1.0) == math.inf
    kept = {name for name, each in runs.items() if cache.get(each) is not None}
    assert kept == {"slow", "huge", "killed", "fine"}  # an error may be mended


def script(name="yu10-1", **parts):
    defaults = {"runs": lambda quick: {}, "draw": lambda found: [], "verdict": lambda found: []}
    texts = (name, "Yu10", "title", "did", "claim", "here", "why")
    return Script(*texts, **(defaults | parts))


def test_a_broken_script_is_one_of_several(cache):
    def boom(*_):
        raise RuntimeError("boom")

    held = [Check("so it is", True)]
    scripts = [
        script("a", runs=boom),
        script("b", draw=boom),
        script("c", verdict=lambda found: held),
    ]
    outcomes = reproduce(scripts, cache, quick=True, jobs=1)
    assert [each.verdict for each in outcomes] == ["broken", "broken", "reproduced"]
    assert "boom" in outcomes[0].fault and "boom" in outcomes[1].fault


def test_what_there_was_no_time_for_is_unfinished(tmp_path, cache):
    runs = {1: run(counted, folder=str(tmp_path), name="a")}
    (outcome,) = reproduce(
        [script(runs=lambda quick: runs)], cache, quick=True, jobs=1, minutes=0.0
    )
    assert outcome.verdict == "unfinished" and outcome.missing == 1
    assert calls(tmp_path) == []


def test_a_script_whose_run_ends_in_an_error_is_broken(cache):
    (outcome,) = reproduce([script(runs=lambda quick: {1: run(wrong)})], cache, quick=True, jobs=1)
    assert outcome.broken and outcome.verdict == "broken"


@pytest.mark.parametrize(
    "holds, verdict",
    [((True, True), "reproduced"), ((True, False), "partly"), ((False,), "not"), ((), "not")],
)
def test_verdicts_follow_from_checks(holds, verdict):
    assert verdict_of([Check("", each) for each in holds]) == verdict


def test_the_time_left_is_that_of_runs_like_those_to_come():
    watch = Watch(["a", "a", "b", "b"], jobs=2)
    for name, seconds in (("a", 10.0), ("b", 2.0)):
        found = Found()
        found.seconds_taken = seconds
        watch.done(name, run(slow), found)
    assert watch.seconds_left == (10.0 + 2.0) / 2


def test_first_is_the_first_record_that_meets_all_limits():
    found = Found(history={"gap": [0.5, 0.05, 0.01], "objective": [3, 2, 1], "passes": [2, 5, 9]})
    assert found.first("passes", gap=0.05) == 5
    assert found.first("passes", gap=0.5, objective=1.5) == 9
    assert found.first("passes", gap=1e-9) == math.inf
    assert Found().first("passes", gap=1.0) == math.inf and not len(Found().column("gap"))


def test_every_script_has_its_parts_and_its_runs_can_be_told_apart():
    for name in registry.identifiers():
        found = registry.script(name)
        assert found.did and found.title and found.claim and found.here, name
        for quick in (True, False):
            runs = found.runs(quick)
            assert all(isinstance(each.key, str) and each.limit > 0 for each in runs.values()), name


def test_papers_come_in_order_and_figures_by_number():
    names = [name for name in registry.identifiers() if name.startswith("yu10")]
    assert names.index("yu10-3") < names.index("yu10-16") < names.index("yu10-table1")
    assert registry.chosen(["yu10"]) == names
    with pytest.raises(SystemExit, match="there is no 'yu10-99'"):
        registry.chosen(["yu10-99"])


@pytest.mark.parametrize("name", [name for name in data.SETS if data.SETS[name].kind == "binary"])
def test_random_rows_have_both_classes(name, monkeypatch):
    monkeypatch.delenv("FENCHEL_DATA", raising=False)
    data._load.cache_clear()
    assert set(data.load(name, 60).y.tolist()) == {-1.0, 1.0}
    data._load.cache_clear()


@pytest.mark.parametrize("name", ["a9a", "usps", "scene", "mq2008", "ocr_letters", "cpusmall"])
def test_without_data_there_are_random_rows_of_the_same_shape(name, monkeypatch):
    monkeypatch.delenv("FENCHEL_DATA", raising=False)
    data._load.cache_clear()
    X, y, groups = data.load(name, 40)
    assert X.shape == (40, data.SETS[name].n_features) and len(y) == 40
    assert (groups is not None) == (data.SETS[name].kind in ("queries", "sequences"))
    with pytest.raises(FileNotFoundError, match=r"fetch\.py"):
        data.load(name)
    data._load.cache_clear()


def test_solving_gives_bounds_costs_and_columns(monkeypatch):
    monkeypatch.delenv("FENCHEL_DATA", raising=False)
    data._load.cache_clear()
    found = Found(solve("a9a", "hinge", 1e-2, "bmrm", rows=60, options={"step": 1.0}, gap=1e-2))
    data._load.cache_clear()
    assert found["status"] == "converged" and found["lower_bound"] <= found["objective"]
    assert found.first("iteration", gap=1e-2) == found["iterations"] == len(found.column("gap"))
