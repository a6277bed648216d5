"""Columns of tables as features: what scikit-learn's transformer makes of the same rows."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import fenchel
from fenchel.data.cells import TextLevels
from fenchel.data.raw_tables import Read, Wanted, read_table
from fenchel.features.encoding import encoded, fitted, needs_encoding, unknown_levels

MISSING = ["median", "most_frequent", "indicator"]


def frame(n: int = 300, n_levels: int = 9, seed: int = 0) -> pd.DataFrame:
    """Numbers and text with gaps in some columns."""
    rng = np.random.default_rng(seed)
    columns = {
        "age": np.where(rng.random(n) < 0.1, np.nan, rng.integers(18, 90, n)),
        "zeros": rng.integers(0, 2, n).astype(float),
        "brand": np.array([f"b{k}" for k in range(n_levels)])[rng.integers(0, n_levels, n)],
        "gas": np.where(rng.random(n) < 0.1, None, rng.choice(["diesel", "regular"], n)),
        "y": rng.normal(size=n).round(3),
    }
    return pd.DataFrame(columns)


def read(table: pd.DataFrame, path: Path) -> Read:
    table.to_csv(path, index=False)
    return read_table(path, Wanted(target="y"))


def dense(X: object) -> np.ndarray:
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("n_levels", [2, 40])  # of which the first make a dense matrix
def test_codes_of_levels_give_the_bits_that_the_transformer_gives_row_by_row(
    tmp_path: Path, missing: str, scale: bool, n_levels: int
):
    table = frame(n_levels=n_levels)
    columns = read(table, tmp_path / "t.csv").cells.features
    transformer = fitted(columns, missing, scale)
    fast = encoded(transformer, columns)
    slow = transformer.transform(table.fillna({"gas": np.nan}))
    assert sparse.issparse(fast) == sparse.issparse(slow) == (n_levels == 40)
    np.testing.assert_array_equal(dense(fast), dense(slow))


@pytest.mark.parametrize("missing", MISSING)
@pytest.mark.parametrize("scale", [False, True])
def test_what_is_learned_from_a_summary_is_what_is_learned_from_all_rows(
    tmp_path: Path, missing: str, scale: bool
):
    from sklearn.base import clone

    table = frame().drop(columns="y").replace({None: np.nan})
    columns = read(frame(), tmp_path / "t.csv").cells.features
    ours = fitted(columns, missing, scale)
    theirs = clone(ours).fit(table)
    assert ours.get_feature_names_out().tolist() == theirs.get_feature_names_out().tolist()
    np.testing.assert_allclose(
        dense(ours.transform(table)), dense(theirs.transform(table)), rtol=1e-14, atol=1e-14
    )


def test_a_level_that_training_had_not_is_no_column_s_and_is_counted():
    known = {"a": TextLevels(["u", "v"], np.array([0, 1, 0]))}
    transformer = fitted(known, "median", False)
    other = {"a": TextLevels(["q", "u", "w"], np.array([0, 1, 2, 2, 3]))}  # the last row has none
    np.testing.assert_array_equal(
        dense(encoded(transformer, other)), [[0, 0], [1, 0], [0, 0], [0, 0], [1, 0]]
    )
    assert unknown_levels(transformer, other) == {"a": (3, ["q", "w"])}


def test_many_unknown_levels_leave_no_entries_in_a_sparse_matrix():
    known = {"a": TextLevels([f"l{k}" for k in range(9)], np.arange(9)), "b": np.arange(9.0)}
    transformer = fitted(known, "median", False)
    X = encoded(
        transformer, {"a": TextLevels(["x"], np.zeros(4, int)), "b": np.array([0, 1, 2, 0.0])}
    )
    assert sparse.issparse(X) and X.nnz == 2 and X.shape == (4, 10)
    np.testing.assert_array_equal(X.toarray()[:, 0], [0, 1, 2, 0])


def test_complete_numbers_need_no_encoding_unless_it_is_asked_for():
    columns = {"a": np.arange(3.0)}
    assert not needs_encoding(columns, None, scale=False)
    assert not needs_encoding(columns, "refuse", scale=False)
    assert needs_encoding(columns, "median", scale=False)
    assert needs_encoding(columns, None, scale=True)
    assert needs_encoding({"a": np.array([1.0, np.nan])}, None, scale=False)
    assert needs_encoding({"a": TextLevels(["u"], np.zeros(3, int))}, None, scale=False)


@pytest.mark.parametrize("missing", MISSING)
def test_the_transformer_comes_back_from_a_file(tmp_path: Path, missing: str):
    from sklearn.pipeline import Pipeline

    table = read(frame(), tmp_path / "t.csv")
    columns = table.cells.features
    transformer = fitted(columns, missing, scale=True)
    X = encoded(transformer, columns)
    model = fenchel.Regressor().fit(X, table.cells.y)
    path = tmp_path / "m"
    fenchel.save(Pipeline([("columns", transformer), ("model", model)]), path, table=table.facts)
    loaded = fenchel.load(path)
    assert loaded[-1].table_ == table.facts
    np.testing.assert_array_equal(dense(encoded(loaded[0], columns)), dense(X))
    np.testing.assert_array_equal(loaded[-1].predict(X), model.predict(X))
