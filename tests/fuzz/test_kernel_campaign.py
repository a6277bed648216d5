"""The campaign of kernel problems: it finds nothing, and would find a false bound."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from kernels import contradictions, drawn, main

import fenchel
from fenchel.result import Certificate


@pytest.mark.filterwarnings("ignore")
def test_no_solver_contradicts_another():
    assert main(8, 0) == 0


def test_a_problem_is_made_of_its_seed_alone():
    one, other = drawn(3), drawn(3)
    assert np.array_equal(one.X, other.X) and str(one.settings) == str(other.settings)


@pytest.mark.filterwarnings("ignore")
def test_a_false_bound_is_found(monkeypatch):
    minimize = fenchel.minimize

    def lying(problem, solver, **settings):
        result = minimize(problem, solver, **settings)
        false = Certificate(1.01 * result.objective, result.objective)
        return dataclasses.replace(result, certificate=false) if solver == "smo" else result

    monkeypatch.setattr(fenchel, "minimize", lying)
    assert any(contradictions(seed) for seed in range(6))
