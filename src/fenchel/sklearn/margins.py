"""scikit-learn's linear support vector machines, as liblinear has them.

F = ||(w, v)||^2 / 2 + C sum_i s_i l_i, with an intercept b = a v that is penalised (see biased.py),
or the 1-norm. Squares of hinges and of epsilon-insensitive errors have no half there, ours have:
f = 2 C S with them, else f = C S.

Of three or more classes one against the rest, liblinear gives the rows of a class the weight of
that class, and all others the weight 1. Of two classes, and with "crammer_singer", each row has the
weight of its class.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import LinearSVC as BaseSVC
from sklearn.svm import LinearSVR as BaseSVR

from fenchel.risks.base import Array
from fenchel.sklearn.biased import BiasedClassifier, BiasedRegressor
from fenchel.sklearn.core import DropIn, Task, total
from fenchel.sklearn.files import Found
from fenchel.sklearn.logistic import weighed


class Liblinear(DropIn):
    """A drop-in whose intercept is penalised, and whose sums count C."""

    C: float
    fit_intercept: bool
    intercept_scaling: float

    def _bias(self) -> float | None:
        return float(self.intercept_scaling) if self.fit_intercept else None

    def _task(self, kind: Any, X: Any, y: Any, s: Array | None, loss: str, **more: Any) -> Task:
        f = float(self.C) * total(X, s) * (2 if loss.startswith("squared") else 1)
        settings = {"alpha": 1 / f, "fit_intercept": False, "bias": self._bias(), **self._common()}
        return Task(kind(loss=loss, **settings, **more), y, s, f)


class LinearSVC(Liblinear, BaseSVC):
    """scikit-learn's LinearSVC, to a certified gap.

    `dual` has no effect, nor has `random_state`: any penalty goes with any loss.
    """

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        target, classes, weights = weighed(X, y, s, self.class_weight)
        self.classes_ = classes
        together = self.multi_class == "crammer_singer"
        loss = "multiclass_hinge" if together else self.loss
        penalty = "l2" if together else self.penalty
        if together or len(classes) == 2 or self.class_weight is None:
            return [self._task(BiasedClassifier, X, target, weights, loss, penalty=penalty)]
        tasks = []
        for label in classes:
            inside = target == label
            own = np.where(inside, weights if weights is not None else 1.0, 1.0 if s is None else s)
            tasks.append(self._task(BiasedClassifier, X, inside, own, loss, penalty=penalty))
        return tasks

    def _adopt(self, found: Found) -> None:
        self.coef_ = found.coef
        self.intercept_ = found.intercept if self.fit_intercept else 0.0
        self.n_iter_ = max(found.n_iter)


class LinearSVR(Liblinear, BaseSVR):
    """scikit-learn's LinearSVR, to a certified gap; `dual` and `random_state` have no effect."""

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        return [self._task(BiasedRegressor, X, y, s, self.loss, epsilon=self.epsilon)]

    def _adopt(self, found: Found) -> None:
        super()._adopt(found)
        self.intercept_ = found.intercept if self.fit_intercept else 0.0
