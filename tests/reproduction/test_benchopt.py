"""benchmarks/benchopt_solver.py in a benchmark of benchopt, where that is installed."""

import shutil
from pathlib import Path

import pytest

OBJECTIVE = """
import numpy as np
from benchopt import BaseObjective


class Objective(BaseObjective):
    name = "logistic regression"
    min_benchopt_version = "1.5"

    def set_data(self, X, y):
        self.X, self.y, self.lmbd = X, y, 0.5

    def get_objective(self):
        return dict(X=self.X, y=self.y, lmbd=self.lmbd)

    def evaluate_result(self, beta):
        loss = np.logaddexp(0, -self.y * (self.X @ beta)).sum()
        return dict(value=loss + self.lmbd * (beta @ beta) / 2)

    def get_one_result(self):
        return dict(beta=np.zeros(self.X.shape[1]))
"""
DATASET = """
import numpy as np
from benchopt import BaseDataset


class Dataset(BaseDataset):
    name = "simulated"

    def get_data(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(80, 5))
        return dict(X=X, y=np.sign(X @ rng.normal(size=5) + rng.normal(size=80)))
"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # benchopt's own
def test_fenchel_takes_part_in_a_benchmark(tmp_path, monkeypatch):
    runner = pytest.importorskip("benchopt.runner", reason="needs benchopt, which CI has not")
    import pandas as pd

    import fenchel

    folder = tmp_path / "benchmark_small"
    for part in ("datasets", "solvers"):
        (folder / part).mkdir(parents=True)
    (folder / "objective.py").write_text(OBJECTIVE)
    (folder / "datasets" / "simulated.py").write_text(DATASET)
    ours = Path(__file__).parents[2] / "benchmarks" / "benchopt_solver.py"
    shutil.copy(ours, folder / "solvers" / "fenchel.py")
    monkeypatch.chdir(tmp_path)
    done = runner.run_benchmark(
        str(folder),
        solver_names=["fenchel[solver=lbfgs]"],
        max_runs=50,
        n_repetitions=1,
        plot_result=False,
        display=False,
        show_progress=False,
    )
    curve = pd.read_parquet(done)["objective_value"]
    scope: dict = {}
    exec(DATASET, scope)
    problem = fenchel.problem(**scope["Dataset"]().get_data(), loss="logistic", strength=0.5 / 80)
    least = fenchel.minimize(problem, gap=1e-8).lower_bound * 80
    assert least <= curve.min() <= least * (1 + 1e-6)
