"""Whole pipelines in files: what is saved comes back."""

import warnings

import pytest
from prepared import ESTIMATORS, TRANSFORMERS, answers
from sklearn.base import clone

import fenchel
from fenchel.model.fitted import settled
from fenchel.model.pipelines import KINDS

ALL = {
    **{f"transformer-{name}": each for name, each in TRANSFORMERS.items()},
    **{f"estimator-{name}": each for name, each in ESTIMATORS.items()},
}


@pytest.fixture(scope="module")
def fitted():
    """All of them, fitted when they are first asked for."""
    known = {}

    def of(name):
        if name not in known:
            model, X, y = ALL[name]
            with warnings.catch_warnings(action="ignore"):  # a label that all rows have
                known[name] = clone(model).fit(X) if y is None else clone(model).fit(X, y)
        return known[name]

    return of


def through(model, path):
    fenchel.save(model, path)
    return fenchel.load(path)


@pytest.mark.parametrize("name", ALL)
def test_what_is_loaded_answers_the_same_to_the_last_bit_and_gives_the_same_bytes(
    name, fitted, path
):
    model, X = fitted(name), ALL[name][1]
    loaded = through(model, path)
    assert type(loaded) is type(settled(model))
    assert answers(loaded, X) == answers(settled(model), X)
    content = path.read_bytes()
    fenchel.save(loaded, path)
    assert path.read_bytes() == content


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_names_of_columns_come_back(name, fitted, path):
    model = fitted(f"transformer-{name}")
    if hasattr(model, "get_feature_names_out"):
        try:
            names = model.get_feature_names_out()
        except (ValueError, AttributeError):  # some have none
            return
        assert through(model, path).get_feature_names_out().tolist() == names.tolist()


def test_every_class_of_the_allow_list_is_tested(fitted, path):
    found = set()
    for name in ALL:
        fenchel.save(fitted(name), path)
        text = path.read_bytes().decode(errors="ignore")
        found |= {kind for kind in KINDS if f'\\"kind\\":\\"{kind}\\"' in text}
    assert found == KINDS.keys()
