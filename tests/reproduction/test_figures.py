"""Every script of reproduction/figures: it bears runs that failed, and its texts are there."""

import math

import pytest

from reproduction import Found
from reproduction.compare import Tally
from reproduction.contest import contest, took
from reproduction.registry import REASONS, identifiers, script
from reproduction.toys import trajectory

TOYS = ("yu10-2", "yu10-3", "yu10-23", "yu10-24", "yu10-25")  # they run in milliseconds


def parts(name):
    """The figure, and the experiment that shows why its claim does not hold."""
    figure = script(name)
    return [each for each in (figure, figure.reason) if each is not None]


@pytest.mark.parametrize("name", [name for name in identifiers() if name not in TOYS])
def test_a_figure_is_drawn_and_judged_where_all_runs_failed(name):
    for each in parts(name):
        found = {key: Found() for key in each.runs(True)}
        assert each.draw(found) is not None
        checks = each.verdict(found)
        assert checks and all(isinstance(check.statement, str) for check in checks)


@pytest.mark.parametrize("name", identifiers())
def test_runs_can_be_remembered_and_the_whole_has_all_that_is_quick(name):
    for each in parts(name):
        quick, full = each.runs(True), each.runs(False)
        assert len({run.key for run in quick.values()}) == len(quick) <= len(full)


def test_every_experiment_belongs_to_a_figure():
    files = {path.stem.replace("_", "-") for path in REASONS.glob("[!_]*.py")}
    assert files == {name for name in identifiers() if script(name).reason is not None}


def test_a_contest_says_who_came_how_near():
    rivals = {"bundle": ("ls-bmrm", {}), "slow": ("subgd", {})}
    found = Found(contest("a9a", "hinge", 1e-2, rivals, rows=200, iterations=40))
    for name, told in found["rivals"].items():
        near = told["objective"] <= 1.02 * found["objective"]
        assert told["reached"] == near == math.isfinite(took(found, name, "passes"))
    assert found["gap"] <= 1e-3 and found["rivals"]["bundle"]["reached"]


def history(passes, objective):
    return {"objective": min(objective), "history": {"passes": passes, "objective": objective}}


def test_a_tally_counts_those_who_arrive():
    ours, other = history([2, 4], [2.0, 1.0]), history([2, 4, 12], [3.0, 2.0, 1.01])
    lost = history([2], [3.0])
    found = {
        ("a", 0.1): Found(objective=1.0, rivals={"ours": ours, "other": other}),
        ("b", 0.1): Found(objective=1.0, rivals={"ours": lost, "other": lost}),
    }
    tally = Tally(found)
    assert tally.wins("ours", "other") == [("a", 0.1)]
    assert tally.alike("ours", "other") == [("a", 0.1)] and tally.lead("ours", "other") == 3
    assert not tally.check("all", "ours", "other").holds


def test_a_toy_is_followed_to_its_end():
    way = trajectory("valley", "subbfgs", {"finding": "none", "b0": "identity"}, [1.0, 1.0])
    assert way["ended"] and way["objective"] == pytest.approx([11.0, 0.9])
