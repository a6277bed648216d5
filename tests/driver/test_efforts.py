"""What records tell of a step beside its bounds: nonzeros, evaluations, inner loops, length."""

import numpy as np
import pytest

import fenchel
from fenchel.result import OLD_FIELDS, Record, record_of

SOLVERS = ["sublbfgs", "bmrm", "ls-bmrm", "owlqn", "owlqn-star", "kt-split", "lbfgs", "newton-cg"]


@pytest.fixture(scope="module")
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 12))
    return X, np.sign(X @ rng.normal(size=12) + 0.5 * rng.normal(size=200))


def posed(rows: tuple[np.ndarray, np.ndarray], solver: str) -> fenchel.Problem:
    loss = "hinge" if solver in ("sublbfgs", "bmrm", "ls-bmrm") else "logistic"
    penalty = "l1" if solver in ("owlqn", "owlqn-star", "kt-split") else "l2"
    return fenchel.problem(*rows, loss=loss, regularizer=penalty, strength=0.02)


@pytest.mark.parametrize("solver", SOLVERS)
def test_nonzeros_are_those_of_the_best_w(rows, solver) -> None:
    seen: list[tuple[int, int]] = []
    fenchel.minimize(
        posed(rows, solver),
        solver,
        max_iterations=20,
        callback=lambda record: seen.append((record.nonzeros, np.count_nonzero(record.w))),
    )
    assert seen and all(told == counted for told, counted in seen)


@pytest.mark.parametrize("solver", SOLVERS)
def test_evaluations_add_up_and_steps_have_lengths(rows, solver) -> None:
    history = fenchel.minimize(posed(rows, solver), solver, gap=1e-6, max_iterations=50).history
    evaluations = [record.evaluations for record in history]
    assert evaluations == sorted(evaluations) and evaluations[0] == 0
    assert (evaluations[-1] > 0) == (solver != "bmrm")  # which searches nothing
    assert history[0].step == 0 and history[0].inner == 0
    assert (max(record.step for record in history) > 0) == (solver != "kt-split")
    counted = solver in ("sublbfgs", "owlqn-star", "kt-split", "newton-cg")
    assert (sum(record.inner for record in history) > 0) == counted


def test_inner_iterations_are_the_steps_of_algorithm_2(rows) -> None:
    problem = posed(rows, "sublbfgs")
    few = fenchel.minimize(problem, fenchel.solver("sublbfgs", k_max=1), max_iterations=40)
    assert {record.inner for record in few.history[1:]} <= {1, 2}  # 2: again, without memory


def test_a_resumed_run_counts_on(rows, tmp_path) -> None:
    def run(name: str, iterations: int) -> list[Record]:
        problem = posed(rows, "sublbfgs")
        result = fenchel.minimize(
            problem, "sublbfgs", gap=1e-9, max_iterations=iterations, checkpoint=tmp_path / name
        )
        return [record._replace(seconds=0.0, passes=0) for record in result.history]

    run("stopped", 16)
    assert run("stopped", 40) == run("whole", 40)


def test_a_record_of_an_earlier_version_is_read() -> None:
    line = [3.0, 0.5, 0.4, 0.2, 7.0, 0.1, 0.0, 9.0, 12.0, 2.0, 0.25]
    record = record_of(line)
    assert record == Record(3, 0.5, 0.4, 0.2, 7, 0.1, 0, 9, 12, 2, 0.25)
    assert isinstance(record.evaluations, int)
    assert record_of(line[:OLD_FIELDS]) == (*record[:OLD_FIELDS], 0, 0, 0, 0.0)
