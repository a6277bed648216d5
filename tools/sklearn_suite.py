"""Runs scikit-learn's own tests of its linear models on the drop-in estimators of fenchel.sklearn.

    python tools/sklearn_suite.py            # all of them, some minutes
    python tools/sklearn_suite.py logistic   # those of one module

Before scikit-learn's test modules are imported, the names of its classes are made to mean ours, in
its public modules and in those that define them. The tests come with scikit-learn's wheel; nothing
of them is kept here. Each test is one of

    passed      it fitted a drop-in, and passed
    others'     it passed, and fitted none: it is about other classes or private functions
    different   it fails, and sklearn_suite.toml says why: it asks for what ours does otherwise
    failed      it fails, and nobody has said why
    settled     sklearn_suite.toml expects it to fail, but it passes

The exit status is 1 if any failed or is settled.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MODULES = {
    "logistic": "sklearn.linear_model.tests.test_logistic",
    "coordinate_descent": "sklearn.linear_model.tests.test_coordinate_descent",
    "sparse_coordinate_descent": "sklearn.linear_model.tests.test_sparse_coordinate_descent",
    "ridge": "sklearn.linear_model.tests.test_ridge",
    "quantile": "sklearn.linear_model.tests.test_quantile",
    "huber": "sklearn.linear_model.tests.test_huber",
    "glm": "sklearn.linear_model._glm.tests.test_glm",
    "svm": "sklearn.svm.tests.test_svm",
    "common": "sklearn.linear_model.tests.test_common",
}
EXPECTED = Path(__file__).with_suffix(".toml")

# Where scikit-learn's own modules and its tests take these classes from.
_HOMES = (
    "sklearn.linear_model",
    "sklearn.linear_model._logistic",
    "sklearn.linear_model._coordinate_descent",
    "sklearn.linear_model._ridge",
    "sklearn.linear_model._quantile",
    "sklearn.linear_model._huber",
    "sklearn.linear_model._glm",
    "sklearn.linear_model._glm.glm",
    "sklearn.svm",
    "sklearn.svm._classes",
)


def put_in_place() -> None:
    """Makes scikit-learn's names mean the drop-in estimators."""
    import fenchel.sklearn as ours

    kinds = {name: getattr(ours, name) for name in ours.__all__}
    for home in _HOMES:
        module = importlib.import_module(home)
        for name, kind in kinds.items():
            if hasattr(module, name):
                setattr(module, name, kind)


class Recorder:
    """A plugin of pytest that notes how each test went, and whether it fitted a drop-in."""

    def __init__(self) -> None:
        self.outcomes: dict[str, str] = {}
        self.errors: dict[str, str] = {}
        self.fits = 0

    def count_fits(self) -> None:
        """Counts what all fits have in common."""
        from fenchel.sklearn.core import DropIn

        keep = DropIn._keep

        def counted(estimator: Any, tasks: Any) -> None:
            self.fits += 1
            keep(estimator, tasks)

        DropIn._keep = counted  # type: ignore[method-assign]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: Any) -> Iterator[None]:
        self.fits = 0
        return (yield)

    def pytest_runtest_logreport(self, report: Any) -> None:
        name = f"{Path(report.nodeid.partition('::')[0]).stem}::{report.nodeid.partition('::')[2]}"
        if report.failed:
            self.outcomes[name] = "failed"
            crash = getattr(report.longrepr, "reprcrash", None)
            self.errors[name] = str(crash.message if crash else report.longrepr)
        elif report.skipped:
            self.outcomes.setdefault(name, "skipped")
        elif report.when == "call":
            self.outcomes.setdefault(name, "passed" if self.fits else "others'")


class Expectations:
    """The committed list: reasons, and the tests that fail for them.

    A test is named with its parameters, or without: then some of its cases may pass.
    """

    def __init__(self, path: Path = EXPECTED):
        entries = tomllib.loads(path.read_text())["difference"] if path.exists() else []
        self.reasons = {name: entry["reason"] for entry in entries for name in entry["tests"]}

    def meaning(self, test: str, outcome: str) -> str:
        """What an outcome means, given what was expected."""
        known = test in self.reasons or test.partition("[")[0] in self.reasons
        if outcome == "failed" and known:
            return "different"
        return "settled" if test in self.reasons and outcome != "skipped" else outcome


def judged(recorder: Recorder, expected: Expectations) -> dict[str, str]:
    """What all outcomes mean."""
    return {test: expected.meaning(test, each) for test, each in recorder.outcomes.items()}


def run(names: list[str], *, more: tuple[str, ...] = ()) -> tuple[dict[str, str], Recorder]:
    """Runs test modules; what each test's outcome means, and the recorder with their errors."""
    put_in_place()
    recorder = Recorder()
    recorder.count_fits()
    arguments = ["-q", "--no-header", "--no-summary", "-p", "no:cacheprovider", "-W", "default"]
    arguments += ["-c", "/dev/null", "--rootdir", "/", "-o", "addopts=", *more, "--pyargs"]
    pytest.main([*arguments, *(MODULES[name] for name in names)], plugins=[recorder])
    return judged(recorder, Expectations()), recorder


def main() -> int:
    """Runs the modules that are named, and reports."""
    parser = argparse.ArgumentParser(description="scikit-learn's tests on fenchel.sklearn")
    parser.add_argument("modules", nargs="*", choices=[*MODULES, []], default=[])
    parser.add_argument("-k", default="", help="only tests whose names match")
    parser.add_argument("--errors", action="store_true", help="print what failures say")
    given = parser.parse_args()
    more = ("-k", given.k) if given.k else ()
    found, recorder = run(given.modules or list(MODULES), more=more)
    for test, outcome in found.items():
        if outcome in ("failed", "settled"):
            print(f"{outcome}: {test}")
            if given.errors and test in recorder.errors:
                print("    " + recorder.errors[test][:600].replace("\n", "\n    "))
    counts = Counter(found.values())
    print(", ".join(f"{counts[each]} {each}" for each in sorted(counts)))
    return int(counts["failed"] + counts["settled"] > 0)


if __name__ == "__main__":
    sys.exit(main())
