"""Measures of quality that suit the loss a model was trained with."""

from __future__ import annotations

from typing import Any

from fenchel.cli import measures
from fenchel.cli.choices import DEVIANCES, NOVELTY, POSITIVE, RANKING, SETS, VECTORS
from fenchel.cli.inputs import FileRows
from fenchel.cli.summary import label
from fenchel.cli.terminal import Terminal
from fenchel.errors import InvalidData

Metrics = dict[str, float | None]


def measured(model: Any, loss: str, rows: FileRows, terminal: Terminal) -> Metrics:
    """Every measure of that loss, by name."""
    if loss in (*SETS, *VECTORS):
        return _several(model, loss, rows)
    X, y = rows.X, rows.y
    if loss == "ordinal":
        return _levels(model, X, comparable(y, model.classes_), terminal)
    if hasattr(model, "classes_"):
        found = _classes(model, X, comparable(y, model.classes_), terminal)
        return {**found, **_own(model, loss, X, y)}
    if loss in NOVELTY:
        return {"novel": float((model.predict(X) < 0).mean())}
    if y.dtype.kind not in "iuf":
        raise InvalidData(f"the model predicts numbers, but the targets are text, as {y[0]!r}")
    return _ranking(model, X, y, rows.qid) if loss in RANKING else _numbers(model, loss, rows)


_OF_SETS = {name: name for name in ("accuracy", "f1_micro", "f1_macro", "hamming_loss", "jaccard")}
_OF_VECTORS = {"mae": "mean_absolute_error", "rmse": "root_mean_squared_error", "r2": "r2"}


def _several(model: Any, loss: str, rows: FileRows) -> Metrics:
    """Of rows with several targets each."""
    names = _OF_SETS if loss in SETS else _OF_VECTORS
    judged = measures.Judged(model, judgeable(model, rows))
    found = measures.measured(measures.asked(names, loss), judged)
    return {names[name]: value for name, value in found.items()}


def judgeable(model: Any, rows: FileRows) -> FileRows:
    """The rows, if their targets can be those of the model."""
    y = rows.y
    if isinstance(y, list) or hasattr(y, "column_names"):
        return rows
    if hasattr(model, "classes_"):
        return rows._replace(y=comparable(y, model.classes_))
    if y.dtype.kind not in "iuf":
        raise InvalidData(f"the model predicts numbers, but the targets are text, as {y[0]!r}")
    return rows


def comparable(y: Any, classes: Any) -> Any:
    """The labels: some of the model's classes, and others of their kind."""
    import numpy as np

    text = classes.dtype.kind == "U"
    strange = y if (y.dtype.kind == "U") != text else y[~np.isin(y, classes)]
    if len(strange) == len(y) or (not text and np.any(strange % 1 != 0)):
        raise InvalidData(
            f"the labels cannot be the model's: they are such as {strange.tolist()[0]!r}, the "
            f"model knows {', '.join(repr(c) for c in np.unique(classes).tolist()[:4])}"
        )
    return y


def _classes(model: Any, X: Any, y: Any, terminal: Terminal) -> Metrics:
    import numpy as np

    predicted, classes = model.predict(X), model.classes_
    known = _known(y, classes, terminal)
    hits = [float((predicted[y == c] == c).mean()) for c in np.unique(y)]
    return {
        "accuracy": float((predicted == y).mean()),
        "balanced_accuracy": float(np.mean(hits)),
        "f1": _f1(predicted, y, classes),
        "roc_area": measures.roc_area(model.decision_function(X)[known], y[known], classes),
        **_log_loss(model, X, y, known),
    }


def _known(y: Any, classes: Any, terminal: Terminal) -> Any:
    """Which labels the model knows; warns of others."""
    import numpy as np

    known = np.isin(y, classes)
    if not known.all():
        strange = ", ".join(label(value) for value in np.unique(y[~known]).tolist()[:4])
        terminal.warn(
            f"{int((~known).sum()):,} rows are of classes that the model does not know "
            f"({strange}); they count as wrong, and for what is computed from scores not at all"
        )
    return known


def _own(model: Any, loss: str, X: Any, y: Any) -> Metrics:
    """The measure that the loss is for, if it is not among those of all classes."""
    import numpy as np

    names = {"fbeta": "f_beta", "prbep": "break_even"}
    if loss in ("precision_at_k", "recall_at_k"):
        names[loss] = f"{loss[:-1]}{model.k}"
    if loss not in names:
        return {}
    known = np.isin(y, model.classes_)
    try:
        return {names[loss]: model.score(X[known], y[known])}
    except InvalidData:  # one class, or less than k rows
        return {names[loss]: None}


def _levels(model: Any, X: Any, y: Any, terminal: Terminal) -> Metrics:
    import numpy as np

    predicted, classes = model.predict(X), model.classes_
    known = _known(y, classes, terminal)
    places = (np.searchsorted(classes, labels[known]) for labels in (y, predicted))
    found: Metrics = {
        "accuracy": float((predicted == y).mean()),
        "mean_level_error": float(np.abs(np.subtract(*places)).mean()) if known.any() else None,
    }
    if model.cost is not None:
        found["mean_cost"] = -model.score(X[known], y[known]) if known.any() else None
    return found


def _ranking(model: Any, X: Any, y: Any, qid: Any) -> Metrics:
    """Means over the queries that have a relevant document."""
    from fenchel.estimators.measures import ndcg, reciprocal_rank

    z = model.predict(X)
    usable = bool((y >= 0).all() and (y > 0).any())
    return {
        "ndcg_at_10": float(ndcg(z, y, qid, 10).mean()) if usable else None,
        "mean_reciprocal_rank": float(reciprocal_rank(z, y, qid).mean()) if usable else None,
    }


def _f1(predicted: Any, y: Any, classes: Any) -> float:
    """Of the second of two classes; of more, the mean over all."""
    from sklearn.metrics import f1_score

    kinds = classes[1:] if len(classes) == 2 else classes
    each = [f1_score(y == c, predicted == c, zero_division=0) for c in kinds]
    return float(sum(each) / len(each))


def _log_loss(model: Any, X: Any, y: Any, known: Any) -> Metrics:
    import numpy as np

    if not hasattr(model, "predict_log_proba"):
        return {}
    if not known.any():
        return {"log_loss": None}
    place = np.searchsorted(model.classes_, y[known])
    chances = model.predict_log_proba(X)[known][np.arange(len(place)), place]
    return {"log_loss": float(-chances.mean())}


def _numbers(model: Any, loss: str, rows: FileRows) -> Metrics:
    import numpy as np
    from sklearn import metrics

    y, z = rows.y, model.predict(rows.X, **rows.added)
    found: Metrics = {
        "mean_absolute_error": float(metrics.mean_absolute_error(y, z)),
        "root_mean_squared_error": float(np.sqrt(metrics.mean_squared_error(y, z))),
        "r2": float(metrics.r2_score(y, z)) if len(y) > 1 else None,
    }
    if loss == "quantile":
        level = model.quantile
        found["pinball_loss"] = float(metrics.mean_pinball_loss(y, z, alpha=level))
        found["share_below"] = float((y <= z).mean())
    if loss in DEVIANCES:
        power = {"poisson": 1.0, "gamma": 2.0}.get(loss) or model.power
        usable = (y > 0 if loss in POSITIVE else y >= 0).all() and (z > 0).all()
        deviance = float(metrics.mean_tweedie_deviance(y, z, power=power)) if usable else None
        found[f"{loss}_deviance"] = deviance
    return found
