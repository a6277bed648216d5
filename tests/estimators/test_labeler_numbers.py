"""SequenceLabeler on arrays of numbers: a row for each token, a column for each feature."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import fenchel
from fenchel.cli.inputs import is_svmlight

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


# The command line


def written(path, *, qid=True):
    """Writes the sequences in svmlight, with numbers for their labels."""
    lines = ["# letters"]
    for i, (x, y) in enumerate(zip(X, Y, strict=True)):
        for row, label in zip(x, y, strict=True):
            numbers = " ".join(f"{j}:{value!r}" for j, value in enumerate(row.tolist(), 1) if value)
            lines.append(f"{ord(label)}{f' qid:{i}' * qid} {numbers}")
    path.write_text("\n".join(lines) + "\n")


@pytest.fixture
def letters(tmp_path):
    written(tmp_path / "letters.svm")
    return tmp_path / "letters.svm"


@pytest.mark.parametrize("loss", ["crf", "m3n", "soft_m3n"])
def test_the_command_line_takes_svmlight(run, letters, loss):
    flags = ("--loss", loss, "--strength", 0.01, "--proof", "p")
    assert run("train", letters, "-o", "m", *flags).code == 0
    model = fitted(loss=loss)
    np.testing.assert_allclose(fenchel.load("m").coef_, model.coef_, atol=1e-10)
    expected = [str(ord(label)) for y in model.predict(X) for label in y]
    assert run("predict", "m", letters).out.splitlines() == expected
    right = np.mean(np.array(expected) == [str(ord(label)) for y in Y for label in y])
    said = run("evaluate", "m", letters).out
    assert f"token accuracy     {right:.6g}" in said and "sequence accuracy" in said
    assert "chunk" not in said
    assert run("verify", "m", letters, "--proof", "p").code == 0
    assert "  column 1 -> 65 " in run("inspect", "m").out


def test_slack_is_rescaled_on_the_command_line(run, letters):
    flags = ("--loss", "m3n", "--rescaling", "slack", "--strength", 0.01)
    assert run("train", letters, "-o", "m", *flags).code == 0
    model = fitted(loss="m3n", rescaling="slack")
    np.testing.assert_allclose(fenchel.load("m").coef_, model.coef_, atol=1e-10)


def test_numbers_may_be_forbidden_to_follow_each_other(run, letters):
    assert run("train", letters, "-o", "m", "--loss", "crf").code == 0
    forbid = [f"{a} {b}" for a in (65, 66, 67) for b in (66, 67)]
    flags = [part for pair in forbid for part in ("--forbid", pair)]
    found = run("predict", "m", letters, *flags).out.split()
    inner = np.delete(np.array(found), STARTS[:-1])
    assert set(inner) == {"65"}


def test_labels_that_the_model_does_not_know_are_said_with_their_line(run, letters):
    assert run("train", letters, "-o", "m", "--loss", "crf").code == 0
    lines = letters.read_text().split("\n")
    lines[4] = "90" + lines[4][2:]
    letters.write_text("\n".join(lines))
    assert "'90' in sequence 2, letters.svm:5" in run("evaluate", "m", letters).err


def test_lines_without_a_sequence_are_refused(run, letters):
    written(letters, qid=False)
    done = run("train", letters, "-o", "m", "--loss", "crf")
    assert done.code == 3 and "letters.svm:1: the line has no sequence" in done.err


@pytest.mark.parametrize("name", ["a.svmlight", "a.LIBSVM", "a.svm.gz"])
def test_names_say_what_is_svmlight(name):
    assert is_svmlight(Path(name)) and not is_svmlight(Path(f"{name}.conll"))


@pytest.mark.parametrize(
    "flags", [("--template", "words"), ("--min-count", 2), ("--hashed", 64)], ids=lambda f: f[0]
)
def test_flags_for_text_are_refused_with_numbers(run, letters, flags):
    done = run("train", letters, "-o", "m", "--loss", "crf", *flags)
    assert done.code == 2 and f"{flags[0]} is for columns of text" in done.err


def test_files_of_the_other_kind_are_refused_by_their_name(run, letters, tmp_path):
    (tmp_path / "a.conll").write_text("a A\nb B\n")
    flags = ("--loss", "crf", "--template", "words")
    assert run("train", letters, "-o", "numbers", "--loss", "crf").code == 0
    assert run("train", tmp_path / "a.conll", "-o", "text", *flags).code == 0
    for command in ("predict", "evaluate"):
        done = run(command, "numbers", tmp_path / "a.conll")
        assert done.code == 3 and "a.conll is CoNLL by its name" in done.err
        done = run(command, "text", letters)
        assert done.code == 3 and "letters.svm is svmlight by its name" in done.err


@pytest.mark.slow
def test_the_command_line_reads_handwriting(run):
    folder = Path(os.environ.get("FENCHEL_DATA", ".")) / "ocr_letters"
    if not folder.is_dir():
        pytest.skip("set FENCHEL_DATA to the folder of real data sets to run this test")
    flags = ("--loss", "crf", "--pairs", "all", "--strength", 1e-2, "--gap", 1e-2)
    assert run("train", folder / "train.svm.xz", "-o", "m", *flags).code == 0
    found = json.loads(run("evaluate", "m", folder / "test.svm.xz", "--json").out)
    assert found["rows"] == 6251
    assert found["metrics"]["token_accuracy"] == pytest.approx(0.773, abs=0.002)
