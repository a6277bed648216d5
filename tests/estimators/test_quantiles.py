"""Several quantiles at once: they do not cross, are the best such, and intervals cover."""

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_regressor
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import fenchel
from fenchel.estimators.quantiles import stacked_rows

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.9)


def rows(n=150, p=3, seed=0):
    """Few rows whose spread changes its direction: quantiles fitted one by one would cross."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 5, size=(n, p))
    return X, X @ rng.normal(size=p) + (0.1 + np.abs(X[:, 0])) * rng.standard_t(2, size=n)


def corners(box):
    return np.stack(np.meshgrid(*box.T), axis=-1).reshape(-1, box.shape[1])


@pytest.fixture(scope="module")
def model():
    return fenchel.MultiQuantileRegressor(quantiles=LEVELS, alpha=1e-5).fit(*rows())


def test_quantiles_do_not_cross_at_any_corner_of_the_box(model):
    X, y = rows()
    assert model.status_ == "converged" and model.solver_ == "bmrm"
    lines = model.coef_ @ corners(model.box_).T + model.intercept_[:, np.newaxis]
    assert np.diff(lines, axis=0).min() >= -1e-12 * np.abs(y).max()
    alone = [fenchel.QuantileRegressor(quantile=q, alpha=1e-5).fit(X, y) for q in LEVELS]
    crossing = np.array([each.predict(corners(model.box_)) for each in alone])
    assert np.diff(crossing, axis=0).min() < 0  # or the test would show nothing


def test_predictions_are_in_order_anywhere(model):
    X = np.random.default_rng(1).normal(scale=100, size=(1000, 3))
    assert (np.diff(model.predict(X), axis=1) >= 0).all()


def test_no_quantiles_that_do_not_cross_are_better(model):
    """The same by another program: affine functions, ordered at every corner of the box."""
    X, y = rows()
    span = model.box_[1] - model.box_[0]
    U, p, m = (X - model.box_[0]) / span, X.shape[1], len(LEVELS)
    B, b = cp.Variable((p, m)), cp.Variable(m)
    loss = 0
    for k, q in enumerate(LEVELS):
        r = U @ B[:, k] + b[k] - y
        loss += cp.sum(cp.maximum(-q * r, (1 - q) * r)) / (len(y) * m)
    unit = corners(np.array([np.zeros(p), np.ones(p)]))
    ordered = [unit @ (B[:, k + 1] - B[:, k]) + b[k + 1] - b[k] >= 0 for k in range(m - 1)]
    least = cp.Problem(cp.Minimize(loss), ordered).solve(solver="CLARABEL")
    fine = fenchel.MultiQuantileRegressor(quantiles=LEVELS, alpha=1e-8, tol=1e-5).fit(X, y)
    quantiles = fine.predict(X)
    each = [
        np.maximum(q * (y - quantiles[:, k]), (1 - q) * (quantiles[:, k] - y))
        for k, q in enumerate(LEVELS)
    ]
    assert least * (1 - 1e-6) <= np.mean(each) <= least * (1 + 1e-4)
    assert fine.lower_bound_ <= least * (1 + 1e-4)


def test_every_model_that_does_not_cross_is_one_of_increments():
    rng = np.random.default_rng(0)
    U, (r, up, down) = rng.uniform(size=(9, 2)), (0.3, np.array([1.0, 0.0]), np.array([0.0, 2.0]))
    A = stacked_rows(U, 2)
    w = np.concatenate([[3.0, -1.0], [r], up, down])
    low, high = (A @ w).reshape(2, 9)
    assert low == pytest.approx(U @ [3.0, -1.0])
    assert high - low == pytest.approx(r + U @ up + (1 - U) @ down)


def test_units_of_columns_and_targets_do_not_matter(model):
    X, y = rows()
    moved = X * [1e-3, 10.0, 1.0] + [5.0, -3.0, 1e3]
    other = fenchel.MultiQuantileRegressor(quantiles=LEVELS, alpha=1e-5).fit(moved, 1e4 * y)
    assert other.objective_ == pytest.approx(1e4 * model.objective_, rel=1e-4)
    assert other.predict(moved) == pytest.approx(1e4 * model.predict(X), abs=1e-3 * np.ptp(1e4 * y))


def test_weights_are_repetitions_and_layouts_the_same():
    X, y = rows()
    often = np.arange(len(y)) % 3
    settings = {"quantiles": (0.2, 0.8), "alpha": 1e-3, "tol": 1e-7}
    weighed = fenchel.MultiQuantileRegressor(**settings).fit(X, y, sample_weight=often)
    repeated = fenchel.MultiQuantileRegressor(**settings)
    repeated.fit(np.repeat(X, often, axis=0), np.repeat(y, often))
    assert weighed.objective_ == pytest.approx(repeated.objective_, rel=1e-6)
    csr = fenchel.MultiQuantileRegressor(**settings).fit(sparse.csr_array(X), y, often)
    assert np.array_equal(csr.coef_, weighed.coef_)


def test_conformal_intervals_cover_and_say_how_many_rows_they_need(model):
    X, y = rows(4000, seed=3)
    truth = fenchel.MultiQuantileRegressor(quantiles=(0.25, 0.75), alpha=1e-3)
    truth.fit(X[:200], y[:200])
    assert truth.margin_ == 0
    truth.conformalize(X[200:1200], y[200:1200], coverage=0.9)
    low, high = truth.predict_interval(X[1200:]).T
    covered = np.mean((low <= y[1200:]) & (y[1200:] <= high))
    assert abs(covered - 0.9) < 0.03 and truth.margin_ > 0
    with pytest.raises(fenchel.InvalidData, match=r"8 rows cannot tell.*give 9 or more"):
        truth.conformalize(X[:8], y[:8], coverage=0.9)
    truth.conformalize(X[:9], y[:9], coverage=0.9)
    low, high = truth.predict_interval(X[:9]).T
    assert ((low <= y[:9]) & (y[:9] <= high)).all()
    narrow = truth.conformalize(X[200:1200], y[200:1200], coverage=0.01).predict_interval(X)
    assert (narrow[:, 0] <= narrow[:, 1]).all()


def test_it_is_an_estimator_and_survives_a_file(model, tmp_path):
    X, y = rows()
    assert is_regressor(model) and model.score(X, y) > 0
    assert len(cross_val_score(fenchel.MultiQuantileRegressor(), X, y, cv=3)) == 3
    model.conformalize(*rows(seed=5))
    fenchel.save(model, tmp_path / "model.fenchel")
    loaded = fenchel.load(tmp_path / "model.fenchel")
    assert np.array_equal(loaded.predict_interval(X), model.predict_interval(X))
    assert loaded.gap_ == model.gap_ and np.array_equal(loaded.box_, model.box_)


SEVERAL = "it wants one prediction a row, not one for each quantile"


@parametrize_with_checks(
    [fenchel.MultiQuantileRegressor()],
    expected_failed_checks=lambda _: {
        "check_estimator_sparse_array": SEVERAL,
        "check_estimator_sparse_matrix": SEVERAL,
        "check_regressors_train": SEVERAL,
    },
)
def test_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"quantiles": (0.5,)}, "two or more levels that rise"),
        ({"quantiles": (0.5, 0.5)}, "two or more levels that rise"),
        ({"quantiles": 0.5}, "sequence of levels"),
        ({"quantiles": (0.0, 0.5)}, "quantile must be"),
        ({"lower": 0.0}, "leave lower and upper out"),
        ({"penalty": "group_l1", "feature_groups": [0, 0, 1]}, "separable"),
    ],
)
def test_bad_settings_are_refused(settings, said):
    with pytest.raises(fenchel.FenchelError, match=said):
        fenchel.MultiQuantileRegressor(**settings).fit(*rows())


@pytest.mark.parametrize("name", ["cal_housing", "abalone", "kin8nm"])
def test_on_held_out_rows_of_real_data_quantiles_do_not_cross_and_intervals_cover(name, real):
    X, y = real(name)
    X, y = np.asarray(X.todense(), dtype=float), np.asarray(y, dtype=float)
    order = np.random.default_rng(0).permutation(len(y))
    fitted, kept, new = np.split(order, [len(y) // 2, 3 * len(y) // 4])
    levels = np.linspace(0.05, 0.95, 7)
    model = fenchel.MultiQuantileRegressor(quantiles=levels, tol=1e-3).fit(X[fitted], y[fitted])
    assert model.status_ == "converged"
    inside = np.all((model.box_[0] <= X[new]) & (X[new] <= model.box_[1]), axis=1)
    lines = X[new][inside] @ model.coef_.T + model.intercept_
    assert inside.mean() > 0.9 and np.diff(lines, axis=1).min() >= -1e-9 * np.ptp(y)
    below = np.mean(y[new, np.newaxis] <= model.predict(X[new]), axis=0)
    assert np.abs(below - levels).max() < 0.06
    model.conformalize(X[kept], y[kept])
    low, high = model.predict_interval(X[new]).T
    # Over both draws the coverage is 0.9 or more; of these, four standard deviations less.
    spread = np.sqrt(0.09 * (1 / len(kept) + 1 / len(new)))
    assert np.mean((low <= y[new]) & (y[new] <= high)) > 0.9 - 4 * spread
