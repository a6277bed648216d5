"""scikit-learn's linear one-class support vector machine.

F = nu ||w||^2 / 2 + mean of max(0, rho - <x, w>) - nu rho is our J of `NoveltyDetector` with that
nu and the strength nu. scikit-learn's documents print it divided by nu.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.linear_model import SGDOneClassSVM as Base
from sklearn.utils.metaestimators import available_if

from fenchel.errors import Incompatible, Setting
from fenchel.estimators.novelty import NoveltyDetector
from fenchel.risks.base import Array
from fenchel.sklearn.core import DropIn, Task, weights_of
from fenchel.sklearn.files import Found
from fenchel.tolerances import ROUND_OFF


def _never(estimator: Any) -> bool:
    raise AttributeError(
        f"{type(estimator).__name__} of fenchel.sklearn minimises over all rows at once and has no "
        "partial_fit; use scikit-learn's for a stream"
    )


class SGDOneClassSVM(DropIn, Base):
    """scikit-learn's SGDOneClassSVM without stochastic gradients, to a certified gap.

    The settings of stochastic descent have no effect: shuffle, learning_rate, eta0, power_t,
    average and random_state.
    """

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        y: Any = None,
        coef_init: Any = None,
        offset_init: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Minimises scikit-learn's objective to a certified gap; y and the starts are ignored."""
        self._minimise(X, self._tasks(X, y, weights_of(X, sample_weight)))
        # Rows at the margin score rho but for round-off, which is not to say which are novel.
        rho: Array = vars(self)["offset_"]
        self.offset_ = rho - ROUND_OFF * np.abs(rho)
        return self

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        if not self.fit_intercept:
            raise Incompatible(
                "without an offset w = 0 is the minimum, at which no row is novel; use ",
                Setting("intercept", True, "fit_intercept=True"),
                ", or fenchel.NoveltyDetector with a rho of your own",
            )
        model = NoveltyDetector(nu=float(self.nu), alpha=float(self.nu), **self._common())
        return [Task(self._warmed(model), None, s)]

    def _adopt(self, found: Found) -> None:
        self.coef_, self.offset_, self.n_iter_ = found.coef[0], -found.intercept, found.n_iter[0]

    @available_if(_never)
    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Not available: all rows are needed at once."""
        raise NotImplementedError
