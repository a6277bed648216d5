"""Whole pipelines in files: what is saved comes back."""

import re
import warnings

import numpy as np
import pytest
from prepared import ESTIMATORS, NUMBERS, TRANSFORMERS, answers
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import fenchel
from fenchel import Regressor
from fenchel.losses import ScalarLoss
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


def test_what_was_proved_comes_back_and_can_be_verified(fitted, path):
    model, (_, X, y) = fitted("estimator-frame-hinge"), ALL["estimator-frame-hinge"]
    loaded = through(model, path)
    assert loaded[-1].lower_bound_ == model[-1].lower_bound_
    features = loaded[:-1].transform(X)
    problem = fenchel.problem(
        features, np.where(y, 1, -1), loss="hinge", strength=1e-2, intercept=True
    )
    certificate = fenchel.verify(loaded[-1].result_, problem)
    assert certificate.upper_bound == pytest.approx(model[-1].objective_, rel=1e-9)
    assert certificate.lower_bound <= certificate.upper_bound


# What a file cannot hold


class Absolute(ScalarLoss):
    """l(z, y) = |z - y|, of the user's own."""

    nonnegative = True

    def __init__(self, scale=1.0):
        self.scale = scale

    def value(self, z, y):
        return self.scale * np.abs(z - y)

    def slope(self, z, y):
        return self.scale * np.sign(z - y)


class Doubled(StandardScaler):
    """A transformer of the user's own."""


def _nested(step):
    return Pipeline([("prepare", ColumnTransformer([("mine", step, [0])])), ("model", Regressor())])


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (_nested(Doubled()), "the step 'prepare' > 'mine', a Doubled of test_pipelines"),
        (_nested(Nystroem(n_components=2)), "'mine', a Nystroem of sklearn.kernel_approximation"),
        (_nested(FunctionTransformer(np.tan)), "FunctionTransformer: its func holds <ufunc 'tan'>"),
        (_nested(FunctionTransformer(lambda x: x)), "its func holds <function <lambda>"),
        (make_pipeline(StandardScaler(), LinearRegression()), "a LinearRegression of sklearn"),
        (OneVsRestClassifier(LogisticRegression()), "a LogisticRegression of sklearn"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_file_cannot_hold_is_refused_by_the_name_of_its_step(model, words, path):
    model.fit(NUMBERS, np.resize([0, 1, 2], len(NUMBERS)))
    with pytest.raises(fenchel.FenchelError, match=re.escape(words)) as caught:
        fenchel.save(model, path)
    assert "set_params" in str(caught.value) or "Use one of these" in str(caught.value)
    assert not path.exists()


@pytest.mark.parametrize(
    ("vectorizer", "words"),
    [
        (CountVectorizer(tokenizer=str.split, token_pattern=None), "its tokenizer holds <method"),
        (CountVectorizer(analyzer=lambda text: text), "its analyzer holds <function"),
        (CountVectorizer(encoding="rot13"), "encoding must be one of"),
    ],
    ids=["tokenizer", "analyzer", "encoding"],
)
def test_vectorizers_that_run_code_are_refused(vectorizer, words, path):
    with pytest.raises(fenchel.InvalidData, match=words):
        fenchel.save(vectorizer.fit(["aa bb", "bb cc"]), path)
    assert not path.exists()


def test_what_was_not_fitted_is_refused(path):
    with pytest.raises(NotFittedError):
        fenchel.save(make_pipeline(StandardScaler(), Regressor()), path)
    assert not path.exists()


def test_a_pipeline_that_lies_in_itself_is_refused(path):
    model = make_pipeline(StandardScaler(), Regressor()).fit(NUMBERS, NUMBERS[:, 0])
    model.steps.insert(0, ("again", model))
    with pytest.raises(fenchel.InvalidData, match="lies in itself, or deeper than"):
        fenchel.save(model, path)


def test_where_results_are_kept_belongs_to_the_run(path, tmp_path):
    model = make_pipeline(StandardScaler(), Regressor(), memory=str(tmp_path / "private"))
    assert through(model.fit(NUMBERS, NUMBERS[:, 0]), path).memory is None
    assert b"private" not in path.read_bytes()


def test_a_loss_of_ones_own_inside_a_pipeline_is_loaded_if_it_is_allowed(path):
    model = make_pipeline(StandardScaler(), Regressor(loss=Absolute(2.0), tol=1e-2))
    fenchel.save(model.fit(NUMBERS, NUMBERS[:, 0]), path)
    with pytest.raises(fenchel.InvalidData, match="loading would run"):
        fenchel.load(path)
    loaded = fenchel.load(path, allow=[Absolute])
    assert loaded.predict(NUMBERS).tolist() == model.predict(NUMBERS).tolist()
