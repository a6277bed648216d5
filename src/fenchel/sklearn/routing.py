"""What scikit-learn's routing of metadata gives to splitters and scorers of a fit."""

from __future__ import annotations

from typing import Any

from sklearn.utils._metadata_requests import _raise_for_params, _routing_enabled, process_routing


def of_splitter(estimator: Any, sample_weight: Any, params: dict[str, Any]) -> dict[str, Any]:
    """What `split` is given."""
    return _routed(estimator, sample_weight, params)[0]


def of_splitter_and_scorer(
    estimator: Any, sample_weight: Any, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `split` and `score` are given; without routing the scorer has the sample weights."""
    return _routed(estimator, sample_weight, params)


def _routed(
    estimator: Any, sample_weight: Any, params: dict[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    _raise_for_params(params, estimator, "fit")
    if not _routing_enabled():
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        return {}, {**params, **weights}
    routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
    return dict(routed.splitter.split), dict(routed["scorer"].score) if "scorer" in routed else {}
