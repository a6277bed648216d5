"""Messages name settings as the user's surface does; what users named stays as it is."""

from __future__ import annotations

import ast
import copy
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import fenchel
from fenchel.cli.wording import in_flags
from fenchel.data.dataset import Dataset
from fenchel.data.svmlight import read_svmlight
from fenchel.errors import FenchelError, Phrase, Setting
from fenchel.estimators.settings import words
from fenchel.losses import FBeta, NuHinge, PrecisionAtK, Softmax
from fenchel.losses.chains import M3N
from fenchel.regularizers import Entropy
from fenchel.result import Status
from fenchel.settings import between, one_of, positive, real, whole
from fenchel.solvers import Pegasos

rng = np.random.default_rng(0)
X = rng.standard_normal((12, 3))
Y = np.where(np.arange(12) < 3, -1.0, 1.0)


def posed(**settings):
    return fenchel.problem(X, settings.pop("y", Y), **{"engine": "serial"} | settings)


def minimized(**settings):
    return fenchel.minimize(posed(), **settings)


def refusal(call) -> FenchelError:
    with pytest.raises(FenchelError) as caught:
        call()
    return caught.value


ONE_CLASS = {"y": Y, "loss": "logistic", "intercept": True, "sample_weight": Y > 0}
THREE = np.arange(12) % 3


class OwnSoftmax(Softmax):
    """A loss whose intercepts are not profiled out, as a subclass may have another formula."""


NONE_OF_0 = {"y": THREE, "loss": "softmax", "intercept": True, "sample_weight": THREE > 0}

# What is refused, and what functions, estimators and the command line call the settings in it.
MESSAGES = {
    "strength": (lambda: posed(strength=-1), "strength must", "alpha must", "--strength must"),
    "tiny": (lambda: posed(strength=1e-200), "strength must", "alpha must", "--strength must"),
    "gap": (lambda: minimized(gap=0), "gap must", "tol must", "--gap must"),
    "iterations": (
        lambda: minimized(max_iterations=0),
        "max_iterations must",
        "max_iter must",
        "--max-iterations must",
    ),
    "seconds": (
        lambda: minimized(max_seconds=-1),
        "max_seconds must",
        "max_seconds must",
        "--max-seconds must",
    ),
    "intercept": (
        lambda: posed(intercept="yes"),
        "intercept must",
        "fit_intercept must",
        "--intercept must",
    ),
    "regularizer": (
        lambda: posed(regularizer="l3"),
        "unknown regularizer 'l3'",
        "unknown penalty 'l3'",
        "unknown --regularizer 'l3'",
    ),
    "no name": (
        lambda: posed(regularizer=3),
        "regularizer must be a name",
        "penalty must be a name",
        "--regularizer must be a name",
    ),
    "option": (
        lambda: posed(regularizer="l2", l1_ratio=0.5),
        "regularizer 'l2' does not take",
        "penalty 'l2' does not take",
        "--regularizer 'l2' does not take",
    ),
    "options": (
        lambda: fenchel.solver("lbfgs", seed=3),
        "solver 'lbfgs' does not take seed",
        "solver 'lbfgs' does not take seed",
        "--solver 'lbfgs' does not take seed",
    ),
    "l1_ratio": (
        lambda: posed(regularizer="elastic_net", l1_ratio=1),
        "l1_ratio = 1",
        "l1_ratio = 1",
        "--l1-ratio = 1",
    ),
    "one class": (
        lambda: posed(**ONE_CLASS),
        "use intercept=False or",
        "use fit_intercept=False or",
        "use --no-intercept or",
    ),
    "missing class": (
        lambda: posed(**NONE_OF_0),
        "use intercept=False or",
        "use fit_intercept=False or",
        "use --no-intercept or",
    ),
    "no counts": (
        lambda: posed(y=np.zeros(12), loss="poisson", intercept=True),
        "use intercept=False",
        "use fit_intercept=False",
        "use --no-intercept",
    ),
    "no use": (
        lambda: posed(loss="novelty", intercept=True),
        "use intercept=False",
        "use fit_intercept=False",
        "use --no-intercept",
    ),
    "shifted": (
        lambda: posed(loss="roc", intercept=True),
        "use intercept=False",
        "use fit_intercept=False",
        "use --no-intercept",
    ),
    "chain": (
        lambda: posed(loss="crf", intercept=True, groups=np.zeros(12)),
        "use intercept=False",
        "use fit_intercept=False",
        "use --no-intercept",
    ),
    "coupled": (
        lambda: posed(y=THREE, loss=OwnSoftmax(), regularizer="entropy", intercept=True),
        "use intercept=False, or",
        "use fit_intercept=False, or",
        "use --no-intercept, or",
    ),
    "no minimum": (
        lambda: posed(loss="nu_hinge", strength=0),
        "strength 0: use L2 or an elastic net, without weights of 0, and strength > 0",
        "alpha 0: use L2 or an elastic net, without weights of 0, and alpha > 0",
        "--strength 0: use L2 or an elastic net, without weights of 0, and --strength > 0",
    ),
    "solver": (
        lambda: fenchel.minimize(posed(strength=0), "bmrm"),
        "it needs strength > 0; solvers that can",
        "it needs alpha > 0; solvers that can",
        "it needs --strength > 0; solvers that can",
    ),
    "auto": (
        lambda: fenchel.minimize(posed(strength=0, regularizer="l1")),
        "for bmrm, it needs strength > 0",
        "for bmrm, it needs alpha > 0",
        "for bmrm, it needs --strength > 0",
    ),
    "batch": (
        lambda: fenchel.minimize(posed(loss="roc"), Pegasos(batch=3)),
        "leave out batch;",
        "leave out batch;",
        "leave out --batch;",
    ),
    "w0": (lambda: minimized(w0=[1.0]), "w0 must", "coef_ must", "w0 must"),
    "w0 text": (lambda: minimized(w0=["a"] * 3), "w0 must", "coef_ must", "w0 must"),
    "w0 nan": (lambda: minimized(w0=[np.nan] * 3), "w0 holds", "coef_ holds", "w0 holds"),
    "w0 negative": (
        lambda: Entropy().check(np.array([-1.0, 2.0])),
        "w0 must hold weights >= 0; w0[0] is",
        "coef_ must hold weights >= 0; coef_[0] is",
        "w0 must hold weights >= 0; w0[0] is",
    ),
    "w0 capped": (
        lambda: Entropy(0.6).check(np.array([0.2, 0.8])),
        "the cap; w0[1] is",
        "the cap; coef_[1] is",
        "the cap; w0[1] is",
    ),
    "w0 sum": (
        lambda: Entropy().check(np.array([0.2, 0.2])),
        "w0 must",
        "coef_ must",
        "w0 must",
    ),
    "w0 ball": (
        lambda: fenchel.minimize(
            posed(regularizer="elastic_net_ball", radius=1e-3), w0=[1.0, 1.0, 1.0]
        ),
        "w0 lies",
        "coef_ lies",
        "w0 lies",
    ),
    "nu": (lambda: NuHinge(2), "nu must", "nu must", "--nu must"),
    "nu too large": (
        lambda: fenchel.minimize(posed(loss=NuHinge(1.0), intercept=True)),
        "intercept, nu is at most",
        "intercept, nu is at most",
        "intercept, --nu is at most",
    ),
    "k": (
        lambda: posed(loss=PrecisionAtK(99)),
        "k is 99, but",
        "k is 99, but",
        "--k is 99, but",
    ),
    "beta": (lambda: FBeta(0), "beta must", "beta must", "--beta must"),
    "half_life": (
        lambda: posed(loss="eru", half_life=1, groups=np.zeros(12)),
        "half_life must",
        "half_life must",
        "--half-life must",
    ),
    "epsilon": (
        lambda: posed(loss="epsilon_insensitive", epsilon=-1),
        "epsilon must",
        "epsilon must",
        "--epsilon must",
    ),
    "rescaling": (
        lambda: M3N(cost=2, rescaling="slack"),
        "with rescaling='slack' the cost is the number of wrong labels, cost=1; use "
        "rescaling='margin' for",
        "with rescaling='slack' the cost is the number of wrong labels, cost=1; use "
        "rescaling='margin' for",
        "with --rescaling slack the cost is the number of wrong labels, cost=1; use "
        "--rescaling margin for",
    ),
    "index_base": (
        lambda: Dataset(X, Y, index_base=2),
        "index_base must",
        "index_base must",
        "--index-base must",
    ),
    "real": (lambda: real("gap", "x"), "gap must", "tol must", "--gap must"),
    "positive": (lambda: positive("strength", 0), "strength must", "alpha must", "--strength must"),
    "between": (
        lambda: between("quantile", 2, 0, 1),
        "quantile must",
        "quantile must",
        "--quantile must",
    ),
    "whole": (
        lambda: whole("max_iterations", 0, 1),
        "max_iterations must",
        "max_iter must",
        "--max-iterations must",
    ),
    "one of": (lambda: one_of("pairs", 3, ("all",)), "pairs must", "pairs must", "--pairs must"),
}


@pytest.mark.parametrize("surface", ["function", "estimator", "command line"])
@pytest.mark.parametrize("name", MESSAGES)
def test_each_surface_says_its_own_word(name, surface):
    call, *said = MESSAGES[name]
    error = refusal(call)
    text = {
        "function": str(error),
        "estimator": error.worded(words),
        "command line": in_flags(error),
    }
    expected = dict(zip(text, said, strict=True))
    assert expected[surface] in text[surface]
    rest = text[surface].replace(expected[surface], "")
    assert not any(other in rest for other in said)


@pytest.mark.parametrize("name", MESSAGES)
def test_errors_survive_pickling_with_their_settings(name):
    error = refusal(MESSAGES[name][0])
    for again in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(again) is type(error) and str(again) == str(error)
        assert again.worded(words) == error.worded(words)
        assert in_flags(again) == in_flags(error)


def test_an_error_keeps_its_row_and_its_surface_when_pickled():
    error = fenchel.InvalidData("use ", Setting("intercept", False), row=3)
    error.words = words
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.row) == ("use fit_intercept=False", 3)
    assert repr(again) == "InvalidData('use fit_intercept=False')"


@pytest.mark.parametrize(
    ("status", "estimator", "flags"),
    [
        (Status.MAX_ITERATIONS, ["raise `max_iter`", "`tol`"], ["`--max-iterations`", "`--gap`"]),
        (Status.TIME_LIMIT, ["raise `max_seconds`", "`tol`"], ["`--max-seconds`", "`--gap`"]),
        (Status.STALLED, ["`tol` is below"], ["`--gap` is below"]),
        (Status.NONFINITE, ["raise `alpha`"], ["raise `--strength`"]),
        (Status.UNBOUNDED, ["raise `alpha`"], ["raise `--strength`"]),
        (Status.CONVERGED, ["the gap is certified"], ["the gap is certified"]),
        (Status.INTERRUPTED, ["the best iterate"], ["the best iterate"]),
    ],
)
def test_a_status_has_its_remedy_in_the_words_of_each_surface(status, estimator, flags):
    error = fenchel.NotConverged("bmrm stopped: ", status.value)
    assert all(part in status.value.worded(words) for part in estimator)
    assert all(part in in_flags(error) for part in flags)
    assert str(error) == f"bmrm stopped: {status.value}" and "{" not in status.value
    assert pickle.loads(pickle.dumps(status)) is status is Status(str(status.value))


def test_a_result_that_fell_short_says_what_to_set():
    result = fenchel.minimize(posed(), max_iterations=1)
    error = refusal(result.raise_for_status)
    assert "raise `max_iterations` or loosen `gap`" in str(error)
    assert "raise `--max-iterations` or loosen `--gap`" in in_flags(error)


def test_a_phrase_is_its_text_and_takes_in_others():
    phrase = Phrase("a ", Phrase.of("{gap} or {nu}"), " b")
    assert phrase == "a gap or nu b"
    assert phrase.worded(lambda setting: f"<{setting.name}>") == "a <gap> or <nu> b"
    assert pickle.loads(pickle.dumps(phrase)).parts == phrase.parts


# Estimators


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alpha": -1}, "alpha must"),
        ({"tol": 0}, "tol must"),
        ({"max_iter": 0}, "max_iter must"),
        ({"fit_intercept": "yes"}, "fit_intercept must"),
        ({"penalty": "l3"}, "unknown penalty 'l3'"),
        ({"loss": "nu_hinge", "alpha": 0}, "alpha > 0"),
        ({"solver": "bmrm", "alpha": 0}, "alpha > 0"),
        ({"loss": OwnSoftmax(), "penalty": "entropy"}, "use fit_intercept=False"),
    ],
)
def test_estimators_say_their_own_words(settings, said):
    assert said in str(refusal(lambda: fenchel.Classifier(**settings).fit(X, Y)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"alphas": [-1]}, "alphas must"),
        ({"tol": 0}, "tol must"),
        ({"penalty": "l3"}, "unknown penalty 'l3'"),
        ({"solver": "bmrm", "alphas": [0]}, "alpha > 0"),
        ({"loss": OwnSoftmax(), "penalty": "entropy"}, "use fit_intercept=False"),
    ],
)
def test_cross_validation_says_the_words_of_estimators(settings, said):
    y = np.tile([-1.0, 1.0], 6)
    assert said in str(refusal(lambda: fenchel.ClassifierCV(**settings).fit(X, y)))


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"min_count": 2}, "--min-count and --hashed are for"),
        ({"template": "words"}, "--template is for"),
    ],
)
def test_what_names_need_is_refused_in_the_words_of_each_surface(settings, said):
    model = fenchel.SequenceLabeler(**settings)
    error = refusal(lambda: model.fit([X], [["a", "b"] * 6]))
    assert said in in_flags(error) and "--" not in str(error)


def test_a_warm_start_that_cannot_be_used_is_called_coef_():
    model = fenchel.Classifier(warm_start=True).fit(X, Y)
    model.coef_ = np.full_like(model.coef_, np.nan)
    assert "coef_ holds nan" in str(refusal(lambda: model.fit(X, Y)))


def test_a_fold_is_named_before_a_message_that_keeps_its_settings():
    y, folds = np.tile([-1.0, 1.0], 6), [([0, 1, 2, 4], [3, 5, 6, 7])]
    model = fenchel.ClassifierCV(loss="nu_hinge", nu=0.9, alphas=[0.1], cv=folds)
    error = refusal(lambda: model.fit(X, y))
    assert "in fold 1 of 1: nu = 0.9 is out of reach" in str(error)
    assert "in fold 1 of 1: --nu = 0.9 is out of reach" in in_flags(error)


def test_a_warning_has_its_settings_in_the_words_of_each_surface():
    y = np.tile([-1.0, 1.0], 6)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fenchel.MetricClassifier(metric="f1", alpha=1e3).fit(np.zeros((12, 3)) + 1.0, y)
    (warning,) = [each.message for each in caught if "nothing better" in str(each.message)]
    assert "a smaller alpha, or a loss of pairs, metric='roc_auc' or loss=" in str(warning)
    assert "a smaller --strength, or a loss of pairs, --loss roc or --loss" in in_flags(warning)


# What users named

NAMES = ["alpha 1", "strength 3", "gap", "`gap`", "intercept=False", "max_iter", "index_base=0"]


@pytest.mark.parametrize("name", NAMES)
def test_estimators_leave_names_of_users_alone(name):
    columns = pd.DataFrame({name: list("abcdefghijkl"), "b": 1.0})
    assert f"column {name!r} holds text" in str(
        refusal(lambda: fenchel.Classifier().fit(columns, Y))
    )
    labels = [name] * 12
    assert f"single class, {name!r}" in str(refusal(lambda: fenchel.Classifier().fit(X, labels)))
    weighed = {"class_weight": {name: -1.0, "other": 1.0}}
    labels = [name, "other"] * 6
    error = refusal(lambda: fenchel.Classifier(**weighed).fit(X, labels))
    assert f"class_weight[{name!r}]" in str(error)


def test_estimators_leave_a_class_alone_beside_a_setting_that_they_rename():
    problem = fenchel.Classifier(loss="softmax")._settings()
    labels = np.array(["strength 3", "gap"] * 6)
    posed = {"loss": problem.loss, "intercept": True, "sample_weight": labels == "gap"}
    error = refusal(lambda: fenchel.problem(X, labels, **posed))
    said = "no row of class 'strength 3' has sample_weight > 0, so its best intercept is -inf; use "
    assert said in error.worded(words) and "fit_intercept=False" in error.worded(words)
    assert said in in_flags(error) and "--no-intercept" in in_flags(error)


def test_the_function_that_reads_says_its_own_word(tmp_path):
    path = tmp_path / "d"
    path.write_text("1 1:1\n-1 0:2\n")
    error = refusal(lambda: read_svmlight(path, index_base=1))
    assert "read the file with index_base=0" in str(error)


# What has a word of its own on some surface, and so is no plain text.
NAMED = re.compile(
    r"(?<!\w)(intercept=|fit_intercept|index_base=|index_base must|max_iter|w0\b|pairs=|rescaling=|"
    r"(?<!no )(strength|alpha) (>|$)|`(gap|tol|strength|alpha)`|(gap|strength|alpha) must)"
)


def test_no_message_names_a_setting_in_plain_text():
    """Reads all that is raised outside the command line, which has flags of its own."""
    source, found = Path(fenchel.__file__).parent, []
    for path in sorted(set(source.rglob("*.py")) - set((source / "cli").rglob("*.py"))):
        for raised in (each for each in ast.walk(ast.parse(path.read_text())) if is_raise(each)):
            found += [f"{path}: {text}" for text in texts(raised) if NAMED.search(text)]
    assert not found


def is_raise(node):
    return isinstance(node, ast.Raise)


def texts(node):
    """The constant texts in a node, without the names of settings."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "Setting":
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from texts(child)
