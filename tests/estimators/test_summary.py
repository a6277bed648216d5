"""Summaries of fits without a penalty: what statsmodels says of the same data, to 1e-6."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy import sparse

import fenchel

N, D = 250, 4
rng = np.random.default_rng(1)
X = rng.normal(size=(N, D)) * [1.0, 30.0, 0.01, 1.0] + [0.0, 100.0, 0.0, 1.0]
Z = (X - X.mean(axis=0)) / X.std(axis=0) @ [0.5, -0.3, 0.2, 0.0] + 0.3
OFFSET = rng.normal(scale=0.3, size=N)
WEIGHTS = rng.uniform(0.5, 2.0, size=N)
FREQUENCIES = rng.integers(1, 4, size=N).astype(float)
TARGETS = {
    "squared_error": Z + rng.normal(size=N) * np.exp(0.3 * Z),
    "logistic": (Z + rng.logistic(size=N) > 0).astype(float),
    "poisson": rng.poisson(np.exp(Z)).astype(float),
    "gamma": np.exp(Z) * rng.gamma(2.0, size=N) / 2,
    "tweedie": np.exp(Z) * np.array([rng.gamma(2.0, size=k).sum() for k in rng.poisson(1.0, N)]),
}
FAMILIES = {
    "logistic": sm.families.Binomial(),
    "poisson": sm.families.Poisson(),
    "gamma": sm.families.Gamma(sm.families.links.Log()),
    "tweedie": sm.families.Tweedie(sm.families.links.Log(), var_power=1.5),
}
DEVIANCES = {
    "poisson": fenchel.PoissonRegressor,
    "gamma": fenchel.GammaRegressor,
    "tweedie": fenchel.TweedieRegressor,
}


def estimator(loss, **settings):
    if loss in DEVIANCES:
        return DEVIANCES[loss](penalty=None, **settings)
    kind = fenchel.Classifier if loss == "logistic" else fenchel.Regressor
    return kind(loss=loss, penalty=None, **settings)


def theirs(loss, kind="nonrobust", *, s=None, frequencies=False, offset=None):
    A, y = np.column_stack([X, np.ones(N)]), TARGETS[loss]
    if loss == "squared_error":
        return sm.WLS(y, A, weights=np.ones(N) if s is None else s).fit(cov_type=kind)
    weights = {"freq_weights" if frequencies else "var_weights": s}
    model = sm.GLM(y, A, family=FAMILIES[loss], offset=offset, **weights)
    return model.fit(tol=1e-14, maxiter=200, cov_type=kind)


def agree(ours, other, *, likelihood=True):
    assert ours.coefficients == pytest.approx(other.params, rel=1e-6, abs=1e-10)
    assert ours.standard_errors == pytest.approx(other.bse, rel=1e-6)
    assert ours.covariance == pytest.approx(other.cov_params(), rel=1e-5, abs=1e-12)
    assert ours.p_values == pytest.approx(other.pvalues, rel=1e-5, abs=1e-12)
    assert ours.confidence_intervals == pytest.approx(other.conf_int(), rel=1e-5, abs=1e-9)
    assert ours.dispersion == pytest.approx(other.scale, rel=1e-8)
    if likelihood:
        assert ours.log_likelihood == pytest.approx(other.llf, rel=1e-8)
        assert ours.aic == pytest.approx(other.aic, rel=1e-8)


@pytest.mark.parametrize("loss", TARGETS)
@pytest.mark.parametrize("covariance", ["model", "HC0"])
def test_statsmodels_says_the_same(loss, covariance):
    y = TARGETS[loss]
    model = estimator(loss).fit(X, y)
    ours = model.summary(X, y, covariance=covariance)
    other = theirs(loss, "nonrobust" if covariance == "model" else covariance)
    agree(ours, other)
    if loss == "squared_error":
        assert ours.bic == pytest.approx(other.bic, rel=1e-8)
        assert ours.deviance == pytest.approx(other.ssr, rel=1e-9)
        assert ours.null_deviance == pytest.approx(other.centered_tss, rel=1e-9)
        assert ours.statistic == ("t" if covariance == "model" else "z")
    else:
        assert ours.bic == pytest.approx(other.bic_llf, rel=1e-8)
        assert ours.deviance == pytest.approx(other.deviance, rel=1e-8)
        assert ours.null_deviance == pytest.approx(other.null_deviance, rel=1e-8)


@pytest.mark.parametrize("loss", TARGETS)
def test_hc1_counts_the_estimates(loss):
    """Of other models than the linear one statsmodels gives HC0 by that name."""
    y = TARGETS[loss]
    model = estimator(loss).fit(X, y)
    plain, counted = (model.summary(X, y, covariance=kind) for kind in ("HC0", "HC1"))
    factor = np.sqrt(N / (N - D - 1))
    assert counted.standard_errors == pytest.approx(factor * plain.standard_errors, rel=1e-12)
    if loss == "squared_error":
        agree(counted, theirs(loss, "HC1"))


@pytest.mark.parametrize("loss", TARGETS)
def test_weights_are_precisions_or_frequencies(loss):
    y = TARGETS[loss]
    model = estimator(loss).fit(X, y, sample_weight=WEIGHTS)
    agree(model.summary(X, y, WEIGHTS), theirs(loss, s=WEIGHTS))
    model.fit(X, y, sample_weight=FREQUENCIES)
    ours = model.summary(X, y, FREQUENCIES, weights="frequency", covariance="HC1")
    often = FREQUENCIES.astype(int)
    many = np.repeat(X, often, axis=0), np.repeat(y, often)
    repeated = estimator(loss).fit(*many).summary(*many, covariance="HC1")
    assert ours.standard_errors == pytest.approx(repeated.standard_errors, rel=1e-7)
    for fact in ("n_rows", "dispersion", "log_likelihood", "aic", "bic", "deviance"):
        assert getattr(ours, fact) == pytest.approx(getattr(repeated, fact), rel=1e-9)


def three_classes():
    noise = np.random.default_rng(3).gumbel(size=(N, 3))
    scores = np.column_stack([0 * Z, Z, -0.5 * Z + 0.3 * X[:, 3]])
    return np.array(["a", "b", "c"])[(scores + noise).argmax(axis=1)]


@pytest.mark.parametrize("covariance", ["model", "HC0"])
def test_softmax_is_statsmodels_multinomial_logit(covariance):
    labels = three_classes()
    model = fenchel.Classifier(loss="softmax", penalty=None).fit(X, labels)
    assert model.status_ == "converged"
    ours = model.summary(X, labels, covariance=covariance)
    codes, A = np.searchsorted(["a", "b", "c"], labels), np.column_stack([X, np.ones(N)])
    kind = "nonrobust" if covariance == "model" else covariance
    other = sm.MNLogit(codes, A).fit(method="newton", tol=1e-14, disp=0, cov_type=kind)
    assert ours.coefficients == pytest.approx(other.params.T.ravel(), rel=1e-5, abs=1e-8)
    assert ours.standard_errors == pytest.approx(other.bse.T.ravel(), rel=1e-6)
    assert ours.log_likelihood == pytest.approx(other.llf, rel=1e-9)
    assert ours.null_deviance == pytest.approx(-2 * other.llnull, rel=1e-8)
    assert ours.aic == pytest.approx(other.aic, rel=1e-9)
    assert ours.names[0] == "b: x0" and ours.names[-1] == "c: intercept"


def test_softmax_of_two_classes_is_logistic():
    y = TARGETS["logistic"]
    pair = fenchel.Classifier(loss="softmax", penalty=None).fit(X, y).summary(X, y)
    one = estimator("logistic").fit(X, y).summary(X, y)
    assert pair.standard_errors == pytest.approx(one.standard_errors, rel=1e-6)
    with pytest.raises(fenchel.Incompatible, match="loss='softmax'"):
        labels = three_classes()
        estimator("logistic").fit(X, labels).summary(X, labels)


def test_offsets_are_part_of_the_model():
    y = TARGETS["poisson"]
    model = fenchel.PoissonRegressor(penalty=None).fit(X, y, offset=OFFSET)
    ours, other = model.summary(X, y, offset=OFFSET), theirs("poisson", offset=OFFSET)
    agree(ours, other)
    assert ours.null_deviance == pytest.approx(other.null_deviance, rel=1e-7)


@pytest.mark.parametrize("layout", [sparse.csr_array, np.asfortranarray, np.float32])
def test_any_layout_gives_the_same(layout):
    y, kept = TARGETS["poisson"], X.astype(np.float32).astype(float)
    plain = fenchel.PoissonRegressor(penalty=None).fit(kept, y).summary(kept, y)
    other = fenchel.PoissonRegressor(penalty=None).fit(layout(kept), y).summary(layout(kept), y)
    assert other.standard_errors == pytest.approx(plain.standard_errors, rel=1e-8)


def test_columns_that_depend_on_others_are_left_out_and_named():
    groups = np.eye(3)[rng.integers(0, 3, size=N)]
    whole = pd.DataFrame(np.hstack([X, groups]), columns=[*"abcd", "g0", "g1", "g2"])
    y = TARGETS["logistic"]
    ours = estimator("logistic").fit(whole, y).summary(whole, y)
    fewer = whole.drop(columns="g2")
    other = estimator("logistic").fit(fewer, y).summary(fewer, y)
    kept = [name != "g2" for name in ours.names]
    assert np.isnan(ours.coefficients[6]) and np.isnan(ours.standard_errors[6])
    assert ours.coefficients[kept] == pytest.approx(other.coefficients, rel=1e-6)
    assert ours.standard_errors[kept] == pytest.approx(other.standard_errors, rel=1e-6)
    assert "w is not unique: g2" in str(ours)


def test_a_summary_is_a_table_a_frame_and_a_page():
    frame = pd.DataFrame(X, columns=["age", "<b>", "c", "d"])
    model = estimator("gamma").fit(frame, TARGETS["gamma"])
    ours = model.summary(frame, TARGETS["gamma"], level=0.9)
    assert "gamma regression" in str(ours) and "5%" in str(ours) and "AIC" in str(ours)
    assert "&lt;b&gt;" in ours._repr_html_() and "<b>" not in ours._repr_html_()
    table = ours.to_frame()
    assert list(table.index) == ["age", "<b>", "c", "d", "intercept"]
    assert np.array_equal(table["std error"], ours.standard_errors)


def test_what_has_no_honest_errors_has_no_summary():
    y = TARGETS["squared_error"]
    with pytest.raises(fenchel.Incompatible, match="penalty=None"):
        fenchel.Regressor().fit(X, y).summary(X, y)
    with pytest.raises(fenchel.Incompatible, match="no likelihood"):
        fenchel.Regressor(loss="huber", penalty=None).fit(X, y).summary(X, y)
    model = estimator("squared_error").fit(X, y)
    with pytest.raises(fenchel.InvalidData, match="standard errors away"):
        model.summary(X, y + X[:, 0])
    with pytest.raises(fenchel.InvalidData, match="covariance must be one of"):
        model.summary(X, y, covariance="HC3")
    with pytest.raises(fenchel.InvalidData, match="must be more rows"):
        model.summary(X, y, np.full(N, 1e-3), weights="frequency")
