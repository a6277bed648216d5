"""Problems on which bounds were false, runs failed or did not end: none of that happens again."""

from __future__ import annotations

import warnings

import pytest
from draws import draw, posed
from judging import judged
from known import KNOWN

import fenchel

# Those that were wrong, and bmrm to judge them. A campaign takes all solvers and more iterations.
SOLVERS = ["bmrm", "ls-bmrm", "sublbfgs", "subbfgs", "subgd", "hybrid", "fista", "agm-inf", "agm-1"]
SOLVERS.append("pegasos")


@pytest.mark.parametrize("name", KNOWN)
def test_what_was_once_wrong_is_right(name):
    drawn = draw(-1 - list(KNOWN).index(name))
    drawn.limits["max_iterations"] = 30
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        problem = posed(drawn)
        assert isinstance(problem, fenchel.Problem)
        runs = judged(problem, drawn, SOLVERS)
    assert any(run.outcome != "refused" for run in runs)
    assert [fault for run in runs for fault in run.faults] == []


# Of the campaign's random problems those whose runs ended in raw errors, with the solver.
RANDOM = {25005092: "newton-cg", 25006587: "pdhg", 25009690: "pdhg", 26000006: "agm-inf"}


@pytest.mark.parametrize("seed", RANDOM)
def test_random_problems_that_ended_in_raw_errors_do_not_any_more(seed):
    drawn = draw(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (run,) = judged(posed(drawn), drawn, [RANDOM[seed]])
    assert run.outcome not in ("refused", "raw") and run.faults == []
