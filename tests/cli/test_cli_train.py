"""`fenchel train`: what is saved and said, and how flags reach the estimator."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from commands import Command, rows, svmlight, table
from sklearn.datasets import dump_svmlight_file

import fenchel
from fenchel.cli import choices
from fenchel.cli.evaluate import Evaluated
from fenchel.cli.exits import Code
from fenchel.cli.summary import Trained
from fenchel.losses import LOSSES as ALL_LOSSES
from fenchel.losses import Labels, MultivariateLoss

LOSSES = {n: kind for n, kind in ALL_LOSSES.items() if not issubclass(kind, MultivariateLoss)}


def targets(loss: str) -> Callable[[np.ndarray], Any]:
    if loss in choices.DEVIANCES:
        return lambda z: np.floor(np.exp(z / 2)) + (loss in choices.POSITIVE)
    classes = LOSSES[loss].labels in (Labels.BINARY, Labels.CLASSES)
    return np.sign if classes else lambda z: z


def test_train_saves_a_model_and_says_what_was_proved(run: Command) -> None:
    done = run("train", svmlight("data.svm"), "-o", "out.model")
    assert done.code == 0
    model = fenchel.load("out.model")
    assert model.status_ == "converged"
    shown = re.search(r"([0-9.]+) <= min J <= ([0-9.]+)", done.out)
    assert shown is not None
    bounds = [float(bound) for bound in shown.groups()]
    assert bounds == pytest.approx([model.lower_bound_, model.objective_], rel=1e-7)
    assert "200 rows, 6 features, 1,200 nonzeros" in done.err
    assert "save out.model" in done.err
    assert model.index_base_ == 1
    assert os.listdir() == ["data.svm", "out.model"] or set(os.listdir()) == {
        "data.svm",
        "out.model",
    }


def test_json_is_one_object_of_the_documented_schema(run: Command) -> None:
    flags = ["--json", "--solver", "sdca", "--seed", 3]
    done = run("train", svmlight("data.svm"), "-o", "out.model", *flags)
    report = msgspec.json.decode(done.out, type=Trained, strict=True)
    assert done.out.count("\n") == 1
    model = fenchel.load("out.model")
    assert report.converged and report.gap == model.gap_ <= 1e-4
    assert (report.rows, report.features, report.nonzeros) == (200, 6, 1200)
    assert report.classes == [-1, 1]
    assert report.settings.seed == 3
    assert report.runs[0].objective == model.objective_
    assert report.bytes == os.path.getsize("out.model")
    assert report.seconds.keys() == {"read", "fit", "save"}


# A share nu of data around the origin has no direction: see below.
NOT_THESE = {*choices.SETS, *choices.VECTORS, *choices.LEAVES, "nu_novelty", *choices.SEQUENCES}


@pytest.mark.parametrize("name", sorted(set(LOSSES) - NOT_THESE))
def test_every_loss_trains_predicts_and_is_measured(run: Command, name: str) -> None:
    data = svmlight("data.svm", targets(name))
    assert run("train", data, "-o", "m", "--loss", name, "--strength", 0.01).code == 0
    lines = run("predict", "m", data).out.split("\n")
    assert len(lines) == 201 and lines[-1] == ""
    found = msgspec.json.decode(run("evaluate", "m", data, "--json").out, type=Evaluated).metrics
    family = LOSSES[name].labels
    expected = {
        Labels.BINARY: {"accuracy", "balanced_accuracy", "f1", "roc_area"},
        Labels.CLASSES: {"accuracy", "balanced_accuracy", "f1", "roc_area"},
        Labels.NONE: {"novel"},
    }.get(family, {"mean_absolute_error", "root_mean_squared_error", "r2"})
    extra = {
        "logistic": {"log_loss"},
        "softmax": {"log_loss"},
        "quantile": {"pinball_loss", "share_below"},
        **{name: {f"{name}_deviance"} for name in choices.DEVIANCES},
    }
    assert set(found) == expected | extra.get(name, set())
    assert all(value is not None and math.isfinite(value) for value in found.values())


@pytest.mark.parametrize(
    ("flags", "parameters"),
    [
        (["--loss", "huber", "--delta", "0.5"], {"loss": "huber", "delta": 0.5}),
        (["--loss", "quantile", "--quantile", "0.9"], {"quantile": 0.9}),
        (["--loss", "epsilon_insensitive", "--epsilon", "0.3"], {"epsilon": 0.3}),
        (["--regularizer", "l1", "--loss", "squared_error"], {"penalty": "l1"}),
        (
            ["--regularizer", "elastic_net", "--l1-ratio", "0.2", "--loss", "squared_error"],
            {"penalty": "elastic_net", "l1_ratio": 0.2},
        ),
        (["--no-intercept", "--loss", "squared_error"], {"fit_intercept": False}),
        (["--solver", "bmrm", "--loss", "squared_error"], {"solver": "bmrm"}),
        (["--threads", "1", "--loss", "squared_error"], {"n_jobs": 1}),
        (["--gap", "1e-3", "--loss", "squared_error"], {"tol": 1e-3}),
        (["--max-seconds", "9", "--loss", "squared_error"], {"max_seconds": 9}),
        (["--loss", "novelty", "--rho", "2"], {"rho": 2}),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, list) else "",
)
def test_flags_reach_the_estimator(
    run: Command, flags: list[str], parameters: dict[str, Any]
) -> None:
    assert run("train", svmlight("data.svm", lambda z: z), "-o", "m", *flags).code == 0
    found = fenchel.load("m").get_params()
    assert {name: found[name] for name in parameters} == parameters


def test_balanced_and_mu_reach_the_classifier(run: Command) -> None:
    run("train", svmlight("d"), "-o", "m", "--balanced", "--loss", "smoothed_hinge", "--mu", 0.5)
    model = fenchel.load("m")
    assert (model.class_weight, model.mu) == ("balanced", 0.5)


def test_nu_reaches_both_estimators(run: Command) -> None:
    assert run("train", svmlight("d"), "-o", "m", "--loss", "nu_hinge", "--nu", 0.3).code == 0
    assert fenchel.load("m").nu == 0.3
    X, _ = rows()
    dump_svmlight_file(X + 3, np.zeros(len(X)), "far.svm", zero_based=False)
    for flags, nu in (["--nu", 0.1], 0.1), ([], 0.5):
        assert run("train", "far.svm", "-o", "m", "--loss", "nu_novelty", *flags).code == 0
        assert fenchel.load("m").nu == nu
        found = msgspec.json.decode(run("evaluate", "m", "far.svm", "--json").out, type=Evaluated)
        assert 0.8 * nu <= found.metrics["novel"] <= nu
    around = run("train", svmlight("d"), "-o", "m", "--loss", "nu_novelty", "--nu", 0.1)
    assert around.code == Code.OK and "found nothing" in around.err  # w = 0 is best, and proved so


def test_cost_is_liblinears_c(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "a", "-c", 2.5)
    run("train", data, "-o", "b", "--strength", 1 / (2.5 * 200))
    assert np.array_equal(fenchel.load("a").coef_, fenchel.load("b").coef_)


def test_classes_other_than_plus_and_minus_one_are_explained(run: Command) -> None:
    """FAULTS #7."""
    done = run("train", svmlight("zero.svm", lambda z: (z > 0).astype(float)), "-o", "m")
    assert "classes: 0 is -1, 1 is +1" in done.err
    data = table("mail.csv", np.where(rows()[1] > 0, "spam", "ham"))
    assert "classes: ham is -1, spam is +1" in run("train", data, "-o", "m").err
    assert set(run("predict", "m", data).out.split()) == {"ham", "spam"}
    assert "classes:" not in run("train", svmlight("plain.svm"), "-o", "m").err


def test_novelty_says_that_it_leaves_a_column_out(run: Command) -> None:
    data = table("data.csv", np.ones(50))
    assert "one column counts as such" in run("train", data, "-o", "m", "--loss", "novelty").err
    done = run("train", data, "-o", "m", "--loss", "novelty", "--target", "f")
    assert "warning" not in done.err
    assert list(fenchel.load("m").feature_names_in_) == [*"abcde", "y"]


def test_verbose_says_why_the_solver_was_chosen(run: Command) -> None:
    done = run("train", svmlight("data.svm"), "-o", "m", "-v")
    assert "why polish: better than ls-bmrm on the measured problems most like it" in done.err


def test_without_a_regulariser_nothing_is_proved_but_a_model_is_saved(run: Command) -> None:
    done = run("train", svmlight("data.svm"), "-o", "m", "--strength", 0)
    assert done.code == 4
    assert "not converged" in done.out and "sublbfgs" in done.out
    assert fenchel.load("m").alpha == 0


@pytest.mark.parametrize("loss", choices.TOGETHER)
def test_three_classes_make_one_run_of_a_loss_of_all_scores(run: Command, loss: str) -> None:
    data = svmlight("data.svm", lambda z: np.digitize(z, [-0.5, 0.7]))
    done = run("train", data, "-o", "m", "--loss", loss, "--strength", 0.01)
    assert done.code == 0
    assert "3 classes, together: 0, 1, 2" in done.err and "rest" not in done.err
    assert "18 of 18 coefficients nonzero" in done.out
    lines = run("predict", "m", data).out.split()
    model = fenchel.load("m")
    assert lines == [str(int(label)) for label in model.predict(rows()[0])]
    found = run("evaluate", "m", data, "--json").json["metrics"]
    assert found["accuracy"] > 0.8 and found["f1"] > 0.8
    assert ("log_loss" in found) == (loss == "softmax")
    shown = run("inspect", "m").out
    assert "for class 2" in shown and "18 of 18 coefficients nonzero" in shown


def test_softmax_gives_probabilities(run: Command) -> None:
    data = svmlight("data.svm", lambda z: np.digitize(z, [-0.5, 0.7]))
    run("train", data, "-o", "m", "--loss", "softmax")
    found = np.loadtxt(run("predict", "m", data, "--probabilities").out.split("\n"))
    assert found.shape == (200, 3)
    assert found.sum(axis=1) == pytest.approx(1)


def test_a_solver_that_cannot_have_the_loss_is_refused_before_the_data_are_read(
    run: Command,
) -> None:
    Path("broken.svm").write_text("1 2=3\n")
    done = run("train", "broken.svm", "-o", "m", "--loss", "multiclass_hinge", "--solver", "lbfgs")
    assert done.code == 2


def test_a_multilabel_model_predicts_but_is_not_measured_on_labels_it_does_not_know(
    run: Command,
) -> None:
    data, (X, z) = svmlight("data.svm"), rows()
    fenchel.save(
        fenchel.MultilabelClassifier().fit(X, [["a"] if score > 0 else ["b", "c"] for score in z]),
        "m",
    )
    assert run("predict", "m", data).out.count("\n") == 200
    done = run("evaluate", "m", data)
    assert done.code == 3 and "which fit has not seen" in done.err


def test_a_model_of_a_taxonomy_predicts_and_is_measured(run: Command) -> None:
    data, (X, z) = svmlight("data.svm"), rows()
    y = np.where(z > 0, 1, -1)
    model = fenchel.HierarchicalClassifier(taxonomy={1: 0, -1: 2, 2: 0}).fit(X, y)
    fenchel.save(model, "m")
    predicted = map(str, model.predict(X).tolist())
    assert run("predict", "m", data).out.split() == list(predicted)
    assert "accuracy" in run("evaluate", "m", data).out


def test_three_classes_make_three_runs(run: Command) -> None:
    data = svmlight("data.svm", lambda z: np.digitize(z, [-0.5, 0.8]) + 4)
    done = run("train", data, "-o", "m", "--json")
    report = msgspec.json.decode(done.out, type=Trained)
    assert [one.label for one in report.runs] == [4, 5, 6]
    assert "3 classes, each against the rest: 4, 5, 6" in done.err
    assert "3/3" in done.err
    shown = run("train", data, "-o", "m").out
    assert "3 of 3 classes converged" in shown
    assert len(run("predict", "m", data, "--scores").out.splitlines()[0].split()) == 3
    assert run("evaluate", "m", data).out.startswith("accuracy")
    assert run("inspect", "m").out.count("for class") == 3


def test_plot_draws_the_run(run: Command) -> None:
    assert run("train", svmlight("data.svm"), "-o", "m", "--plot", "run.svg").code == 0
    assert "<svg" in Path("run.svg").read_text()


def test_progress_in_a_pipe_is_a_line_at_doubling_intervals(run: Command) -> None:
    done = run("train", svmlight("data.svm"), "-o", "m", "--gap", 1e-7)
    lines = [line.split() for line in done.err.splitlines()]
    start = next(i for i, words in enumerate(lines) if words[0] == "iteration")
    seen = [int(words[0]) for words in lines[start + 1 :] if words[0].isdigit()]
    last = fenchel.load("m").n_iter_
    doubling = [2**k for k in range(20) if 2**k <= last]
    assert seen == (doubling if doubling[-1] == last else [*doubling, last])


def test_quiet_says_nothing_on_stderr(run: Command) -> None:
    done = run("train", svmlight("data.svm"), "-o", "m", "--quiet")
    assert done.err == ""
    assert "min J" in done.out


def test_an_absolute_gap_is_enough_where_it_is_asked_for(run):
    svmlight("d.svm")
    done = run("train", "d.svm", "-o", "m", "--gap", 1e-12, "--atol", 0.05, "--solver", "bmrm")
    assert done.code == 0 and "between the bounds" in done.out
    assert fenchel.load("m").result_.certificate.width <= 0.05
    assert run("train", "d.svm", "-o", "m", "--atol", -1).code == 2
