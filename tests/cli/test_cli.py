"""The command line in this process: what it prints where, how it exits, and what it refuses."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from commands import Command, rows, svmlight, table
from sklearn import metrics
from sklearn.datasets import dump_svmlight_file

import fenchel
from fenchel.checkpoint import Checkpoint
from fenchel.cli import choices
from fenchel.cli.evaluate import Evaluated
from fenchel.cli.exits import Code
from fenchel.cli.inspect import Inspected
from fenchel.cli.progress import Pace
from fenchel.cli.settings import Settings
from fenchel.cli.summary import Run, Trained
from fenchel.cli.terminal import count, duration, size
from fenchel.losses import LOSSES as ALL_LOSSES
from fenchel.losses import Labels, MultivariateLoss

LOSSES = {n: kind for n, kind in ALL_LOSSES.items() if not issubclass(kind, MultivariateLoss)}
ROOT = Path(__file__).parent.parent.parent


def targets(loss: str) -> Callable[[np.ndarray], Any]:
    if loss in choices.DEVIANCES:
        return lambda z: np.floor(np.exp(z / 2)) + (loss in choices.POSITIVE)
    classes = LOSSES[loss].labels in (Labels.BINARY, Labels.CLASSES)
    return np.sign if classes else lambda z: z


# Help and completion, which must not wait for NumPy


def loaded_after(*arguments: str, env: dict[str, str] | None = None) -> tuple[str, set[str]]:
    """What a fresh process prints, and which heavy modules it has imported."""
    script = (
        "import sys\n"
        "from fenchel.cli import main\n"
        "try:\n    main(sys.argv[1:])\n"
        "finally:\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'matplotlib', 'pyarrow', 'pandas'}\n"
        "    print('heavy:', *sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200", **(env or {})},
    )
    return done.stdout, set(done.stderr.rsplit("heavy:", 1)[1].split())


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--version"],
        *(
            [name, "--help"]
            for name in "train predict evaluate inspect convert resume worker serve".split()
        ),
    ],
    ids=" ".join,
)
def test_help_does_not_import_numpy(arguments: list[str]) -> None:
    out, heavy = loaded_after(*arguments)
    assert "fenchel" in out
    assert not heavy


def test_losses_complete_without_numpy() -> None:
    typed = {"_FENCHEL_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    out, heavy = loaded_after(env={**typed, "COMP_WORDS": "fenchel train --loss squared_"})
    assert out.split() == [name for name in choices.LOSSES if name.startswith("squared_")]
    assert not heavy


def test_the_help_of_train_names_every_setting_and_choice(run: Command) -> None:
    shown = run("train", "--help").out
    for name in Settings.__struct_fields__:
        assert f"--{name.replace('_', '-')}" in shown
    words = shown.replace("│", " ").split()
    for name in (*choices.LOSSES, *choices.REGULARIZERS, *choices.SOLVERS):
        assert any(word.strip(".,") == name for word in words)


def test_python_m_fenchel_prints_the_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fenchel", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"fenchel {fenchel.__version__}\n"


# Training


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
    done = run("train", svmlight("data.svm"), "-o", "out.model", "--json", "--seed", 3)
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
NOT_THESE = {*choices.BEYOND_FILES, "nu_novelty", *choices.SEQUENCES}  # see test_labeler.py


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
    assert around.code == Code.NOT_CONVERGED


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
    reason = "a bundle with a line search is the fastest certified method for the rest"
    assert f"why ls-bmrm: {reason}" in done.err


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


def test_a_solver_that_cannot_have_intercepts_is_refused_before_the_data_are_read(
    run: Command,
) -> None:
    Path("broken.svm").write_text("1 2=3\n")
    done = run("train", "broken.svm", "-o", "m", "--loss", "softmax", "--solver", "lbfgs")
    assert done.code == 2


def test_a_multilabel_model_predicts_but_is_not_measured(run: Command) -> None:
    data, (X, z) = svmlight("data.svm"), rows()
    fenchel.save(
        fenchel.MultilabelClassifier().fit(X, [["a"] if score > 0 else ["b", "c"] for score in z]),
        "m",
    )
    assert run("predict", "m", data).out.count("\n") == 200
    done = run("evaluate", "m", data)
    assert done.code == 2 and "sets of labels" in done.err


def test_a_model_of_a_taxonomy_predicts_and_is_measured(run: Command) -> None:
    data, (X, z) = svmlight("data.svm"), rows()
    y = np.where(z > 0, 1, -1)
    model = fenchel.HierarchicalClassifier(taxonomy={1: 0, -1: 2, 2: 0}).fit(X, y)
    fenchel.save(model, "m")
    predicted = map(str, model.predict(X).tolist())
    assert run("predict", "m", data).out.split() == list(predicted)
    assert "accuracy" in run("evaluate", "m", data).out


def test_a_bare_call_shows_the_help(run: Command) -> None:
    done = run()
    assert done.code == 2
    assert "Usage: fenchel" in done.out
    assert done.err == ""


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


# Not converged


def test_an_unreachable_gap_exits_with_4_and_saves_the_model(run: Command) -> None:
    """FAULTS #20."""
    done = run("train", svmlight("data.svm"), "-o", "m", "--gap", 1e-20)
    assert done.code == 4
    model = fenchel.load("m")
    assert model.status_ == "stalled" and 1e-20 < model.gap_ < 1e-6
    assert f"not converged (stalled), gap {model.gap_:.1e}, not 1.0e-20" in done.out
    assert "Warning" not in done.err
    assert not list(Path().glob("*checkpoint*"))


def test_a_limit_exits_with_4_and_can_be_gone_on_from(run: Command) -> None:
    data = svmlight("data.svm", n=500)
    flags = ["--gap", 1e-9, "--solver", "bmrm", "--threads", 1]
    whole = run("train", data, "-o", "whole", *flags, "--json").json
    done = run("train", data, "-o", "part", *flags, "--max-iterations", 20)
    assert done.code == 4
    assert "max iterations" in done.out
    assert "fenchel resume part.checkpoint --max-iterations" in done.err
    assert run("resume", "part.checkpoint").code == 4
    again = run("resume", "part.checkpoint", "--max-iterations", 10_000, "--json")
    assert again.code == 0
    assert again.json["runs"][0]["objective"] == whole["runs"][0]["objective"]
    assert again.json["runs"][0]["iterations"] == whole["runs"][0]["iterations"]
    assert np.array_equal(fenchel.load("part").coef_, fenchel.load("whole").coef_)
    assert not list(Path().glob("*checkpoint*"))


def test_several_classes_go_on_too(run: Command) -> None:
    data = svmlight("data.svm", lambda z: np.digitize(z, [-0.5, 0.8]), n=400)
    flags = ["--gap", 1e-9, "--solver", "bmrm"]
    run("train", data, "-o", "whole", *flags)
    assert run("train", data, "-o", "part", *flags, "--max-iterations", 20).code == 4
    assert run("resume", "part.checkpoint", "--max-iterations", 10_000).code == 0
    assert np.array_equal(fenchel.load("part").coef_, fenchel.load("whole").coef_)
    assert not list(Path().glob("*checkpoint*"))


def test_train_starts_afresh_beside_an_old_checkpoint(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--gap", 1e-9, "--solver", "bmrm", "--max-iterations", 20)
    assert Path("m.checkpoint").exists()
    assert run("train", data, "-o", "m", "--strength", 0.1).code == 0
    assert not Path("m.checkpoint").exists()


def test_changed_data_are_not_gone_on_with(run: Command) -> None:
    run(
        "train", svmlight("d"), "-o", "m", "--gap", 1e-9, "--solver", "bmrm", "--max-iterations", 20
    )
    svmlight("d", seed=1)
    done = run("resume", "m.checkpoint", "--max-iterations", 1000)
    assert done.code == 3
    assert "another problem" in done.err


# Settings


def test_config_is_overridden_by_the_environment_and_that_by_flags(
    run: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = svmlight("data.svm")
    Path("c.toml").write_text('loss = "logistic"\nstrength = 1\ngap = 0.1\nintercept = false\n')
    monkeypatch.setenv("FENCHEL_STRENGTH", "2")
    monkeypatch.setenv("FENCHEL_GAP", "0.2")
    done = run("train", data, "-o", "m", "--config", "c.toml", "--gap", 0.3, "--json")
    settings = done.json["settings"]
    assert settings["loss"] == "logistic"
    assert settings["strength"] == 2
    assert settings["gap"] == 0.3
    assert settings["intercept"] is False


def test_a_flag_for_cost_replaces_a_strength_from_below(run: Command) -> None:
    Path("c.toml").write_text("strength = 0.5\n")
    done = run(
        "train", svmlight("data.svm"), "-o", "m", "--config", "c.toml", "--cost", 1, "--json"
    )
    assert done.code == 0
    assert fenchel.load("m").alpha == 1 / 200


def test_a_flag_for_strength_replaces_a_cost_from_below(run: Command) -> None:
    Path("c.toml").write_text("cost = 1\n")
    run("train", svmlight("data.svm"), "-o", "m", "--config", "c.toml", "--strength", 0.5)
    assert fenchel.load("m").alpha == 0.5


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("strenght = 1", ["c.toml: strenght is no setting", "did you mean 'strength'?"]),
        ("strength = '1'", ["c.toml: strength: expected a number", "'1'"]),
        ("strength = -1", ["c.toml: strength: expected a number >= 0"]),
        ("loss = 'hing'", ["unknown loss 'hing'; did you mean 'hinge'?"]),
        ("[train]\nloss = 'hinge'", ["train is no setting"]),
        ("strength 1", ["c.toml is not a TOML file"]),
        ("strength = 1\ncost = 1", ["--strength or --cost, not both"]),
    ],
)
def test_a_wrong_config_is_refused(run: Command, toml: str, said: list[str]) -> None:
    Path("c.toml").write_text(toml)
    done = run("train", svmlight("data.svm"), "-o", "m", "--config", "c.toml")
    assert done.code == 2
    assert all(part in done.err for part in said)
    assert not Path("m").exists()


def test_a_wrong_variable_is_named(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCHEL_MAX_ITERATIONS", "many")
    done = run("train", svmlight("data.svm"), "-o", "m")
    assert done.code == 2
    assert "FENCHEL_MAX_ITERATIONS: expected a whole number; got 'many'" in done.err


# Wrong usage: exit 2, one message, nothing written


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "d"], "--output"),
        (["train", "-o", "m"], "DATA"),
        (["train", "none.svm", "-o", "m"], "there is no file none.svm"),
        (["train", ".", "-o", "m"], "cannot read ."),
        (["train", "d", "-o", "m", "--los", "hinge"], "--los"),
        (["train", "d", "-o", "m", "--loss", "hing"], "did you mean 'hinge'?"),
        (["train", "d", "-o", "m", "--loss", "mse"], "available are hinge"),
        (["train", "d", "-o", "m", "--solver", "lbgfs"], "did you mean 'lbfgs'?"),
        (["train", "d", "-o", "m", "--strength", "x"], "--strength"),
        (["train", "d", "-o", "m", "--strength", "-1"], "--strength: expected a number >= 0"),
        (["train", "d", "-o", "m", "--strength", "nan"], "--strength"),
        (["train", "d", "-o", "m", "--gap", "0"], "--gap: expected a number > 0"),
        (["train", "d", "-o", "m", "--threads", "0"], "--threads: expected a whole number >= 1"),
        (["train", "d", "-o", "m", "--index-base", "2"], "--index-base"),
        (["train", "d", "-o", "m", "--quantile", "0.5"], "is for quantile"),
        (["train", "d", "-o", "m", "--l1-ratio", "0.5"], "elastic_net"),
        (["train", "d", "-o", "m", "--loss", "novelty", "--intercept"], "no intercept"),
        (["train", "d", "-o", "m", "--loss", "huber", "--balanced"], "classes"),
        (["train", "d", "-o", "m", "--strength", "1", "-c", "1"], "not both"),
        (["train", "d", "-o", "m", "--solver", "lbfgs"], "differentiable"),
        (["train", "d", "-o", "m", "--loss", "multilabel_hinge"], "MultilabelClassifier"),
        (["train", "d", "-o", "m", "--loss", "hierarchical_hinge"], "needs a taxonomy"),
        (["train", "d", "-o", "m", "--loss", "multivariate_squared"], "use fenchel.problem"),
        (["train", "d", "-o", "m", "--loss", "softmax", "--mu", "1"], "is for smoothed_hinge"),
        (["train", "d", "-o", "d"], "is the data"),
        (["train", "d", "-o", "."], "cannot write"),
        (["train", "d", "-o", "-"], "name of a file"),
        (["train", "none", "-o", "/dev/null"], "it is a device"),
        (["train", "none", "-o", "no/such/folder/m"], "folder"),
        (["train", "d", "-o", "m", "--plot", "no/folder/p.svg"], "folder"),
        (["train", "d", "-o", "m", "--plot", "p.bmp"], ".png"),
        (["train", "d", "-o", "m", "--config", "none.toml"], "cannot read none.toml"),
        (["predict", "none", "d"], "there is no file none"),
        (["evaluate", "none", "d"], "there is no file none"),
        (["inspect", "none"], "there is no file none"),
        (["inspect", "d", "--top", "-1"], "--top"),
        (["convert", "d", "d"], "another name"),
        (["convert", "none", "e.npz"], "there is no file none"),
        (["resume", "none"], "there is no checkpoint none"),
        (["trian", "d"], "trian"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_usage_exits_with_2(run: Command, arguments: list[str], said: str) -> None:
    svmlight("d")
    before = Path("d").read_bytes()
    done = run(*arguments)
    assert done.code == 2
    assert done.err.startswith("error: ") and said in done.err
    assert done.err.count("\n") <= 2 and "Traceback" not in done.err
    assert done.out == ""
    assert os.listdir() == ["d"] and Path("d").read_bytes() == before


def test_a_full_disk_leaves_the_old_model(run: Command) -> None:
    """FAULTS #25: a limit on the size of files stands for the disk."""
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--strength", 1)
    before = Path("m").read_bytes()
    done = subprocess.run(
        f"ulimit -f 1; {sys.executable} -m fenchel train -q data.svm -o m --gap 1e-6",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )
    assert done.returncode == 1
    assert "File too large while writing" in done.stderr
    assert "fault of fenchel" not in done.stderr
    assert Path("m").read_bytes() == before
    assert sorted(os.listdir()) == ["data.svm", "m"]


def test_a_named_pipe_is_not_written_to(run: Command) -> None:
    """FAULTS #26."""
    os.mkfifo("pipe")
    done = run("train", svmlight("data.svm"), "-o", "pipe")
    assert done.code == 2
    assert "named pipe" in done.err


def test_the_output_is_checked_before_the_data_are_read(run: Command) -> None:
    Path("bad.svm").write_text("not svmlight\n")
    assert "cannot write" in run("train", "bad.svm", "-o", ".").err


# Bad data: exit 3


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 1:0.5\n-1 2=3\n", "d:2:"),
        ("1 1:0.5\n-1 1:nan\n", "d:2:"),
        ("spam 1:0.5\n", "d:1:"),
        ("1 1:0.5\n1 2:3\n", "single class"),
        ("0.5 1:0.5\n0.25 2:3\n0.125 1:1\n", "--loss squared_error"),
        ("", "d"),
        ("1 qid:1 1:1\n-1 qid:2 1:1\n1 qid:1 1:2\n", "d:3:"),
        ("1 1:1e200\n-1 1:1\n", "rescale"),
    ],
    ids=["colon", "nan", "label", "one class", "continuous", "empty", "qid", "large"],
)
def test_bad_data_exit_with_3_and_say_where(run: Command, text: str, said: str) -> None:
    """FAULTS #6, #8, #17, #27, #28, #34 as the command line shows them."""
    Path("d").write_text(text)
    done = run("train", "d", "-o", "m")
    assert done.code == 3
    assert said in done.err and "Traceback" not in done.err
    assert os.listdir() == ["d"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("lists.svm", "1 qid:1 1:1\n0 qid:1 1:2\n\n# here\n0 qid:2 1:3\n0 qid:2 1:4\n"),
        ("lists.csv", "y,a,qid\n1,1,1\n0,2,1\n\n\n0,3,2\n0,4,2\n"),
    ],
)
def test_lists_without_gold_are_named_by_their_line(run: Command, name: str, text: str) -> None:
    Path(name).write_text(text)
    done = run("train", name, "--loss", "rerank_likelihood", "-o", "m")
    assert done.code == 3
    line = 5 if name.endswith("svm") else 6
    assert f"{name}:{line}: list 1, which begins in row 2, has no gold" in done.err


def test_targets_that_a_loss_refuses_are_named_by_their_line(run: Command) -> None:
    Path("d").write_text("1 1:1\n# less than 0\n-1 1:2\n")
    assert "d:3: the loss needs y >= 0" in run("train", "d", "--loss", "poisson", "-o", "m").err


def test_a_file_that_is_no_model_exits_with_3(run: Command) -> None:
    data = svmlight("d")
    for wrong in (data, "."):
        done = run("predict", wrong, data)
        assert done.code == 3
        assert f"cannot use {wrong}" in done.err


def test_a_model_is_no_checkpoint(run: Command) -> None:
    run("train", svmlight("d"), "-o", "m")
    assert run("resume", "m").code == 3
    Checkpoint("m.checkpoint", note="mine")
    assert run("resume", "m.checkpoint").code == 2


# Internal errors: exit 1, and a traceback only on request


def test_an_internal_error_exits_with_1(run: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("a screw came loose")

    monkeypatch.setattr("fenchel.data.files.read", broken)
    svmlight("d")
    done = run("train", "d", "-o", "m")
    assert done.code == 1
    assert "RuntimeError: a screw came loose" in done.err and "Traceback" not in done.err
    assert "Traceback" in run("train", "d", "-o", "m", "-v").err
    monkeypatch.setenv("FENCHEL_DEBUG", "1")
    assert "Traceback" in run("train", "d", "-o", "m").err


# Predictions


def test_predictions_are_one_a_line_on_stdout_or_in_a_file(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m")
    done = run("predict", "m", data)
    assert done.code == 0
    expected = fenchel.load("m").predict(rows()[0])
    assert done.out == "".join(f"{label:.0f}\n" for label in expected)
    run("predict", "m", data, "-o", "out.txt")
    assert Path("out.txt").read_text() == done.out


def test_scores_and_probabilities_are_exact(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--loss", "logistic")
    model, (X, _) = fenchel.load("m"), fenchel.read_svmlight(data)
    scores = np.loadtxt(run("predict", "m", data, "--scores").out.splitlines())
    assert np.array_equal(scores, model.decision_function(X))
    done = run("predict", "m", data, "--probabilities")
    chances = np.loadtxt(done.out.splitlines())
    assert np.array_equal(chances, model.predict_proba(X))
    assert "columns: -1 1" in done.err


def test_probabilities_need_the_logistic_loss(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m")
    done = run("predict", "m", data, "--probabilities")
    assert done.code == 2
    assert "--loss logistic" in done.err
    assert run("predict", "m", data, "--probabilities", "--scores").code == 2


def test_more_features_than_in_training_are_refused_with_both_numbers(run: Command) -> None:
    run("train", svmlight("six.svm"), "-o", "m")
    done = run("predict", "m", svmlight("nine.svm", d=9))
    assert done.code == 3
    assert "9 features" in done.err and "6" in done.err


def test_fewer_features_than_in_training_count_as_zero(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m")
    Path("narrow.svm").write_text("1 1:2.0\n1\n")
    X = np.array([[2.0, 0, 0, 0, 0, 0], [0] * 6])
    scores = np.loadtxt(run("predict", "m", "narrow.svm", "--scores").out.splitlines())
    assert np.array_equal(scores, fenchel.load("m").decision_function(X))


def test_an_index_0_in_data_that_should_count_from_1_is_warned_of(run: Command) -> None:
    """FAULTS #32."""
    run("train", svmlight("data.svm"), "-o", "m")
    model = fenchel.load("m")
    assert model.index_base_ == 1
    Path("zero.svm").write_text("1 0:7 1:2.0\n")
    done = run("predict", "m", "zero.svm", "--scores")
    assert "warning: zero.svm has an index 0" in done.err
    assert float(done.out) == model.decision_function([[2.0, 0, 0, 0, 0, 0]])[0]
    chosen = run("predict", "m", "zero.svm", "--scores", "--index-base", 0)
    assert "warning" not in chosen.err
    assert float(chosen.out) == model.decision_function([[7.0, 2, 0, 0, 0, 0]])[0]


def test_the_base_of_the_training_data_holds_for_the_test_data(run: Command) -> None:
    """FAULTS #32: without an index 0 the file alone would look as if it counted from 1."""
    X, z = rows()
    dump_svmlight_file(X, np.sign(z), "zero.svm", zero_based=True)
    run("train", "zero.svm", "-o", "m")
    Path("test.svm").write_text("1 1:2.0\n")
    done = run("predict", "m", "test.svm", "--scores")
    assert float(done.out) == fenchel.load("m").decision_function([[0, 2.0, 0, 0, 0, 0]])[0]


def test_columns_of_a_table_are_found_by_name(run: Command) -> None:
    labels = np.where(rows()[1] > 0, "yes", "no")
    data = table("train.csv", labels)
    run("train", data, "-o", "m", "--target", "y")
    assert list(fenchel.load("m").feature_names_in_) == list("abcdef")
    header, *lines = data.read_text().splitlines()
    order = [5, 0, 3, 6, 1, 2, 4]
    mixed = [",".join(line.split(",")[j] for j in order) for line in (header, *lines)]
    Path("mixed.csv").write_text("\n".join(mixed) + "\n")
    assert run("predict", "m", "mixed.csv").out == run("predict", "m", data).out
    assert run("evaluate", "m", "mixed.csv", "--target", "y").code == 0
    Path("lacking.csv").write_text("a,b,c,d,e\n1,2,3,4,5\n")
    done = run("predict", "m", "lacking.csv")
    assert done.code == 3
    assert "'f'" in done.err


def test_stdin_is_read_as_svmlight(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m")
    done = subprocess.run(
        [sys.executable, "-m", "fenchel", "predict", "m", "-"],
        input=data.read_text(),
        capture_output=True,
        text=True,
    )
    assert done.stdout == run("predict", "m", data).out
    assert "read stdin: 200 rows" in done.stderr


def test_head_ends_predict_quietly(run: Command) -> None:
    data = svmlight("data.svm", n=30_000)
    run("train", data, "-o", "m", "--gap", 0.1)
    done = subprocess.run(
        f"{sys.executable} -m fenchel predict -q m data.svm --scores | head -1;"
        "echo ${PIPESTATUS[0]}",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
    )
    assert done.stdout.splitlines()[1] == "0"
    assert done.stderr == ""


# Metrics


def test_metrics_of_classes_are_scikit_learns(run: Command) -> None:
    data = svmlight("data.svm")
    run("train", data, "-o", "m", "--loss", "logistic", "--strength", 0.1)
    found = run("evaluate", "m", data, "--json").json["metrics"]
    model, (X, z) = fenchel.load("m"), rows()
    y, predicted = np.sign(z), model.predict(X)
    assert found == pytest.approx(
        {
            "accuracy": metrics.accuracy_score(y, predicted),
            "balanced_accuracy": metrics.balanced_accuracy_score(y, predicted),
            "f1": metrics.f1_score(y, predicted),
            "roc_area": metrics.roc_auc_score(y, model.decision_function(X)),
            "log_loss": metrics.log_loss(y, model.predict_proba(X)),
        }
    )


def test_metrics_of_many_classes_are_means_over_them(run: Command) -> None:
    def labels(z: np.ndarray) -> np.ndarray:
        return np.digitize(z, [-0.5, 0.8])

    data = svmlight("data.svm", labels)
    run("train", data, "-o", "m", "--loss", "logistic", "--strength", 0.1)
    found = run("evaluate", "m", data, "--json").json["metrics"]
    model, (X, z) = fenchel.load("m"), rows()
    y, predicted = labels(z), model.predict(X)
    assert found["f1"] == pytest.approx(metrics.f1_score(y, predicted, average="macro"))
    assert found["log_loss"] == pytest.approx(metrics.log_loss(y, model.predict_proba(X)))
    area = metrics.roc_auc_score(np.eye(3)[y], model.decision_function(X), average="macro")
    assert found["roc_area"] == pytest.approx(area)


def test_classes_the_model_does_not_know_count_as_wrong(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m", "--loss", "logistic")
    Path("new.svm").write_text("1 1:0.5\n-1 1:0.1\n7 2:1\n")
    done = run("evaluate", "m", "new.svm", "--json")
    assert done.code == 0
    assert "1 rows are of classes that the model does not know (7)" in done.err
    assert done.json["metrics"]["accuracy"] <= 2 / 3


def test_an_area_that_does_not_exist_is_null(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m")
    Path("one.svm").write_text("1 1:0.5\n1 1:0.1\n")
    assert run("evaluate", "m", "one.svm", "--json").json["metrics"]["roc_area"] is None
    assert "roc area" in run("evaluate", "m", "one.svm").out


def test_text_and_numbers_do_not_compare(run: Command) -> None:
    labels = np.where(rows()[1] > 0, "yes", "no")
    run("train", table("t.csv", labels), "-o", "m")
    done = run("evaluate", "m", table("n.csv", np.sign(rows()[1])))
    assert done.code == 3
    assert "'no', 'yes'" in done.err


def test_metrics_of_numbers_are_scikit_learns(run: Command) -> None:
    data = svmlight("data.svm", lambda z: z)
    run("train", data, "-o", "m", "--loss", "quantile", "--quantile", 0.8)
    found = run("evaluate", "m", data, "--json").json["metrics"]
    X, z = rows()
    predicted = fenchel.load("m").predict(X)
    assert found["mean_absolute_error"] == pytest.approx(metrics.mean_absolute_error(z, predicted))
    assert found["r2"] == pytest.approx(metrics.r2_score(z, predicted))
    assert found["pinball_loss"] == pytest.approx(
        metrics.mean_pinball_loss(z, predicted, alpha=0.8)
    )
    assert found["share_below"] == pytest.approx(0.8, abs=0.03)


# Inspecting and converting


def test_inspect_shows_the_certificate_and_the_largest_coefficients(run: Command) -> None:
    data = table("data.csv", np.sign(rows()[1]))
    run("train", data, "-o", "m", "--regularizer", "l1", "--strength", 0.02)
    done = run("inspect", "m", "--top", 2)
    model = fenchel.load("m")
    assert done.code == 0
    assert "hinge + l1, strength 0.02, with intercept" in done.out
    assert f"min J <= {model.objective_:.7g}"[:18] in done.out
    nonzeros = int(np.count_nonzero(model.coef_))
    assert f"{nonzeros} of 6 coefficients nonzero" in done.out
    largest = np.argsort(-np.abs(model.coef_[0]))
    assert done.out.index(f"\n  {'abcdef'[largest[0]]}") < done.out.index(
        f"\n  {'abcdef'[largest[1]]}"
    )
    report = msgspec.json.decode(run("inspect", "m", "--json").out, type=Inspected)
    assert len(report.coefficients) == nonzeros
    assert report.coefficients[0]["weight"] == model.coef_[0][largest[0]]


def test_inspect_calls_features_by_their_index_in_the_file(run: Command) -> None:
    run("train", svmlight("data.svm"), "-o", "m", "--loss", "logistic")
    weights = fenchel.load("m").coef_[0]
    report = msgspec.json.decode(run("inspect", "m", "--json").out, type=Inspected)
    assert report.coefficients[0]["feature"] == str(int(np.argmax(np.abs(weights))) + 1)


@pytest.mark.parametrize("suffix", ["npz", "csv", "parquet", "svm.gz"])
def test_convert_keeps_the_data(run: Command, suffix: str) -> None:
    data = svmlight("data.svm")
    assert run("convert", data, f"other.{suffix}").code == 0
    assert run("convert", f"other.{suffix}", "back.svm").code == 0
    (X, y), (X2, y2) = fenchel.read_svmlight(data), fenchel.read_svmlight("back.svm")
    assert np.array_equal(X.toarray(), X2.toarray())
    assert np.array_equal(y, y2)


# Pace and words


def record(iteration: int, gap: float, seconds: float) -> fenchel.Record:
    return fenchel.Record(iteration, 1.0, 1.0 - gap, gap, 2 * iteration, seconds)


def test_the_time_left_is_exact_for_a_gap_that_falls_at_a_steady_rate() -> None:
    pace = Pace(gap=1e-6, n_rows=1000)
    for k in range(1, 31):
        pace.add(record(k, 10 ** (-k / 10), 0.5 * k))
    assert pace.seconds_left == pytest.approx(15)
    assert pace.rows_per_second == pytest.approx(4 * 1000)
    assert pace.share == pytest.approx((3 - 0.1) / (6 - 0.1))


def test_a_gap_that_does_not_fall_has_no_time_left() -> None:
    pace = Pace(gap=1e-6, n_rows=1000)
    assert pace.seconds_left == math.inf and pace.share == 0
    for k in range(1, 9):
        pace.add(record(k, 0.5, 0.5 * k))
    assert pace.seconds_left == math.inf


def test_a_record_that_counts_from_the_start_begins_the_next_run() -> None:
    pace = Pace(gap=1e-6, n_rows=10, n_runs=2)
    for k in (1, 2, 1):
        pace.add(record(k, 0.5, 1.0))
    assert pace.run == 2


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.256, "0.26 s"), (42.2, "42 s"), (59.9, "60 s"), (200, "3 min 20 s"), (7500, "2 h 5 min")],
)
def test_durations_in_words(seconds: float, words: str) -> None:
    assert duration(seconds) == words


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0"),
        (0.4, "0"),
        (812, "812"),
        (999.6, "1.0 k"),
        (2140, "2.1 k"),
        (9960, "10 k"),
        (35.4e6, "35 M"),
        (1.25e12, "1250 G"),
    ],
)
def test_counts_in_few_letters(number: float, words: str) -> None:
    assert count(number) == words


@pytest.mark.parametrize("name", ["d.svm", "d.store"])
def test_progress_shows_how_many_rows_a_second_are_seen(run: Command, name: str) -> None:
    svmlight("d.svm")
    run("convert", "d.svm", "d.store")
    done = run("train", name, "-o", "m", "--loss", "logistic", "--engine", "serial", "--json")
    lines = done.err.splitlines()
    at = next(k for k, line in enumerate(lines) if "rows/s" in line)
    end = lines[at].index("rows/s") + len("rows/s")
    shown = lines[at + 1][end - 8 : end].split()
    first = float(shown[0]) * {"k": 1e3, "M": 1e6}[shown[1]]
    assert 1e3 < first < 1e9


@pytest.mark.parametrize(
    ("n_bytes", "words"), [(812, "812 bytes"), (2140, "2.14 kB"), (35_000_000, "35 MB")]
)
def test_sizes_in_words(n_bytes: int, words: str) -> None:
    assert size(n_bytes) == words


# The documentation


def test_every_field_of_the_json_is_documented() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    for report in (Trained, Run, Evaluated, Inspected):
        for field in report.__struct_fields__:
            assert f"`{field}`" in text


def test_every_exit_code_and_loss_is_documented() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    assert all(f"| {code.value} |" in text for code in Code)
    assert all(f"`{name}`" in text for name in choices.LOSSES)
