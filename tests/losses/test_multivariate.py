"""Losses of all scores at once, against all labellings, pairs and rankings, and as problems."""

import itertools

import numpy as np
import pytest
from catalogue import (
    ENGINES,
    MULTIVARIATE_LOSSES,
    REGULARIZERS,
    ids,
    multivariate_problem_for,
    sample_for,
    sample_weights,
)
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.special import logsumexp

import fenchel
from fenchel import losses
from fenchel.data import shards
from fenchel.losses import Labels, MultivariateLoss, Tangent
from fenchel.losses.multivariate_twins import twin
from fenchel.regularizers import GroupL1
from fenchel.solvers import BMRM, SOLVERS, LineSearchBMRM, Pegasos

EVERY = pytest.mark.parametrize("loss", MULTIVARIATE_LOSSES, ids=ids)
SHIFTLESS = [loss for loss in MULTIVARIATE_LOSSES if not loss.intercept]
KINKED = [loss for loss in MULTIVARIATE_LOSSES if not loss.differentiable]
RANKED = [loss for loss in MULTIVARIATE_LOSSES if loss.grouped and not loss.weighted]


# Every loss once more, by enumeration


def pairs(loss, z, y, s):
    """The mean over all pairs, one by one."""
    levels = np.unique(y)
    total = weight = 0.0
    for i, j in itertools.product(range(len(z)), repeat=2):
        if y[i] < y[j]:
            low, high = np.searchsorted(levels, [y[i], y[j]])
            cost = 1.0 if loss.cost is None else loss.cost[low, high]
            total += cost * s[i] * s[j] * max(0.0, 1.0 + z[i] - z[j])
            weight += s[i] * s[j]
    return total / weight if weight else 0.0


def labelings(loss, z, y, s):
    """The maximum over all labellings of 1 - F_beta + <z, y' - y> / n."""
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=len(z))))
    a = np.sum((every > 0) & (y > 0), axis=1)
    b, c = np.sum(y > 0) - a, np.sum((every > 0) & (y < 0), axis=1)
    square = loss.beta**2
    score = (1 + square) * a / ((1 + square) * a + square * b + c)
    return np.max(1 - score + (every - y) @ z / len(z))


def soft_labelings(loss, z, y, s):
    """mu log of the mean over all labellings of the exponentials of the same, over mu."""
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=len(z))))
    a = np.sum((every > 0) & (y > 0), axis=1)
    b, c = np.sum(y > 0) - a, np.sum((every > 0) & (y < 0), axis=1)
    square = loss.beta**2
    score = (1 + square) * a / ((1 + square) * a + square * b + c)
    terms = (1 - score + (every - y) @ z / len(z)) / loss.mu
    return loss.mu * (logsumexp(terms) - len(z) * np.log(2))


def subsets(loss, z, y, s):
    """The maximum over all sets of k rows, against the mean of the best such sets."""
    n_positive = int(np.sum(y > 0))
    k = n_positive if isinstance(loss, losses.PRBEP) else loss.k
    whole = loss.k if isinstance(loss, losses.PrecisionAtK) else n_positive
    every = [list(rows) for rows in itertools.combinations(range(len(z)), k)]
    hits = np.array([np.sum(y[rows] > 0) for rows in every])
    sums = np.array([np.sum(z[rows]) for rows in every])
    right = np.mean(sums[hits == hits.max()])
    return np.max(1 - hits / whole + 2 * (sums - right) / len(z))


def rankings(loss, z, y, s):
    """For each threshold of relevance the maximum over all permutations."""
    every = np.array(list(itertools.permutations(range(len(z)))))
    place = np.arange(1.0, len(z) + 1)
    if isinstance(loss, losses.MRR):
        y = np.sign(y)
        thresholds = [(y > 0, 1.0)] if 0 < np.sum(y) < len(y) else []
    else:
        worth, gain = 1 / np.log2(1 + place), 2**y - 1
        if isinstance(loss, losses.NDCG):
            worth[loss.k :] *= 1.0 if loss.k is None else 0.0
        else:
            worth, gain = 0.5 ** ((place - 1) / (loss.half_life - 1)), y
        best = np.sort(gain)[::-1] @ worth
        steps = zip(np.unique(y)[1:], np.diff(np.unique(gain)), strict=True)
        thresholds = [(y >= level, step / best) for level, step in steps]
    total = 0.0
    for relevant, weight in thresholds:
        n = np.sum(relevant)
        if isinstance(loss, losses.MRR):
            score = 1 / (1 + np.argmax(relevant[every], axis=1))
        else:
            score = relevant[every] @ worth
        margin = np.sum(z[every][:, :n], axis=1) - np.sum(z[relevant])
        total += weight * np.max(score.max() - score + score.max() * margin / n)
    return total


def enumerated(loss, z, y, s, groups):
    oracle = {
        Labels.BINARY: subsets,
        Labels.COUNT: rankings,
        Labels.REAL: pairs,
    }[loss.labels]
    oracle = labelings if isinstance(loss, losses.FBeta) else oracle
    oracle = soft_labelings if isinstance(loss, losses.SmoothedFBeta) else oracle
    oracle = pairs if isinstance(loss, losses.ROC) else oracle
    s = np.ones(len(z)) if s is None else s
    if groups is None:
        return oracle(loss, z, y, s)
    parts = [np.flatnonzero(groups == q) for q in np.unique(groups)]
    return float(np.mean([oracle(loss, z[part], y[part], s[part]) for part in parts]))


@st.composite
def samples(draw, loss):
    """Few rows with many ties: scores on a grid, some off it; weights, and queries of any size."""
    n = draw(st.integers(6, 9 if loss.labels is not Labels.COUNT else 7))
    grid = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.5, 1.0])
    z = np.array(draw(st.lists(grid | st.floats(-3, 3), min_size=n, max_size=n)))
    values = [-1.0, 1.0] if loss.labels is Labels.BINARY else [0.0, 1.0, 2.0]
    y = np.array(draw(st.lists(st.sampled_from(values), min_size=n, max_size=n)))
    y[: len(values)] = values
    groups = np.sort(draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)))
    s = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=n, max_size=n))
    return z, y, np.array(s) if loss.weighted else None, groups if loss.grouped else None


@EVERY
@settings(max_examples=25)
@given(st.data())
def test_value_and_slope_are_those_of_all_labellings_pairs_and_rankings(loss, data):
    z, y, s, groups = data.draw(samples(loss))
    options = {"sample_weight": s, "groups": groups}
    try:
        value, g = loss.value(z, y, **options), loss.slope(z, y, **options)
    except fenchel.InvalidData as error:
        assume("nothing is to be ordered" not in str(error))
        raise
    assert value == pytest.approx(enumerated(loss, z, y, s, groups), rel=1e-12, abs=1e-12)
    for step in (-1.0, 1.0):  # a slope is right if it supports the loss from below
        for i in range(len(z)):
            other = z.copy()
            other[i] += step
            least = value + step * g[i]
            assert enumerated(loss, other, y, s, groups) >= least - 1e-12


@EVERY
def test_c_plus_plus_gives_what_the_formula_gives(loss):
    rng = np.random.default_rng(0)
    for n, decimals in itertools.product((12, 300), (0, 1, 9)):
        y, groups = sample_for(loss, rng, n)
        s = sample_weights(n) if loss.weighted else None
        sample = loss.sample(y, s, groups)
        z = np.round(2 * rng.normal(size=n), decimals)
        c, g = loss.tangent(z, sample)
        native = twin(loss, sample).tangent(z)
        assert native.c == pytest.approx(c, rel=1e-12)
        assert native.g == pytest.approx(g, rel=1e-12, abs=1e-14)


def test_light_queries_are_as_exact_after_heavy_ones_as_alone():
    """Scores are large beside the loss: a slope off by 1e-12 would be a loss off by 1e-6."""
    rng = np.random.default_rng(1)
    loss, groups = losses.RankHinge(), np.repeat(np.arange(20), 6)
    s, z = 10.0 ** rng.uniform(-5, 5, 120), 1e6 * rng.normal(size=120)
    y = rng.integers(0, 3, 120).astype(float)
    sample = loss.sample(y, s, groups)
    c, g = loss.tangent(z, sample)
    native = twin(loss, sample).tangent(z)
    assert native.c == pytest.approx(c, rel=1e-14)
    assert native.g == pytest.approx(g, rel=1e-14, abs=1e-25)


@EVERY
def test_slopes_support_the_loss_from_below(loss):
    rng = np.random.default_rng(1)
    y, groups = sample_for(loss, rng, 200)
    s = sample_weights(200) if loss.weighted else None
    for _ in range(50):
        u, v = rng.normal(size=(2, 200)) * 10 ** rng.uniform(-1, 2)
        options = {"sample_weight": s, "groups": groups}
        low = loss.value(u, y, **options) + loss.slope(u, y, **options) @ (v - u)
        assert loss.value(v, y, **options) >= low - 1e-12 * (1 + abs(low))
        assert loss.value(u, y, **options) >= 0


@pytest.mark.parametrize("loss", SHIFTLESS, ids=ids)
def test_a_shift_of_all_scores_changes_nothing(loss):
    rng = np.random.default_rng(2)
    y, groups = sample_for(loss, rng, 60)
    z = rng.normal(size=60)
    value, g = loss.value(z, y, groups=groups), loss.slope(z, y, groups=groups)
    assert loss.value(z + 8.0, y, groups=groups) == pytest.approx(value, rel=1e-12)
    assert np.sum(g) == pytest.approx(0, abs=1e-14)


@EVERY
def test_the_order_of_rows_does_not_matter(loss):
    rng = np.random.default_rng(3)
    y, groups = sample_for(loss, rng, 30)
    z, order = rng.normal(size=30), rng.permutation(30)
    if groups is not None:
        order = order[np.argsort(groups[order], kind="stable")]
    value = loss.value(z[order], y[order], groups=groups)
    assert value == pytest.approx(loss.value(z, y, groups=groups), rel=1e-12)


def test_roc_is_one_minus_the_area_where_no_pair_is_close():
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(5)
    y, z = np.sign(rng.normal(size=50)), 100.0 * rng.permutation(50)
    scale = np.mean([max(0.0, 1 - (i - j)) for i in z[y > 0] for j in z[y < 0]])
    assert losses.ROC().value(z, y) == pytest.approx(scale)
    assert np.sum(losses.ROC().slope(z, y)[y < 0]) == pytest.approx(1 - roc_auc_score(y, z))


def test_a_measure_is_never_above_its_loss():
    from sklearn.metrics import f1_score, ndcg_score

    rng = np.random.default_rng(6)
    for _ in range(50):
        z, y = rng.normal(size=30), np.sign(rng.normal(size=30))
        assert losses.FBeta().value(z, y) >= 1 - f1_score(y, np.where(z > 0, 1, -1), pos_label=1)
        relevance = rng.integers(0, 3, size=30)
        ndcg = ndcg_score([2.0**relevance - 1], [z], k=10)
        assert losses.NDCG().value(z, relevance, groups=np.zeros(30)) >= 1 - ndcg
        first = np.argmax(relevance[np.argsort(-z)] > 0)
        assert losses.MRR().value(z, relevance, groups=np.zeros(30)) >= 1 - 1 / (1 + first)


# Problems


@EVERY
@pytest.mark.parametrize("weighted", [False, True])
def test_both_bundle_methods_certify_the_same_minimum(loss, weighted):
    regularizer = REGULARIZERS[MULTIVARIATE_LOSSES.index(loss) % len(REGULARIZERS)]
    if not loss.nonnegative and regularizer.strong_convexity == 0:  # the bundle needs that
        regularizer = "l2"
    if isinstance(regularizer, GroupL1):  # which bundles do not take
        regularizer = "l1"
    problem = multivariate_problem_for(loss, regularizer, weighted=weighted)
    results = []
    for solver in (BMRM(), LineSearchBMRM()):
        if solver.obstacle(problem) is not None:
            continue
        result = fenchel.minimize(problem, solver, gap=1e-6)
        assert result.status is fenchel.Status.CONVERGED
        checked = fenchel.verify(result, problem)
        assert checked.lower_bound == pytest.approx(result.lower_bound, rel=1e-8)
        results.append(result)
    assert max(r.lower_bound for r in results) <= min(r.objective for r in results)


@EVERY
@pytest.mark.parametrize("solver", ["subbfgs", "sublbfgs", "hybrid"])
def test_quasi_newton_methods_certify_the_minimum_of_the_bundle(loss, solver):
    problem = multivariate_problem_for(loss, intercept=loss.intercept)
    bundle = fenchel.minimize(problem, "ls-bmrm", gap=1e-6)
    result = fenchel.minimize(problem, solver, gap=1e-4)
    assert result.status is fenchel.Status.CONVERGED
    fenchel.verify(result, problem)
    assert result.lower_bound <= bundle.objective and bundle.lower_bound <= result.objective


@pytest.mark.parametrize("loss", KINKED, ids=ids)
def test_the_steepest_subgradient_is_the_slope_just_ahead(loss):
    """On data with many ties, where a point has many subgradients."""
    rng = np.random.default_rng(11)
    X, chosen = rng.integers(-1, 2, size=(40, 3)).astype(float), 0
    y, groups = sample_for(loss, rng, 40, X[:, 0] + 0.5 * rng.normal(size=40))
    risk = fenchel.problem(X, y, loss=loss, groups=groups, intercept=loss.intercept).risk
    for _ in range(20):
        w, p = rng.integers(-2, 3, size=3) / 2, rng.normal(size=3)
        point = risk.at(w)
        steepest = point.steepest(p)
        chosen += steepest is not point
        ahead = (risk.at(w + 1e-5 * p).value - point.value) / 1e-5
        assert steepest.subgradient @ p == pytest.approx(ahead, rel=1e-6, abs=1e-6)
        v = rng.normal(size=3)
        assert risk.at(v).value >= steepest.subgradient @ v + steepest.constant - 1e-12
    assert chosen > 0


@EVERY
def test_engines_agree_to_the_last_bit(loss, monkeypatch):
    monkeypatch.setattr(shards, "NUMBERS_PER_SHARD", 300)

    def fit(engine):
        problem = multivariate_problem_for(loss, n=400, weighted=True, engine=engine)
        assert problem.risk.engine.n_shards > 3
        return fenchel.minimize(problem, "ls-bmrm", max_iterations=5)

    first = fit(ENGINES[0])
    for engine in ENGINES[1:]:
        other = fit(engine)
        assert np.array_equal(first.w, other.w) and first.lower_bound == other.lower_bound


@EVERY
def test_shards_do_not_change_the_risk(loss, monkeypatch):
    w = np.array([0.3, -1.0, 2.0, 0.1])
    whole = multivariate_problem_for(loss, n=400, weighted=True).risk.at(w)
    monkeypatch.setattr(shards, "NUMBERS_PER_SHARD", 300)
    cut = multivariate_problem_for(loss, n=400, weighted=True).risk.at(w)
    assert cut.value == pytest.approx(whole.value, rel=1e-13)
    assert cut.subgradient == pytest.approx(whole.subgradient, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("loss", [losses.FBeta(), losses.FBeta(beta=0.4)], ids=ids)
def test_the_offset_of_fbeta_is_a_column_of_ones(loss):
    rng = np.random.default_rng(7)
    X = rng.normal(size=(60, 3))
    y = np.where(X[:, 0] + 0.5 * rng.normal(size=60) > 1, 1, -1)
    problem = fenchel.problem(X, y, loss=loss, strength=0.01, intercept=True)
    result = fenchel.minimize(problem, gap=1e-6)
    fenchel.verify(result, problem)
    ones = fenchel.problem(
        np.column_stack([X, np.ones(60)]), y, loss=loss, strength=0.01, weights=[1, 1, 1, 0]
    )
    other = fenchel.minimize(ones, "bmrm", gap=1e-6)
    assert other.converged and result.converged
    assert result.lower_bound <= other.objective and other.lower_bound <= result.objective
    value = loss.value(X @ result.w + result.intercept, y)
    assert value + 0.005 * result.w @ result.w == pytest.approx(result.objective, rel=1e-12)


@settings(max_examples=60)
@given(st.data(), st.sampled_from([0.4, 1.0, 3.0]), st.floats(-20, 20))
def test_the_shift_of_the_least_fbeta_is_the_best_of_all(data, beta, guess):
    """The loss is piecewise linear in the shift: with slopes that cancel, no shift is better."""
    loss = losses.FBeta(beta)
    z, y, _, _ = data.draw(samples(loss))
    native = twin(loss, loss.sample(y))
    b, value, g = native.least(z, guess)
    assert value == pytest.approx(loss.value(z + b, y), rel=1e-12, abs=1e-13)
    assert np.sum(g) == pytest.approx(0.0, abs=1e-14)
    for other in (z, -z, z**2, z + 5 * y):  # g supports the least value from below
        shift, least, _ = native.least(other, 0.0)
        assert least >= value + g @ (other - z) - 1e-12
        assert all(least <= loss.value(other + shift + d, y) + 1e-12 for d in (-3, -0.1, 0.1, 3))


@pytest.mark.parametrize("scale", [1e-300, 1e-9, 1e9, 1e300])
def test_the_least_fbeta_survives_scores_of_any_size(scale):
    z, y = scale * np.array([3.0, 1.0, -2.0, 0.5]), np.array([1.0, -1.0, 1.0, -1.0])
    b, value, g = twin(losses.FBeta(), losses.FBeta().sample(y)).least(z, 0.0)
    assert abs(g.sum()) <= 1e-15
    assert value == pytest.approx(losses.FBeta().value(z + b, y), rel=1e-9)


def test_ties_at_zero_and_on_kinks_are_certified():
    """Binary data: many scores are equal, and pairs lie exactly on the margin."""
    rng = np.random.default_rng(8)
    X = rng.integers(0, 2, size=(30, 4)).astype(float)
    for loss in MULTIVARIATE_LOSSES:
        y, groups = sample_for(loss, rng, 30, 3 * X[:, 0] - 2)
        for strength in (0.1, 0.25, 1.0):
            problem = fenchel.problem(X, y, loss=loss, groups=groups, strength=strength)
            result = fenchel.minimize(problem, gap=1e-9, max_iterations=60)
            fenchel.verify(result, problem)


@pytest.mark.parametrize("loss", [losses.ROC(), losses.NDCG()], ids=ids)
def test_a_run_goes_on_from_its_checkpoint(loss, tmp_path):
    problem, path = multivariate_problem_for(loss, strength=1e-3), tmp_path / "run"
    fenchel.minimize(problem, "bmrm", gap=1e-9, max_iterations=16, checkpoint=path)
    resumed = fenchel.minimize(problem, "bmrm", gap=1e-9, max_iterations=40, checkpoint=path)
    whole = fenchel.minimize(
        problem, "bmrm", gap=1e-9, max_iterations=40, checkpoint=tmp_path / "other"
    )
    assert np.array_equal(resumed.w, whole.w)
    other = multivariate_problem_for(loss, strength=1e-3, seed=1)
    with pytest.raises(fenchel.InvalidData, match="another problem"):
        fenchel.minimize(other, "bmrm", checkpoint=path)


def test_queries_are_part_of_the_fingerprint():
    X, y = np.arange(6.0).reshape(6, 1), [0, 1, 2, 0, 1, 2]
    prints = {
        fenchel.problem(X, y, loss="ndcg", groups=groups).risk.fingerprint()
        for groups in ([0] * 6, [0, 0, 0, 1, 1, 1], [0, 0, 1, 1, 1, 1])
    }
    assert len(prints) == 3


def test_a_loss_is_written_in_a_few_lines():
    class Spread(MultivariateLoss):
        """max z - min z."""

        labels = Labels.NONE

        def tangent(self, z, sample):
            g = np.zeros_like(z)
            g[np.argmax(z)] += 1.0
            g[np.argmin(z)] -= 1.0
            return Tangent(0.0, g)

    X = np.random.default_rng(9).normal(size=(20, 3))
    problem = fenchel.problem(X + 1.0, loss=Spread(), strength=0.1)
    result = fenchel.minimize(problem, "bmrm", w0=np.ones(3), gap=1e-3, max_iterations=100)
    assert fenchel.verify(result, problem).lower_bound <= result.objective <= 0.2
    assert Spread().value(X[:, 0], np.zeros(20)) == pytest.approx(np.ptp(X[:, 0]))


def test_solvers_that_cannot_say_why():
    problem = multivariate_problem_for(losses.ROC())
    able = {name for name, kind in SOLVERS.items() if kind().obstacle(problem) is None}
    bundles, subgradients = {"bmrm", "ls-bmrm", "bmrm-noqp"}, {"subbfgs", "sublbfgs", "subgd", "gd"}
    smoothed = {"agm-inf", "agm-1", "fista", "proximal-gradient"}
    assert able == {*bundles, *subgradients, *smoothed, "hybrid", "pegasos"}
    with pytest.raises(fenchel.Incompatible, match="differentiable"):
        fenchel.minimize(problem, "lbfgs")
    with pytest.raises(fenchel.Incompatible, match="batch of rows"):
        fenchel.minimize(problem, Pegasos(batch=5))
    assert fenchel.minimize(problem).solver == "ls-bmrm"


# Bad input

X = np.random.default_rng(0).normal(size=(12, 2))
BINARY, LEVELS, QUERIES = np.arange(12) % 2, np.arange(12) % 3, np.arange(12) // 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"y": np.ones(12), "loss": "roc"}, "single class"),
        ({"y": BINARY, "loss": "roc", "sample_weight": BINARY}, "different classes"),
        ({"y": np.ones(12), "loss": "fbeta"}, "single class"),
        ({"y": BINARY, "loss": "fbeta", "beta": 0.0}, "beta must be > 0"),
        ({"y": BINARY, "loss": "fbeta", "sample_weight": np.ones(12)}, "no meaning"),
        ({"y": BINARY, "loss": "precision_at_k", "k": 13}, "k is 13, but there are 12 rows"),
        ({"y": BINARY, "loss": "recall_at_k", "k": 0}, "k must be a whole number >= 1"),
        ({"y": BINARY, "loss": "prbep", "intercept": True}, "shifted"),
        ({"y": LEVELS, "loss": "roc"}, "two classes"),
        ({"y": LEVELS, "loss": "ordinal", "intercept": True}, "shifted"),
        ({"y": np.ones(12), "loss": "ordinal"}, "nothing is to be ordered"),
        ({"y": LEVELS, "loss": "ordinal", "cost": [[0, 1], [0, 0]]}, "cost is for 2 levels"),
        ({"y": LEVELS, "loss": "ordinal", "cost": [1, 2]}, "square matrix"),
        ({"y": LEVELS, "loss": "ordinal", "cost": -np.eye(3)}, ">= 0"),
        ({"y": LEVELS, "loss": "ordinal", "groups": QUERIES}, "no groups"),
        ({"y": BINARY, "loss": "hinge", "groups": QUERIES}, "no groups"),
        ({"y": LEVELS, "loss": "ndcg"}, "give groups="),
        ({"y": LEVELS, "loss": "ndcg", "groups": QUERIES[1:]}, "groups has 11 entries"),
        ({"y": LEVELS, "loss": "ndcg", "groups": LEVELS}, "comes back after other groups"),
        ({"y": LEVELS, "loss": "ndcg", "groups": ["a"] * 12}, "whole numbers"),
        ({"y": LEVELS, "loss": "ndcg", "groups": np.arange(12)}, "nothing is to be ordered"),
        ({"y": LEVELS, "loss": "rank_hinge", "groups": np.arange(12)}, "no query has two"),
        ({"y": LEVELS - 1, "loss": "mrr", "groups": QUERIES}, "y >= 0"),
        ({"y": 99 * LEVELS, "loss": "ndcg", "groups": QUERIES}, "relevances such as 0 .. 4"),
        ({"y": LEVELS, "loss": "eru", "half_life": 1.0, "groups": QUERIES}, "half_life"),
        ({"y": LEVELS, "loss": "mrr", "sample_weight": X[:, 0] ** 2, "groups": QUERIES}, "no mean"),
    ],
    ids=lambda case: case if isinstance(case, str) else "",
)
def test_bad_input_is_refused(options, message):
    with pytest.raises(fenchel.FenchelError, match=message):
        fenchel.problem(X, **options)


@pytest.mark.parametrize(
    ("z", "groups", "message"),
    [
        (np.zeros(3), [0, 0, 1, 1], "scores of shape"),
        (np.zeros(4), [0, 0, 1], "groups has 3"),
        (np.zeros(4), [0, 1, 0, 0], "stand together"),
        (np.zeros(4), None, "give groups="),
    ],
)
def test_scores_and_groups_must_fit_the_labels(z, groups, message):
    with pytest.raises(fenchel.FenchelError, match=message):
        losses.RankHinge().value(z, [0.0, 1.0, 0.0, 1.0], groups=groups)


@pytest.mark.parametrize("loss", RANKED, ids=ids)
def test_queries_of_one_document_and_of_equal_ones_count_as_nothing_to_order(loss):
    y, groups = np.array([2.0, 1.0, 0.0, 1.0, 1.0, 0.0]), np.array([0, 0, 0, 1, 1, 2])
    z = np.array([0.3, -0.2, 0.9, 1.0, -1.0, 5.0])
    alone = loss.value(z[:3], y[:3], groups=groups[:3])
    assert loss.value(z, y, groups=groups) == pytest.approx(alone / 3)
    assert not loss.slope(z, y, groups=groups)[3:].any()


@EVERY
def test_scores_that_are_not_finite_give_nan(loss):
    y, groups = sample_for(loss, np.random.default_rng(0), 20)
    native = twin(loss, loss.sample(y, None, groups))
    for bad in (np.nan, np.inf):
        z = np.zeros(20)
        z[7] = bad
        c, g = native.tangent(z)
        assert np.isnan(c) and np.isnan(g).all()
