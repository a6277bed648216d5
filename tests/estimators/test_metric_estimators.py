"""Estimators of losses of all rows: thresholds are the best there are, and rankings rank."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import (
    balanced_accuracy_score,
    fbeta_score,
    ndcg_score,
    precision_score,
    recall_score,
    roc_auc_score,
)
from sklearn.model_selection import GridSearchCV, GroupKFold

import fenchel
from fenchel import InvalidData, MetricClassifier, OrdinalRegressor, Ranker, losses
from fenchel.estimators.measures import ndcg, reciprocal_rank
from fenchel.estimators.thresholds import (
    balanced_accuracy,
    best_threshold,
    f_measure,
    ordinal_thresholds,
    top_threshold,
)

RNG = np.random.default_rng(5)
X = RNG.normal(size=(200, 4))
HIDDEN = X @ [1.0, -2.0, 0.5, 0.0] + 0.7 * RNG.normal(size=200)
RARE = np.where(HIDDEN > 2.0, "rare", "common")
LEVELS = np.array(["a", "b", "c", "d"])[np.digitize(HIDDEN, [-2, 0, 2])]
QUERIES = np.repeat(np.arange(20), 10)
RELEVANCE = np.digitize(HIDDEN, [0, 2])

few_scores = st.lists(st.integers(-3, 3), min_size=2, max_size=9).map(np.array)


def cuts(z):
    return np.append(np.unique(z), z.min() - 1.0)


@given(few_scores, st.data(), st.sampled_from([0.5, 1.0, 2.0]))
def test_a_threshold_is_the_best_of_all(z, data, beta):
    right = np.array(data.draw(st.lists(st.booleans(), min_size=len(z), max_size=len(z))))
    right[:2] = [True, False]

    def f(threshold):
        return fbeta_score(right, z > threshold, beta=beta, zero_division=0.0)

    def balanced(threshold):
        return balanced_accuracy_score(right, z > threshold)

    z = z.astype(float)
    for score, measure in ((f, f_measure(beta)), (balanced, balanced_accuracy)):
        found = score(best_threshold(z, right, measure))
        assert found == pytest.approx(max(map(score, cuts(z))))


@given(few_scores, st.data())
def test_k_rows_and_those_that_equal_the_kth_are_above(z, data):
    k = data.draw(st.integers(1, len(z)))
    above = z > top_threshold(z.astype(float), k)
    assert np.array_equal(above, z >= np.sort(z)[-k])


@given(few_scores, st.data(), st.booleans(), st.booleans())
def test_ordinal_thresholds_are_the_best_of_all(z, data, weighted, costly):
    K = data.draw(st.integers(2, 4))
    numbers = st.lists(st.integers(0, K - 1), min_size=len(z), max_size=len(z))
    level = np.array(data.draw(numbers))
    cost = np.abs(np.subtract.outer(np.arange(K), np.arange(K))).astype(float)
    if costly:
        each = st.lists(st.integers(0, 5), min_size=K * K, max_size=K * K)
        cost = np.array(data.draw(each), dtype=float).reshape(K, K)
    s = np.array(data.draw(numbers)) + 1.0 if weighted else np.ones(len(z))

    def total(thresholds):
        return float(s @ cost[level, np.searchsorted(thresholds, z, side="left")])

    found = ordinal_thresholds(z.astype(float), level, cost, s if weighted else None)
    assert len(found) == K - 1
    assert (np.diff(found) >= 0).all()
    every = itertools.combinations_with_replacement(sorted(cuts(z)), K - 1)
    assert total(found) == pytest.approx(min(map(total, every)))


def test_scores_that_differ_by_round_off_are_equal():
    z = np.array([1.0, 1.0 + 1e-15, 3.0])
    assert (z > top_threshold(z, 2)).all()
    assert (z > best_threshold(z, np.array([1, 0, 1]), f_measure(1.0))).all()
    found = ordinal_thresholds(z, np.array([1, 0, 1]), np.array([[0.0, 1.0], [1.0, 0.0]]))
    assert len({*np.searchsorted(found, z[:2])}) == 1


@pytest.mark.parametrize("metric", ["f1", "fbeta", "roc_auc", "break_even"])
def test_a_metric_classifier_finds_the_rare_rows(metric):
    model = MetricClassifier(metric=metric, beta=2.0, alpha=1e-3).fit(X, RARE)
    assert model.result_.converged
    assert model.gap_ <= model.tol
    assert model.classes_.tolist() == ["common", "rare"]
    assert set(model.predict(X)) == {"common", "rare"}
    assert np.array_equal(model.predict(X) == "rare", model.decision_function(X) > 0)
    assert model.score(X, RARE) > 0.75


def test_the_certificate_is_that_of_the_problem():
    model = MetricClassifier(metric="f1", alpha=1e-3).fit(X, RARE)
    problem = fenchel.problem(X, RARE, loss="fbeta", strength=1e-3, intercept=True)
    fenchel.verify(model.result_, problem)
    assert model.intercept_[0] == model.result_.intercept != 0
    ranker = Ranker(loss="ndcg", k=5, alpha=1e-3).fit(X, RELEVANCE, groups=QUERIES)
    problem = fenchel.problem(X, RELEVANCE, loss="ndcg", k=5, strength=1e-3, groups=QUERIES)
    fenchel.verify(ranker.result_, problem)


def test_scores_are_the_measures():
    right = RARE == "rare"
    for beta, metric in ((1.0, "f1"), (2.0, "fbeta")):
        model = MetricClassifier(metric=metric, beta=2.0, alpha=1e-3).fit(X, RARE)
        taken = model.predict(X) == "rare"
        assert model.score(X, RARE) == pytest.approx(fbeta_score(right, taken, beta=beta))
    model = MetricClassifier(metric="roc_auc", alpha=1e-3).fit(X, RARE)
    assert model.score(X, RARE) == roc_auc_score(right, model.decision_function(X))
    for metric, score in (("precision_at_k", precision_score), ("recall_at_k", recall_score)):
        model = MetricClassifier(metric=metric, k=15, alpha=1e-4).fit(X, RARE)
        taken = model.predict(X) == "rare"
        assert taken.sum() == 15
        assert model.score(X, RARE) == pytest.approx(score(right, taken))
    model = MetricClassifier(metric="break_even", alpha=1e-3).fit(X, RARE)
    taken = model.predict(X) == "rare"
    assert precision_score(right, taken) == recall_score(right, taken) == model.score(X, RARE)


def test_a_bound_that_is_least_at_zero_is_no_secret():
    noise = np.where(np.random.default_rng(0).random(200) < 0.1, 1, 0)
    with pytest.warns(fenchel.FenchelWarning, match="nothing better than w = 0"):
        model = MetricClassifier(metric="f1", alpha=1.0).fit(X, noise)
    assert not model.coef_.any()
    with pytest.warns(fenchel.FenchelWarning, match="nothing better than w = 0"):
        Ranker(loss="ndcg", alpha=10.0).fit(X, noise, groups=QUERIES)


def test_tied_scores_share_the_last_places():
    model = MetricClassifier(metric="precision_at_k", k=1).fit([[0.0], [1.0]], [0, 1])
    model.set_params(k=2)
    # One of the three rows with the second highest score is taken; one of them is positive.
    assert model.score([[2.0], [1.0], [1.0], [1.0]], [1, 1, 0, 0]) == pytest.approx((1 + 1 / 3) / 2)


def test_a_grid_search_tunes_the_measure():
    search = GridSearchCV(MetricClassifier(metric="f1"), {"alpha": [1e-3, 1e2]}, cv=3).fit(X, RARE)
    assert search.best_params_ == {"alpha": 1e-3}


def test_an_ordinal_regressor_predicts_levels():
    model = OrdinalRegressor(alpha=1e-3).fit(X, LEVELS)
    assert model.result_.converged
    assert model.thresholds_.shape == (3,)
    assert set(model.predict(X)) == {"a", "b", "c", "d"}
    codes = {label: k for k, label in enumerate("abcd")}
    errors = [abs(codes[a] - codes[b]) for a, b in zip(LEVELS, model.predict(X), strict=True)]
    assert model.score(X, LEVELS) == pytest.approx(-np.mean(errors))
    assert np.mean(errors) < 0.35
    order = np.argsort(model.score_samples(X))
    assert (np.diff([codes[label] for label in model.predict(X)[order]]) >= 0).all()


def test_costs_decide_where_levels_end():
    cost = np.abs(np.subtract.outer(np.arange(4.0), np.arange(4.0)))
    plain = OrdinalRegressor(alpha=1e-3, cost=cost).fit(X, LEVELS)
    dear = cost.copy()
    dear[3, :3] *= 100.0  # a "d" that is missed
    careful = OrdinalRegressor(alpha=1e-3, cost=dear).fit(X, LEVELS)
    assert careful.coef_ == pytest.approx(plain.coef_)  # the upper triangle is the same
    assert np.sum(careful.predict(X) == "d") > np.sum(plain.predict(X) == "d")
    assert (careful.predict(X)[LEVELS == "d"] == "d").all()


def test_weights_are_copies_of_rows():
    s = RNG.integers(0, 3, len(X))
    weighed = OrdinalRegressor(alpha=1e-2, tol=1e-6).fit(X, LEVELS, sample_weight=s)
    copied = OrdinalRegressor(alpha=1e-2, tol=1e-6).fit(np.repeat(X, s, axis=0), LEVELS.repeat(s))
    assert weighed.objective_ == pytest.approx(copied.objective_, rel=1e-5)
    assert weighed.thresholds_ == pytest.approx(copied.thresholds_, abs=0.05)
    assert weighed.score(X, LEVELS, s) == pytest.approx(
        weighed.score(np.repeat(X, s, axis=0), LEVELS.repeat(s))
    )


def test_weights_of_a_metric_classifier_are_copies_of_rows():
    s = np.random.default_rng(1).integers(0, 3, len(X))
    copies, y = np.repeat(X, s, axis=0), RARE.repeat(s)
    weighed = MetricClassifier(metric="roc_auc", alpha=1e-2, tol=1e-6).fit(X, RARE, sample_weight=s)
    copied = MetricClassifier(metric="roc_auc", alpha=1e-2, tol=1e-6).fit(copies, y)
    assert weighed.objective_ == pytest.approx(copied.objective_, rel=1e-5)
    assert weighed.threshold_ == pytest.approx(copied.threshold_, abs=0.05)
    plain = MetricClassifier(metric="roc_auc", alpha=1e-2, tol=1e-6).fit(X, RARE)
    assert abs(plain.objective_ - copied.objective_) > 1e-3 * copied.objective_
    assert weighed.score(X, RARE, s) == pytest.approx(weighed.score(copies, y))


def test_weights_of_a_ranker_are_copies_of_documents():
    s = np.random.default_rng(1).integers(0, 3, len(X))
    weighed = Ranker(alpha=1e-2, tol=1e-6).fit(X, RELEVANCE, QUERIES, sample_weight=s)
    copied = Ranker(alpha=1e-2, tol=1e-6).fit(
        np.repeat(X, s, axis=0), RELEVANCE.repeat(s), QUERIES.repeat(s)
    )
    assert weighed.objective_ == pytest.approx(copied.objective_, rel=1e-5)


@pytest.mark.parametrize("metric", ["f1", "precision_at_k", "break_even"])
def test_measures_that_count_rows_refuse_weights_that_differ(metric):
    model, s = MetricClassifier(metric=metric, alpha=1e-3), np.full(len(X), 2.0)
    assert np.array_equal(model.fit(X, RARE, s).coef_, model.fit(X, RARE).coef_)
    assert model.score(X, RARE, s) == model.score(X, RARE)
    s[3] = 1.0
    for use in (model.fit, model.score):
        with pytest.raises(fenchel.Incompatible, match=r"no meaning for sample_weight.*roc_auc"):
            use(X, RARE, sample_weight=s)
    with pytest.raises(fenchel.Incompatible, match=r"no meaning for sample_weight.*rank_hinge"):
        Ranker(loss="ndcg").fit(X, RELEVANCE, QUERIES, sample_weight=s)


@pytest.mark.parametrize("loss", ["rank_hinge", "ndcg", "mrr", "eru"])
def test_a_ranker_ranks(loss):
    model = Ranker(loss=loss, alpha=1e-3, k=5).fit(X, RELEVANCE, groups=QUERIES)
    assert model.result_.converged
    assert model.coef_.shape == (4,)
    random = np.mean(ndcg(RNG.normal(size=200), RELEVANCE.astype(float), QUERIES, 5))
    assert model.score(X, RELEVANCE, groups=QUERIES) > random + 0.2
    assert np.corrcoef(model.predict(X), HIDDEN)[0, 1] > 0.7


@given(few_scores, st.data())
def test_ndcg_is_that_of_scikit_learn(z, data):
    y = np.array(data.draw(st.lists(st.integers(0, 3), min_size=len(z), max_size=len(z))))
    k = data.draw(st.none() | st.integers(1, 9))
    found = ndcg(np.append(z, [1.0, 2.0]), np.append(y, [0.0, 0.0]), np.r_[y * 0, 1, 1], k)
    if not y.any():
        assert len(found) == 0
        return
    assert found == pytest.approx([ndcg_score([2.0**y - 1], [z], k=k)])


@given(few_scores, st.data())
def test_a_reciprocal_rank_is_the_mean_over_orders_of_ties(z, data):
    z = z[:6].astype(float)
    y = np.array(data.draw(st.lists(st.booleans(), min_size=len(z), max_size=len(z))))
    y[0] = True
    ranks = []
    for order in map(list, itertools.permutations(range(len(z)))):
        if (np.diff(z[order]) <= 0).all():
            ranks.append(1.0 / (1 + np.argmax(y[order])))
    found = reciprocal_rank(np.append(z, 9.0), np.append(y, 0.0), np.append(0 * y, 1).astype(int))
    assert found == pytest.approx([np.mean(ranks)])


def test_groups_are_routed_through_a_grid_search():
    import sklearn

    with sklearn.config_context(enable_metadata_routing=True):
        model = Ranker().set_fit_request(groups=True).set_score_request(groups=True)
        search = GridSearchCV(model, {"alpha": [1e-3, 1e3]}, cv=GroupKFold(4))
        search.fit(X, RELEVANCE, groups=QUERIES)
        assert search.best_score_ > 0.7


@pytest.mark.parametrize(
    ("model", "y", "more", "said"),
    [
        (MetricClassifier(), np.zeros(200), {}, "single class"),
        (MetricClassifier(), LEVELS, {}, "Only binary classification"),
        (MetricClassifier(metric="precision_at_k", k=201), RARE, {}, "k is 201, but there are 200"),
        (MetricClassifier(metric="recall_at_k", k=0), RARE, {}, "k must be a whole number >= 1"),
        (MetricClassifier(metric="fbeta", beta=-1), RARE, {}, "beta must be > 0"),
        (MetricClassifier(metric="f2"), RARE, {}, "unknown metric 'f2'"),
        (
            MetricClassifier(metric="roc_auc"),
            RARE,
            {"sample_weight": 1.0 * (RARE == "rare")},
            "rows of class 'common' all have weight 0",
        ),
        (OrdinalRegressor(cost=np.ones((3, 3))), LEVELS, {}, "3 levels, but y has 4"),
        (OrdinalRegressor(cost=[1, 2]), LEVELS, {}, "cost must be a square matrix"),
        (OrdinalRegressor(), np.ones(200), {}, "single class"),
        (Ranker(), RELEVANCE, {}, "groups is missing"),
        (Ranker(), RELEVANCE, {"groups": QUERIES[:-1]}, "200 rows but groups has 199"),
        (Ranker(), RELEVANCE, {"groups": QUERIES % 5}, "sort the rows by groups"),
        (Ranker(), RELEVANCE, {"groups": QUERIES + 0.5}, "groups must hold whole numbers"),
        (Ranker(), RELEVANCE, {"groups": np.arange(200)}, "nothing is to be ordered"),
        (Ranker(loss="ndcg"), -RELEVANCE, {"groups": QUERIES}, "y >= 0"),
        (Ranker(loss="hinge"), RELEVANCE, {"groups": QUERIES}, "unknown loss 'hinge'"),
        (Ranker(k=0), RELEVANCE, {"groups": QUERIES}, "k must be a whole number >= 1"),
        (Ranker(loss="eru", half_life=1), RELEVANCE, {"groups": QUERIES}, "half_life must be > 1"),
    ],
)
def test_what_cannot_be_fitted_is_said(model, y, more, said):
    with pytest.raises(InvalidData, match=said):
        model.fit(X, y, **more)


def test_what_cannot_be_measured_is_said():
    model = MetricClassifier(metric="recall_at_k", k=150, alpha=1e-2).fit(X, RARE)
    with pytest.raises(InvalidData, match=r"y\[1\] is 'odd', which fit has not seen"):
        model.score(X[:2], ["rare", "odd"])
    with pytest.raises(InvalidData, match="k is 150, but there are 100 rows"):
        model.score(X[:100], RARE[:100])
    with pytest.raises(InvalidData, match="2 rows but y has 3"):
        model.score(X[:2], RARE[:3])
    with pytest.raises(InvalidData, match="one class only"):
        model.score(X[RARE == "rare"], RARE[RARE == "rare"])
    model = OrdinalRegressor(alpha=1e-2).fit(X, LEVELS)
    with pytest.raises(InvalidData, match=r"y\[0\] is 'z', which fit has not seen"):
        model.score(X[:2], ["z", "a"])
    model = Ranker(alpha=1e-2).fit(X, RELEVANCE, groups=QUERIES)
    with pytest.raises(InvalidData, match="groups is missing"):
        model.score(X, RELEVANCE)
    with pytest.raises(InvalidData, match="no query has a relevant document"):
        model.score(X, 0 * RELEVANCE, groups=QUERIES)


@pytest.mark.parametrize(
    ("loss", "named"),
    [
        ("roc", "MetricClassifier"),
        (losses.PRBEP(), "MetricClassifier"),
        ("ordinal", "OrdinalRegressor"),
        ("ndcg", "Ranker"),
    ],
)
def test_other_estimators_point_to_these(loss, named):
    with pytest.raises(fenchel.Incompatible, match=f"use {named}"):
        fenchel.Classifier(loss=loss).fit(X, RARE)


@pytest.mark.parametrize("warm", [False, True])
def test_a_warm_start_begins_where_the_last_fit_ended(warm):
    model = Ranker(alpha=1e-3, warm_start=warm).fit(X, RELEVANCE, groups=QUERIES)
    first, end = model.result_.history[0].objective, model.objective_
    again = model.fit(X, RELEVANCE, groups=QUERIES).result_.history[0].objective
    assert again == pytest.approx(end) if warm else again == first


def test_thresholds_in_a_file_must_rise(tmp_path):
    model = OrdinalRegressor(alpha=1e-2).fit(X, LEVELS)
    model.thresholds_ = model.thresholds_[::-1]
    fenchel.save(model, tmp_path / "model")
    with pytest.raises(InvalidData, match="its thresholds do not rise"):
        fenchel.load(tmp_path / "model")
