"""The table of losses: what is written there holds of the classes, estimators and documents."""

import inspect
import subprocess
import sys

import documents
import pytest
from catalogue import beyond

import fenchel
from fenchel import InvalidData, losses
from fenchel.cli import choices
from fenchel.estimators.metric import METRICS
from fenchel.losses import LOSSES, Labels, MultivariateLoss
from fenchel.losses.table import TABLE, Real
from fenchel.regularizers import REGULARIZERS
from fenchel.solvers import SOLVERS

EVERY = pytest.mark.parametrize("row", TABLE, ids=lambda row: row.name)
FLAGS = [(row, flag) for row in TABLE for flag in row.flags]


def parameters(kind):
    return inspect.signature(kind).parameters


def test_it_needs_no_numpy():
    script = "import sys, fenchel.losses.table; print({'numpy', 'sklearn'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_names_are_unique_and_a_name_of_an_option_has_one_meaning():
    names = [name for row in TABLE for name in {row.name, *row.command_names}]
    assert len(set(names)) == len(names)
    options = {option for row in TABLE for option in row.options}
    assert len({option.name for option in options}) == len(options)


@EVERY
def test_the_class_is_what_the_row_says(row):
    kind = LOSSES[row.name]
    assert kind is getattr(losses, row.kind) and kind.__name__ == row.kind
    assert kind.labels is row.labels
    assert list(parameters(kind)) == [option.name for option in row.options]
    assert all(parameters(kind)[flag.name].default == flag.default for flag in row.flags)


@pytest.mark.parametrize(("row", "flag"), FLAGS, ids=lambda part: part.name)
def test_constructors_check_the_range(row, flag):
    for value in beyond(flag):
        with pytest.raises(InvalidData, match=f"^{flag.name} must be"):
            LOSSES[row.name](**{flag.name: value})


def test_ranges_are_what_their_words_say():
    share = Real("share", "of rows", 0.5, above=0, most=1)
    assert [share.checked(value) for value in (1e-300, 0.5, 1)] == [1e-300, 0.5, 1.0]
    with pytest.raises(InvalidData, match=r"share must be > 0 and <= 1; got 1\.5"):
        share.checked(1.5)


# Estimators

FITTED = [row for row in TABLE if row.estimator is not None]


@pytest.mark.parametrize("row", FITTED, ids=lambda row: row.name)
def test_the_estimator_takes_the_options_with_their_defaults(row):
    takes = parameters(getattr(fenchel, row.estimator))
    for flag in row.flags:
        # A NoveltyDetector has a nu or a rho: None says that it is not to be a nu.
        assert takes[flag.name].default in (flag.default, *([None] if flag.name == "nu" else []))
    alone = [other.name for other in TABLE if other.estimator == row.estimator] == [row.name]
    assert alone or {"loss", "metric", "nu"} & set(takes)


def test_measures_are_those_of_the_estimator():
    assert METRICS == {metric: LOSSES[row.name] for row in TABLE for metric in row.metrics.values()}


@EVERY
def test_labels_say_which_estimators_can_fit_it(row):
    of_all_rows = issubclass(LOSSES[row.name], MultivariateLoss)
    for name in row.command_names:
        assert (name in choices.OF_ALL_ROWS) == of_all_rows
        classes = row.labels in (Labels.BINARY, Labels.CLASSES) and not of_all_rows
        assert (name in choices.CLASSIFICATION) == classes


# The command line


def test_the_command_line_has_every_loss_regularizer_and_solver():
    assert set(choices.LOSSES) == {*LOSSES, "f1"}
    of_python = {"group_l1", "quadratic"}  # which need groups of columns, and a matrix
    assert set(choices.REGULARIZERS) == set(REGULARIZERS) - of_python
    of_kernels = {"smo", "kernel-newton"}  # which the command line has none of
    assert set(choices.SOLVERS) == {"auto", *SOLVERS} - of_kernels


def test_path_and_serve_have_the_flags_of_losses_of_each_row():
    assert {"quantile", "epsilon", "delta", "mu", "nu", "rho"} <= set(choices.BY_ROW)
    assert not {"beta", "k", "half_life", "pairs", "temperature"} & set(choices.BY_ROW)


# The documents


@pytest.mark.parametrize("document", documents.DOCUMENTS)
def test_documents_hold_the_table(document):
    text = (documents.ROOT / document).read_text()
    assert text == documents.written(document), "run python tests/documents.py"
