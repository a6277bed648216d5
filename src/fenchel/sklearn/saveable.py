"""The drop-in estimators that a model file may hold, by their names.

What cross-validation found is saved as its best_estimator_.
"""

from __future__ import annotations

from typing import Any

from fenchel.sklearn.deviances import GammaRegressor, PoissonRegressor, TweedieRegressor
from fenchel.sklearn.huber import HuberRegressor
from fenchel.sklearn.logistic import LogisticRegression
from fenchel.sklearn.margins import LinearSVC, LinearSVR
from fenchel.sklearn.one_class import SGDOneClassSVM
from fenchel.sklearn.quantiles import QuantileRegressor
from fenchel.sklearn.squares import ElasticNet, Lasso, Ridge

DROP_INS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        LogisticRegression,
        LinearSVC,
        LinearSVR,
        Lasso,
        ElasticNet,
        Ridge,
        QuantileRegressor,
        PoissonRegressor,
        GammaRegressor,
        TweedieRegressor,
        HuberRegressor,
        SGDOneClassSVM,
    )
}
