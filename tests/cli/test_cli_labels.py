"""Sets of labels, several targets, taxonomies and costs of labels, from files to models."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import Command, rows
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

import fenchel

X, Z = rows(120)
W = np.random.default_rng(1).normal(size=(6, 3))
SCORES = X @ W
HAS = SCORES > 0
KIND = SCORES.argmax(axis=1)


def write_table(name: str, header: list[str], values: np.ndarray) -> None:
    lines = [",".join(header), *(",".join(map(str, line)) for line in values)]
    Path(name).write_text("\n".join(lines))


@pytest.fixture
def sets(run: Command) -> Path:
    """Rows with any number of the labels 1, 3 and 7."""
    path = Path("sets.svm")
    dump_svmlight_file(X, HAS.astype(int), str(path), zero_based=False, multilabel=True)
    lines = path.read_text().splitlines()
    names = str.maketrans({"0": "1", "1": "3", "2": "7"})
    out = []
    for line in lines:
        labels, _, features = line.partition(" ")
        out.append(f"{labels.translate(names)} {features}")
    path.write_text("\n".join(out) + "\n")
    return path


def test_sets_of_labels_train_predict_and_are_measured(run: Command, sets: Path) -> None:
    done = run("train", sets, "-o", "m", "--loss", "multilabel_hinge", "--strength", 0.01)
    assert done.code == 0
    model = fenchel.load("m")
    assert model.classes_.tolist() == [1, 3, 7]
    _, labels = load_svmlight_file(str(sets), multilabel=True)
    again = fenchel.MultilabelClassifier(alpha=0.01).fit(X, [list(each) for each in labels])
    np.testing.assert_allclose(model.coef_, again.coef_, atol=1e-3)
    lines = run("predict", "m", sets).out.splitlines()
    assert [list(map(int, line.split())) for line in lines] == model.predict(X).tolist()
    found = run("evaluate", "m", sets, "--json").json["metrics"]
    assert found["accuracy"] == pytest.approx(model.score(X, [list(each) for each in labels]))
    assert found.keys() == {"accuracy", "f1_micro", "f1_macro", "hamming_loss", "jaccard"}
    found = run("predict", "m", sets, "--json").json
    assert found["predictions"][0] == np.array([1, 3, 7])[model.predict(X)[0] > 0].tolist()


def test_a_model_of_sets_is_verified_and_has_a_path(run: Command, sets: Path) -> None:
    flags = ("--loss", "multilabel_hinge")
    run("train", sets, "-o", "m", *flags, "--strength", 0.1, "--proof", "proof")
    assert run("verify", "m", sets, "--proof", "proof").code == 0
    more = ("--strengths", "0.1,0.01", "--validation", sets, "--metric", "f1_micro")
    done = run("path", sets, *flags, *more, "--json", "-o", "best")
    assert done.json["score"] == "f1_micro" and len(done.json["points"]) == 2
    assert run("path", sets, *flags, "--cv", 3).code == 2


def test_sets_of_labels_in_a_table_are_columns_of_zeros_and_ones(run: Command) -> None:
    header = ["a", "b", "c", "d", "e", "f", "dry", "warm", "wet"]
    write_table("sets.csv", header, np.hstack([X, HAS]))
    flags = ("--loss", "multilabel_hinge", "--strength", 0.01)
    done = run("train", "sets.csv", "-o", "m", *flags, "--target", "dry,warm,wet")
    assert done.code == 0
    model = fenchel.load("m")
    assert model.classes_.tolist() == ["dry", "warm", "wet"]
    assert model.feature_names_in_.tolist() == list("abcdef")
    assert run("evaluate", "m", "sets.csv", "--json").json["metrics"]["f1_micro"] > 0.8
    run("predict", "m", "sets.csv", "-o", "out.csv")
    assert Path("out.csv").read_text().splitlines()[0] == '"row","dry","warm","wet"'
    said = run("train", "sets.csv", "-o", "m", *flags, "--target", "dry,a").err
    assert "column 'a' is a label, which rows have or have not" in said
    assert "--target a,b,c" in run("train", "sets.csv", "-o", "m", *flags).err
    assert (
        "no column 'hot'" in run("train", "sets.csv", "-o", "m", *flags, "--target", "dry,hot").err
    )


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("1,x 1:2\n", "sets.svm:1:1: the label is not a number: '1,x'"),
        ("1,3 1:2\n1,3 1=2\n", "sets.svm:2:5: the colon"),
        ("1,nan 1:2\n", "sets.svm:1:1: the number is nan"),
        ("1 1:2\n1 1:3\n", "needs two"),
    ],
)
def test_wrong_lines_of_sets_are_named(run: Command, line: str, said: str) -> None:
    Path("sets.svm").write_text(line)
    done = run("train", "sets.svm", "-o", "m", "--loss", "multilabel_hinge")
    assert done.code == 3 and said in done.err


def test_rows_without_labels_and_other_losses(run: Command) -> None:
    Path("sets.svm").write_text("1,2 1:1\n 1:2 2:1\n1:3\n2, 2:1 # none\n\n")
    flags = ("--loss", "multilabel_hinge", "--strength", 0.1, "--no-intercept")
    done = run("train", "sets.svm", "-o", "m", *flags, "--json")
    assert done.code == 0 and done.json["rows"] == 4
    done = run("train", "sets.svm", "-o", "m")
    assert done.code == 3 and "--loss multilabel_hinge" in done.err


def test_several_targets_are_columns_of_a_table(run: Command) -> None:
    header = ["u", "a", "b", "c", "d", "e", "f", "v"]
    columns = np.column_stack([SCORES[:, 0], X, SCORES[:, 1]])
    write_table("data.csv", header, columns)
    flags = ("--loss", "multivariate_squared", "--strength", 1e-3)
    done = run("train", "data.csv", "-o", "m", *flags, "--target", "u,v", "--proof", "proof")
    assert done.code == 0
    model = fenchel.load("m")
    expected = fenchel.MultivariateRegressor(alpha=1e-3).fit(X, SCORES[:, :2])
    np.testing.assert_allclose(model.coef_, expected.coef_, atol=1e-3)
    assert model.target_names_.tolist() == ["u", "v"]
    found = run("evaluate", "m", "data.csv", "--json").json["metrics"]
    frame = pd.DataFrame(X, columns=list("abcdef"))
    assert found["r2"] == pytest.approx(model.score(frame, SCORES[:, :2]))
    run("predict", "m", "data.csv", "-o", "out.csv", "--id", "a")
    table = np.genfromtxt("out.csv", delimiter=",", names=True)
    assert table.dtype.names == ("a", "u", "v")
    np.testing.assert_allclose(table["v"], model.predict(frame)[:, 1])
    assert run("verify", "m", "data.csv", "--proof", "proof").code == 0
    assert "2 targets: u, v" in run("inspect", "m").out


TREES = {
    "nested.json": json.dumps({"warm": ["0", "2"], "1": None}),
    "parents.json": json.dumps({"0": "warm", "2": "warm", "1": "all", "warm": "all"}),
    "paths.json": json.dumps([["warm", "0"], ["warm", "2"], ["1"]]),
    "parents.csv": "0,warm\n2,warm\n1,all\nwarm,all\n",
    "parents.tsv": "0\twarm\n2\twarm\n1\tall\nwarm\tall\n",
    "paths.txt": "warm/0\nwarm/2\n1\n",
}


@pytest.fixture
def kinds(run: Command) -> Path:
    path = Path("kinds.svm")
    dump_svmlight_file(X, KIND, str(path), zero_based=False)
    return path


@pytest.mark.parametrize("name", TREES)
def test_a_taxonomy_has_many_forms(run: Command, kinds: Path, name: str) -> None:
    Path(name).write_text(TREES[name])
    flags = ("--loss", "hierarchical_softmax", "--strength", 0.01, "--gap", 1e-2)
    assert run("train", kinds, "-o", "m", *flags, "--taxonomy", name).code == 0
    model = fenchel.load("m")
    assert set(model.nodes_.tolist()) == {"warm", "0", "1", "2"}
    assert run("evaluate", "m", kinds, "--json").json["metrics"]["accuracy"] > 0.8
    assert set(run("predict", "m", kinds).out.split()) == {"0", "1", "2"}


def test_a_taxonomy_of_numbers_keeps_them(run: Command, kinds: Path) -> None:
    Path("tree.json").write_text(json.dumps({"9": [0, 2], "1": None}))
    flags = ("--loss", "hierarchical_hinge", "--strength", 0.01, "--taxonomy", "tree.json")
    run("train", kinds, "-o", "m", *flags, "--proof", "proof", "--label-costs", "relative")
    model = fenchel.load("m")
    assert model.classes_.tolist() == [0, 1, 2] and model.cost == "relative"
    assert run("verify", "m", kinds, "--proof", "proof").code == 0


def test_wrong_taxonomies_are_refused_before_the_data_are_read(run: Command) -> None:
    Path("broken.svm").write_text("1 2=3\n")
    for text, said in {
        "{": "tree:1: this is no JSON",
        "": "it is empty",
        "a,b,c\n": "is no child and parent",
        "a,b\na,c\n": "has a parent already",
        json.dumps({"a": "b", "b": "a"}): "cyclic",
    }.items():
        Path("tree").write_text(text)
        flags = ("--loss", "hierarchical_hinge", "--taxonomy", "tree")
        done = run("train", "broken.svm", "-o", "m", *flags)
        assert done.code == 3 and said in done.err
    done = run("train", "broken.svm", "-o", "m", "--loss", "hierarchical_hinge", "--taxonomy", "no")
    assert done.code == 2 and "--taxonomy: there is no file 'no'" in done.err


COSTS = np.array([[0.0, 1, 5], [2, 0, 1], [3, 4, 0]])


@pytest.mark.parametrize(
    "text",
    [
        "0 1 5\n2 0 1\n3 4 0\n",
        ",2,0,1\n2,0,3,4\n0,5,0,1\n1,1,2,0\n",
        "label;0;1;2\n0;0;1;5\n1;2;0;1\n2;3;4;0\n",
    ],
)
def test_costs_of_labels_are_a_matrix_with_names_or_without(
    run: Command, kinds: Path, text: str
) -> None:
    Path("costs.csv").write_text(text)
    flags = ("--loss", "multiclass_hinge", "--strength", 0.05, "--label-costs", "costs.csv")
    assert run("train", kinds, "-o", "m", *flags, "--rescaling", "slack").code == 0
    model = fenchel.load("m")
    assert np.array_equal(model.cost, COSTS) and model.rescaling == "slack"


def test_wrong_costs_are_refused_before_the_data_are_read(run: Command, kinds: Path) -> None:
    Path("broken.svm").write_text("1 2=3\n")
    for text, said in {
        "0 1\n1 0 3\n": "row 1 has 3 numbers",
        "0 x\n1 0\n": "row 0 has 'x', no number",
        "0 -1\n1 0\n": "must be finite and >= 0",
        "1 1\n1 0\n": "the right label costs nothing",
        ",a,b\nb,0,1\na,1,0\n": "the same labels, in the same order",
    }.items():
        Path("costs").write_text(text)
        flags = ("--loss", "multiclass_hinge", "--label-costs", "costs")
        done = run("train", "broken.svm", "-o", "m", *flags)
        assert done.code == 3 and said in done.err
    Path("costs").write_text("0 1\n1 0\n")
    done = run("train", kinds, "-o", "m", *flags)
    assert done.code == 3 and "costs of 2 labels, the data have 3" in done.err
    Path("costs").write_text(",0,1\n0,0,1\n1,1,0\n")
    assert "it lacks the label '2'" in run("train", kinds, "-o", "m", *flags).err
    done = run("train", kinds, "-o", "m", "--label-costs", "costs")
    assert done.code == 2 and "is for multiclass_hinge" in done.err
