"""Regression of several targets at once."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

import fenchel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4))
Y = X @ RNG.normal(size=(4, 3)) + [1.0, -2.0, 0.0] + 0.1 * RNG.normal(size=(60, 3))


def test_with_l2_it_is_ridge_regression_of_each_target() -> None:
    model = fenchel.MultivariateRegressor(alpha=0.1, tol=1e-10).fit(X, Y)
    ridge = Ridge(alpha=0.1 * len(X)).fit(X, Y)
    np.testing.assert_allclose(model.coef_, ridge.coef_, atol=1e-4)
    np.testing.assert_allclose(model.predict(X), ridge.predict(X), atol=1e-4)
    assert model.score(X, Y) == pytest.approx(ridge.score(X, Y), abs=1e-4)


def test_the_certificate_holds() -> None:
    model = fenchel.MultivariateRegressor(alpha=0.1, M=np.diag([1.0, 2.0, 3.0])).fit(X, Y)
    (problem,) = model._posed(X, Y).problems
    found = fenchel.verify(model.result_, problem)
    assert found.gap <= 1e-4


def test_names_of_targets_are_remembered_in_a_file(tmp_path: Path) -> None:
    model = fenchel.MultivariateRegressor().fit(X, pd.DataFrame(Y, columns=["z", "a", "m"]))
    fenchel.save(model, tmp_path / "m")
    loaded = fenchel.load(tmp_path / "m")
    assert loaded.target_names_.tolist() == ["z", "a", "m"]
    assert np.array_equal(loaded.predict(X), model.predict(X))
    assert not hasattr(loaded.fit(X, Y), "target_names_")


def test_one_column_of_names_and_one_target_work_too(tmp_path: Path) -> None:
    model = fenchel.MultivariateRegressor().fit(X, pd.DataFrame({"only": Y[:, 0]}))
    fenchel.save(model, tmp_path / "m")
    assert np.array_equal(fenchel.load(tmp_path / "m").predict(X), model.predict(X))


def test_a_vector_of_targets_is_refused_with_what_to_do() -> None:
    with pytest.raises(fenchel.InvalidData, match="reshape"):
        fenchel.MultivariateRegressor().fit(X, Y[:, 0])
