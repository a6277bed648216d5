"""What fenchel refuses, and what it says; numbers are the rows of the project's list of faults."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest
from inputs import (
    COMPRESSED,
    COMPRESSED_OR_BLOCKS,
    REGRESSION,
    X,
    Y,
    broken,
    minimum,
    put,
    refused,
    same_minimum,
    state,
    survives,
)
from scipy import sparse

import fenchel
from fenchel.engines import Serial
from fenchel.losses import LOSSES, ChainLoss, Labels
from fenchel.regularizers import L2, REGULARIZERS


def test_the_errors_are_those_a_caller_would_catch():
    assert issubclass(fenchel.InvalidData, ValueError)
    assert issubclass(fenchel.Incompatible, TypeError)
    assert issubclass(fenchel.FenchelWarning, UserWarning)


# 1, 2: nan and inf in X.


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
@pytest.mark.parametrize("order", ["C", "F"])
def test_nonfinite_values_are_counted_and_located(value, dtype, order):
    bad = np.array(X, dtype=dtype, order=order)
    bad[2, 1] = bad[4, 0] = value
    refused("2 values", "nan or inf", "row 2, column 1", "Impute or drop", X=bad)


@pytest.mark.parametrize("kind", COMPRESSED)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_nonfinite_values_in_sparse_data_are_counted_and_located(kind, value):
    bad = X.copy()
    bad[6, 2] = value
    refused("1 value", "nan or inf", "row 6, column 2", "Impute or drop", X=kind(bad))


def test_a_nonfinite_value_after_empty_rows_is_located():
    bad = sparse.csr_matrix(([np.nan], [2], [0, 0, 0, 0, 0, 0, 1, 1, 1]), shape=(8, 3))
    refused("row 5, column 2", X=bad)


def test_what_lies_behind_the_last_row_is_not_looked_at():
    spare = sparse.csr_matrix(X)
    spare.data = np.append(spare.data, [np.nan, np.inf])
    spare.indices = np.append(spare.indices, [77, -5]).astype(np.int32)
    same_minimum(spare)


# 3: sample weights.


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_error"])
def test_bad_weights_are_refused_with_their_place(loss):
    for value, what in ((np.nan, "nan"), (np.inf, "inf"), (-2.0, "-2")):
        weights = np.ones(8)
        weights[5] = value
        refused("sample_weight[5]", what, loss=loss, sample_weight=weights)


def test_weights_of_the_wrong_length_are_refused_with_both_lengths():
    refused("8 rows", "sample_weight has 7", sample_weight=np.ones(7))
    refused("sample_weight", "shape (8, 2)", sample_weight=np.ones((8, 2)))


def test_weights_that_are_all_zero_are_refused():
    refused("sample_weight is 0 for every row", sample_weight=np.zeros(8))


@pytest.mark.parametrize("weights", ["heavy", ["a"] * 8, [[1], [1, 2]], {"a": 1}, [None] * 8])
def test_weights_that_are_not_numbers_are_refused(weights):
    refused("sample_weight", sample_weight=weights)


def test_weights_may_be_a_list_of_whole_numbers_or_a_column():
    weights = [1, 2, 0, 1, 3, 1, 1, 1]
    expected = minimum(X.repeat(weights, axis=0), Y.repeat(weights))
    for given_as in (weights, np.array(weights)[:, np.newaxis], np.array(weights, np.uint8)):
        assert minimum(sample_weight=given_as).objective == pytest.approx(expected.objective)


def test_rows_of_one_class_with_weight_leave_no_best_intercept():
    refused(
        "one class",
        "intercept=False",
        sample_weight=(Y > 0).astype(float),
        intercept=True,
        loss="logistic",
    )


# 4: no rows, no columns.


@pytest.mark.parametrize("kind", [np.array, *COMPRESSED, sparse.coo_matrix])
def test_data_without_rows_or_columns_are_refused(kind):
    refused("0 rows and 3 columns", "at least 1", X=kind(np.empty((0, 3))), y=np.empty(0))
    refused("8 rows and 0 columns", "at least 1", X=kind(np.empty((8, 0))))


# 5: shards that hold no rows cannot arise; more threads than rows can.


def test_more_threads_than_rows_change_nothing():
    threads = fenchel.engines.Threads(n_threads=64)
    assert minimum(engine=threads).objective == minimum(engine="serial").objective


# 6, 7, 8: labels.


@pytest.mark.parametrize("value", [1.0, 0, "spam", True])
def test_a_single_class_is_refused_by_its_name(value):
    refused("single class", str(value), "two", y=np.array([value] * 8))


@pytest.mark.parametrize("value", [1.0, "spam", True])
def test_messages_show_labels_as_the_caller_wrote_them(value):
    assert "np." not in refused(y=np.array([value] * 8))


@pytest.mark.parametrize(
    "classes", [(0, 1), (-1, 1), (3.5, 7.0), ("ham", "spam"), (False, True), (b"a", b"b")]
)
@pytest.mark.parametrize("dtype", [None, object])
def test_any_two_values_serve_as_classes(classes, dtype):
    same_minimum(X, np.array([classes[int(label > 0)] for label in Y], dtype=dtype))


def test_labels_may_be_a_list_or_a_column():
    same_minimum(X, Y.tolist())
    same_minimum(X, Y[:, np.newaxis])


def test_three_classes_are_refused_and_counted():
    refused(
        "two classes", "3 distinct values", y=np.array(["a", "b", "c", "a", "b", "c", "a", "b"])
    )


def test_continuous_labels_point_to_regression():
    refused("8 distinct values", "regression loss", y=np.arange(8) / 7)


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_error", "poisson"])
def test_nonfinite_labels_are_refused_with_their_place(loss, value):
    y = np.abs(Y)
    y[0], y[3] = 0, value
    refused("y[3]", str(value), loss=loss, y=y)


@pytest.mark.parametrize("missing", [None, np.nan])
def test_missing_labels_among_objects_are_refused(missing):
    refused("y", y=np.array(["a", "b", missing, "a", "b", "a", "b", "a"], dtype=object))
    refused("nan" if missing is not None else "y", y=np.array([0, 1, missing] + [0] * 5, object))


@pytest.mark.parametrize("loss", ["hinge", *REGRESSION, "poisson"])
def test_labels_must_be_given(loss):
    refused("y is missing", "one for each row", loss=loss, y=None)


def test_novelty_needs_no_labels():
    minimum(X, None, loss="novelty")


@pytest.mark.parametrize("loss", REGRESSION)
def test_targets_that_are_not_numbers_are_refused(loss):
    refused("y", "not numbers", loss=loss, y=np.array(["a", "b"] * 4))
    refused("y", "complex", loss=loss, y=Y * 1j)


def test_negative_counts_are_refused_with_their_place():
    refused("y >= 0", "y[1] is -1", loss="poisson")


def test_counts_that_are_all_zero_leave_no_best_intercept():
    refused("-inf", "intercept=False", loss="poisson", y=np.zeros(8), intercept=True)


# 9: lengths and dimensions.


def test_lengths_that_differ_are_refused_with_both_numbers():
    refused("8 rows", "y has 7", y=Y[:7])
    refused("8 rows", "y has 9", y=np.append(Y, 1.0), loss="squared_error")


@pytest.mark.parametrize("shape", [(8, 2), (1, 8), (2, 2, 2), ()])
def test_labels_of_another_shape_are_refused(shape):
    refused("y must be one number or label for each row", str(shape), y=np.resize(Y, shape))


@pytest.mark.parametrize("shape", [(8,), (), (2, 2, 2)])
def test_data_of_another_dimension_are_refused(shape):
    refused("two dimensions", str(shape), "reshape", X=np.ones(shape))


def test_one_dimensional_sparse_data_are_refused():
    refused("two dimensions", "(8,)", X=sparse.coo_array(np.ones(8)))


@pytest.mark.parametrize("ragged", [[[1, 2], [3]], [[1, [2]], [3, 4]], [1, [2, 3]]])
def test_ragged_lists_are_refused(ragged):
    refused("X", X=ragged, y=[0, 1])
    refused("y", X=[[1.0], [2.0]], y=ragged)


def test_the_first_row_of_another_length_is_named():
    refused("row 0 is 2 long, row 2 is 1 long", X=[[1, 2], [3, 4], [5], []], y=[0, 1, 0, 1])
    refused("row 0 is 2 long, row 1 is no list", X=[[1, 2], 3], y=[0, 1])


# 12: broken structure. SciPy builds such matrices without complaint.


@pytest.mark.parametrize("kind", COMPRESSED_OR_BLOCKS)
@pytest.mark.parametrize("index", [77, -3, 2**31 - 1])
def test_an_index_out_of_range_is_refused_by_name(kind, index):
    refused(str(index), X=broken(kind, indices=put(0, index)))


@pytest.mark.parametrize("index", [77, -3])
def test_coordinates_out_of_range_are_refused_by_name(index):
    for axis, name in enumerate(("row", "column")):
        matrix = sparse.coo_array(X)
        matrix.coords = tuple(np.array(c) for c in matrix.coords)
        matrix.coords[axis][4] = index
        refused(f"entry 4 names {name} {index}", X=matrix)


def test_the_message_about_an_index_says_what_is_valid():
    matrix = broken(sparse.csr_matrix, indices=put(5, 3))
    refused("3 columns", "entry 5", "column 3", "0 to 2", "one-based", X=matrix)


@pytest.mark.parametrize("kind", COMPRESSED_OR_BLOCKS)
def test_pointers_that_decrease_or_do_not_start_at_0_are_refused(kind):
    refused("indptr", X=broken(kind, indptr=put(0, 1)))
    refused("indptr", X=broken(kind, indptr=put(0, -1)))
    refused("indptr", X=broken(kind, indptr=put(1, kind(X).indptr[-1] + 1)))
    refused("indptr", X=broken(kind, indptr=put(1, -2)))
    refused("indptr", X=broken(kind, indptr=lambda p: p[:-1]))


@pytest.mark.parametrize("kind", COMPRESSED_OR_BLOCKS)
def test_pointers_beyond_the_data_are_refused(kind):
    refused("indptr", X=broken(kind, indptr=put(-1, 1000)))


@pytest.mark.parametrize("kind", COMPRESSED_OR_BLOCKS)
@pytest.mark.parametrize("name", ["data", "indices"])
def test_arrays_that_are_too_short_are_refused(kind, name):
    refused(X=broken(kind, **{name: lambda values: values[:-1]}))


@pytest.mark.parametrize("name", ["data", "row", "col"])
def test_coordinate_arrays_of_unequal_length_are_refused(name):
    matrix = sparse.coo_matrix(X)
    setattr(matrix, name, getattr(matrix, name)[:-1].copy())
    refused(X=matrix)


POINTERS = """
import itertools, numpy as np, fenchel
from scipy import sparse
kinds = sparse.csr_array, sparse.csc_array, sparse.bsr_array
deceiving = (
    np.array([0, 2**63 - 1, -2, 9]),  # every difference wraps around to something >= 0
    np.array([0, 2**31 - 1, -2, 9], dtype=np.int32),
    np.array([0, 2**31 - 1, 5, 0], dtype=np.int32),  # ends at 0: SciPy looks no further
)
for kind, pointers in itertools.product(kinds, deceiving):
    X = kind(sparse.csr_array(np.ones((3, 3))))
    X.indptr = pointers
    print(kind.__name__, pointers.tolist(), end=": ", flush=True)
    try:
        fenchel.problem(X, [0, 1, 1]).risk.at(np.ones(3))
    except fenchel.InvalidData:
        print("refused")
"""


@pytest.mark.slow
def test_pointers_made_to_deceive_are_refused():
    """In a process of its own: what is not refused reads out of bounds."""
    done = subprocess.run([sys.executable, "-c", POINTERS], capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}, killed by {-done.returncode}"
    lines = done.stdout.splitlines()
    assert len(lines) == 9 and all(line.endswith(": refused") for line in lines), done.stdout


def test_a_broken_matrix_is_left_as_it_was():
    for kind in COMPRESSED_OR_BLOCKS:
        matrix = broken(kind, indices=put(0, 77))
        before = state(matrix)
        with pytest.raises(ValueError):
            fenchel.problem(matrix, Y)
        assert state(matrix) == before


# 15: columns and rows of zeros.


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix, sparse.csc_matrix])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_error", "absolute_error"])
def test_a_column_of_zeros_gets_the_coefficient_0(kind, regularizer, loss):
    zeros = np.column_stack([X[:, 0], np.zeros(8), X[:, 1:]])
    result = minimum(kind(zeros), loss=loss, regularizer=regularizer)
    assert result.w[1] == 0
    expected = minimum(loss=loss, regularizer=regularizer)
    assert result.objective == pytest.approx(expected.objective, rel=1e-7)


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_a_row_of_zeros_costs_what_a_score_of_0_costs(kind):
    result = minimum(kind(np.vstack([X, np.zeros(3)])), np.append(Y, 1.0), loss="hinge")
    assert result.objective < (8 * minimum().objective + 1) / 9 + 1e-2


@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix, sparse.coo_matrix])
@pytest.mark.parametrize(
    "loss", [name for name, kind in LOSSES.items() if not issubclass(kind, ChainLoss)]
)
@pytest.mark.parametrize("intercept", [False, True])
def test_data_of_zeros_alone_give_w_0(kind, loss, intercept):
    intercept = intercept and LOSSES[loss].intercept
    y = np.arange(12) % 2.0 + (LOSSES[loss].labels is Labels.POSITIVE)
    y = np.column_stack([y, 1 - y]) if loss in ("multilabel_hinge", "multivariate_squared") else y
    queries = {"groups": np.arange(12) // 4} if getattr(LOSSES[loss], "grouped", False) else {}
    result = minimum(kind(np.zeros((12, 3))), y, loss=loss, intercept=intercept, **queries)
    assert not result.w.any()


@pytest.mark.parametrize("loss", REGRESSION)
def test_a_constant_column_is_accepted(loss):
    minimum(np.column_stack([X, np.ones(8)]), loss=loss, intercept=True)


# 16: a single row.


@pytest.mark.parametrize("loss", [*REGRESSION, "poisson", "novelty"])
@pytest.mark.parametrize("kind", [np.array, sparse.csr_matrix])
def test_a_single_row_is_fitted(loss, kind):
    minimum(kind(X[:1]), [2.0], loss=loss)


def test_a_single_row_is_a_single_class():
    refused("single class", X=X[:1], y=Y[:1])


# 17: scale.


@pytest.mark.parametrize("kind", [np.array, *COMPRESSED])
def test_values_whose_squares_overflow_are_refused(kind):
    refused("1e+150", "overflow", "rescale", X=kind(np.where(X > 1, 1e150, X)))


def test_targets_and_weights_that_overflow_are_refused():
    refused("y", "rescale", y=1e150 * Y, loss="squared_error")
    refused("sample_weight", "rescale", sample_weight=np.full(8, 1e150))


@pytest.mark.parametrize("loss", ["hinge", "logistic", "squared_error"])
@pytest.mark.parametrize("regularizer", REGULARIZERS)
@pytest.mark.parametrize("scale", [1e-150, 1e-20, 1e20, 1e90])
def test_badly_scaled_data_give_a_valid_certificate(loss, regularizer, scale):
    survives(scale * X, Y, loss=loss, regularizer=regularizer)


@pytest.mark.parametrize("loss", ["squared_error", "huber", "absolute_error"])
def test_a_fit_that_leaves_almost_nothing_is_certified(loss):
    """J is some 1e-8 and the dual variables smaller still, beside scores of order 1."""
    rng = np.random.default_rng(0)
    for _ in range(30):
        n = rng.integers(2, 5)
        values, y = 10 ** rng.uniform(0, 3) * rng.normal(size=(n, n)), rng.normal(size=n)
        problem = fenchel.problem(values, y, loss=loss, strength=1e-3, intercept=True)
        result = fenchel.minimize(problem, max_iterations=200)
        fenchel.verify(result, problem)


def test_a_single_row_at_a_small_strength_is_certified():
    problem = fenchel.problem([[0.95, 0.65]], [-1.0], loss="quantile", strength=1e-8)
    fenchel.verify(fenchel.minimize(problem, max_iterations=100), problem)


def test_the_bound_of_a_perfect_fit_is_0():
    """The intercept alone fits the row, so the minimum is 0 and no bound may exceed it."""
    problem = fenchel.problem([[0.0]], [-1e-14], loss="absolute_error", intercept=True)
    assert fenchel.minimize(problem).lower_bound <= 0


def test_steep_poisson_data_survive_the_line_search():
    row = [[0.0, -507.76483444, 1569.62843645, -3436.10818141, 11697.39802905]]
    survives(row, [494.4198656357038], loss="poisson", strength=3.101723005332248e-05)


# 18, 19: strength.


@pytest.mark.parametrize("strength", [-1.0, np.nan, np.inf, -np.inf, "1", None, True, [1.0], 1j])
def test_a_strength_that_is_not_a_number_from_0_on_is_refused(strength):
    refused("strength", ">= 0", repr(strength), strength=strength)


@pytest.mark.parametrize("strength", [np.complex128(1), 10**400, np.float64(-1), np.array([1, 2])])
def test_odd_numbers_as_strength_are_refused(strength):
    refused("strength", ">= 0", strength=strength)


@pytest.mark.parametrize("strength", [1, np.float32(1), np.int8(1), np.float64(1)])
def test_a_strength_may_be_any_real_number(strength):
    assert minimum(strength=strength).objective == minimum(strength=1.0).objective


def test_strength_0_is_refused_by_solvers_that_need_more():
    problem = fenchel.problem(X, Y, strength=0)
    for solver in ("ls-bmrm", "bmrm", "bmrm-noqp"):
        with pytest.raises(fenchel.Incompatible, match="strength > 0"):
            fenchel.minimize(problem, solver)
    assert problem.risk.passes == 0


def test_strength_0_never_claims_more_than_is_proved():
    problem = fenchel.problem(X, X @ [1.0, 2.0, 3.0] + Y, loss="squared_error", strength=0)
    result = fenchel.minimize(problem, "lbfgs", max_iterations=100)
    best = np.linalg.lstsq(X, X @ [1.0, 2.0, 3.0] + Y)[1][0] / 16
    assert result.objective == pytest.approx(best)
    assert result.lower_bound <= best
    assert not result.converged
    fenchel.verify(result, problem)


# Names and options.


@pytest.mark.parametrize(
    ("wrong", "suggested"),
    [
        ({"loss": "hindge"}, "hinge"),
        ({"loss": "squared_err"}, "squared_error"),
        ({"regularizer": "elasticnet"}, "elastic_net"),
        ({"engine": "thread"}, "threads"),
    ],
)
def test_unknown_names_come_with_a_suggestion_and_the_list(wrong, suggested):
    ((what, name),) = wrong.items()
    refused(f"unknown {what} {name!r}", f"did you mean {suggested!r}", "available are", **wrong)


def test_unknown_solvers_come_with_a_suggestion_and_the_list():
    problem = fenchel.problem(X, Y)
    for call in (lambda: fenchel.minimize(problem, "bmmr"), lambda: fenchel.solver("bmmr")):
        with pytest.raises(fenchel.InvalidData, match=r"'bmmr': did you mean 'bmrm'.*lbfgs"):
            call()
    assert problem.risk.passes == 0


@pytest.mark.parametrize("what", ["loss", "regularizer", "engine"])
@pytest.mark.parametrize("name", [3, 1.5, [], Serial])
def test_a_name_of_another_type_is_refused(what, name):
    refused(what, "name or an instance", kind=fenchel.Incompatible, **{what: name})


def test_an_option_of_another_loss_is_named():
    said = ("'hinge'", "delta", "no options")
    refused(*said, kind=fenchel.Incompatible, loss="hinge", delta=1.0)
    refused("huber", "rho", "delta", kind=fenchel.Incompatible, loss="huber", rho=1.0)


def test_an_option_of_another_regularizer_is_named_as_such():
    refused("l1_ratio", "elastic_net", kind=fenchel.Incompatible, l1_ratio=0.5)


def test_options_beside_an_instance_are_refused():
    refused("delta", "instance", kind=fenchel.Incompatible, loss=LOSSES["huber"](), delta=1.0)
    refused("l1_ratio", kind=fenchel.Incompatible, regularizer=L2(), l1_ratio=0.5)


OPTIONS = {
    "delta": "huber",
    "mu": "smoothed_hinge",
    "rho": "novelty",
    "epsilon": "epsilon_insensitive",
    "quantile": "quantile",
}


@pytest.mark.parametrize(
    "value", [-1.0, np.nan, np.inf, "1", None, [0.5, 0.6], np.array([0.1, 0.2])]
)
@pytest.mark.parametrize("option", OPTIONS)
def test_options_out_of_range_are_refused_by_name(option, value):
    refused(option, loss=OPTIONS[option], **{option: value})


@pytest.mark.parametrize("value", [0.0, 1.0, -1.0, np.nan, "1", None, np.array([0.1, 0.2])])
def test_an_l1_ratio_out_of_range_is_refused_by_name(value):
    refused("l1_ratio", regularizer="elastic_net", l1_ratio=value)


@pytest.mark.parametrize("value", ["abc", [[1], [1, 2]], [1, 2], [1, -1, 1], [1, np.nan, 1], [[1]]])
@pytest.mark.parametrize("regularizer", ["l2", "l1", "elastic_net"])
def test_bad_weights_of_a_regularizer_are_refused(regularizer, value):
    refused("weights", regularizer=regularizer, weights=value)


def test_senseless_combinations_are_refused_before_the_data_are_looked_at():
    incompatible = {"kind": fenchel.Incompatible, "X": "no data at all"}
    refused("Novelty", "intercept=False", loss="novelty", intercept=True, **incompatible)
    refused("delta", delta=1.0, **incompatible)


@pytest.mark.parametrize("intercept", [None, 1, "yes", 0.0])
def test_an_intercept_that_is_neither_true_nor_false_is_refused(intercept):
    refused("intercept must be True or False", repr(intercept), intercept=intercept)


# Arguments of minimize.


@pytest.mark.parametrize(
    ("argument", "values"),
    [
        ("gap", [0, -1.0, np.nan, "1", None, True, np.complex128(1)]),
        ("max_iterations", [0, -1, 1.5, "1", None, True]),
        ("max_seconds", [0, -1.0, np.nan, "1", True]),
        (
            "w0",
            [[1.0], np.ones((3, 1)), [1, np.nan, 1], "abc", [[1], [1, 2]], [1j] * 3, [None] * 3],
        ),
    ],
)
def test_bad_arguments_of_minimize_are_refused_before_any_pass(argument, values):
    problem = fenchel.problem(X, Y)
    for value in values:
        with pytest.raises(fenchel.InvalidData, match=argument):
            fenchel.minimize(problem, **{argument: value})
    assert problem.risk.passes == 0


@pytest.mark.parametrize("thing", [X, None, "problem"])
def test_minimize_says_that_it_wants_a_problem(thing):
    with pytest.raises(fenchel.FenchelError, match="problem"):
        fenchel.minimize(thing)


def test_the_start_is_left_as_it_was():
    w0 = np.ones(3)
    fenchel.minimize(fenchel.problem(X, Y), w0=w0)
    assert (w0 == 1).all()


def test_weights_beyond_the_range_of_products_are_refused():
    refused("sample_weight", "rescale", sample_weight=np.full(8, 5e-324))


def test_fields_of_packed_records_are_fitted():
    records = np.zeros(8, dtype=[("tag", "i4"), ("x", "f8", 3)])
    records["x"] = X
    assert minimum(X=records["x"]).objective == pytest.approx(minimum().objective, rel=1e-7)


def test_a_result_of_another_problem_is_not_verified():
    one, other = fenchel.problem(X, Y), fenchel.problem(X[:, :2], Y)
    with pytest.raises(fenchel.FenchelError):
        fenchel.verify(fenchel.minimize(one), other)
