"""SequenceLabeler, its features and files: templates, CoNLL, chunks, prediction and storage."""

import itertools

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import fenchel
from fenchel.data import sequences
from fenchel.data.conll import read_conll
from fenchel.estimators.chunks import agreement, chunks_of
from fenchel.estimators.pairs import restored, stored
from fenchel.estimators.sequences import named_tokens
from fenchel.features.templates import parsed, shape
from fenchel.features.tokens import Vocabulary
from fenchel.model.saved import SavedState

TEXT = """He PRP B-NP
reckons VBZ B-VP
the DT B-NP
deficit NN I-NP

Rockwell NNP B-NP
said VBD B-VP
the DT B-NP
agreement NN I-NP
calls VBZ B-VP
"""
SENTENCES = [
    [tuple(line.split()[:2]) for line in part.splitlines()] for part in TEXT.strip().split("\n\n")
]
TAGS = [[line.split()[2] for line in part.splitlines()] for part in TEXT.strip().split("\n\n")]
DICTS = [[{"word": word, "tag": tag, "n": 0.5} for word, tag in each] for each in SENTENCES]


def fitted(**settings):
    return fenchel.SequenceLabeler(**{"alpha": 0.01, **settings}).fit(DICTS, TAGS)


# Templates


def features(template, sentences=SENTENCES):
    """The names of each token's features."""
    tokens = named_tokens(sentences, template)
    rows = np.split(tokens.column, tokens.row_start[1:-1])
    return [[tokens.names[k] for k in row] for row in rows]


def test_templates_read_columns_around_a_token():
    found = features("U0:%x[-1,0]/%x[0,1]\nU1:%x[2,0]")
    assert found[0] == ["U0:_B-1/PRP", "U1:the"]
    assert found[3] == ["U0:the/NN", "U1:_B+2"]
    assert found[4] == ["U0:_B-1/NNP", "U1:the"]  # another sentence


def test_templates_take_words_apart():
    found = features("a%p2[0,0]b\n%s3[0,0]\n%l[0,0]!\n%h[0,0]/%h[1,0]")
    assert found[4] == ["aRob", "ell", "rockwell!", "Xx/x"]
    assert shape("Mid-90s") == "Xx-0x" and shape("Mid-90") == "Xx-0"
    assert shape("ÉTÉ--Ωμέγα٣٤") == "X--Xx0"  # letters and digits of all alphabets


def test_comments_blank_lines_and_bigrams_are_passed_over():
    assert len(parsed("# words\n\nU:%x[0,0]\nB\n")) == 1
    assert len(parsed("default")) == 24
    assert features("U:%x[0,0]\nU:%x[0,0]")[0] == ["U:He", "U:He"]


@pytest.mark.parametrize(
    ("template", "words"),
    [
        ("nonsense", "unknown template"),
        ("U:%x[0,0]\nU:%q[0,0]", "line 2"),
        ("U:%x[0]", "line 1"),
        ("U:%x[0,0]\nB\nB01:%x[0,0]", "line 3 .* two labels"),
        ("U:%x[0,0]\nB01/%x[0,0]", "line 2 .* two labels"),
        ("U:%x[0,0]\nBw:%x[0,0]", "line 2 .* two labels"),
        ("# nothing\n# at all", "no lines"),
        ("U:%x[0,7]", "column 7"),
        (7, "must be text"),
    ],
)
def test_templates_that_cannot_be_used_are_refused(template, words):
    with pytest.raises(fenchel.InvalidData, match=words):
        fenchel.SequenceLabeler(template=template).fit(SENTENCES, TAGS)


# Features by name


def test_dicts_are_named_as_crfsuite_does():
    token = {
        "w": "dog",
        "cap": True,
        "no": False,
        "yes": np.bool_(True),
        "n": 2.5,
        "in": ["a", "b"],
        "x": {"y": "z", "v": 2},
    }
    tokens = named_tokens([[token, ["plain"]]], None)
    found = dict(zip([tokens.names[k] for k in tokens.column], tokens.value, strict=True))
    expected = {
        "w:dog": 1,
        "cap": 1,
        "no": 0,
        "yes": 1,
        "n": 2.5,
        "in:a": 1,
        "in:b": 1,
        "x:y:z": 1,
        "x:v": 2,
    }
    assert found == {**expected, "plain": 1}
    assert named_tokens([[{"a": 1e60}]], None).value.tolist() == [1e60]


def test_columns_and_dicts_give_the_same_model():
    dicts = [[{"a": word, "b": tag} for word, tag in each] for each in SENTENCES]
    one = fenchel.SequenceLabeler(alpha=0.01, tol=1e-8).fit(dicts, TAGS)
    template = "a:%x[0,0]\nb:%x[0,1]"
    two = fenchel.SequenceLabeler(alpha=0.01, tol=1e-8, template=template).fit(SENTENCES, TAGS)
    assert one.state_features_ == pytest.approx(two.state_features_, abs=1e-4)
    assert one.transition_features_ == pytest.approx(two.transition_features_, abs=1e-4)


def test_frequent_features_come_first_and_rare_ones_may_go():
    tokens = named_tokens(SENTENCES, "%x[0,0]")
    assert Vocabulary.of(tokens, 1).names[0] == "the"
    assert Vocabulary.of(tokens, 2).names == ["the"]
    assert fitted(min_count=9).feature_names_in_.tolist() == ["n"]
    with pytest.raises(fenchel.InvalidData, match="min_count"):
        fitted(min_count=10)
    with pytest.raises(fenchel.InvalidData, match="no features: all of its tokens are empty"):
        fenchel.SequenceLabeler().fit([[{}, []]], [["A", "B"]])


def test_features_may_be_hashed():
    model, hashed = fitted(tol=1e-8), fitted(hashed=1 << 16, tol=1e-8)
    assert hashed.n_features_in_ == 1 << 16 and not hasattr(hashed, "feature_names_in_")
    assert hashed.objective_ == pytest.approx(model.objective_)  # none of them meet
    assert hashed.predict_best(DICTS, 2)[0][0][1] == pytest.approx(
        model.predict_best(DICTS, 2)[0][0][1], rel=1e-3
    )
    weights = sorted(model.state_features_.values())
    assert sorted(hashed.state_features_.values()) == pytest.approx(weights, abs=1e-4)
    unseen = [[{"word": "the", "tag": "DT", **{f"new{k}": 1.0 for k in range(99)}}]]
    assert hashed.predict_best(unseen, 1)[0][0][1] == pytest.approx(
        hashed.predict_best([[{"word": "the", "tag": "DT"}]], 1)[0][0][1]
    )
    assert fitted(hashed=2).n_features_in_ == 2  # many meet
    assert not hasattr(model.set_params(hashed=8).fit(DICTS, TAGS), "feature_names_in_")


@pytest.mark.parametrize(
    "settings", [{"hashed": 0}, {"hashed": 1 << 31}, {"hashed": 8, "min_count": 2}]
)
def test_hashes_that_make_no_sense_are_refused(settings):
    with pytest.raises(fenchel.FenchelError, match="hash"):
        fitted(**settings)


def test_weights_count_sequences_as_often():
    weighted = fenchel.SequenceLabeler(alpha=0.01, tol=1e-8)
    weighted.fit(DICTS, TAGS, sample_weight=[1, 2])
    twice = fenchel.SequenceLabeler(alpha=0.01, tol=1e-8).fit([*DICTS, DICTS[1]], [*TAGS, TAGS[1]])
    assert weighted.objective_ == pytest.approx(twice.objective_)
    assert weighted.state_features_ == pytest.approx(twice.state_features_, abs=1e-4)
    for wrong, words in (
        ([1.0], "2 sequences"),
        ([1.0, -1.0], ">= 0"),
        ([0.0, 0.0], "every sequence"),
    ):
        with pytest.raises(fenchel.InvalidData, match=words):
            weighted.fit(DICTS, TAGS, sample_weight=wrong)


def test_features_that_are_not_known_are_left_out():
    model = fitted()
    known = [[{"word": "the", "tag": "DT"}]]
    assert model.predict([[{"word": "the", "tag": "DT", "new": "?"}]]) == model.predict(known)
    assert len(model.predict([[{"new": 1.0}, {}]])[0]) == 2


@pytest.mark.parametrize(
    ("X", "y", "words"),
    [
        ([], [], "no sequences"),
        ([[], DICTS[0]], TAGS, "sequence 0 is empty"),
        (DICTS, TAGS[:1], "2 sequences but y has 1"),
        (DICTS, [TAGS[0], TAGS[1][:3]], "sequence 1 has 5 tokens but y.1. has 3"),
        ([["text"]], [["A"]], "token 0 of sequence 0 must be a dict"),
        ([[{"a": None}]], [["A"]], "feature 'a'"),
        ([[{1: "a"}]], [["A"]], "names of features are text"),
        ([[{"a": 1.0}], [{}, {"a": np.nan}]], [["A"], ["A", "B"]], "token 1 of sequence 1"),
        ([[{"a": 1.0}, {"b": -1e101}]], [["A", "B"]], "token 1 of sequence 0: feature 'b' is -1e"),
        ([[{"a": 10**400}]], [["A"]], "token 0 of sequence 0: feature 'a' is inf"),
        ([[{"a": np.array(1.0)}]], [["A"]], "feature 'a' must be text"),
        ([[{"a": b"text"}]], [["A"]], "feature 'a' must be text"),
        ([[np.array("a")]], [["A"]], "token 0 of sequence 0 must be a dict"),
        ("text", "y", "list of sequences"),
        ([3], [["A"]], "sequence 0 must be a list"),
        (DICTS, ["NNNN", "NNNNN"], "list of labels"),
        (DICTS, None, "y is missing"),
        (DICTS, 7, "y must be a list of labels; got 7"),
        (DICTS, [TAGS[0], [1, "1", 2, 1, 1]], "token 0 of sequence 1 has the label 1"),
        (DICTS, [[1, 2, "1", 2], [1] * 5], "token 2 of sequence 0 has the label '1'"),
        (DICTS, [TAGS[0], [("A", "B")] * 5], "token 0 of sequence 1 has the label .'A', 'B'"),
        (DICTS, [[1, 2, 1, 2], [1, 2, np.nan, 1, 1]], "token 2 of sequence 1 has the label nan"),
        ([[{"a": 1}]], [["A"]], "single class"),
    ],
)
def test_bad_sequences_are_refused_with_their_number(X, y, words):
    with pytest.raises(fenchel.InvalidData, match=words):
        fenchel.SequenceLabeler().fit(X, y)


@pytest.mark.parametrize("labels", [TAGS, [[True, False, True, True], np.arange(5) * 0.5]])
def test_labels_may_come_from_a_generator(labels):
    model = fenchel.SequenceLabeler().fit(DICTS, (iter(each) for each in labels))
    assert model.classes_.tolist() == sorted({label for each in labels for label in each})


@pytest.mark.parametrize(
    "token", [{"w": "a"}, {"a"}, 5, None, b"a", ("a", 5), np.array("a")], ids=str
)
def test_tokens_that_are_no_columns_of_text_are_refused_with_their_number(token):
    with pytest.raises(fenchel.InvalidData, match="token 1 of sequence 1 must be text, or columns"):
        fenchel.SequenceLabeler(template="U:%x[0,0]").fit(
            [["a"], ["a", token]], [["A"], ["A", "B"]]
        )


def test_ragged_columns_are_refused_with_their_number():
    with pytest.raises(fenchel.InvalidData, match="token 1 of sequence 0 has 1 columns"):
        fenchel.SequenceLabeler(template="words").fit([[("a", "b"), ("a",)]], [["A", "B"]])


# Predictions


@pytest.mark.parametrize("loss", ["crf", "m3n", "soft_m3n"])
@pytest.mark.parametrize("penalty", ["l2", "l1"])
def test_it_learns_what_there_is_to_learn(loss, penalty):
    model = fitted(loss=loss, penalty=penalty)
    assert model.predict(DICTS) == TAGS
    assert model.score(DICTS, TAGS) == 1.0
    assert model.gap_ <= model.tol and model.status_ == "converged"


def test_predictions_are_the_best_of_all_labellings():
    model, x = fitted(), DICTS[0][:3]
    labels, best = model.classes_.tolist(), model.predict_best([x], 9)[0]
    emitted, steps = model.state_features_, model.transition_features_

    def score(path):
        total = sum(steps.get(pair, 0.0) for pair in itertools.pairwise(path))
        for token, label in zip(x, path, strict=True):
            for name, value in (
                (f"word:{token['word']}", 1),
                (f"tag:{token['tag']}", 1),
                ("n", 0.5),
            ):
                total += value * emitted.get((name, label), 0.0)
        return total

    ranked = sorted(map(score, itertools.product(labels, repeat=3)), reverse=True)
    assert [found for _, found in best] == pytest.approx(ranked[:9])
    assert [score(path) for path, _ in best] == pytest.approx(ranked[:9])
    assert model.predict([x])[0] == best[0][0]
    assert len(model.predict_best([x[:1]], 9)[0]) == len(labels)


def test_marginals_are_probabilities_that_agree_with_scores():
    model, x = fitted(), DICTS[1][:2]
    (found,) = model.predict_marginals([x])
    assert found.sum(axis=1) == pytest.approx([1, 1])
    every = model.predict_best([x], 9)[0]
    weights = np.exp([score for _, score in every])
    first = [path[0] == "B-NP" for path, _ in every]
    assert found[0, 0] == pytest.approx(weights[first].sum() / weights.sum())


def test_probabilities_are_those_of_the_loss():
    soft, x = fitted(loss="soft_m3n", temperature=0.3), DICTS[1][:2]
    every = soft.predict_best([x], 9)[0]
    weights = np.exp([score / 0.3 for _, score in every])
    first = [path[0] == "B-NP" for path, _ in every]
    (found,) = soft.predict_marginals([x])
    assert found[0, 0] == pytest.approx(weights[first].sum() / weights.sum())
    with pytest.raises(fenchel.Incompatible, match="no probabilities"):
        fitted(loss="m3n").predict_marginals([x])


@pytest.mark.parametrize(
    "settings", [{"loss": "crf"}, {"loss": "soft_m3n", "temperature": 0.3}], ids=lambda s: s["loss"]
)
def test_probabilities_stay_those_of_the_fit(settings, tmp_path):
    model = fitted(**settings)
    expected = model.predict_marginals(DICTS)
    for others in ({"loss": "m3n"}, {"loss": "soft_m3n", "temperature": 5.0}):
        model.set_params(**others)
        fenchel.save(model, tmp_path / "m")
        for each in (model, fenchel.load(tmp_path / "m")):
            for found, right in zip(each.predict_marginals(DICTS), expected, strict=True):
                assert np.array_equal(found, right)
    with pytest.raises(fenchel.Incompatible, match="no probabilities"):
        fitted(loss="m3n").set_params(loss="crf").predict_marginals(DICTS)


@pytest.mark.parametrize("loss", ["crf", "m3n"])
def test_probabilities_need_a_fit(loss):
    with pytest.raises(NotFittedError):
        fenchel.SequenceLabeler(loss=loss).predict_marginals(DICTS)


@pytest.mark.parametrize("temperature", [-1.0, np.nan])
def test_temperatures_that_cannot_be_are_refused(temperature, tmp_path):
    model = fitted()
    model.temperature_ = temperature
    fenchel.save(model, tmp_path / "m")
    with pytest.raises(fenchel.InvalidData, match="its temperature is"):
        fenchel.load(tmp_path / "m")


@pytest.mark.parametrize("loss", ["crf", "m3n", "soft_m3n"])
def test_settings_are_checked_whatever_the_loss(loss):
    with pytest.raises(fenchel.InvalidData, match="'margin' or 'slack'; got 'bogus'"):
        fitted(loss=loss, rescaling="bogus")


def test_forbidden_transitions_do_not_occur():
    model = fitted()
    tags = model.predict(DICTS, forbidden=[("B-NP", "I-NP")])
    assert all(("B-NP", "I-NP") not in itertools.pairwise(each) for each in tags)
    everything = list(itertools.product(model.classes_, repeat=2))
    with pytest.raises(fenchel.InvalidData, match="sequence 0 are forbidden"):
        model.predict(DICTS, forbidden=everything)
    for pair in (("B-NP", "??"), ("B-NP",), 5, "B-NP", ("B-NP", ["I-NP"])):
        with pytest.raises(fenchel.InvalidData, match="no pair of labels"):
            model.predict(DICTS, forbidden=[pair])
    letters = fenchel.SequenceLabeler().fit([[{"a": 1.0}, {"b": 1.0}]], [["D", "N"]])
    with pytest.raises(fenchel.InvalidData, match="'DN', which is no pair"):
        letters.predict([[{}]], forbidden=["DN"])


@pytest.mark.parametrize("loss", ["crf", "m3n"])
def test_a_saved_model_says_the_same(loss, tmp_path):
    model = fitted(loss=loss, penalty="l1", template=None)
    fenchel.save(model, tmp_path / "m")
    loaded = fenchel.load(tmp_path / "m")
    assert loaded.predict_best(DICTS, 3) == model.predict_best(DICTS, 3)
    assert loaded.state_features_ == model.state_features_
    assert loaded.get_params() == model.get_params()
    assert loaded.result_.certificate == model.result_.certificate
    fenchel.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()


def test_a_warm_start_is_a_good_one():
    model = fitted(warm_start=True, tol=1e-6)
    cold = model.n_iter_
    assert model.fit(DICTS, TAGS).n_iter_ < cold


# Chunks


def test_chunks_are_those_of_conlleval():
    tags = ["B-NP", "I-NP", "I-VP", "O", "I-NP", "B-NP", "E-NP", "B", "I-X"]
    assert [tuple(chunk) for chunk in chunks_of(tags)] == [
        (0, 1, "NP"),
        (2, 2, "VP"),
        (4, 4, "NP"),
        (5, 6, "NP"),
        (7, 7, ""),
        (8, 8, "X"),
    ]
    assert list(chunks_of(["O", "O"])) == list(chunks_of([])) == []


def test_agreement_counts_whole_chunks():
    gold = [["B-NP", "I-NP", "O", "B-VP"], ["B-NP", "O"]]
    found = agreement(gold, [["B-NP", "O", "O", "B-VP"], ["B-NP", "B-VP"]])
    assert found.accuracy == pytest.approx(4 / 6)
    assert (found.chunks, found.found, found.right_chunks) == (3, 4, 2)
    assert found.precision == 0.5 and found.recall == pytest.approx(2 / 3)
    assert found.f1 == pytest.approx(4 / 7)
    assert agreement([["O"]], [["O"]]).f1 == 0.0


# Files and the command line


def test_files_are_read_in_columns(tmp_path):
    path = tmp_path / "a.conll"
    path.write_text(f"-DOCSTART- -X- O\n\n\n{TEXT}\n\n")
    tokens = read_conll(path)
    assert tokens.starts.tolist() == [0, 4, 9]
    assert tokens.columns[0][:2] == ("He", "reckons") and tokens.columns[2][-1] == "B-VP"


def test_columns_are_parted_by_blanks_and_tabs_alone(tmp_path):
    (tmp_path / "a").write_text("10\u00a0000\t  CD B \r\n\u2028 X I\r\n", newline="")
    assert read_conll(tmp_path / "a").columns[0] == ("10\u00a0000", "\u2028")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a b\nc\n", ":2: the line has 1 columns"),
        (b"\n\n", "no tokens"),
        (b"a b\n\xff\xfe b\n", ":2: the text is not UTF-8"),
    ],
)
def test_bad_files_are_refused_with_their_line(content, words, tmp_path):
    (tmp_path / "a").write_bytes(content)
    with pytest.raises(fenchel.InvalidData, match=words):
        read_conll(tmp_path / "a")


@pytest.fixture
def conll(tmp_path):
    (tmp_path / "train.conll").write_text(TEXT)
    return tmp_path / "train.conll"


@pytest.mark.parametrize("loss", ["crf", "m3n", "soft_m3n"])
def test_the_command_line_trains_predicts_and_measures(run, conll, loss):
    flags = ("--loss", loss, "--strength", 0.01, "--template", "default", "--hashed", 4096)
    assert run("train", conll, "-o", "m", *flags).code == 0
    found = run("predict", "m", conll)
    assert found.out.split("\n\n")[0].split("\n") == TAGS[0]
    said = run("evaluate", "m", conll).out
    assert "chunk f1           1" in said and "token accuracy     1" in said
    assert "-> B-NP" in run("inspect", "m").out


def test_predictions_line_up_with_the_file(run, conll, tmp_path):
    assert run("train", conll, "-o", "m", "--loss", "crf", "--strength", 0.01).code == 0
    lines = ["-DOCSTART- -X- O", "", "", *TEXT.splitlines(), "", " \t", ""]
    (tmp_path / "new.conll").write_text("\n".join(lines))  # the last line is without its end
    found = run("predict", "m", tmp_path / "new.conll").out.removesuffix("\n").split("\n")
    assert found == ["", "", "", *TAGS[0], "", *TAGS[1], "", ""]
    assert run("predict", "m", conll).out == "\n".join([*TAGS[0], "", *TAGS[1], ""])


@pytest.mark.parametrize("n_columns", [1, 2])
def test_files_without_tags_are_refused_by_their_name(run, conll, tmp_path, n_columns):
    assert run("train", conll, "-o", "m", "--loss", "crf").code == 0
    short = [" ".join(line.split()[:n_columns]) for line in TEXT.splitlines()]
    (tmp_path / "new.conll").write_text("\n".join(short))
    for done in (
        run("evaluate", "m", tmp_path / "new.conll"),
        run("train", tmp_path / "new.conll", "-o", "n", "--loss", "crf"),
    ):
        assert done.code == 3
        assert f"new.conll: lines have {n_columns} columns, of which the last was" in done.err


def test_tags_that_the_model_does_not_know_count_as_wrong(run, conll, tmp_path):
    assert run("train", conll, "-o", "m", "--loss", "crf", "--template", "default").code == 0
    (tmp_path / "new.conll").write_text(TEXT.replace("VBD B-VP", "VBD B-XX"))
    done = run("evaluate", "m", tmp_path / "new.conll")
    assert done.code == 0 and "1 tag of DATA is not known" in done.err
    assert "'B-XX' in sequence 2, new.conll:7. Such tokens count" in done.err
    assert f"token accuracy     {8 / 9:.6g}" in done.out


def test_several_tags_that_the_model_does_not_know_are_counted(run, conll, tmp_path):
    assert run("train", conll, "-o", "m", "--loss", "crf").code == 0
    lines = ["-DOCSTART- -X- O", "", TEXT.replace("B-VP", "B-XX").replace("I-NP", "I-XX")]
    (tmp_path / "new.conll").write_text("\n".join(lines))
    said = run("evaluate", "m", tmp_path / "new.conll").err
    assert "2 tags of DATA are not known to the model: 'B-XX' in sequence 1, new.conll:4, " in said


def test_columns_that_the_template_misses_are_said_with_the_file(run, conll, tmp_path):
    assert run("train", conll, "-o", "m", "--loss", "crf").code == 0
    (tmp_path / "new.conll").write_text("He\nreckons\n")
    done = run("predict", "m", tmp_path / "new.conll")
    assert done.code == 3
    assert "new.conll: lines have 1 columns; the template reads 2" in done.err


def test_the_command_line_forbids_transitions(run, conll):
    assert run("train", conll, "-o", "m", "--loss", "crf", "--template", "default").code == 0
    forbid = ("--forbid", "B-NP I-NP", "--forbid", "B-VP I-NP")
    tags = run("predict", "m", conll, *forbid).out.split("\n\n")[0].split("\n")
    assert (
        tags
        == fenchel.load("m").predict(SENTENCES[:1], forbidden=[("B-NP", "I-NP"), ("B-VP", "I-NP")])[
            0
        ]
    )
    assert tags != TAGS[0]
    said = run("evaluate", "m", conll, *forbid).out
    assert "chunk f1           1" not in said


@pytest.mark.parametrize("command", ["predict", "evaluate"])
@pytest.mark.parametrize(
    ("pair", "words"),
    [("B-NP", "expected two tags"), ("B-NP I-NPP", "did you mean 'I-NP'"), ("a b c", "two tags")],
)
def test_transitions_that_are_none_are_refused(run, conll, command, pair, words):
    assert run("train", conll, "-o", "m", "--loss", "crf", "--template", "default").code == 0
    done = run(command, "m", conll, "--forbid", pair)
    assert done.code == 2 and words in done.err


def test_files_are_for_models_with_a_template(run, conll):
    fenchel.save(fitted(), "m")
    for command in ("predict", "evaluate"):
        done = run(command, "m", conll)
        assert done.code == 3 and "the model has no template" in done.err


def test_only_tags_have_transitions_to_forbid(run, tmp_path):
    (tmp_path / "d").write_text("1 1:1\n-1 1:2\n")
    assert run("train", tmp_path / "d", "-o", "m").code == 0
    done = run("predict", "m", tmp_path / "d", "--forbid", "a b")
    assert done.code == 2 and "tags" in done.err


def test_a_path_of_chains_is_refused(run, conll):
    done = run("path", conll, "--loss", "crf")
    assert done.code == 2 and "use train" in done.err


def test_a_template_may_be_a_file(run, conll, tmp_path):
    (tmp_path / "t").write_text("U:%x[0,1]\n")
    assert run("train", conll, "-o", "m", "--loss", "crf", "--template", tmp_path / "t").code == 0
    assert fenchel.load("m").template == "U:%x[0,1]\n"


def test_a_template_that_is_built_in_comes_before_a_file(run, conll, tmp_path):
    (tmp_path / "words").write_text("U:%x[0,1]\n")
    assert run("train", conll, "-o", "m", "--loss", "crf", "--template", "words").code == 0
    assert fenchel.load("m").template == "words"


def test_a_template_that_is_no_text_is_refused_by_its_name(run, conll, tmp_path):
    (tmp_path / "t").write_bytes(b"U:%x[0,0]\xff\n")
    done = run("train", conll, "-o", "m", "--loss", "crf", "--template", "t")
    assert done.code == 2 and "--template: t is not UTF-8 text" in done.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (("--loss", "crf", "--template", "none"), "no file 'none', and no template"),
        (("--loss", "hinge", "--template", "default"), "tokens"),
        (("--loss", "crf", "--intercept"), "no intercept"),
        (("--loss", "crf", "--temperature", 2.0), "soft_m3n"),
        (("--loss", "soft_m3n", "--rescaling", "slack"), "it is for multiclass_hinge and m3n"),
        (("--loss", "m3n", "--rescaling", "both"), "available are margin, slack"),
        (("--loss", "m3n", "--cost", 2.0), "liblinear's C, not what a wrong label costs"),
    ],
)
def test_flags_that_do_not_go_together_are_refused(run, conll, flags, words):
    outcome = run("train", conll, "-o", "m", *flags)
    assert outcome.code == 2 and words in outcome.err


# More weights than there are places for


@pytest.mark.parametrize("pairs", ["observed", "all"])
def test_more_pairs_than_have_places_are_refused(pairs, monkeypatch, tmp_path):
    n = len(fitted(pairs=pairs).pairs_.label)
    fenchel.save(fitted(pairs=pairs), tmp_path / "m")
    monkeypatch.setattr(sequences, "MOST_PAIRS", n)
    assert fitted(pairs=pairs).status_ == "converged"
    monkeypatch.setattr(sequences, "MOST_PAIRS", n - 1)
    with pytest.raises(fenchel.InvalidData, match=f"take up to {n - 1} weights.* got {n}"):
        fitted(pairs=pairs)
    with pytest.raises(fenchel.InvalidData, match=f"take up to {n - 1} weights"):
        fenchel.load(tmp_path / "m")


def test_pairs_are_counted_before_they_are_made():
    with pytest.raises(fenchel.InvalidData, match="got 40,000,400,000,000"):
        sequences.all_pairs(2_000_000_000, 20_000)


# Hostile files


def forged(**changes):
    arrays = {**stored(fitted().pairs_), **changes}
    return restored(SavedState(arrays, None, []), len(fitted().feature_names_in_), 3)


def test_pairs_come_back():
    pairs = forged()
    assert np.array_equal(pairs.start, fitted().pairs_.start)
    assert np.array_equal(pairs.label, fitted().pairs_.label)


@pytest.mark.parametrize("name", ["pairs.counts", "pairs.labels"])
@pytest.mark.parametrize("change", [0, 3, 255, None])
def test_pairs_that_cannot_be_are_refused(name, change):
    good = stored(fitted().pairs_)[name]
    bad = good[:-2] if change is None else np.full_like(good, change)
    with pytest.raises(fenchel.InvalidData):
        forged(**{name: bad})
