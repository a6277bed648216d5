"""SequenceLabeler on arrays of numbers: a row for each token, a column for each feature."""

import numpy as np
import pytest
from scipy import sparse

import fenchel

RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 5, 4, 6, 2, 4, 5]
STARTS = np.cumsum([0, *LENGTHS])
ROWS = RNG.normal(size=(STARTS[-1], 4)) * (RNG.random((STARTS[-1], 4)) < 0.7)
LABELS = np.array(["A", "B", "C"])[np.argmax(ROWS[:, :3], axis=1)]
X, Y = np.split(ROWS, STARTS[1:-1]), [part.tolist() for part in np.split(LABELS, STARTS[1:-1])]


def fitted(sequences=X, **settings):
    return fenchel.SequenceLabeler(**{"alpha": 0.01, **settings}).fit(sequences, Y)


@pytest.mark.parametrize("loss", ["crf", "m3n", "soft_m3n"])
@pytest.mark.parametrize("pairs", ["observed", "all"])
def test_the_problem_is_that_of_the_stacked_rows(loss, pairs):
    groups = np.repeat(np.arange(len(X)), LENGTHS)
    problem = fenchel.problem(ROWS, LABELS, loss=loss, groups=groups, strength=0.01, pairs=pairs)
    model = fitted(loss=loss, pairs=pairs)
    result = fenchel.minimize(problem, gap=1e-4)
    assert np.array_equal(model.pairs_.label, problem.risk.pairs.label)
    assert np.array_equal(model.coef_, result.w)
    assert fenchel.verify(model.result_, problem).gap <= 1e-4
    assert model.n_features_in_ == 4 and not hasattr(model, "feature_names_in_")
    assert model.score(X, Y) > 0.8


@pytest.mark.parametrize(
    "form",
    [
        sparse.csr_array,
        sparse.coo_array,
        sparse.csc_matrix,
        np.asfortranarray,
        lambda x: x[::-1][::-1],
        lambda x: sparse.csr_array(x) if len(x) > 3 else x,
    ],
)
def test_all_kinds_of_arrays_say_the_same(form):
    model = fitted([form(x) for x in X])
    assert np.array_equal(model.coef_, fitted().coef_)
    assert model.predict_best([form(x) for x in X], 2) == model.predict_best(X, 2)


def test_whole_numbers_truth_values_and_cubes_are_arrays_too():
    cube, tags = RNG.random((5, 3, 4)) < 0.5, [["A", "B", "A"]] * 5
    model = fenchel.SequenceLabeler().fit(cube, tags)
    assert np.array_equal(model.coef_, model.fit(cube.astype(int), tags).coef_)
    single = [part.astype(np.float32) for part in cube]
    assert np.array_equal(model.coef_, model.fit(single, tags).coef_)


def test_columns_that_the_training_data_leave_empty_do_not_count():
    model = fitted([np.hstack([np.zeros((len(x), 1)), x, np.zeros((len(x), 1))]) for x in X])
    other = [np.hstack([RNG.normal(size=(len(x), 1)), x, np.ones((len(x), 1))]) for x in X]
    assert model.n_features_in_ == 6
    assert model.predict_best(other, 2) == fitted().predict_best(X, 2)
    assert min(feature for feature, _ in model.state_features_) == 1


@pytest.mark.parametrize("pairs", ["observed", "all"])
def test_a_saved_model_says_the_same(tmp_path, pairs):
    model = fitted([np.hstack([np.zeros((len(x), 1)), x]) for x in X], pairs=pairs)
    fenchel.save(model, tmp_path / "m")
    loaded, new = fenchel.load(tmp_path / "m"), [RNG.normal(size=(7, 5))]
    assert loaded.predict_best(new, 3) == model.predict_best(new, 3)
    assert loaded.state_features_ == model.state_features_
    with pytest.raises(fenchel.InvalidData, match="have no names"):
        fenchel.save(model, tmp_path / "m", feature_names=list("abcde"))


def changed(i, t, value):
    sequences = [x.copy() for x in X]
    sequences[i][t, 1] = value
    return sequences


@pytest.mark.parametrize(
    ("sequences", "words"),
    [
        (changed(2, 3, np.nan), "token 3 of sequence 2: .* nan"),
        (changed(4, 0, -np.inf), "token 0 of sequence 4: .* -inf"),
        ([sparse.csr_array(x) for x in changed(2, 3, np.nan)], "token 3 of sequence 2: .* nan"),
        (changed(1, 0, 1e101), "sequence 1: .* as large as 1e.101"),
        ([*X[:-1], X[-1][:, :3]], "sequence 7 has 3 columns, the first one has 4"),
        ([*X[:-1], X[-1][:0]], "sequence 7 is empty"),
        ([*X[:-1], sparse.csr_array((0, 4))], "sequence 7 is empty"),
        ([*X[:-1], [{"a": 1.0}] * 5], "sequence 7 is a list of tokens, the first one is an array"),
        ([[{"a": 1.0}] * 3, *X[1:]], "sequence 1 is an array of numbers, the first one is a list"),
        ([x[:, 0] for x in X], "sequence 0: X must have two dimensions"),
        ([*X[:-1], np.array(1.0)], "sequence 7: X must have two dimensions"),
        ([*X[:-1], X[-1] + 1j], "sequence 7: X holds complex128 values"),
        (sparse.csr_matrix(ROWS), "X must be a list of sequences"),
    ],
)
def test_bad_arrays_are_refused_with_their_number(sequences, words):
    with pytest.raises(fenchel.InvalidData, match=words):
        fitted(sequences)
    with pytest.raises(fenchel.InvalidData, match=words):
        fitted().predict(sequences)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"template": "words"}, "template is for columns of text"),
        ({"min_count": 2}, "features with names"),
        ({"hashed": 8}, "features with names"),
    ],
)
def test_settings_of_named_features_are_refused(settings, words):
    with pytest.raises(fenchel.Incompatible, match=words):
        fitted(**settings)


def test_a_model_takes_what_it_was_fitted_to():
    tokens, tags = [[{"a": 1.0}, {"b": 1.0}]], [["A", "B"]]
    with pytest.raises(fenchel.InvalidData, match="sequence 0 has 3 columns"):
        fitted().predict([X[0][:, :3]])
    with pytest.raises(fenchel.InvalidData, match="takes arrays of 4 numbers for each token"):
        fitted().predict(tokens)
    for settings in ({}, {"hashed": 4}):
        named = fenchel.SequenceLabeler(**settings).fit(tokens, tags)
        with pytest.raises(fenchel.InvalidData, match="takes features with names"):
            named.predict(X)
    model = fitted().set_params(hashed=4)
    assert model.predict(X) == fitted().predict(X)
