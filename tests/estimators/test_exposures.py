"""Offsets of PoissonRegressor: the logarithms of exposures."""

import numpy as np
import pytest

import fenchel
from fenchel import InvalidData, PoissonRegressor


@pytest.fixture
def watched():
    """Counts of rows that were watched for a time e, at rates that X explains."""
    rng = np.random.default_rng(0)
    X, e = rng.normal(size=(400, 3)), rng.uniform(0.2, 20.0, size=400)
    return X, rng.poisson(e * np.exp(X @ [0.5, -0.3, 0.0] - 1.0)).astype(float), np.log(e)


def test_an_offset_finds_the_rates_that_counts_alone_hide(watched):
    X, y, offset = watched
    model = PoissonRegressor(tol=1e-8).fit(X, y, offset=offset)
    assert np.allclose(model.coef_, [0.5, -0.3, 0.0], atol=0.1)
    assert model.intercept_ == pytest.approx(-1.0, abs=0.1)
    assert model.score(X, y, offset=offset) > PoissonRegressor().fit(X, y).score(X, y) + 0.1
    problem = fenchel.problem(X, y, loss="poisson", strength=1e-4, intercept=True, offset=offset)
    assert fenchel.verify(model.result_, problem).gap <= 1e-7


def test_predictions_multiply_by_the_exposure(watched):
    X, y, offset = watched
    model = PoissonRegressor().fit(X, y, offset=offset)
    means = np.exp(X @ model.coef_ + model.intercept_)
    assert np.allclose(model.predict(X), means)
    assert np.allclose(model.predict(X, offset=offset), np.exp(offset) * means)


def test_offsets_of_the_wrong_length_are_refused(watched):
    X, y, offset = watched
    with pytest.raises(InvalidData, match="offset has 3 entries"):
        PoissonRegressor().fit(X, y, offset=offset[:3])
    with pytest.raises(InvalidData, match="offset has 3 entries"):
        PoissonRegressor().fit(X, y).predict(X, offset=offset[:3])
