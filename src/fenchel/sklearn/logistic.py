"""scikit-learn's logistic regression: of two classes, or of several at once (softmax).

F = ||w||^2 / 2 + C sum_i s_i l_i,  or  rho ||w||_1 + (1 - rho)/2 ||w||^2  in place of the first:
f = C S. The intercept is not penalised; with solver="liblinear" it is, see biased.py.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression as Base
from sklearn.utils.validation import _num_samples

from fenchel.data.checked import checked_classes
from fenchel.estimators.classifier import Classifier, check_discrete
from fenchel.risks.base import Array
from fenchel.sklearn.biased import BiasedClassifier
from fenchel.sklearn.core import DropIn, Task, penalty_of, total, with_our_solvers
from fenchel.sklearn.files import Found


class LogisticRegression(DropIn, Base):
    """scikit-learn's LogisticRegression, to a certified gap.

    Any penalty goes with any solver. The names of scikit-learn's solvers mean `solver="auto"` of
    `fenchel.Classifier`; "liblinear" has its penalised intercept.
    """

    _parameter_constraints = with_our_solvers(Base._parameter_constraints)

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        target, classes, s = weighed(X, y, s, self.class_weight)
        ratio, C = self._share(), self._inverse_strength()
        task = logistic_task(self, X, target, s, len(classes), C, ratio)
        self.classes_ = classes
        return [task]

    def _share(self) -> float:
        """The share of L1."""
        named = {"l1": 1.0, "l2": 0.0, None: 0.0}
        ratio = self.l1_ratio or 0.0
        return float(named.get(getattr(self, "penalty", "deprecated"), ratio))

    def _inverse_strength(self) -> float:
        """C, infinite without a penalty."""
        return math.inf if getattr(self, "penalty", "") is None else float(self.C)

    def _bias(self) -> float | None:
        penalised = self.solver == "liblinear" and self.fit_intercept
        return float(self.intercept_scaling) if penalised else None

    def _keep(self, tasks: list[Task]) -> None:
        super()._keep(tasks)
        # A softmax does not change when all scores move together; nor does a penalty, if none is.
        if len(self.coef_) > 1:
            self.intercept_ = self.intercept_ - self.intercept_.mean()
            if math.isinf(self._inverse_strength()):
                self.coef_ = self.coef_ - self.coef_.mean(axis=0)

    def _adopt(self, found: Found) -> None:
        self.coef_, self.intercept_ = found.coef, found.intercept
        self.n_iter_ = np.array(found.n_iter[:1], dtype=np.int32)


def weighed(
    X: Any, y: Any, s: Array | None, class_weight: Any
) -> tuple[npt.NDArray[Any], npt.NDArray[Any], Array | None]:
    """The targets, their classes, and the weights of rows times those of their classes."""
    model = Classifier(class_weight=class_weight)
    target = model._target(y)
    classes, codes = checked_classes(target, _num_samples(X))
    check_discrete(classes)
    return target, classes, model._weights(s, classes, codes)


def logistic_task(
    self: Any, X: Any, y: Any, s: Array | None, n_classes: int, C: float, ratio: float
) -> Task:
    """The minimisation that fits classes at one C and one share of L1."""
    liblinear = self.solver == "liblinear"
    if liblinear and n_classes > 2:
        raise ValueError(
            "The 'liblinear' solver does not support multiclass classification (n_classes >= 3). "
            "Use another solver, or OneVsRestClassifier"
        )
    f = C * total(X, s)
    model = BiasedClassifier(
        loss="logistic" if n_classes == 2 else "softmax",
        penalty=penalty_of(ratio),
        l1_ratio=ratio,
        alpha=1 / f,
        fit_intercept=self.fit_intercept and not liblinear,
        bias=self._bias(),
        **self._common(),
    )
    return Task(self._warmed(model), y, s, f if math.isfinite(f) else total(X, s))
