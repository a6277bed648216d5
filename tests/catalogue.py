"""Every loss, regulariser, solver and engine as instances, and small problems for them.

Law tests run over these lists; whatever joins the library joins them here.
"""

import math

import numpy as np

import fenchel
from fenchel import losses, regularizers
from fenchel.engines import Serial, Threads
from fenchel.losses import Labels
from fenchel.losses.table import TABLE, Whole, Word
from fenchel.solvers import (
    BCFW,
    BMRM,
    FISTA,
    GD,
    LBFGS,
    OWLQN,
    PDHG,
    SDCA,
    SMO,
    AGMInf,
    AGMOne,
    BlockDescent,
    BMRMWithoutQP,
    ColumnDescent,
    ExcessiveGap,
    Hybrid,
    KernelNewton,
    KTSplit,
    LineSearchBMRM,
    Newton,
    NewtonCG,
    OWLQNStar,
    Pegasos,
    Polish,
    ProximalGradient,
    SubBFGS,
    SubGD,
    SubLBFGS,
)

N_FEATURES = 4


def others(option):
    """Values of an option beside its default: one further in, and a bound that belongs to it."""
    if option.below is not None:
        return [option.above + 0.2 * (option.below - option.above)]
    return [0.4 * option.default, *([option.least] if option.least is not None else [])]


def beyond(option):
    """Values that the option must not have, just outside its range and far from it."""
    if isinstance(option, Word):
        return ["neither", None, 1]
    if isinstance(option, Whole):
        return [option.least - 1, option.least + 0.5, "some"]
    bounds = [option.above, option.below]
    bounds += [] if option.least is None else [math.nextafter(option.least, -math.inf)]
    bounds += [] if option.most is None else [math.nextafter(option.most, math.inf)]
    return [*(bound for bound in bounds if bound is not None), math.nan, math.inf, "some"]


def instances(row):
    """A loss of the table with its defaults, and with other values of its option."""
    kind = losses.LOSSES[row.name]
    return [kind(), *(kind(**{o.name: value}) for o in row.options for value in others(o))]


LOSSES = [
    loss
    for row in TABLE
    if issubclass(losses.LOSSES[row.name], losses.ScalarLoss)
    for loss in instances(row)
]

# Delta(z, y) is not symmetric: taking 0 for 2 is worse than the reverse.
_COSTS = [[0.0, 1.0, 3.0], [0.5, 0.0, 1.0], [1.5, 0.5, 0.0]]

# Three leaves in two depths, and one inner node.
TREE = {"pets": ["cat", "dog"], "fern": None}

VECTOR_LOSSES = [
    losses.MulticlassHinge(),
    losses.MulticlassHinge(cost=0.4),
    losses.MulticlassHinge(cost=_COSTS),
    losses.MulticlassHinge(rescaling="slack"),
    losses.MulticlassHinge(cost=_COSTS, rescaling="slack"),
    losses.Softmax(),
    losses.MultilabelHinge(),
    losses.MultilabelHinge(cost=0.4),
    losses.MultilabelHinge(cost=_COSTS),
    losses.MultivariateSquared(),
    losses.MultivariateSquared(M=[[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.5]]),
    losses.MultivariateSquared(M=[[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 3.0]]),  # singular
    losses.HierarchicalHinge(),
    losses.HierarchicalHinge(taxonomy=TREE),
    losses.HierarchicalHinge(taxonomy=TREE, cost="relative"),
    losses.HierarchicalHinge(taxonomy=TREE, cost=_COSTS),
    losses.HierarchicalSoftmax(),
    losses.HierarchicalSoftmax(taxonomy=TREE),
]

MULTIVARIATE_LOSSES = [
    losses.ROC(),
    losses.FBeta(),
    losses.FBeta(beta=0.4),
    losses.FBeta(beta=2.5),
    losses.SmoothedFBeta(mu=0.02),
    losses.SmoothedFBeta(beta=0.5, mu=0.3),
    losses.PrecisionAtK(k=4),
    losses.RecallAtK(k=1),
    losses.RecallAtK(k=6),
    losses.PRBEP(),
    losses.Ordinal(),
    losses.Ordinal(cost=[[0.0, 1.0, 3.0], [0.0, 0.0, 0.5], [0.0, 0.0, 0.0]]),
    losses.RankHinge(),
    losses.NDCG(),
    losses.NDCG(k=2),
    losses.NDCG(k=None),
    losses.ERU(),
    losses.ERU(half_life=1.5),
    losses.MRR(),
]

CHAIN_LOSSES = [
    losses.CRF(),
    losses.CRF(pairs="all"),
    losses.M3N(),
    losses.M3N(cost=_COSTS),
    losses.M3N(rescaling="slack"),
    losses.SoftM3N(),
    losses.SoftM3N(temperature=0.2, cost=_COSTS, pairs="all"),
]

_UNEVEN = [0.5, 1.0, 2.0, 3.0]
_ONE_FREE = [1.0, 0.0, 2.0, 0.7]

_CHAIN = [[2.0, -1.0, 0.0, 0.0], [-1.0, 2.0, -1.0, 0.0], [0.0, -1.0, 2.0, -1.0], [0, 0, -1.0, 1.5]]

REGULARIZERS = [
    regularizers.L2(),
    regularizers.L2(weights=_UNEVEN),
    regularizers.L2(weights=_ONE_FREE),
    regularizers.L1(),
    regularizers.L1(weights=_UNEVEN),
    regularizers.L1(weights=_ONE_FREE),
    regularizers.ElasticNet(),
    regularizers.ElasticNet(l1_ratio=0.9, weights=_UNEVEN),
    regularizers.ElasticNet(l1_ratio=0.2, weights=_ONE_FREE),
    regularizers.ElasticNetBall(radius=0.7, l1_ratio=0.3),
    regularizers.ElasticNetBall(radius=2.0),
    regularizers.Entropy(),
    regularizers.Entropy(cap=0.3),
    regularizers.SquaredPNorm(),
    regularizers.SquaredPNorm(p=1.1),
    regularizers.SquaredPNorm(p=2.0),
    regularizers.GroupL1(feature_groups=[0, 1, 0, 1]),
    regularizers.GroupL1(feature_groups=[0, 1, 1, 2], group_weights=[0.5, 2.0, 1.0]),
    regularizers.Quadratic(Q=_CHAIN),
    regularizers.Boxed(regularizers.L2(), lower=0.0),
    regularizers.Boxed(regularizers.ElasticNet(l1_ratio=0.3), lower=[-0.1, 0.0, -np.inf, 0.2]),
    regularizers.Boxed(regularizers.L1(weights=_UNEVEN), lower=-0.4, upper=[0.3, np.inf, 0.0, 1]),
]

SOLVERS = [
    BMRM(),
    BMRM(step=1.0),
    BMRM(max_cuts=12),
    LineSearchBMRM(),
    BMRMWithoutQP(),
    LBFGS(),
    LBFGS(memory=2),
    Newton(),
    NewtonCG(),
    ColumnDescent(),
    ColumnDescent(columns=1),
    BlockDescent(),
    BlockDescent(columns=1),
    OWLQN(),
    OWLQN(memory=2),
    OWLQNStar(),
    KTSplit(),
    SubLBFGS(),
    SubBFGS(),
    Hybrid(),
    SubGD(),
    GD(),
    Pegasos(),
    Pegasos(batch=3),
    SDCA(),
    Polish(),
    SDCA(seed=3, at_once=True),
    AGMInf(),
    AGMInf("dual"),
    AGMOne("homotopy", widths="optimised"),
    AGMInf(prox="own"),
    ExcessiveGap(),
    PDHG(),
    PDHG(prox="columns"),
    FISTA(),
    ProximalGradient(),
]

KERNEL_SOLVERS = [SMO(), SMO(size=8), KernelNewton()]  # for rows known through a kernel alone
CHAIN_SOLVERS = [BCFW()]  # for max-margin sequences

# What the papers compare with: these bound the minimum, but need not come close to it.
BASELINES = (SubGD, GD, Pegasos, FISTA, ProximalGradient)

ENGINES = [Serial(), Threads(1), Threads(2), Threads(3)]


def ids(instance):
    """A readable test id: the class and its settings."""
    return repr(instance).replace(" ", "").replace("array", "")


def labels_for(loss, rng, n, scores=None):
    """Labels of the kind the loss expects, related to the scores where there are any."""
    z = rng.normal(size=n) if scores is None else scores + 0.5 * rng.normal(size=n)
    if loss.labels is Labels.BINARY:
        y = np.where(z > 0.2, 1.0, -1.0)
        y[:2] = 1.0, -1.0
        return y
    if loss.labels is Labels.COUNT:
        y = rng.poisson(np.exp(np.clip(0.5 * z, -2, 2))).astype(float)
        y[0] = 2.0
        return y
    if loss.labels is Labels.POSITIVE:
        return rng.gamma(2.0, 0.5 * np.exp(np.clip(0.5 * z, -2, 2)))
    return np.zeros(n) if loss.labels is Labels.NONE else z


def data_for(loss, *, seed=0, n=25, d=N_FEATURES):
    """(X, y) of n rows and d columns for a loss."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, labels_for(loss, rng, n, X @ rng.normal(size=d))


def n_scores(loss, K=3):
    """How many scores a row has: one for each of K classes, or for each node of a taxonomy."""
    tree = getattr(loss, "taxonomy", None)
    return K if tree is None else len(tree.nodes)


def ancestry(tree, leaf):
    """The nodes from a leaf, by its place among the sorted leaves, up to below the root."""
    path = [int(tree.leaf[leaf])]
    while tree.parents[path[-1]] >= 0:
        path.append(tree.parents[path[-1]])
    return path


def class_scores(loss, z):
    """The scores of classes: of a taxonomy's leaves, the sums of what lies above them."""
    tree = getattr(loss, "taxonomy", None)
    if tree is None:
        return list(z)
    return [sum(z[k] for k in ancestry(tree, leaf)) for leaf in range(len(tree.leaf))]


def class_costs(loss, K):
    """Delta(k, y) for K classes, row by row; of a taxonomy by counting edges."""
    cost, tree = getattr(loss, "cost", None), getattr(loss, "taxonomy", None)
    if not isinstance(cost, str):
        return losses.MulticlassHinge(cost).costs(K)
    paths = [{leaf} if tree is None else set(ancestry(tree, leaf)) for leaf in range(K)]
    edges = np.array([[len(one ^ other) for other in paths] for one in paths], dtype=float)
    return edges / (edges.max() if cost == "relative" else 1.0)


def targets_for(loss, rng, n, K=3, scores=None):
    """Codes or indicators of K classes or K numbers, related to the scores where there are any."""
    Z = rng.normal(size=(n, K)) if scores is None else scores + 0.5 * rng.normal(size=(n, K))
    if loss.labels is Labels.VECTORS:
        return Z
    if loss.labels in (Labels.CLASSES, Labels.LEAVES):
        y = np.argmax(Z, axis=1)
        y[:K] = np.arange(min(n, K))
        return y
    y = (Z > 0.4).astype(np.uint8)
    y[:2] = np.zeros(K), np.ones(K)
    return y


def vector_problem_for(
    loss,
    regularizer="l2",
    *,
    intercept=False,
    weighted=False,
    seed=0,
    n=25,
    d=N_FEATURES,
    **options,
):
    """A small problem of three classes; `options` go to fenchel.problem."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    options.setdefault("strength", 0.1)
    options.setdefault("engine", "serial")
    y = targets_for(loss, rng, n, 3, X @ rng.normal(size=(d, 3)))
    if getattr(loss, "taxonomy", None) is not None:
        y = loss.taxonomy.classes[y]
    return fenchel.problem(
        X,
        y,
        loss=loss,
        regularizer=regularizer,
        intercept=intercept,
        sample_weight=sample_weights(n) if weighted else None,
        **options,
    )


def sample_for(loss, rng, n, scores=None):
    """What a multivariate loss knows of n rows: (y, groups), levels 0 to 2, queries of about 5."""
    z = rng.normal(size=n) if scores is None else scores + 0.5 * rng.normal(size=n)
    groups = np.arange(n) // 5 if loss.grouped else None
    if loss.labels is Labels.BINARY:
        y = np.where(z > 0.3, 1.0, -1.0)
        y[:2] = 1.0, -1.0
    else:
        y = np.digitize(z, [-0.5, 0.7]).astype(float)
        y[:3] = 0.0, 1.0, 2.0
    return y, groups


def multivariate_problem_for(loss, regularizer="l2", *, weighted=False, seed=0, n=40, **options):
    """A small problem; `options` go to fenchel.problem."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, N_FEATURES))
    y, groups = sample_for(loss, rng, n, X @ rng.normal(size=N_FEATURES))
    options.setdefault("strength", 0.02)
    options.setdefault("engine", "serial")
    return fenchel.problem(
        X,
        y,
        loss=loss,
        regularizer=regularizer,
        groups=groups,
        sample_weight=sample_weights(n) if weighted and loss.weighted else None,
        **options,
    )


def sample_weights(n, *, seed=1):
    """Uneven weights, some of them 0; rows 0 and 1, which hold both classes, count."""
    rng = np.random.default_rng(seed)
    s = rng.uniform(0.2, 3.0, size=n)
    s[2::7] = 0.0
    return s


def problem_for(
    loss,
    regularizer="l2",
    *,
    intercept=False,
    weighted=False,
    seed=0,
    n=25,
    d=N_FEATURES,
    **options,
):
    """A small problem; `options` go to fenchel.problem."""
    X, y = data_for(loss, seed=seed, n=n, d=d)
    options.setdefault("strength", 0.1)
    options.setdefault("engine", "serial")
    return fenchel.problem(
        X,
        y,
        loss=loss,
        regularizer=regularizer,
        intercept=intercept and loss.intercept,
        sample_weight=sample_weights(n) if weighted else None,
        **options,
    )
