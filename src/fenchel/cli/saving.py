"""A fitted model in its file, with what made features of the columns of a table."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, cast

import fenchel
from fenchel.cli.settings import Settings
from fenchel.cli.terminal import Terminal, short, size

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset


def save(
    estimator: Any, path: str, dataset: Dataset, settings: Settings, terminal: Terminal
) -> float:
    """Writes the model; the seconds that took."""
    with terminal.step(f"save {short(path)}") as step:
        encoder = getattr(dataset, "encoder", None)
        fenchel.save(
            estimator if encoder is None else _whole(encoder, estimator),
            path,
            feature_names=None if encoder is not None else dataset.feature_names,
            table=getattr(dataset, "facts", None),
            index_base=cast(Literal[0, 1] | None, dataset.index_base),
            offset_column=settings.offset,
            exposure_column=settings.exposure,
        )
        step.found = size(os.path.getsize(path))
    return step.seconds


def _whole(encoder: Any, estimator: Any) -> Any:
    """What takes rows of a table to predictions, as scikit-learn has it."""
    from sklearn.pipeline import Pipeline

    return Pipeline([("columns", encoder), ("model", estimator)])
