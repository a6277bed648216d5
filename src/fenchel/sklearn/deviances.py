"""scikit-learn's generalised linear models: F is our J, half the mean deviance and alpha/2 ||w||^2.

Half the Tweedie deviance of exp(z) is convex in z for powers from 1 to 2. With the identity link,
its second derivative in z is (1 - p) z^-p + p y z^(-p-1) at a power p, negative at large z where
p > 1, and at small ones where p < 0: only 0 is convex, and 1, which is infinite at z < 0, where the
scores of new rows may well be. What is not convex has no lower bounds. All but 0 are refused.
"""

from __future__ import annotations

from typing import Any

from sklearn.linear_model import GammaRegressor as BaseGamma
from sklearn.linear_model import PoissonRegressor as BasePoisson
from sklearn.linear_model import TweedieRegressor as BaseTweedie

from fenchel.errors import Incompatible
from fenchel.estimators import deviances
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.regressor import Regressor
from fenchel.risks.base import Array
from fenchel.sklearn.core import DropIn, Task, with_our_solvers
from fenchel.sklearn.files import Found


class Deviance(DropIn):
    """A drop-in of a deviance."""

    def _kind(self) -> tuple[type[LinearEstimator], dict[str, Any]]:
        """The estimator of ours that minimises the deviance, and its own settings."""
        raise NotImplementedError

    def _tasks(self, X: Any, y: Any, s: Array | None) -> list[Task]:
        kind, own = self._kind()
        given = vars(self)
        model = kind(
            alpha=given["alpha"], fit_intercept=given["fit_intercept"], **own, **self._common()
        )
        return [Task(self._warmed(model), y, s)]

    def _adopt(self, found: Found) -> None:
        super()._adopt(found)
        self._base_loss = self._get_loss()  # type: ignore[attr-defined]  # scikit-learn's `predict` has its link


class PoissonRegressor(Deviance, BasePoisson):
    """scikit-learn's PoissonRegressor, to a certified gap."""

    _parameter_constraints = with_our_solvers(BasePoisson._parameter_constraints)

    def _kind(self) -> tuple[type[LinearEstimator], dict[str, Any]]:
        return deviances.PoissonRegressor, {}


class GammaRegressor(Deviance, BaseGamma):
    """scikit-learn's GammaRegressor, to a certified gap."""

    _parameter_constraints = with_our_solvers(BaseGamma._parameter_constraints)

    def _kind(self) -> tuple[type[LinearEstimator], dict[str, Any]]:
        return deviances.GammaRegressor, {}


class TweedieRegressor(Deviance, BaseTweedie):
    """scikit-learn's TweedieRegressor, to a certified gap, where its deviance is convex."""

    _parameter_constraints = with_our_solvers(BaseTweedie._parameter_constraints)

    def _kind(self) -> tuple[type[LinearEstimator], dict[str, Any]]:
        power, log = self.power, self.link == "log" or (self.link == "auto" and self.power > 0)
        if power == 0 and not log:
            return Regressor, {}
        if not log or not 1 <= power <= 2:
            fault = "not convex" if log or power != 1 else "infinite at scores below 0"
            raise Incompatible(
                f"the deviance of power={power!r} with the {'log' if log else 'identity'} link is "
                f"{fault}, so that no minimum is certified: use a power from 1 to 2 with the log "
                "link, power=0 with the identity, or scikit-learn's TweedieRegressor"
            )
        if power in (1, 2):
            return (deviances.PoissonRegressor if power == 1 else deviances.GammaRegressor), {}
        return deviances.TweedieRegressor, {"power": float(power)}
