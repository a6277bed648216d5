"""The recipes of the docs do what their pages say."""

import doctest
import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent.parent.parent / "examples"))

from covariate_shift import compare, curve, density_ratios, effective_size


def test_the_ratios_are_those_of_the_densities():
    (X, _), (X_test, _) = curve(n=5000)
    x = X[:, 0]
    exact = np.exp(-(x**2) / (2 * 0.3**2) + (x - 0.5) ** 2 / (2 * 0.5**2)) * 0.5 / 0.3
    ratios, teller = density_ratios(X, X_test)
    assert teller.gap_ <= teller.tol
    assert np.mean(ratios) == pytest.approx(1.0)
    assert np.mean(np.abs(ratios - exact)) < 0.1
    assert effective_size(ratios) == pytest.approx(effective_size(exact), rel=0.1)


@pytest.mark.parametrize("seed", [0, 1])
def test_weights_help_a_wrong_model_and_not_a_right_one(seed):
    train, test = curve(seed=seed)
    line, cubic = compare(train, test), compare(train, test, degree=3)
    assert line["weighted"] < 0.6 * line["plain"]
    assert cubic["weighted"] == pytest.approx(cubic["plain"], rel=0.05)
    assert 0.2 < line["effective share"] < 0.8


@pytest.mark.parametrize(
    "page", ["accelerated", "metrics", "multiclass-and-hierarchies", "regularizers", "sequences"]
)
def test_the_examples_of_a_page_are_true(page):
    failed, tried = doctest.testfile(f"../../docs/{page}.md")
    assert tried >= 5 and not failed
