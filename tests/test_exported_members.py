"""The public surface: exactly these names, all of them there, none of them loaded too early."""

from __future__ import annotations

import subprocess
import sys
from types import ModuleType

import pytest

import fenchel

FUNCTIONS = (
    "function load minimize path plot problem race read_svmlight save save_proof solver to_onnx "
    "verify"
).split()
OUTCOMES = "Certificate Path Problem Race Record Result Status Witness".split()
ERRORS = (
    "FenchelError FenchelWarning Incompatible InvalidCertificate InvalidData NotConverged".split()
)
ESTIMATORS = (
    "Classifier ClassifierCV ERLPBoost GammaRegressor HierarchicalClassifier MetricClassifier "
    "MultilabelClassifier MultiQuantileRegressor MultivariateRegressor NoveltyDetector "
    "OrdinalRegressor PoissonRegressor QuantileRegressor "
    "Ranker Regressor RegressorCV Reranker SequenceLabeler TweedieRegressor IncompleteCholesky "
    "Spectrum MismatchKernel SpectrumKernel SubsequenceKernel WeisfeilerLehman"
).split()
PLUGS = (
    "ScalarLoss VectorLoss MultivariateLoss Oracle Labels Regularizer Solver Step Needs Engine "
    "Owners"
).split()
MODULES = "losses regularizers sklearn solvers engines".split()


def test_the_public_names_are_these() -> None:
    named = [*FUNCTIONS, *OUTCOMES, *ERRORS, *ESTIMATORS, *PLUGS, *MODULES]
    assert sorted(fenchel.__all__) == sorted(named)
    assert fenchel.__all__ == sorted(fenchel.__all__)
    assert set(fenchel.__all__) <= set(dir(fenchel))


@pytest.mark.parametrize("name", sorted(fenchel.__all__))
def test_a_public_name_is_there_under_its_own_name(name: str) -> None:
    found = getattr(fenchel, name)
    assert isinstance(found, ModuleType) == (name in MODULES)
    assert found.__name__.removeprefix("fenchel.") == name
    assert found.__doc__


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_has_what_it_lists(name: str) -> None:
    module = getattr(fenchel, name)
    assert all(hasattr(module, each) for each in module.__all__)
    assert not [each for each in module.__all__ if each.startswith("_")]


def test_import_is_light() -> None:
    heavy = "numpy", "sklearn", "highspy", "matplotlib", "pandas", "cvxpy", "dask"
    code = (
        f"import fenchel, sys; fenchel.__version__; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_an_estimator_loads_little_more_than_scikit_learn_does() -> None:
    """Beside what a linear model of that brings: no other estimator, and nothing these need."""
    from fenchel import estimators

    code = (
        "import sys, sklearn.linear_model; before = set(sys.modules); import fenchel; "
        "fenchel.Classifier; print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = done.stdout.split()
    others = {name.partition(".")[0] for name in loaded} - set(sys.stdlib_module_names)
    assert others <= {"fenchel", "lazy_loader", "msgspec", "typing_extensions"}
    parts = {tuple(name.split(".")[1:2]) for name in loaded if name.startswith("fenchel.")}
    assert not parts & {("cli",), ("features",), ("model",), ("report",), ("serve",)}
    kinds = [getattr(fenchel, name) for name in estimators.__all__]
    assert {kind.__module__ for kind in kinds} & set(loaded) == {"fenchel.estimators.classifier"}


@pytest.mark.slow
def test_the_modules_are_there_as_soon_as_the_package_is() -> None:
    code = "import fenchel; print(fenchel.engines.Threads(4).n_threads)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "4", done.stderr


def test_verify_stays_the_function_after_its_package_was_imported() -> None:
    import fenchel.verification.rows

    assert fenchel.verify is fenchel.verification.verify
