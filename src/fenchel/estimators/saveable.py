"""All estimators that can be saved."""

from __future__ import annotations

from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.classifier import Classifier
from fenchel.estimators.deviances import GammaRegressor, PoissonRegressor, TweedieRegressor
from fenchel.estimators.hierarchical import HierarchicalClassifier
from fenchel.estimators.labeler import SequenceLabeler
from fenchel.estimators.metric import MetricClassifier
from fenchel.estimators.multilabel import MultilabelClassifier
from fenchel.estimators.multivariate import MultivariateRegressor
from fenchel.estimators.novelty import NoveltyDetector
from fenchel.estimators.ordinal import OrdinalRegressor
from fenchel.estimators.quantiles import MultiQuantileRegressor
from fenchel.estimators.ranker import Ranker
from fenchel.estimators.regressor import QuantileRegressor, Regressor
from fenchel.estimators.reranker import Reranker

# Those that a model file may hold, by the name it has there. What cross-validation found is saved
# as its best_estimator_.
SAVEABLE: dict[str, type[LinearEstimator]] = {
    kind.__name__: kind
    for kind in (
        Classifier,
        MultilabelClassifier,
        HierarchicalClassifier,
        MetricClassifier,
        OrdinalRegressor,
        Ranker,
        Reranker,
        SequenceLabeler,
        Regressor,
        QuantileRegressor,
        MultivariateRegressor,
        MultiQuantileRegressor,
        PoissonRegressor,
        GammaRegressor,
        TweedieRegressor,
        NoveltyDetector,
    )
}
