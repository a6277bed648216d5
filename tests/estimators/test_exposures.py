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


def test_offsets_that_are_no_numbers_are_refused_with_their_row(watched):
    X, y, offset = watched
    offset[7] = np.nan
    with pytest.raises(InvalidData, match=r"offset\[7\] = nan") as refused:
        PoissonRegressor().fit(X, y, offset=offset)
    assert refused.value.row == 7


@pytest.mark.parametrize("name", ["offset_column", "exposure_column"])
def test_a_file_keeps_the_name_of_their_column(watched, tmp_path, name):
    X, y, offset = watched
    model, path = PoissonRegressor().fit(X, y, offset=offset), tmp_path / "m"
    fenchel.save(model, path)
    assert not hasattr(fenchel.load(path), f"{name}_")
    fenchel.save(model, path, **{name: "hours"})
    loaded = fenchel.load(path)
    assert getattr(loaded, f"{name}_") == "hours"
    fenchel.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == path.read_bytes()


def test_models_without_offsets_have_no_such_column(watched, tmp_path):
    X, y, offset = watched
    with pytest.raises(InvalidData, match="which no Regressor takes"):
        fenchel.save(fenchel.Regressor().fit(X, y), tmp_path / "m", offset_column="hours")
    model = PoissonRegressor().fit(X, y, offset=offset)
    with pytest.raises(InvalidData, match="in two columns, 'a' and 'b'"):
        fenchel.save(model, tmp_path / "m", offset_column="a", exposure_column="b")
    with pytest.raises(InvalidData, match="must be the name of a column or None; got 3"):
        fenchel.save(model, tmp_path / "m", offset_column=3)
