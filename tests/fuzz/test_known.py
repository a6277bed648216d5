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
