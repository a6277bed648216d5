"""fenchel as a solver of a benchopt benchmark: copy this file into the benchmark's solvers/.

benchopt (https://benchopt.github.io) hands a solver the numbers of its objective, asks it for an
iterate now and then, and draws its own value of the objective at each of them against time. This
class serves benchmarks of the form

    minimise  sum_i l(<x_i, beta>, y_i) + lmbd * penalty(beta)

such as benchmark_logreg_l2, benchmark_logreg_l1, benchmark_lasso and benchmark_linear_svm_binary.
Set `loss` and `regularizer` to what the benchmark has, or write `problem` anew; `strength` is lmbd
over the number of rows, since fenchel's risk is a mean. With `sampling_strategy = "callback"` a
solver runs once, and its iterates are seen on the way; what fenchel proves about them, the
certified gap, ends the run, and no reference solution is needed to know that it is over.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from benchopt import BaseSolver

import fenchel

GAP = 1e-9  # certified, at which a run ends if benchopt has not ended it before


class Solver(BaseSolver):
    """Any solver of fenchel; one curve for each of those in `parameters`."""

    name = "fenchel"
    requirements: ClassVar = ["pip::fenchel"]
    references: ClassVar = ["https://pypi.org/project/fenchel/"]
    sampling_strategy = "callback"
    parameters: ClassVar = {"solver": ["auto"], "loss": ["logistic"], "regularizer": ["l2"]}

    def set_objective(self, X: Any, y: Any, lmbd: float, **more: Any) -> None:
        """What the benchmark's objective hands over; fit_intercept where it has one."""
        self.problem = fenchel.problem(
            X,
            y,
            loss=self.loss,
            regularizer=self.regularizer,
            strength=lmbd / X.shape[0],
            intercept=bool(more.get("fit_intercept", False)),
        )
        self.w = np.zeros(self.problem.risk.n_parameters)

    def skip(self, **objective: Any) -> tuple[bool, str | None]:
        """Passes over what the solver cannot do, with the reason that fenchel gives."""
        try:
            self.set_objective(**objective)
            fenchel.solvers.chosen(self.solver, self.problem)
        except fenchel.FenchelError as error:
            return True, str(error)
        return False, None

    def run(self, callback: Any) -> None:
        """Minimises, and shows each iterate to benchopt until it has seen enough."""

        def watched(record: fenchel.Record) -> bool:
            self.w, self.intercept = record.w, record.intercept
            return not callback()

        if callback():  # the start
            fenchel.minimize(self.problem, self.solver, gap=GAP, callback=watched, verify=False)

    def get_result(self) -> dict[str, Any]:
        """The last iterate, with its intercept at the end if the benchmark asks for one."""
        if not self.problem.risk.facts.has_intercept:
            return {"beta": self.w}
        return {"beta": np.append(self.w, getattr(self, "intercept", 0.0))}
