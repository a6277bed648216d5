"""`summary` of estimators whose loss is a likelihood: errors of what an unpenalised fit found.

A penalty moves estimates towards 0 by an amount that the data do not tell, so that no interval
around a penalised one covers the truth as often as it says, and of coefficients that a penalty has
set to 0 or has chosen the usual errors are wrong altogether. So a summary is one of `penalty=None`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from fenchel.data.checked import checked_labels, checked_offset, checked_weights
from fenchel.data.classes import Targets
from fenchel.data.rows import DenseRows
from fenchel.data.shards import cut
from fenchel.errors import Incompatible, InvalidData
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.fitting import Fit
from fenchel.estimators.settings import in_these_words
from fenchel.inference.covariance import Design
from fenchel.inference.families import Family, family_of
from fenchel.inference.likelihood import COVARIANCES, Asked, Data, summarised
from fenchel.inference.multinomial import summarised_classes
from fenchel.inference.summary import Summary
from fenchel.losses import Logistic, Loss, Softmax
from fenchel.posing import posed
from fenchel.regularizers import L2
from fenchel.risks.base import Array

_WEIGHTS = ("precision", "frequency")


class WithSummary(LinearEstimator):
    """A linear model whose estimates have errors, where its loss is a likelihood."""

    classes_: npt.NDArray[Any]

    @in_these_words()
    def summary(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        offset: Any = None,
        *,
        covariance: str = "model",
        weights: str = "precision",
        level: float = 0.95,
    ) -> Summary:
        """Standard errors, tests, intervals and likelihoods of a fit without a penalty.

        X, y, `sample_weight` and `offset` are those that were fitted: a model keeps no data.
        `covariance` is "model", which is right where the model is, or robust: "HC0" or "HC1".
        `weights` says what sample weights mean: "precision", a row's variance is the dispersion
        over its weight; or "frequency", it stands for so many rows. `level` is that of intervals.
        """
        check_is_fitted(self)
        if not hasattr(self, "coef_"):
            raise Incompatible("a summary is one of coefficients, of which a kernel has none")
        fit = self._settings()
        family = _family(self, fit)
        _check_choice("covariance", covariance, tuple(COVARIANCES))
        _check_choice("weights", weights, _WEIGHTS)
        if not (isinstance(level, float) and 0 < level < 1):
            raise InvalidData(f"level must be a number between 0 and 1; got {level!r}")
        if offset is not None and not self._takes_offset:
            raise Incompatible(f"{type(self).__name__} has no offsets of rows: leave them out")
        data = self._summary_data(fit, X, y, sample_weight, offset, weights == "frequency")
        coef, b = np.atleast_2d(self.coef_), np.reshape(self.intercept_, (-1, 1))
        theta = np.hstack([coef, b]) if fit.intercept else coef
        asked = Asked(covariance, level, self.gap_)
        if len(theta) > 1:
            classes = [str(label) for label in self.classes_]
            return summarised_classes(data, data.y.astype(np.intp), theta, classes, asked)
        return summarised(data, family, theta[0], asked, _null_loss(family.loss, fit, data))

    def _summary_data(
        self, fit: Fit, X: Any, y: Any, sample_weight: Any, offset: Any, frequencies: bool
    ) -> Data:
        rows = self._rows(X, reset=False)
        n = rows.n_rows
        given = checked_weights(sample_weight, n)
        labels, s = self._summary_labels(fit, y, n, np.ones(n) if given is None else given)
        added = checked_offset(offset, n)
        known = self._column_names(None)
        names = [f"x{j}" for j in range(rows.n_columns)] if known is None else list(map(str, known))
        return Data(
            design=Design(cut(rows, labels, None), fit.intercept),
            y=labels,
            s=s,
            offset=np.zeros(n) if added is None else added,
            names=[*names, "intercept"] if fit.intercept else names,
            frequencies=frequencies,
        )

    def _summary_labels(self, fit: Fit, y: Any, n: int, s: Array) -> tuple[Array, Array]:
        """The labels as the loss takes them, and the weights of rows."""
        return checked_labels(self._target(y), fit.loss.labels, n), s


def _family(model: LinearEstimator, fit: Fit) -> Family:
    """The family of the model's loss, if all that a summary needs is there.

    Softmax of two classes is the logistic loss of their scores' difference.
    """
    family = family_of(Logistic() if isinstance(fit.loss, Softmax) else fit.loss)
    if family is None:
        raise Incompatible(
            f"{fit.loss!r} is no likelihood, so that its estimates have no errors that a summary "
            "could tell: those of squared_error, logistic, softmax, poisson, gamma and tweedie have"
        )
    if fit.strength > 0 or type(fit.regularizer) is not L2:
        raise Incompatible(
            "a summary is one of estimates without a penalty and without bounds: those of others "
            "are biased by as much as nobody knows, so that no interval around them means what it "
            "says; fit with penalty=None",
        )
    if model.status_ != "converged":
        raise InvalidData(
            f"the fit ended {model.status_!r}, not at a minimum, around which errors are known"
        )
    return family


def _check_choice(name: str, value: object, able: tuple[str, ...]) -> None:
    if value not in able:
        raise InvalidData(f"{name} must be one of {', '.join(able)}; got {value!r}")


def _null_loss(loss: Loss, fit: Fit, data: Data) -> float:
    """The least mean loss of an intercept alone, with the rows' offsets."""
    zeros: npt.NDArray[np.float64] = np.zeros((len(data.y), 1))
    problem = posed(
        DenseRows(zeros),
        Targets(data.y),
        data.s,
        loss=loss,
        regularizer=L2(),
        strength=0.0,
        intercept=True,
        engine=fit.engine,
        offset=data.offset if np.any(data.offset) else None,
    )
    return problem.risk.at(np.zeros(1)).value
