"""`fenchel race`: the table, the JSON, the page, and what is refused."""

import json

import numpy as np
import pytest


@pytest.fixture
def rows(tmp_path):
    rng = np.random.default_rng(0)
    lines = []
    for _ in range(80):
        x = rng.normal(size=4)
        label = 1 if x[0] + 0.3 * rng.normal() > 0 else -1
        lines.append(f"{label} " + " ".join(f"{j + 1}:{v:.4f}" for j, v in enumerate(x)))
    path = tmp_path / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_table_says_what_each_proved_and_who_was_first(run, rows):
    done = run(
        "race", rows, "--strength", "1e-2", "--solvers", "bmrm,bmrm:step=1,auto", "--plot", "r.html"
    )
    assert done.code == 0
    standings, first = done.out.split("\n\n")
    assert [line.split()[0] for line in standings.splitlines()] == [
        "solver",
        "bmrm",
        "bmrm:step=1",
        "auto",
    ]
    assert first.splitlines()[0].split()[0] == "gap"
    assert first.splitlines()[1].startswith("0.1 ")
    assert (rows.parent / "r.html").stat().st_size > 10_000


def test_json_has_the_same(run, rows):
    done = run("race", rows, "--strength", "1e-2", "--gap", "1e-2", "--json", "--quiet")
    report = json.loads(done.out)
    names = [each["solver"] for each in report["solvers"]]
    assert {"bmrm", "sdca"} <= set(names) and "lbfgs" not in names
    assert report["lower_bound"] <= report["objective"]
    assert report["first"][0]["fewest_passes"] in names


def test_a_solver_that_falls_short_is_no_success(run, rows):
    done = run("race", rows, "--solvers", "bmrm,auto", "--max-iterations", "1")
    assert done.code == 4 and "max iterations" in done.out


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--solvers", "bmrn"], "did you mean"),
        (["--solvers", "bmrm,bmrm"], "twice"),
        (["--solvers", "bmrm:steps=1"], "no 'steps'"),
        (["--solvers", "lbfgs"], "differentiable"),
        (["--solvers", ","], "name one"),
        (["--loss", "crf"], "use train"),
        (["--plot", "race.txt"], "must end in one of"),
    ],
)
def test_what_cannot_end_well_is_refused(run, rows, arguments, words):
    done = run("race", rows, *arguments)
    assert done.code == 2 and words in done.err


def test_three_classes_each_against_the_rest_are_no_race(run, tmp_path):
    path = tmp_path / "three.svm"
    path.write_text("1 1:1\n2 2:1\n3 1:1 2:1\n")
    done = run("race", path, "--solvers", "bmrm")
    assert done.code == 2 and "multiclass_hinge" in done.err
