"""A run as it happens: records with their iterate, logging, and what notebooks and prompts show."""

from __future__ import annotations

import dataclasses
import logging

import numpy as np
import pandas as pd
import pytest

import fenchel

RNG = np.random.default_rng(1)
X = RNG.normal(size=(80, 3))
Y = np.where(X @ np.ones(3) + RNG.normal(size=80) > 0, 1.0, -1.0)


@pytest.mark.parametrize("solver", ["bmrm", "lbfgs", "newton"])
@pytest.mark.parametrize("loss", ["logistic", "softmax"])
def test_a_callback_sees_the_w_whose_objective_the_record_has(solver, loss):
    problem = fenchel.problem(X, Y, loss=loss, strength=1e-2)
    if solver == "newton" and loss == "softmax":
        solver = "newton-cg"
    seen = []

    def watch(record):
        w = problem.risk.flattened(np.array(record.w), record.intercept)
        assert problem.objective(problem.risk.at(w)) == pytest.approx(record.objective, rel=1e-12)
        seen.append((record.w, record.intercept))

    result = fenchel.minimize(problem, solver, callback=watch)
    assert len(seen) == result.iterations
    assert np.array_equal(seen[-1][0], result.w)
    assert np.array_equal(seen[-1][1], result.intercept)


def test_the_iterate_is_no_copy_and_cannot_be_written_to():
    def watch(record):
        assert not record.w.flags.owndata
        with pytest.raises(ValueError, match="read-only"):
            record.w[0] = 1.0

    problem = fenchel.problem(X, Y, strength=1e-2, intercept=True)
    watched = fenchel.minimize(problem, "bmrm", callback=watch)
    alone = fenchel.minimize(problem, "bmrm")
    assert np.array_equal(watched.w, alone.w) and watched.iterations == alone.iterations


def test_a_history_keeps_no_iterates():
    record = fenchel.minimize(fenchel.problem(X, Y), callback=lambda _: None).history[0]
    assert type(record) is fenchel.Record and not hasattr(record, "w")
    with pytest.raises(AttributeError, match="a history keeps no w"):
        record.intercept  # noqa: B018 - the look is the test


def test_the_logger_says_nothing_unless_asked(caplog, capfd):
    fenchel.minimize(fenchel.problem(X, Y), "bmrm")
    assert not caplog.records and capfd.readouterr() == ("", "")


def test_the_logger_says_when_a_run_begins_and_ends(caplog):
    with caplog.at_level(logging.INFO, logger="fenchel"):
        result = fenchel.minimize(fenchel.problem(X, Y), "bmrm")
    first, last = (record.getMessage() for record in caplog.records)
    assert (
        first.startswith("minimising Problem(Hinge() + 0.0001 * L2(): 80 rows") and "bmrm" in first
    )
    assert last == repr(result)


def test_the_logger_says_each_iteration_if_asked(caplog):
    with caplog.at_level(logging.DEBUG, logger="fenchel"):
        result = fenchel.minimize(fenchel.problem(X, Y), "bmrm")
    lines = [each.getMessage() for each in caplog.records if each.levelno == logging.DEBUG]
    assert len(lines) == result.iterations and lines[0].startswith("iteration 1: ")


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        ("hinge", "Problem(Hinge() + 0.01 * L2(): 80 rows, 3 parameters)"),
        (
            "nu_hinge",
            "Problem(NuHinge(nu=0.5) + 0.01 * L2(): 80 rows, 3 parameters, with an intercept)",
        ),
        ("roc", "Problem(ROC() + 0.01 * L2(): 80 rows, 3 parameters)"),
    ],
)
def test_a_problem_says_what_it_is(loss, said):
    problem = fenchel.problem(X, Y, loss=loss, strength=1e-2)
    assert repr(problem) == said
    assert "<table>" in problem._repr_html_() and " at 0x" not in problem._repr_html_()


def test_notebooks_show_tables_in_which_names_are_text():
    problem = fenchel.problem(X, Y)
    result = fenchel.minimize(problem)
    named = dataclasses.replace(result, reason="<script>")
    assert "&lt;script&gt;" in named._repr_html_() and "<script>" not in named._repr_html_()
    html = fenchel.path(problem, [1e-1, 1e-3])._repr_html_()
    assert html.count("<tr>") == 3 and "converged" in html


def test_column_names_are_kept():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    path = fenchel.path(fenchel.problem(frame, Y), [1e-1, 1e-3])
    assert path.feature_names == path[0].feature_names == path[:1].feature_names == ("a", "b", "c")
    assert fenchel.path(fenchel.problem(X, Y), [1e-1]).feature_names is None


@pytest.mark.parametrize("strength", [np.float64(1e-3), np.float32(1e-3), np.int64(1), 1])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_a_strength_may_be_any_number(strength, regularizer):
    problem = fenchel.problem(X, Y, loss="squared_error", regularizer=regularizer)
    changed = dataclasses.replace(problem, strength=strength)
    assert type(changed.strength) is float
    assert fenchel.minimize(changed).converged


def test_a_strength_must_be_one():
    problem = fenchel.problem(X, Y)
    with pytest.raises(fenchel.InvalidData, match="strength"):
        dataclasses.replace(problem, strength="1")
