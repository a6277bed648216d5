"""Model files, as the commands that use them see them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fenchel
from fenchel.cli.choices import METRICS, ONLY_LOSS
from fenchel.cli.exits import UsageError


def load(path: Path) -> Any:
    """The estimator in a file; of a pipeline that `train` saved the last step, which knows it.

    Such a one has `encoder_`, which makes its features of a table with the columns of `table_`.
    """
    from fenchel.features.encoding import check_fits

    found = whole(path)
    if hasattr(found, "result_"):
        return found
    steps: Any = [step for _, step in getattr(found, "steps", ())]
    if len(steps) != 2 or not hasattr(steps[-1], "table_"):
        raise UsageError(
            f"{path} holds a pipeline that fenchel train did not make: in Python, use "
            "fenchel.load(path) and its methods"
        )
    encoder, model = steps
    check_fits(encoder, model.table_)
    model.encoder_ = encoder
    model.feature_names_in_ = encoder.get_feature_names_out()
    return model


def whole(path: Path) -> Any:
    """All that a file holds, be it an estimator or a pipeline."""
    try:
        return fenchel.load(path)
    except FileNotFoundError as error:
        raise UsageError(f"there is no file {path}") from error
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error


def last_of(found: Any) -> Any:
    """The library's own estimator that all ends in, with the names of its features; else None."""
    if not hasattr(found, "steps"):
        return found if hasattr(found, "result_") else None
    model = found[-1]
    if not hasattr(model, "result_"):
        return None
    try:
        model.feature_names_in_ = found[:-1].get_feature_names_out()
    except (AttributeError, ValueError):  # scikit-learn: a step does not know them
        pass
    return model


def is_labeler(model: Any) -> bool:
    """Whether it tags tokens."""
    return type(model).__name__ == "SequenceLabeler"


def loss_name(model: Any) -> str:
    """The loss a model was trained with."""
    kind = type(model).__name__
    if kind == "NoveltyDetector":
        return "novelty" if model.nu is None else "nu_novelty"
    if kind == "MetricClassifier":
        return next(loss for loss, metric in METRICS.items() if metric == model.metric)
    return str(model.loss) if hasattr(model, "loss") else ONLY_LOSS[kind]
