"""ERLPBoost: its inner problem against a conic solver, certificates, settings and bad input."""

import itertools

import cvxpy as cp
import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import fenchel
from fenchel.estimators.corrective import Edges
from fenchel.regularizers import Entropy

X, Y = load_breast_cancer(return_X_y=True)


def edges(n, t, seed=0):
    return np.sign(np.random.default_rng(seed).normal(size=(t, n)) + 0.3)


def minimum(U, cap, eta):
    d = cp.Variable(U.shape[1])
    entropy = cp.sum(cp.rel_entr(d, 1 / U.shape[1]))
    constraints = [cp.sum(d) == 1, d <= min(cap, 1.0)]
    return cp.Problem(cp.Minimize(cp.max(U @ d) + entropy / eta), constraints).solve(
        solver=cp.CLARABEL
    )


@pytest.mark.parametrize("eta", [0.5, 5.0, 20.0])  # beyond, Clarabel takes it for infeasible
@pytest.mark.parametrize("nu", [0.02, 0.2, 0.9])
@pytest.mark.parametrize("t", [1, 5, 20])
def test_a_round_finds_the_conic_solvers_minimum(t, nu, eta):
    U = edges(40, t)
    problem = Edges(U, Entropy(1 / (nu * 40)), eta)
    d, w, upper, lower = problem.corrected(np.full(t - 1, 1 / max(t - 1, 1)), 1e-5)
    truth = minimum(U, 1 / (nu * 40), eta)
    assert lower - 1e-7 <= truth <= upper + 1e-7
    assert upper - lower <= 1e-5
    assert upper == pytest.approx(problem.upper(d), rel=1e-12)
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1.0)


def test_the_gradient_of_the_dual_is_the_edges():
    rng = np.random.default_rng(0)
    problem = Edges(edges(30, 6), Entropy(0.1), 10.0)
    w, h = rng.dirichlet(np.ones(6)), 1e-6
    gradient = problem.tangent(problem.imaged(w)).gradient
    for e in h * np.eye(6):
        change = problem.value(problem.imaged(w + e)) - problem.value(problem.imaged(w - e))
        assert change / (2 * h) == pytest.approx(gradient @ e / h, rel=1e-5)


@pytest.fixture(scope="module")
def model():
    return fenchel.ERLPBoost(nu=0.1, tol=0.02, random_state=0).fit(X, Y)


def test_a_fit_is_certified_and_its_bounds_close_in(model):
    assert model.status_ == "converged"
    assert 0 <= model.gap_ <= 0.02
    assert model.gap_ == model.objective_ - model.lower_bound_
    bounds = [each.lower_bound for each in model.history_]
    assert all(a <= b for a, b in itertools.pairwise(bounds))
    assert all(each.lower_bound <= model.objective_ for each in model.history_)
    assert [each.iteration for each in model.history_] == list(range(1, model.n_iter_ + 2))


def test_the_minimum_over_all_hypotheses_found_lies_between_the_bounds(model):
    signs = np.where(model.classes_[1] == Y, 1.0, -1.0)
    U = np.array([signs * np.where(h.predict(X) == 1, 1.0, -1.0) for h in model.estimators_])
    eta = 2 * np.log(10) / 0.02
    truth = Edges(U, Entropy(1 / (0.1 * len(Y))), eta).corrected(
        model.estimator_weights_[:-1], 1e-4
    )
    assert model.lower_bound_ <= truth.upper + 1e-9
    assert truth.lower <= model.objective_ + 1e-9


def test_votes_are_weighted_means_of_the_hypotheses(model):
    votes = np.array([np.where(h.predict(X) == 1, 1.0, -1.0) for h in model.estimators_])
    assert np.allclose(model.decision_function(X), model.estimator_weights_ @ votes)
    assert model.estimator_weights_.sum() == pytest.approx(1.0)
    assert np.array_equal(model.predict(X), (model.decision_function(X) > 0).astype(int))
    assert model.score(X, Y) > 0.93


def test_no_more_rows_than_nu_fall_short_of_the_margin():
    """The edge of the best d is the soft margin, which all but nu n rows reach (LPBoost)."""
    model = fenchel.ERLPBoost(nu=0.15, tol=0.01, random_state=0).fit(X, Y)
    margins = np.where(Y == 1, 1, -1) * model.decision_function(X)
    assert np.mean(margins < model.lower_bound_ - 0.02) <= 0.15


def test_labels_may_be_words_and_the_weak_learner_any_that_takes_weights():
    words = np.where(Y == 1, "benign", "malignant")
    weak = LogisticRegression(C=1e-4, max_iter=10_000)
    for each in (weak, DecisionTreeClassifier(max_depth=2)):
        model = fenchel.ERLPBoost(each, nu=0.2, tol=0.1, random_state=0).fit(X, words)
        assert set(model.predict(X)) == {"benign", "malignant"}
        assert model.score(X, words) > 0.9


def test_too_few_rounds_are_warned_of():
    with pytest.warns(ConvergenceWarning, match="after 3 rounds: the certified gap is"):
        model = fenchel.ERLPBoost(max_iter=3, random_state=0).fit(X, Y)
    assert model.status_ == "max_iterations"
    assert len(model.estimator_weights_) == model.n_iter_ == 3
    assert model.predict(X).shape == Y.shape


def test_a_nu_that_may_give_up_a_class_is_warned_of():
    rng = np.random.default_rng(0)
    rows = np.r_[np.flatnonzero(Y == 1), rng.permutation(np.flatnonzero(Y == 0))[:15]]  # 4 %
    with pytest.warns(fenchel.FenchelWarning, match=r"class 0 has 0.04 of them.* choose nu below"):
        given_up = fenchel.ERLPBoost(nu=0.2, tol=0.02, random_state=0).fit(X[rows], Y[rows])
    kept = fenchel.ERLPBoost(nu=0.01, tol=0.02, random_state=0).fit(X[rows], Y[rows])
    found = [np.mean(model.predict(X[rows])[-15:] == 0) for model in (given_up, kept)]
    assert found[0] < 0.8 and found[1] == 1


@pytest.mark.parametrize(
    ("settings", "kind", "message"),
    [
        ({"nu": 0.0}, fenchel.InvalidData, "nu must be > 0"),
        ({"nu": 1.5}, fenchel.InvalidData, r"nu must lie in \(0, 1\]; got 1.5"),
        ({"eta": -1.0}, fenchel.InvalidData, "eta must be > 0"),
        ({"tol": 0.0}, fenchel.InvalidData, "tol must be > 0"),
        ({"max_iter": 0}, fenchel.InvalidData, "max_iter must be a whole number >= 1"),
        ({"estimator": KNeighborsClassifier()}, fenchel.Incompatible, "no sample_weight"),
    ],
)
def test_settings_that_make_no_sense_are_refused_before_the_data_are_looked_at(
    settings, kind, message
):
    with pytest.raises(kind, match=message):
        fenchel.ERLPBoost(**settings).fit("no data", "at all")


def test_three_classes_are_refused_with_what_to_do():
    with pytest.raises(fenchel.InvalidData, match=r"y holds 3 classes; .*OneVsRestClassifier"):
        fenchel.ERLPBoost().fit(np.eye(3), [0, 1, 2])
