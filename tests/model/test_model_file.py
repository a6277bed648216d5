"""Model files: what is saved comes back, and no file does harm."""

import copy
import dataclasses
import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from forged import taken_apart
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from models import UNFITTED, X, answers, fit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression

import fenchel
from fenchel import losses, regularizers
from fenchel.estimators.saveable import SAVEABLE
from fenchel.model.file import header
from fenchel.solvers import BMRM

NAMES = list(UNFITTED)


@pytest.fixture
def saved(path):
    """The bytes of a model, and the path where they are."""

    def bytes_of(model, **options):
        fenchel.save(model, path, **options)
        return path.read_bytes()

    return bytes_of


def through(model, path, **options):
    fenchel.save(model, path, **options)
    return fenchel.load(path)


# What is saved comes back.


@pytest.mark.parametrize("name", NAMES)
def test_a_loaded_model_answers_the_same_to_the_last_bit(name, models, path):
    model = models[name]
    loaded = through(model, path)
    assert type(loaded) is type(model)
    ours, theirs = answers(model), answers(loaded)
    assert ours.keys() == theirs.keys()
    for method, answer in ours.items():
        assert answer.dtype == theirs[method].dtype
        assert answer.tolist() == theirs[method].tolist()


@pytest.mark.parametrize("name", NAMES)
def test_everything_a_fit_found_out_comes_back(name, models, path):
    model = models[name]
    loaded = through(model, path)
    assert vars(loaded).keys() == vars(model).keys()
    for attribute in ("objective_", "lower_bound_", "gap_", "status_", "n_iter_", "solver_"):
        assert getattr(loaded, attribute) == getattr(model, attribute)
    assert loaded.coef_.shape == model.coef_.shape
    assert type(loaded.intercept_) is type(model.intercept_)
    assert loaded.n_features_in_ == X.shape[1]
    pairs = zip(*(np.atleast_1d(each.result_) for each in (model, loaded)), strict=True)
    for before, after in pairs:
        assert repr(after) == repr(before)
        assert list(after.history) == list(before.history)
        assert after.reason == before.reason
        assert np.array_equal(after.intercept, before.intercept)
        assert np.array_equal(after.w, before.w)
        assert after.witness is None


@pytest.mark.parametrize("name", NAMES)
def test_parameters_come_back_and_fit_the_same_model_again(name, models, path):
    loaded = through(models[name], path)
    assert repr(loaded) == repr(models[name])
    again = fit(clone(loaded), name)
    assert again.coef_.tobytes() == models[name].coef_.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_the_same_model_gives_the_same_bytes(name, models, saved, path):
    content = saved(models[name])
    assert saved(models[name]) == content
    assert saved(fenchel.load(path)) == content
    assert saved(copy.deepcopy(models[name])) == content


def test_what_belongs_to_the_run_stays_out(path, tmp_path):
    model = fenchel.Regressor(callback=len, checkpoint=tmp_path / "private", max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, X[:, 0])
    loaded = through(model, path)
    assert loaded.callback is None
    assert loaded.checkpoint is None
    assert b"private" not in path.read_bytes()


def test_numbers_of_numpys_come_back_as_pythons(path):
    y = np.resize(["a", "b"], len(X))
    model = fenchel.Classifier(
        alpha=np.float32(0.1),
        max_iter=np.int64(500),
        fit_intercept=np.True_,
        class_weight={np.str_("a"): np.float64(2.0), "b": 1},
    ).fit(X, y)
    parameters = through(model, path).get_params()
    for name in ("alpha", "max_iter", "fit_intercept"):
        assert parameters[name] == getattr(model, name)
        assert type(parameters[name]) in (float, int, bool)
    assert parameters["class_weight"] == {"a": 2.0, "b": 1.0}


def test_a_loaded_model_can_be_pickled_cloned_and_saved_again(models, path):
    loaded = through(models["classifier-objects"], path)
    assert answers(pickle.loads(pickle.dumps(loaded))).keys() == answers(loaded).keys()
    assert clone(loaded).get_params().keys() == loaded.get_params().keys()


@pytest.mark.parametrize(
    "classes",
    [
        np.array([False, True]),
        np.array([-5, 100], dtype=np.int8),
        np.array([0, 2**63 - 1]),
        np.array([0, 200], dtype=np.uint8),
        np.array([1, 2**64 - 1], dtype=np.uint64),
        np.array([-1.0, 3.0]),
        np.array([1.0, 2.0, 5.0], dtype=np.float32),
        np.array(["", "b", "ccc"]),
        np.array(["x", "ÿ\N{SNOWMAN}\n"], dtype=object),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_classes_keep_their_values_and_type(classes, path):
    y = np.resize(classes, len(X))
    loaded = through(fenchel.Classifier(loss="logistic", tol=0.1).fit(X, y), path)
    assert loaded.classes_.dtype == classes.dtype
    assert loaded.classes_.tolist() == classes.tolist()
    assert header(path).classes == tuple(classes.tolist())


@pytest.mark.filterwarnings("ignore:.*learnt nothing:fenchel.errors.FenchelWarning")  # perceptrons
@pytest.mark.parametrize(
    "instance",
    [kind for kind in losses.LOSSES.values() if not issubclass(kind, losses.MultivariateLoss)],
    ids=lambda kind: kind.__name__,
)
def test_every_loss_of_the_library_can_be_saved(instance, path):
    loss = instance()
    kind = {
        losses.Labels.BINARY: fenchel.Classifier,
        losses.Labels.REAL: fenchel.Regressor,
        losses.Labels.COUNT: None,
        losses.Labels.POSITIVE: None,
        losses.Labels.NONE: None,
        losses.Labels.CLASSES: fenchel.Classifier,
        losses.Labels.SETS: fenchel.MultilabelClassifier,
        losses.Labels.LEAVES: fenchel.HierarchicalClassifier,
        losses.Labels.VECTORS: fenchel.MultivariateRegressor,
        losses.Labels.TAGS: None,  # SequenceLabeler takes names alone
    }[loss.labels]
    if kind is None:  # a PoissonRegressor or NoveltyDetector has no choice
        return
    y = {
        losses.Labels.REAL: X[:, 0],
        losses.Labels.SETS: (X[:, :3] > 0.5).astype(int),
        losses.Labels.VECTORS: X[:, :3],
    }.get(loss.labels, X[:, 0] > X[:, 1])
    loaded = through(kind(loss=loss, alpha=0.01, tol=0.1).fit(X, y), path)
    assert repr(loaded.loss) == repr(loss)


@pytest.mark.parametrize("kind", regularizers.REGULARIZERS.values(), ids=lambda kind: kind.__name__)
def test_every_penalty_of_the_library_can_be_saved_with_its_weights(kind, path):
    weights = np.linspace(0.1, 1, X.shape[1])
    needed = {
        "ElasticNetBall": {"radius": 0.1},
        "GroupL1": {"feature_groups": np.arange(X.shape[1]) // 2},
        "Quadratic": {"Q": np.diag(weights)},
    }
    settings = needed.get(kind.__name__, {})
    if issubclass(kind, regularizers.Weighted):
        settings["weights"] = weights
    penalty = kind(**settings)
    model = fenchel.Regressor(penalty=penalty, tol=0.1).fit(X, X[:, 0])
    loaded = through(model, path).penalty
    assert repr(loaded) == repr(penalty)
    assert penalty.weights is None or loaded.weights.tolist() == weights.tolist()


def test_column_names_come_back_and_are_checked(path):
    frame = pd.DataFrame(X, columns=[f"größe {j}" for j in range(X.shape[1])])
    model = fenchel.Regressor().fit(frame, X[:, 0])
    loaded = through(model, path)
    assert loaded.feature_names_in_.tolist() == model.feature_names_in_.tolist()
    assert loaded.feature_names_in_.dtype == object
    assert header(path).feature_names == tuple(frame.columns)
    assert loaded.predict(frame).tolist() == model.predict(frame).tolist()
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame.rename(columns={"größe 0": "other"}))


def test_names_and_index_base_given_to_save_come_back_and_stay(models, path):
    names = [f"word {j}" for j in range(X.shape[1])]
    loaded = through(
        models["regressor"], path, feature_names=np.array(names), index_base=np.int64(0)
    )
    again = through(loaded, path)
    for model in (loaded, again):
        assert model.feature_names_in_.tolist() == names
        assert model.index_base_ == 0
    assert header(path).index_base == 0
    assert not hasattr(models["regressor"], "index_base_")


def test_the_header_tells_about_the_model(models, saved, path):
    saved(models["classifier-three"])
    found = header(path)
    model = models["classifier-three"]
    assert found.version == fenchel.__version__
    assert found.estimator == "Classifier"
    assert found.parameters["loss"] == "logistic"
    assert found.n_features == X.shape[1]
    assert found.classes == (0, 1, 2)
    assert found.feature_names is None
    assert [run.gap for run in found.runs] == [result.gap for result in model.result_]
    assert [run.status for run in found.runs] == ["converged"] * 3


def test_bounds_without_a_value_come_back(models, path):
    """A run that proved nothing: lower_bound -inf, gap inf."""
    model = copy.deepcopy(models["regressor"])
    certificate = fenchel.Certificate(-np.inf, np.inf)
    object.__setattr__(model.result_, "certificate", certificate)
    loaded = through(model, path)
    assert loaded.lower_bound_ == -np.inf
    assert loaded.result_.certificate == certificate
    assert header(path).runs[0].gap == np.inf


@given(
    coef=arrays_of.arrays(
        np.float64,
        st.integers(1, 200),
        elements=st.one_of(
            st.just(0.0), st.just(-0.0), st.floats(allow_nan=False, allow_infinity=False)
        ),
    )
)
def test_any_coefficients_come_back(coef, models, tmp_path_factory):
    model = copy.copy(models["regressor"])
    model.coef_, model.n_features_in_ = coef, len(coef)
    path = tmp_path_factory.mktemp("any") / "model"
    loaded = through(model, path)
    assert np.array_equal(loaded.coef_, coef)  # of finite numbers only 0.0 and -0.0 are so equal
    rows = np.sign(coef)[np.newaxis] * [[1.0], [-1.0], [0.0]]
    with np.errstate(over="ignore"):
        assert loaded.predict(rows).tobytes() == model.predict(rows).tobytes()


def test_sparse_coefficients_take_little_room(models, saved):
    model = copy.copy(models["regressor"])
    model.coef_, model.n_features_in_ = np.full(100_000, -0.0), 100_000
    model.coef_[[3, 99_999]] = 1.5, -2.5
    content = saved(model)
    assert len(content) < 15_000  # a bit a coefficient
    _, arrays = taken_apart(content)
    assert arrays["coef.values"].tolist() == [1.5, -2.5]


def test_many_classes_can_be_saved(models, path):
    """A header has room for the certificates of ten thousand classes."""
    model = copy.copy(models["classifier-three"])
    n = 10_000
    model.classes_ = np.array([f"class {k}" for k in range(n)])
    model.coef_, model.intercept_ = np.ones((n, X.shape[1])), np.ones(n)
    model.result_ = [model.result_[0]] * n
    assert len(through(model, path).result_) == n


class Counting(fenchel.Regressor):
    """An estimator that finds out something of its own."""

    def fit(self, X, y=None, sample_weight=None):
        self.count_ = len(y)
        return super().fit(X, y, sample_weight)

    def _state(self):
        return dataclasses.replace(super()._state(), more={"count": np.array([self.count_])})

    def _restore(self, saved):
        super()._restore(saved)
        self.count_ = int(saved.array("count", np.int64, (1,))[0])


def test_files_know_of_an_estimator_only_what_it_says_itself(path, monkeypatch):
    monkeypatch.setitem(SAVEABLE, "Counting", Counting)
    loaded = through(Counting().fit(X, X[:, 0]), path)
    assert type(loaded) is Counting
    assert loaded.count_ == len(X)
    monkeypatch.setitem(SAVEABLE, "Counting", fenchel.Regressor)
    with pytest.raises(fenchel.InvalidData, match=r"no model has: \['count'\]"):
        fenchel.load(path)


# What cannot be saved.


def test_an_estimator_that_is_not_fitted_is_refused(path):
    with pytest.raises(NotFittedError):
        fenchel.save(fenchel.Classifier(), path)
    assert not path.exists()


class MyRegressor(fenchel.Regressor):
    """An estimator of the user's own."""


@pytest.mark.parametrize(
    "estimator",
    [LogisticRegression(), MyRegressor(), None, "model"],
    ids=lambda estimator: type(estimator).__name__,
)
def test_what_is_not_ours_is_refused(estimator, path):
    with pytest.raises(fenchel.Incompatible, match=f"cannot save a {type(estimator).__name__} of"):
        fenchel.save(estimator, path)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"alpha": -1.0}, "alpha must be"),
        ({"alpha": np.nan}, "alpha must be"),
        ({"loss": "hing"}, "unknown loss"),
        ({"solver": "bmr"}, "unknown solver"),
        ({"class_weight": {(1, 2): 1.0}}, "class_weight is .* of type tuple"),
        ({"class_weight": {0: np.inf}}, r"class_weight\[0\] must be a finite number"),
        ({"class_weight": "balance"}, "class_weight must be"),
        ({"max_iter": 2**70}, "max_iter is"),
        ({"penalty": regularizers.L2(weights=[1.0])}, "1 weights but X has 6 columns"),
    ],
    ids=str,
)
def test_parameters_that_a_file_cannot_hold_are_refused(changes, words, models, path):
    model = copy.deepcopy(models["classifier-two"]).set_params(**changes)
    with pytest.raises(fenchel.FenchelError, match=words):
        fenchel.save(model, path)
    assert not path.exists()


def test_a_boxed_penalty_is_refused_with_the_settings_that_a_file_keeps(path):
    boxed = regularizers.Boxed(regularizers.L1(), 0.0, None)
    y = 1.0 + np.arange(len(X)) % 3
    model = fenchel.GammaRegressor(penalty=boxed, tol=1e-2).fit(X, y)
    with pytest.raises(fenchel.InvalidData, match=r"penalty=L1\(\) with the settings lower="):
        fenchel.save(model, path)
    same = fenchel.GammaRegressor(penalty=regularizers.L1(), lower=0.0, tol=1e-2).fit(X, y)
    fenchel.save(same, path)
    assert np.array_equal(fenchel.load(path).coef_, model.coef_)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"feature_names": ["a"]}, "holds 1 names, but the model has 6"),
        ({"feature_names": range(6)}, "sequence of text"),
        ({"feature_names": "abcdef"}, "sequence of text"),
        ({"feature_names": ["\ud800"] * 6}, "Unicode"),
        ({"index_base": 2}, "index_base must be"),
        ({"index_base": True}, "index_base must be"),
    ],
    ids=str,
)
def test_names_that_make_no_sense_are_refused(options, words, models, path):
    with pytest.raises(fenchel.InvalidData, match=words):
        fenchel.save(models["regressor"], path, **options)


@pytest.mark.parametrize(
    "classes",
    [
        np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[D]"),
        np.array([(1, 2), "b", None], dtype=object)[[0, 1]],
        np.array([b"a", b"b"]),
        np.array([1j, 2j]),
    ],
    ids=lambda classes: str(classes.dtype),
)
def test_classes_that_a_file_cannot_hold_are_refused(classes, models, path):
    model = copy.copy(models["classifier-two"])
    model.classes_ = classes
    with pytest.raises(fenchel.InvalidData, match="cannot save classes"):
        fenchel.save(model, path)


def test_coefficients_that_are_not_finite_are_refused(models, path):
    model = copy.deepcopy(models["regressor"])
    model.coef_[0] = np.nan
    with pytest.raises(fenchel.InvalidData, match="nan or inf"):
        fenchel.save(model, path)


# Writing. FAULTS #24-26.


def test_a_process_killed_while_saving_leaves_the_old_model_or_the_new(models, path):
    """FAULTS #24."""
    fenchel.save(models["regressor"], path)
    script = f"""
import os, signal, time, numpy as np, fenchel
small, path = fenchel.load({str(path)!r}), {str(path)!r}
large = fenchel.load(path)
large.coef_, large.n_features_in_ = np.arange(1.0, 1_000_001.0), 1_000_000
for delay in np.linspace(0, 0.1, 8):
    child = os.fork()
    while not child:
        fenchel.save(large, path)
    time.sleep(delay)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    print(fenchel.load(path).n_features_in_)
    fenchel.save(small, path)
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) <= {str(X.shape[1]), "1000000"}
    assert len(done.stdout.split()) == 8


def test_links_are_followed_and_modes_kept(models, tmp_path):
    """FAULTS #26."""
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    fenchel.save(models["regressor"], link)
    assert link.is_symlink()
    assert target.stat().st_mode & 0o777 == 0o640
    assert fenchel.load(link).n_features_in_ == X.shape[1]


def test_what_is_no_file_is_not_written_to(models, tmp_path):
    """FAULTS #26."""
    os.mkfifo(tmp_path / "fifo")
    for place in (tmp_path / "fifo", tmp_path, "/dev/null"):
        with pytest.raises(fenchel.InvalidData, match="cannot write"):
            fenchel.save(models["regressor"], place)


def test_solver_settings_come_back(path):
    model = fenchel.Regressor(solver=BMRM(step=0.7, max_cuts=20)).fit(X, X[:, 0])
    assert repr(through(model, path).solver) == "BMRM(step=0.7, max_cuts=20, inner=None)"
