"""Settings that are declared once: constructors, signatures and docstrings of all estimators."""

from __future__ import annotations

import inspect
import subprocess
import sys
import typing

import pytest
from sklearn.base import clone

import fenchel
from fenchel.estimators import __all__
from fenchel.estimators.base import LinearEstimator
from fenchel.estimators.declared import declared
from fenchel.estimators.protocol import Estimator
from fenchel.estimators.saveable import SAVEABLE
from fenchel.losses import Huber
from fenchel.regularizers import Regularizer

LINEAR = [name for name in __all__ if issubclass(getattr(fenchel, name), LinearEstimator)]


def settings_of(kind):
    return inspect.signature(kind).parameters


@pytest.mark.parametrize("name", LINEAR)
def test_the_signature_shows_every_setting_with_its_type_and_default(name):
    kind = getattr(fenchel, name)
    shown = settings_of(kind)
    assert {each.kind for each in shown.values()} == {inspect.Parameter.KEYWORD_ONLY}
    assert {key: each.default for key, each in shown.items()} == kind().get_params(deep=False)
    assert all(each.annotation for each in shown.values())
    types = typing.get_type_hints(kind.__init__)
    assert types.keys() == shown.keys()
    assert types["penalty"] == str | Regularizer | None


def test_a_classes_own_settings_come_first_and_its_bases_after_them():
    assert list(settings_of(fenchel.Regressor))[:12] == [
        "loss", "epsilon", "delta", "quantile", "expectile",
        "kernel", "gamma", "degree", "coef0", "cache_size", "fit_intercept", "penalty",
    ]  # fmt: skip
    assert list(settings_of(fenchel.RegressorCV))[:5] == [
        "alphas", "cv", "scoring", "loss", "epsilon",
    ]  # fmt: skip


def test_settings_that_make_no_sense_are_not_taken():
    for kind, name in [(fenchel.ClassifierCV, "alpha"), (fenchel.Reranker, "half_life")]:
        with pytest.raises(TypeError, match=name):
            kind(**{name: 1.0})
        assert name not in kind().get_params()


@pytest.mark.parametrize("name", LINEAR)
def test_the_docstring_describes_every_setting_once_in_the_order_of_the_signature(name):
    kind = getattr(fenchel, name)
    parameters = kind.__doc__.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    described = [line.split(" :")[0] for line in parameters.splitlines() if line[0] != " "]
    assert described == list(settings_of(kind))
    attributes = kind.__doc__.partition("Attributes\n----------\n")[2].partition("\n\n")[0]
    names = [
        each
        for line in attributes.splitlines()
        if line[0] != " "
        for each in line.split(" :")[0].split(", ")
    ]
    assert len(set(names)) == len(names)
    assert {"coef_", "objective_", "feature_names_in_"} <= set(names)


@declared
class Careful(fenchel.Regressor):
    """Regression that asks for more.

    Parameters
    ----------
    margin : float, default=2.0
        How much more.
    tol : float, default=1e-8
        Less than is usual.
    """

    margin: float = 2.0
    tol: float = 1e-8


def test_a_class_of_ones_own_adds_and_changes_settings():
    assert list(settings_of(Careful))[:3] == ["margin", "tol", "loss"]
    assert Careful().tol == 1e-8
    assert Careful.__doc__.count("Less than is usual.") == Careful.__doc__.count("\ntol : ") == 1
    assert "The regulariser" in Careful.__doc__
    assert "Examples" not in Careful.__doc__  # those of the base are about the base
    model = Careful(margin=3.0, loss="huber")
    assert repr(clone(model)) == repr(model) == "Careful(loss='huber', margin=3.0)"


def test_a_plain_subclass_may_have_a_constructor_of_its_own():
    class Robust(fenchel.Regressor):
        def __init__(self, *, delta=1.0, alpha=1e-4):
            super().__init__(loss=Huber(delta), delta=delta, alpha=alpha)

    assert Robust(delta=2.0).get_params() == {"delta": 2.0, "alpha": 1e-4}
    assert Robust(delta=2.0).loss.delta == 2.0


def test_docstrings_may_be_missing():
    """Under -OO Python has none."""
    script = "import fenchel; print(fenchel.ClassifierCV(cv=3), fenchel.Ranker(k=2))"
    command = [sys.executable, "-OO", "-W", "ignore", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.stdout == "ClassifierCV(cv=3) Ranker(k=2)\n", done.stderr


METHODS = [
    name
    for name, what in vars(Estimator).items()
    if inspect.isfunction(what) and not name.startswith("__")
]


@pytest.mark.parametrize("method", METHODS)
def test_every_estimator_has_the_methods_of_the_protocol_with_one_signature(method):
    def arguments(kind):
        return [(p.name, p.kind, p.default) for p in settings_of(getattr(kind, method)).values()]

    for kind in SAVEABLE.values():
        if method not in ("get_params", "set_params"):  # which are scikit-learn's
            assert arguments(kind) == arguments(Estimator)


def test_groups_are_refused_where_rows_have_none():
    with pytest.raises(fenchel.Incompatible, match="Regressor has no groups"):
        fenchel.Regressor()._posed([[0.0], [1.0]], [0.0, 1.0], groups=[0, 0])
