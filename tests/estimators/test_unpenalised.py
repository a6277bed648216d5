"""penalty=None: the estimators' fits without a penalty, certified."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LinearRegression, LogisticRegression

import fenchel

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 5))
Z = X @ rng.normal(size=5) + 0.5


def test_the_models_are_scikit_learns():
    y = Z + rng.logistic(size=300) > 0
    ours = fenchel.Classifier(loss="logistic", penalty=None, alpha=7.0).fit(X, y)
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(X, y)
    assert ours.status_ == "converged" and ours.gap_ <= 1e-10
    assert np.allclose(ours.coef_, theirs.coef_, atol=1e-5)
    target = Z + rng.normal(size=300)
    line, other = fenchel.Regressor(penalty=None).fit(X, target), LinearRegression().fit(X, target)
    assert line.status_ == "converged" and np.allclose(line.coef_, other.coef_, atol=1e-9)


def test_a_model_without_a_penalty_is_saved_and_loaded(tmp_path):
    model = fenchel.PoissonRegressor(penalty=None).fit(X, rng.poisson(np.exp(0.3 * Z)))
    fenchel.save(model, tmp_path / "model.fenchel")
    loaded = fenchel.load(tmp_path / "model.fenchel")
    assert loaded.penalty is None and np.array_equal(loaded.coef_, model.coef_)


def test_there_is_no_alpha_to_choose_without_a_penalty():
    with pytest.raises(fenchel.Incompatible, match="no alpha to choose"):
        fenchel.RegressorCV(penalty=None).fit(X, Z)


@pytest.mark.parametrize("seed", range(3))
def test_a_fit_says_the_same_whatever_the_number_of_threads(seed):
    y = np.random.default_rng(seed).poisson(np.exp(0.3 * Z))
    one, two = (fenchel.PoissonRegressor(penalty=None, n_jobs=k).fit(X, y) for k in (1, 2))
    assert np.array_equal(one.coef_, two.coef_) and one.lower_bound_ == two.lower_bound_


def test_separable_classes_are_named_in_the_warning():
    model = fenchel.Classifier(loss="logistic", penalty=None)
    with pytest.warns(ConvergenceWarning, match="rows are separated by the coefficients"):
        model.fit(X, Z > 0)
    assert model.status_ == "unbounded"
