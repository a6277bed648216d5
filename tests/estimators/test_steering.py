"""Fits that are watched: rows held out, early stopping, verbose fits, scikit-learn's callbacks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel import FenchelWarning, Incompatible, InvalidData

RNG = np.random.default_rng(0)
X = RNG.normal(size=(160, 40))
Z = X[:, :3].sum(axis=1) + 2 * RNG.normal(size=160)
Y = np.where(Z > 0, "yes", "no")
INSIDE, OUTSIDE = slice(0, 80), slice(80, 160)
HELD = X[OUTSIDE], Y[OUTSIDE]


def fitted(**settings):
    model = fenchel.Classifier(**{"loss": "logistic", "alpha": 1e-6} | settings)
    return model.fit(X[INSIDE], Y[INSIDE], eval_set=HELD)


@pytest.mark.parametrize("loss", ["logistic", "hinge", "softmax", "multiclass_hinge"])
def test_the_model_is_the_iterate_with_the_best_score(loss):
    model = fitted(loss=loss, early_stopping_rounds=4)
    scores = model.validation_scores_
    assert model.status_ == "early_stopped"
    assert model.best_iteration_ == 1 + int(np.argmax(scores))  # of equals the first
    assert len(scores) == model.n_iter_ == model.best_iteration_ + 4
    assert model.score(*HELD) == max(scores)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_its_certificate_holds_for_what_it_is(loss):
    model = fitted(loss=loss, early_stopping_rounds=4)
    problem = fenchel.problem(X[INSIDE], Y[INSIDE], loss=loss, strength=1e-6, intercept=True)
    least = fenchel.minimize(problem)
    assert model.lower_bound_ <= least.objective and model.objective_ > least.lower_bound
    assert model.gap_ > model.tol
    proved = fenchel.verify(model.result_, problem)
    assert proved.upper_bound == pytest.approx(model.objective_, rel=1e-12)
    assert not model.result_.converged
    with pytest.raises(fenchel.NotConverged, match="rows held out"):
        model.result_.raise_for_status()


def test_early_stopping_is_what_was_asked_for_and_no_cause_for_a_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fitted(early_stopping_rounds=3)


def test_without_rounds_the_scores_are_noted_and_the_fit_runs_to_its_gap():
    watched, alone = fitted(), fitted(solver="lbfgs")
    assert watched.status_ == "converged" and watched.solver_ == "lbfgs"
    assert len(watched.validation_scores_) == watched.n_iter_ == watched.best_iteration_
    assert np.array_equal(watched.coef_, alone.coef_)


def test_a_solver_is_chosen_whose_steps_can_be_seen_unless_one_is_asked_for():
    seen = fitted(loss="hinge")
    assert seen.solver_ == "ls-bmrm" and "every step" in seen.result_.reason
    asked = fitted(loss="hinge", solver="bmrm")
    assert asked.solver_ == "bmrm" and asked.result_.reason == "asked for"


def test_the_metric_is_a_name_or_a_function():
    named = fitted(eval_metric="roc_auc")
    last = roc_auc_score(HELD[1] == "yes", named.decision_function(HELD[0]))
    assert named.validation_scores_[-1] == pytest.approx(last)
    constant = fitted(eval_metric=lambda model, X, y: 1.0, early_stopping_rounds=2)
    assert constant.best_iteration_ == 1 and not constant.coef_.any()


def test_scores_take_weights_and_offsets():
    weights = np.zeros(80)
    weights[:7] = 1.0
    model = fenchel.Classifier(loss="logistic").fit(
        X[INSIDE], Y[INSIDE], eval_set=[(*HELD, weights)]
    )
    assert model.validation_scores_[-1] == model.score(*HELD, sample_weight=weights)
    counts, offset = RNG.poisson(2.0, 160), RNG.normal(size=160)
    held = X[OUTSIDE], counts[OUTSIDE], {"offset": offset[OUTSIDE]}
    poisson = fenchel.PoissonRegressor(alpha=1.0).fit(
        X[INSIDE], counts[INSIDE], offset=offset[INSIDE], eval_set=held
    )
    expected = poisson.score(X[OUTSIDE], counts[OUTSIDE], offset=offset[OUTSIDE])
    assert poisson.validation_scores_[-1] == pytest.approx(expected)


def test_rankings_take_the_queries_of_their_rows():
    groups = np.repeat(np.arange(16), 10)
    grades = (Z > 0).astype(float)
    held = X[OUTSIDE], grades[OUTSIDE], {"groups": groups[OUTSIDE]}
    model = fenchel.Ranker(loss="rank_hinge", early_stopping_rounds=3).fit(
        X[INSIDE], grades[INSIDE], groups[INSIDE], eval_set=held
    )
    assert model.score(X[OUTSIDE], grades[OUTSIDE], groups[OUTSIDE]) == max(
        model.validation_scores_
    )


@pytest.mark.parametrize(
    ("eval_set", "said"),
    [
        (X, "eval_set must be one tuple"),
        ([HELD, HELD], "eval_set must be one tuple"),
        ((X,), "eval_set must be one tuple"),
        ((X[:, :3], Y), "3 features"),
    ],
)
def test_other_rows_held_out_are_refused(eval_set, said):
    model = fenchel.Classifier(loss="logistic")
    with pytest.raises(ValueError, match=said):
        model.fit(X, Y, eval_set=eval_set)
    assert not hasattr(model, "coef_")


def test_what_cannot_be_stopped_early_says_what_can():
    three = RNG.integers(0, 3, 160)
    with pytest.raises(Incompatible, match="softmax"):
        fenchel.Classifier().fit(X, three, eval_set=(X, three))
    with pytest.raises(Incompatible, match="leave out eval_set"):
        fenchel.ClassifierCV().fit(X, Y, eval_set=HELD)
    with pytest.raises(InvalidData, match="early_stopping_rounds"):
        fitted(early_stopping_rounds=0)


def test_early_stopping_asks_for_the_rows_that_it_needs():
    model = fenchel.Classifier(early_stopping_rounds=3)
    with pytest.raises(Incompatible, match="held out: fit"):
        model.fit(np.eye(4), [0, 1, 0, 1])


def test_an_early_stopped_model_comes_back_from_its_file(tmp_path):
    model = fitted(early_stopping_rounds=4)
    fenchel.save(model, tmp_path / "m")
    again = fenchel.load(tmp_path / "m")
    assert again.status_ == "early_stopped" and again.gap_ == model.gap_
    assert np.array_equal(again.predict(X), model.predict(X))


def test_a_verbose_fit_prints_lines_and_is_no_other_fit(capsys):
    quiet = fenchel.Classifier(loss="logistic", solver="lbfgs").fit(X, Y)
    assert capsys.readouterr().out == ""
    loud = fenchel.Classifier(loss="logistic", solver="lbfgs", verbose=True).fit(X, Y)
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["iteration", "objective", "lower"]
    assert [line.split()[0] for line in lines[:3]] == ["1", "2", "4"]
    assert lines[-1].split()[0] == str(loud.n_iter_)
    assert np.array_equal(quiet.coef_, loud.coef_)


def test_a_verbose_fit_of_several_classes_has_a_line_for_each(capsys):
    fenchel.Classifier(verbose=True).fit(X, RNG.integers(0, 3, 160))
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("run") and [line.split()[0] for line in lines] == ["1/3", "2/3", "3/3"]


def test_a_verbose_fit_shows_the_scores(capsys):
    model = fitted(verbose=True)
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.split()[-1] == "score"
    assert float(first.split()[-1]) == pytest.approx(model.validation_scores_[0], rel=1e-5)


@pytest.mark.parametrize("loss", ["perceptron", "squared_perceptron"])
def test_a_perceptron_that_learns_nothing_says_so(loss):
    with pytest.warns(FenchelWarning, match="learnt nothing.*loss='hinge'"):
        model = fenchel.Classifier(loss=loss).fit(X, Y)
    assert not model.coef_.any()


# scikit-learn's own callbacks.

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn has them since 1.9")


class Seen:
    """Notes the hooks that are called; ends the fit after some iterations if told to."""

    def __init__(self, most=None):
        self.said, self.models, self.most = [], [], most

    def setup(self, estimator, context):
        self.said.append("setup")

    def teardown(self, estimator, context):
        self.said.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.said.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.said.append(("end", context.task_name))
        if context.task_name == "iteration":
            self.models.append(fitted_estimator)
            assert X.shape[0] == len(y)
        return self.most is not None and len(self.models) >= self.most


def test_scikit_learns_callbacks_see_the_fit_and_each_iteration():
    seen = Seen()
    model = fenchel.Classifier(loss="logistic", solver="lbfgs").set_callbacks(seen).fit(X, Y)
    each = [("begin", "iteration"), ("end", "iteration")] * model.n_iter_
    assert seen.said == ["setup", ("begin", "fit"), *each, ("end", "fit"), "teardown"]
    assert np.array_equal(seen.models[-1].coef_, model.coef_)
    assert seen.models[0].score(X, Y) < seen.models[-1].score(X, Y)


def test_scikit_learns_callbacks_may_end_a_fit():
    model = fenchel.Classifier(loss="logistic", solver="lbfgs").set_callbacks(Seen(most=2))
    with pytest.warns(UserWarning, match="stopped short"):
        model.fit(X, Y)
    assert model.status_ == "interrupted" and model.n_iter_ == 2


def test_they_are_taken_down_after_an_error_and_come_along_with_a_clone():
    seen = Seen()
    model = clone(fenchel.Classifier(loss="logistic").set_callbacks(seen))
    with pytest.raises(ValueError, match="nan"):
        model.fit(np.full_like(X, np.nan), Y)
    assert seen.said in ([], ["setup", "teardown"])
    clone(model).fit(X, Y)
    assert seen.said.count("setup") == seen.said.count("teardown") == 1


def test_a_pipeline_hands_its_progress_bar_on(capsys):
    bar = callback.ProgressBar()
    pipe = make_pipeline(StandardScaler(), fenchel.Classifier(loss="logistic"))
    pipe.set_callbacks(bar).fit(X, Y)
    assert "Classifier - fit" in capsys.readouterr().out
