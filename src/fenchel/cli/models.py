"""Model files, as the commands that use them see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fenchel
from fenchel.cli.choices import METRICS
from fenchel.cli.exits import UsageError


def load(path: Path) -> Any:
    """The estimator in a file."""
    try:
        return fenchel.load(path)
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def loss_name(model: Any) -> str:
    """The loss a model was trained with."""
    names = {
        "QuantileRegressor": "quantile",
        "PoissonRegressor": "poisson",
        "NoveltyDetector": "novelty",
        "OrdinalRegressor": "ordinal",
    }
    if type(model).__name__ == "MetricClassifier":
        return next(loss for loss, metric in METRICS.items() if metric == model.metric)
    return names.get(type(model).__name__) or str(model.loss)
