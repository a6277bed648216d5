"""Each fault that docs/reference/faults.md promises to survive has tests, and they exist."""

from __future__ import annotations

import ast
import functools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "faults.md").read_text(encoding="utf-8")

_ESTIMATORS = "tests/estimators/test_estimator_faults.py"
_INPUT = "tests/whole/test_bad_input.py"
_SVMLIGHT = "tests/data/test_svmlight.py"
_ARCHIVES = "tests/data/test_archives.py"
_FRAMES = "tests/data/test_frames.py"
_FILES = "tests/data/test_files.py"
_REMOTE = "tests/engines/test_remote.py"
_DASK = "tests/engines/test_dask.py"
_TERMINAL = "tests/cli/test_terminal.py"
_CHECKPOINT = "tests/driver/test_checkpoint.py"
_CONTAINER = "tests/model/test_container.py"

# By the number of the fault: files, and the tests in them.
TESTS: dict[int, dict[str, str]] = {
    1: {
        _ESTIMATORS: "test_nonfinite_values_are_counted_and_located",
        _INPUT: "test_nonfinite_values_in_sparse_data_are_counted_and_located",
    },
    2: {
        _ESTIMATORS: "test_nonfinite_values_are_counted_and_located",
        _INPUT: "test_nonfinite_values_are_counted_and_located",
    },
    3: {
        _ESTIMATORS: "test_bad_weights_are_refused_with_their_place",
        _INPUT: "test_bad_weights_are_refused_with_their_place",
    },
    4: {
        _ESTIMATORS: "test_data_without_rows_or_columns_are_refused",
        _FRAMES: "test_an_empty_frame_is_refused",
    },
    5: {
        "tests/whole/test_extremes.py": "test_only_empty_shards",
        _DASK: "test_dask_dataframes_with_an_empty_partition",
    },
    6: {
        _ESTIMATORS: "test_a_single_class_is_refused_by_its_name",
        _INPUT: "test_a_single_class_is_refused_by_its_name",
    },
    7: {
        _ESTIMATORS: "test_any_two_values_serve_as_classes",
        "tests/cli/test_cli_train.py": "test_classes_other_than_plus_and_minus_one_are_explained",
    },
    8: {
        _ESTIMATORS: "test_continuous_labels_point_to_the_regressor",
        _INPUT: "test_continuous_labels_point_to_regression",
    },
    9: {
        _ESTIMATORS: "test_lengths_that_differ_are_refused_with_both_numbers "
        "test_another_number_of_columns_is_refused_with_both_numbers "
        "test_data_of_one_dimension_are_refused",
    },
    10: {
        _ESTIMATORS: "test_entries_stored_twice_are_added_up_with_a_warning_and_only_to_fit",
        _ARCHIVES: "test_entries_of_an_archive_that_stand_twice_are_added_up_with_a_warning",
    },
    11: {
        _ARCHIVES: "test_unsorted_and_wide_indices_of_an_archive_are_taken",
        "tests/kernels/test_kernels.py": "test_columns_may_be_unsorted",
    },
    12: {
        _ESTIMATORS: "test_an_index_out_of_range_is_refused_before_it_is_read",
        _INPUT: "test_pointers_that_decrease_or_do_not_start_at_0_are_refused "
        "test_pointers_made_to_deceive_are_refused",
    },
    13: {_ESTIMATORS: "test_sparse_data_of_every_format_give_what_dense_data_give"},
    14: {"tests/kernels/test_kernels.py": "test_entries_beyond_the_range_of_32_bits_are_read"},
    15: {
        _ESTIMATORS: "test_columns_and_rows_of_zeros_are_accepted",
        _INPUT: "test_a_column_of_zeros_gets_the_coefficient_0 test_a_constant_column_is_accepted",
    },
    16: {
        _ESTIMATORS: "test_a_single_row_is_fitted",
        _INPUT: "test_a_single_row_is_a_single_class",
    },
    17: {
        _ESTIMATORS: "test_values_whose_squares_overflow_are_refused "
        "test_badly_scaled_data_end_in_a_status",
        "tests/driver/test_driver.py": "test_a_start_where_the_objective_overflows_is_nonfinite "
        "test_extreme_scales_end_in_a_status_and_never_in_a_false_claim",
    },
    18: {
        _ESTIMATORS: "test_alpha_0_is_certified_where_the_loss_is_curved_and_by_nothing_else",
        _INPUT: "test_strength_0_is_refused_by_solvers_that_need_more",
        "tests/driver/test_driver.py": (
            "test_without_a_regulariser_auto_minimises_what_it_cannot_certify"
        ),
    },
    19: {
        _ESTIMATORS: "test_bad_settings_are_refused_by_name_before_the_data_are_touched",
        _INPUT: "test_a_strength_that_is_not_a_number_from_0_on_is_refused",
    },
    20: {
        _ESTIMATORS: "test_a_gap_out_of_reach_is_a_warning_with_the_gap_reached",
        "tests/cli/test_cli_resume.py": "test_an_unreachable_gap_exits_with_4_and_saves_the_model",
    },
    21: {
        _ESTIMATORS: "test_a_problem_without_a_minimiser_never_counts_as_converged "
        "test_separable_classes_without_a_penalty_end_in_a_status",
        "tests/driver/test_driver.py": "test_a_loss_that_falls_for_ever_is_unbounded",
    },
    22: {
        _ESTIMATORS: "test_an_interrupt_keeps_the_best_iterate",
        _TERMINAL: "test_ctrl_c_saves_the_best_model_and_says_how_to_go_on "
        "test_ctrl_c_twice_quits_at_once_and_writes_nothing",
    },
    23: {
        _TERMINAL: "test_sigterm_and_resume_end_where_an_undisturbed_run_ends",
        _CHECKPOINT: "test_a_process_that_was_stopped_goes_on",
    },
    24: {
        _FILES: "test_a_process_killed_at_any_step_leaves_the_old_file_or_the_new_one",
        "tests/model/test_model_file.py": (
            "test_a_process_killed_while_saving_leaves_the_old_model_or_the_new"
        ),
    },
    25: {
        _FILES: "test_a_full_disk_leaves_the_old_file_and_says_so "
        "test_a_truly_full_disk_leaves_the_old_file",
        _CONTAINER: "test_a_full_disk_leaves_the_old_file",
        "tests/cli/test_cli_errors.py": "test_a_full_disk_leaves_the_old_model",
        _CHECKPOINT: "test_a_full_disk_does_not_lose_the_result",
    },
    26: {
        _FILES: "test_a_symbolic_link_stays_and_what_it_points_to_is_replaced "
        "test_folders_pipes_and_sockets_are_refused_and_stay "
        "test_devices_are_refused_and_stay test_the_mode_of_an_old_file_is_kept",
        "tests/cli/test_cli_errors.py": "test_a_named_pipe_is_not_written_to",
    },
    27: {
        _SVMLIGHT: "test_a_fault_is_reported_with_file_line_column_token_and_remedy",
        "tests/cli/test_cli_errors.py": "test_bad_data_exit_with_3_and_say_where",
    },
    28: {_SVMLIGHT: "test_nan_and_inf_are_refused"},
    29: {
        _SVMLIGHT: "test_a_fault_is_reported_with_file_line_column_token_and_remedy "
        "test_an_index_0_anywhere_makes_the_whole_file_zero_based "
        "test_indices_are_int32_unless_n_features_asks_for_more",
    },
    30: {
        _SVMLIGHT: "test_unsorted_indices_are_sorted "
        "test_a_fault_is_reported_with_file_line_column_token_and_remedy",
    },
    31: {_SVMLIGHT: "test_blanks_comments_and_line_ends_do_not_matter"},
    32: {
        "tests/cli/test_cli_predict.py": (
            "test_an_index_0_in_data_that_should_count_from_1_is_warned_of "
            "test_the_base_of_the_training_data_holds_for_the_test_data"
        ),
        _SVMLIGHT: "test_the_base_can_be_given",
    },
    33: {_SVMLIGHT: "test_a_qid_on_some_lines_only"},
    34: {
        _SVMLIGHT: "test_rows_of_a_query_that_do_not_stand_together",
        "tests/data/test_dataset.py": "test_groups_must_stand_together",
    },
    35: {
        _SVMLIGHT: "test_damaged_compressed_files_are_named",
        "tests/data/test_dataset.py": "test_damaged_compression_is_an_error_that_names_the_file",
    },
    36: {
        "tests/model/test_hostile_models.py": "test_a_pickle_is_refused_and_not_run",
        _ARCHIVES: "test_pickles_are_never_loaded",
        _CHECKPOINT: "test_a_pickle_is_not_a_checkpoint",
    },
    37: {
        _CONTAINER: "test_every_truncation_is_refused test_every_flipped_bit_is_refused "
        "test_hostile_files_are_refused test_a_giant_claim_takes_no_memory",
        "tests/model/test_hostile_models.py": "test_hostile_models_are_refused",
    },
    38: {
        _REMOTE: "test_a_host_lost_every_few_rounds_changes_nothing "
        "test_shards_that_are_lost_again_and_again_are_an_error_that_names_them",
        _DASK: "test_kills_in_one_run_lose_nothing",
        "tests/engines/test_mpi.py": (
            "test_a_killed_rank_ends_the_job_which_goes_on_from_its_checkpoint"
        ),
    },
    39: {_DASK: "test_a_worker_that_hangs_loses_its_shards_at_the_deadline"},
    40: {
        _REMOTE: "test_a_nan_of_one_host_is_asked_for_again_and_never_added_in "
        "test_an_answer_to_another_question_is_asked_for_again "
        "test_a_sum_of_another_shape_is_an_error_that_names_shards_and_round",
        _DASK: "test_a_worker_that_answers_nan_is_not_believed",
    },
    41: {
        "tests/cli/test_cli_resume.py": "test_changed_data_are_not_gone_on_with",
        _CHECKPOINT: "test_another_problem_is_refused",
        _REMOTE: "test_data_that_changed_under_the_run_are_refused",
    },
    42: {_REMOTE: "test_every_row_counts_once_however_often_its_shard_was_placed"},
    43: {
        _ESTIMATORS: "test_any_layout_of_numbers_is_accepted",
        _FRAMES: "test_objects_that_are_numbers_are_taken "
        "test_frames_over_unusual_memory_are_taken",
    },
    44: {
        _ESTIMATORS: "test_frames_are_accepted_and_their_names_kept "
        "test_names_and_their_order_are_checked_at_predict",
        _FRAMES: "test_a_frame_gives_its_numbers_and_names test_sparse_columns_stay_sparse",
    },
    45: {
        _ESTIMATORS: "test_fits_in_many_threads_give_what_one_gives "
        "test_one_estimator_predicts_in_many_threads",
        _SVMLIGHT: "test_files_are_read_by_several_threads_at_once",
    },
    46: {
        _ESTIMATORS: "test_a_fork_after_threads_does_not_hang "
        "test_processes_of_joblib_give_what_one_gives",
    },
    47: {
        _SVMLIGHT: "test_what_does_not_fit_is_refused_before_it_is_allocated "
        "test_a_small_file_that_unpacks_into_a_huge_one_ends_in_a_memory_error",
        _ARCHIVES: "test_a_bomb_is_refused_before_it_is_unpacked",
        _FRAMES: "test_a_large_sparse_frame_is_never_written_out",
    },
}


@functools.cache
def functions_of(path: str) -> set[str]:
    """The names of its tests, without running any of it."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_page_and_the_registry_name_the_same_faults() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+) \| (.+) \|$", PAGE, flags=re.MULTILINE)
    assert [int(number) for number, *_ in rows] == list(range(1, 48)) == list(TESTS)


@pytest.mark.parametrize("number", TESTS)
def test_a_fault_is_named_by_tests_that_exist(number: int) -> None:
    named = {path: set(names.split()) for path, names in TESTS[number].items()}
    assert all(named.values())
    missing = {path: names - functions_of(path) for path, names in named.items()}
    assert {path: names for path, names in missing.items() if names} == {}
