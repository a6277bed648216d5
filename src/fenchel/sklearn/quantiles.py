"""scikit-learn's quantile regression: F is our J with the 1-norm.

It has no tolerance: its linear programmes are solved as far as round-off allows, and so is J. With
alpha = 0 it is that of a very small alpha, to a gap of the same size: a linear programme whose
solution is unique keeps it when its costs change by little enough.
"""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import QuantileRegressor as Base

from fenchel.estimators import regressor
from fenchel.risks.base import Array
from fenchel.sklearn.core import NEARLY_ZERO, DropIn, Task, with_our_solvers


class QuantileRegressor(DropIn, Base):
    """scikit-learn's QuantileRegressor, to a certified gap; `solver_options` have no effect."""

    _parameter_constraints = with_our_solvers(Base._parameter_constraints)

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        settings = self._common()
        if self.alpha == 0:
            settings["tol"] = NEARLY_ZERO
        model = regressor.QuantileRegressor(
            penalty="l1",
            alpha=float(self.alpha) or NEARLY_ZERO,
            quantile=float(self.quantile),
            fit_intercept=self.fit_intercept,
            **settings,
        )
        return [Task(model, y, s)]
