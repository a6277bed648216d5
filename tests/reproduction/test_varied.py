"""Data sets with one thing changed: what stays the same, and what does not."""

import numpy as np
import pytest
from scipy import sparse

import fenchel
from reproduction import varied
from reproduction.data import Loaded, load


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    X = sparse.csr_array(rng.normal(size=(30, 5)) * (rng.random((30, 5)) < 0.5))
    return Loaded(X, np.where(np.arange(30) % 3, -1.0, 1.0), np.arange(30) // 3)


def least(X, y, loss, **more):
    problem = fenchel.problem(X, y, loss=loss, strength=0.1, **more)
    return fenchel.minimize(problem, "bmrm", gap=1e-6).objective


def test_pairs_have_the_ROC_loss_as_their_hinge_loss(rows):
    X, y, _ = varied.pairs(rows)
    assert X.shape == (200, 5) and set(y) == {-1.0, 1.0}
    assert least(X, y, "hinge") == pytest.approx(least(rows.X, rows.y, "roc"), rel=1e-5)


@pytest.mark.parametrize("loss, grouped", [("hinge", False), ("ndcg", True)])
def test_repeated_rows_and_queries_leave_the_minimum_as_it_is(rows, loss, grouped):
    many = varied.repeated(3)(rows)
    assert many.X.shape == (90, 5) and len(np.unique(many.groups)) == 30
    y = [(each.y > 0).astype(float) if grouped else each.y for each in (rows, many)]
    groups = [{"groups": each.groups} if grouped else {} for each in (rows, many)]
    once, often = least(rows.X, y[0], loss, **groups[0]), least(many.X, y[1], loss, **groups[1])
    assert often == pytest.approx(once, rel=1e-5)


def test_columns_lengths_classes_planes_and_labels(rows):
    few = varied.columns(2)(rows).X
    assert few.shape == (30, 2)
    assert 0 < np.abs(few).sum() <= np.abs(rows.X).sum()
    norms = np.sqrt((varied.lengths(4)(rows).X.toarray() ** 2).sum(axis=1))
    assert all(norm == pytest.approx(4) or norm == 0 for norm in norms)
    assert np.sum(varied.balanced(rows).y) == 0 and len(varied.balanced(rows).y) == 20
    X, y, _ = varied.separable(rows)
    assert set(y) == {-1.0, 1.0} and least(X, y, "hinge") < 1
    labelled = rows._replace(X=rows.X[:4], y=[(7, 3), (3,), (), (3, 7, 9)])
    X, y, _ = varied.labels(2)(labelled)
    assert y == [(0,)] and X.shape[0] == 1  # rows with both of the labels say nothing, or with none


def test_a_name_says_set_and_changes_in_their_order(monkeypatch):
    monkeypatch.delenv("FENCHEL_DATA", raising=False)
    X, y, _ = load("a9a, balanced, columns=16, lengths=2", 60)
    assert X.shape[1] == 16 and np.sum(y) == 0
    assert np.sqrt((X.toarray() ** 2).sum(axis=1)) == pytest.approx(2)
    with pytest.raises(KeyError, match="there is no data set 'a8a, balanced'"):
        load("a8a, balanced", 60)
