"""`fenchel train` with measures, levels and queries: losses of all rows at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from commands import Command, rows, svmlight, table
from sklearn.datasets import dump_svmlight_file

import fenchel
from fenchel.cli.evaluate import Evaluated
from fenchel.cli.exits import Code


def ranked(name: str, *, qid: bool = True) -> Path:
    X, z = rows()
    path, queries = Path(name), np.repeat(np.arange(20), 10) if qid else None
    dump_svmlight_file(X, np.digitize(z, [0, 2]), str(path), zero_based=False, query_id=queries)
    return path


@pytest.mark.parametrize(
    ("flags", "parameters", "measures"),
    [
        (["roc"], {"metric": "roc_auc"}, set()),
        (["f1"], {"metric": "f1"}, set()),
        (["fbeta", "--beta", 2], {"metric": "fbeta", "beta": 2.0}, {"f_beta"}),
        (["precision_at_k", "--k", 15], {"k": 15}, {"precision_at_15"}),
        (["recall_at_k"], {"metric": "recall_at_k", "k": 10}, {"recall_at_10"}),
        (["prbep"], {"metric": "break_even"}, {"break_even"}),
    ],
    ids=str,
)
def test_a_measure_trains_predicts_and_is_measured(
    run: Command, flags: list[Any], parameters: dict[str, Any], measures: set[str]
) -> None:
    data = svmlight("data.svm")
    done = run("train", data, "-o", "m", "--strength", 0.01, "--loss", *flags)
    assert done.code == 0, done.err
    model = fenchel.load("m")
    assert type(model) is fenchel.MetricClassifier
    assert parameters.items() <= model.get_params().items()
    found = msgspec.json.decode(run("evaluate", "m", data, "--json").out, type=Evaluated)
    assert found.loss == flags[0]
    assert set(found.metrics) == {"accuracy", "balanced_accuracy", "f1", "roc_area"} | measures
    X, z = rows()
    for name in measures:
        assert found.metrics[name] == pytest.approx(model.score(X, np.sign(z)))
    assert set(run("predict", "m", data).out.split()) == {"-1", "1"}
    assert flags[0] in run("inspect", "m").out


def test_levels_train_predict_and_are_measured(run: Command) -> None:
    y = np.array(["a", "b", "c"])[np.digitize(rows()[1], [-1, 1])]
    data = table("data.csv", y)
    assert run("train", data, "-o", "m", "--loss", "ordinal", "--strength", 0.01).code == 0
    lines = run("predict", "m", data).out.split()
    assert set(lines) == {"a", "b", "c"}
    found = msgspec.json.decode(run("evaluate", "m", data, "--json").out, type=Evaluated).metrics
    assert set(found) == {"accuracy", "mean_level_error"}
    errors = [abs(ord(a) - ord(b)) for a, b in zip(lines, y, strict=True)]
    assert found["mean_level_error"] == pytest.approx(np.mean(errors))
    assert found["accuracy"] == pytest.approx(np.mean(lines == y))
    assert len({*run("predict", "m", data, "--scores").out.split()}) > 3
    assert "ordinal" in run("inspect", "m").out


@pytest.mark.parametrize("flags", [["rank_hinge"], ["ndcg", "--k", 5], ["mrr"], ["eru"]], ids=str)
def test_queries_train_predict_and_are_measured(run: Command, flags: list[Any]) -> None:
    data = ranked("data.svm")
    done = run("train", data, "-o", "m", "--strength", 0.01, "--loss", *flags)
    assert done.code == 0, done.err
    model = fenchel.load("m")
    assert (type(model), model.loss) == (fenchel.Ranker, flags[0])
    found = msgspec.json.decode(run("evaluate", "m", data, "--json").out, type=Evaluated).metrics
    assert set(found) == {"ndcg_at_10", "mean_reciprocal_rank"}
    assert all(value is not None and 0.8 < value <= 1 for value in found.values())
    X, y, qid = fenchel.read_svmlight(data, qid=True)
    assert found["ndcg_at_10"] == pytest.approx(model.set_params(k=10).score(X, y, groups=qid))
    assert len(run("predict", "m", data).out.split()) == 200
    assert flags[0] in run("inspect", "m").out


def test_queries_must_be_in_the_file(run: Command) -> None:
    data, bare = ranked("data.svm"), ranked("bare.svm", qid=False)
    done = run("train", bare, "-o", "m", "--loss", "ndcg")
    assert done.code == Code.BAD_DATA
    assert "bare.svm:1: the line has no query" in " ".join(done.err.split())
    assert run("train", data, "-o", "m", "--loss", "ndcg", "--strength", 0.01).code == 0
    assert "bare.svm:1: the line has no query" in " ".join(run("evaluate", "m", bare).err.split())
    lines = data.read_text().splitlines()
    Path("mixed.svm").write_text("\n".join([*lines[:30], *bare.read_text().splitlines()[30:]]))
    said = " ".join(run("train", "mixed.svm", "-o", "m", "--loss", "ndcg").err.split())
    assert "mixed.svm:31" in said and "no qid" in said
    sheet = table("sheet.csv", np.digitize(rows()[1], [0, 2]))
    done = run("train", sheet, "-o", "m", "--loss", "mrr")
    assert "no column is called qid" in " ".join(done.err.split())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["roc", "--no-intercept"], "leaves no choice of an intercept"),
        (["f1", "--beta", 2], "--beta does not go with --loss f1"),
        (["mrr", "--half-life", 3], "--half-life does not go with --loss mrr"),
        (["roc", "--balanced"], "--balanced weighs classes; --loss roc does not"),
        (["ndcg", "--k", 0], "--k"),
        (["eru", "--half-life", 1], "--half-life"),
        (["roc", "--solver", "lbfgs"], "lbfgs"),
    ],
    ids=str,
)
def test_what_does_not_go_with_a_measure_is_refused(
    run: Command, flags: list[Any], said: str
) -> None:
    done = run("train", ranked("data.svm"), "-o", "m", "--loss", *flags)
    assert done.code == Code.USAGE
    assert said in " ".join(done.err.split())
    assert not os.path.exists("m")
