"""Small fitted models of every kind, for the tests of files; and data to predict."""

import numpy as np

import fenchel
from fenchel import losses, regularizers
from fenchel.solvers import BMRM, LBFGS

_RNG = np.random.default_rng(7)
X = np.abs(_RNG.normal(size=(40, 6)))
_SCORES = X @ [1.0, -2.0, 0.5, 0.0, 1.5, 0.0]
_TWO = _SCORES > np.median(_SCORES)
_THREE = np.digitize(_SCORES, np.quantile(_SCORES, [0.3, 0.6]))
_COUNTS = _RNG.poisson(np.exp(0.3 * _SCORES))
_QUERIES = np.repeat(np.arange(8), 5)
_COSTS = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 1.0], [3.0, 1.0, 0.0]])
_WEIGHTS = [1.0, 0.5, 2.0, 1.0, 3.0, 1.0]
_NAMES = [f"column {j}" for j in range(X.shape[1])]
_SEQUENCES = [[dict(zip(_NAMES, row, strict=True)) for row in part] for part in np.split(X, 8)]
_TAGS = np.array(["a", "b", "c"])[_THREE].reshape(8, 5).tolist()

# name: (the estimator, its targets)
UNFITTED = {
    "classifier-two": (fenchel.Classifier(alpha=1e-2), np.where(_TWO, 1, -1)),
    "classifier-three": (fenchel.Classifier(loss="logistic", alpha=1e-2), _THREE),
    "classifier-text": (
        fenchel.Classifier(loss="logistic", class_weight="balanced"),
        np.where(_TWO, "naïve", 'a "b" \\'),
    ),
    "classifier-objects": (
        fenchel.Classifier(
            loss=losses.SmoothedHinge(mu=0.3),
            penalty=regularizers.ElasticNet(l1_ratio=0.9, weights=_WEIGHTS),
            alpha=0.05,
            solver=BMRM(max_cuts=50),
            class_weight={"low": 1.0, "mid": 2.0, "high": 3.0},
        ),
        np.array(["low", "mid", "high"], dtype=object)[_THREE],
    ),
    "classifier-bool": (fenchel.Classifier(loss="smoothed_hinge", mu=0.5), _TWO),
    "classifier-softmax": (fenchel.Classifier(loss="softmax", alpha=1e-2), _THREE),
    "classifier-softmax-two": (fenchel.Classifier(loss="softmax", alpha=1e-2), _TWO),
    "classifier-costs": (
        fenchel.Classifier(loss="multiclass_hinge", cost=_COSTS, alpha=1e-2),
        _THREE,
    ),
    "classifier-costs-object": (
        fenchel.Classifier(loss=losses.MulticlassHinge(cost=[[0, 2], [1, 0]]), alpha=1e-2),
        np.where(_TWO, "yes", "no"),
    ),
    "multilabel": (
        fenchel.MultilabelClassifier(alpha=1e-2),
        [["b", "a"] if two else ["c"] for two in _TWO],
    ),
    "hierarchical": (
        fenchel.HierarchicalClassifier(
            taxonomy=losses.Taxonomy(("warm", "red", "yellow", "blue"), (-1, 0, 0, -1)), alpha=1e-2
        ),
        np.array(["red", "blue", "yellow"])[_THREE],
    ),
    "hierarchical-object": (
        fenchel.HierarchicalClassifier(
            loss=losses.HierarchicalSoftmax(taxonomy=[3, 4, 4, -1, 3]), alpha=1e-2
        ),
        _THREE,
    ),
    "hierarchical-flat": (
        fenchel.HierarchicalClassifier(loss="hierarchical_softmax", alpha=1e-2),
        _THREE + 5,
    ),
    "metric": (
        fenchel.MetricClassifier(metric="fbeta", beta=2.0, alpha=1e-2),
        np.where(_TWO, "yes", "no"),
    ),
    "metric-top": (fenchel.MetricClassifier(metric="precision_at_k", k=7, alpha=1e-2), _TWO),
    "ordinal": (fenchel.OrdinalRegressor(alpha=1e-2), np.array(["a", "b", "c"])[_THREE]),
    "ordinal-costs": (fenchel.OrdinalRegressor(cost=_COSTS, alpha=1e-2), _THREE / 2),
    "ranker": (fenchel.Ranker(loss="ndcg", k=None, alpha=1e-2), _THREE),
    "reranker": (fenchel.Reranker(loss="rerank_margin", alpha=1e-2), _THREE + 1),
    "labeler": (fenchel.SequenceLabeler(alpha=1e-2), _TAGS),
    "labeler-hashed": (fenchel.SequenceLabeler(alpha=1e-2, hashed=6), _TAGS),
    "labeler-margin": (fenchel.SequenceLabeler(loss="m3n", cost=_COSTS, pairs="all"), _TAGS),
    "regressor": (fenchel.Regressor(solver=LBFGS(memory=3)), _SCORES),
    "regressor-sparse": (
        fenchel.Regressor(loss="huber", delta=0.7, penalty="l1", alpha=0.05, tol=1e-2),
        _SCORES,
    ),
    "multivariate": (
        fenchel.MultivariateRegressor(M=np.diag([1.0, 2.0]), alpha=1e-2),
        np.stack([_SCORES, _COUNTS], axis=1),
    ),
    "quantile": (fenchel.QuantileRegressor(quantile=0.9, fit_intercept=False), _SCORES),
    "gamma": (fenchel.GammaRegressor(n_jobs=1), _COUNTS + 0.5),
    "tweedie": (fenchel.TweedieRegressor(power=1.3, n_jobs=1), _COUNTS),
    "poisson": (fenchel.PoissonRegressor(max_seconds=1e6, n_jobs=1), _COUNTS),
    "novelty": (fenchel.NoveltyDetector(rho=0.7, alpha=0.2), None),
}


def fitted(name):
    """A new fit of the model of that name."""
    estimator, _ = UNFITTED[name]
    return fit(type(estimator)(**estimator.get_params(deep=False)), name)


def fit(estimator, name):
    """The estimator, fitted to the targets of that name."""
    groups = {"groups": _QUERIES} if isinstance(estimator, fenchel.Ranker) else {}
    return estimator.fit(_input(estimator), UNFITTED[name][1], **groups)


def _input(estimator):
    """X, or its rows as tokens of sequences."""
    return _SEQUENCES if isinstance(estimator, fenchel.SequenceLabeler) else X


def answers(model):
    """All that a model says about X."""
    methods = (
        "predict",
        "decision_function",
        "predict_proba",
        "predict_log_proba",
        "score_samples",
        "predict_marginals",
    )
    able = [name for name in methods if hasattr(model, name)]
    if getattr(model, "loss", None) == "m3n":
        able.remove("predict_marginals")  # refused: there are no probabilities
    return {name: np.asarray(getattr(model, name)(_input(model))) for name in able}
