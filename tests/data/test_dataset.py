"""What is written is read again, bit for bit; what cannot be read says where and why."""

from __future__ import annotations

import bz2
import gzip
import itertools
import lzma
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import hypothesis.extra.numpy as hnp
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import NAMES, QID, X, Y, again, dense, refuses, same, saved
from hypothesis import given
from hypothesis import strategies as st
from pyarrow.csv import ConvertOptions
from scipy import sparse

import fenchel
from fenchel._system import memory
from fenchel.data.dataset import Dataset
from fenchel.data.files import read, write

PACK = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress, "": bytes}
TEXT = [f"{kind}{packed}" for kind in (".csv", ".tsv", ".svm") for packed in PACK]
BINARY = [".parquet", ".npz"]


# Writing and reading again.

numbers = st.floats(-1e100, 1e100, allow_nan=False).filter(lambda x: abs(x) <= 1e100)
text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=5)


@st.composite
def datasets(draw, *, words=True, kinds=(np.float64, np.float32)):
    n, d = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    width = draw(st.sampled_from(kinds))
    values = numbers if width == np.float64 else st.floats(-(2.0**90), 2.0**90, width=32)
    X = draw(hnp.arrays(width, (n, d), elements=values | st.just(0.0)))
    labels = st.lists(text.filter(is_word), min_size=n, max_size=n) if words else st.nothing()
    y = draw(hnp.arrays(np.float64, n, elements=numbers) | labels.map(np.array))
    sizes = draw(st.none() | st.permutations(range(-2, n)))
    qid = (
        None
        if sizes is None
        else np.sort(draw(st.lists(st.sampled_from(sizes), min_size=n, max_size=n)))
    )
    names = st.lists(text.filter(is_word), min_size=d, max_size=d, unique=True).map(tuple)
    return Dataset(X, y, qid, draw(st.none() | names))


def is_word(word):
    """Text that no table takes for anything else."""
    try:
        float(word.replace("_", ""))
    except ValueError:
        taken = {"y", "qid", "target", "label", *map(str.lower, ConvertOptions().null_values)}
        return word.strip() == word and word.lower() not in taken
    return False


def in_folder(dataset, name):
    with tempfile.TemporaryDirectory() as folder:
        return again(dataset, Path(folder, name))


@given(datasets(), st.booleans())
def test_an_archive_is_read_as_it_was_written(dataset, as_sparse):
    if as_sparse:
        dataset = Dataset(
            sparse.csr_array(dataset.X), dataset.y, dataset.qid, dataset.feature_names
        )
    found = in_folder(dataset, "data.npz")
    for part in ("X", "y", "qid", "feature_names"):
        assert same(getattr(found, part), getattr(dataset, part)), part


@given(datasets())
def test_a_parquet_file_is_read_as_it_was_written(dataset):
    found = in_folder(dataset, "data.parquet")
    assert same(found.X, dataset.X) and same(found.y, dataset.y) and same(found.qid, dataset.qid)
    assert dataset.feature_names in (None, found.feature_names)


@given(datasets(), st.sampled_from([".csv", ".tsv", ".csv.gz"]))
def test_a_table_of_text_is_read_as_it_was_written(dataset, suffix):
    found = in_folder(dataset, f"data{suffix}")
    assert same(found.X, dataset.X.astype(np.float64))
    assert same(found.y, dataset.y) and same(found.qid, dataset.qid)
    assert dataset.feature_names in (None, found.feature_names)


@given(datasets(words=False), st.sampled_from([0, 1]))
def test_svmlight_is_read_as_it_was_written(dataset, base):
    dataset = Dataset(dataset.X, dataset.y, dataset.qid, None, base)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.svm")
        found = again(dataset, path, n_features=dataset.X.shape[1], index_base=base)
    np.testing.assert_array_equal(dense(found.X), dataset.X)
    assert same(found.y, dataset.y) and same(found.qid, dataset.qid)
    assert found.index_base == base


@pytest.mark.parametrize("suffix", [*TEXT, *BINARY])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_every_format_keeps_rows_targets_and_groups(tmp_path, suffix, kind):
    found = again(Dataset(kind(X), Y, QID), tmp_path / f"data{suffix}")
    np.testing.assert_array_equal(dense(found.X), X)
    assert same(found.y, Y) and same(found.qid, QID)


def test_conversions_one_after_another_keep_the_data(tmp_path):
    dataset = Dataset(sparse.csr_array(X), Y, QID, None, 1)
    for i, suffix in enumerate([".svm", ".npz", ".parquet", ".csv", ".svm.xz", ".tsv.gz", ".npz"]):
        dataset = again(dataset, tmp_path / f"{i}{suffix}")
        np.testing.assert_array_equal(dense(dataset.X), X)
        assert same(dataset.y, Y) and same(dataset.qid, QID)


@pytest.mark.parametrize("suffix", TEXT)
def test_compressed_text_is_what_its_name_says(tmp_path, suffix):
    write(Dataset(X, Y), tmp_path / f"data{suffix}")
    packed = next(p for p in PACK if p and suffix.endswith(p)) if suffix[4:] else ""
    opened = {".gz": gzip.open, ".bz2": bz2.open, ".xz": lzma.open, "": open}[packed]
    with opened(tmp_path / f"data{suffix}", "rb") as file:
        assert b"1.5" in file.read()


def test_suffixes_are_known_in_capitals_too(tmp_path):
    assert again(Dataset(X, Y, None, NAMES), tmp_path / "DATA.CSV.GZ").feature_names == NAMES


def test_names_of_features_and_classes_are_kept(tmp_path):
    words = np.array(["cat", "dog, big", 'the "cow"', "Kuh\u00e9"])
    for suffix in (".csv", ".tsv.bz2", *BINARY):
        found = again(Dataset(X, words, QID, NAMES), tmp_path / f"data{suffix}")
        assert found.feature_names == NAMES
        assert same(found.y, words)


def test_without_a_target_a_table_is_read_for_prediction(tmp_path):
    for suffix in (".csv", *BINARY):
        path = tmp_path / f"data{suffix}"
        write(Dataset(X, None, None, NAMES), path)
        for how in ({"features": NAMES}, {"n_features": 3}):
            found = read(path, **how)
            np.testing.assert_array_equal(found.X, X)
            assert found.y is None and found.feature_names == NAMES


def test_svmlight_has_0_for_want_of_a_target(tmp_path):
    assert same(again(Dataset(X), tmp_path / "data.svm").y, np.zeros(4))


def test_a_failed_write_leaves_the_old_file(tmp_path):
    """FAULTS #25, #26"""
    for suffix in (*TEXT, *BINARY):
        os.mkfifo(tmp_path / f"pipe{suffix}")
        with pytest.raises(fenchel.InvalidData, match="named pipe"):
            write(Dataset(X, Y), tmp_path / f"pipe{suffix}")


def test_a_full_disk_leaves_the_old_file(tmp_path):
    """FAULTS #25"""
    code = (
        "import resource, sys, numpy as np\n"
        "from fenchel.data.files import Dataset, write\n"
        "paths = sys.argv[1:]\n"
        "for path in paths: write(Dataset(np.ones((2, 2)), np.ones(2)), path)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000))\n"
        "X = np.random.default_rng(0).normal(size=(3000, 9))\n"
        "for path in paths:\n"
        "    try: write(Dataset(X, X[:, 0]), path)\n"
        "    except OSError as error: assert path in str(error), error\n"
        "    else: raise AssertionError(path)\n"
    )
    paths = [tmp_path / f"data{suffix}" for suffix in (".csv", ".csv.gz", *BINARY)]
    subprocess.run([sys.executable, "-c", code, *paths], check=True)
    assert sorted(tmp_path.iterdir()) == sorted(paths)
    for path in paths:
        np.testing.assert_array_equal(read(path).X, np.ones((2, 2)))


# Data sets.


def test_parts_of_different_lengths_are_refused():
    """FAULTS #9"""
    for parts in ({"y": Y[:3]}, {"qid": QID[:3]}, {"feature_names": NAMES[:2]}):
        with pytest.raises(fenchel.InvalidData, match=r"X has [34] .* but there are [23] "):
            Dataset(X, **parts)


def test_groups_must_stand_together():
    """FAULTS #34"""
    with pytest.raises(fenchel.InvalidData, match=r"qid 1 in row 3 .* sort the rows by qid"):
        Dataset(X, Y, np.array([1, 2, 2, 1]))


def test_groups_that_are_not_whole_numbers_are_refused():
    for qid in ([1.5, 2, 2, 2], list("abcd"), [True] * 4, [np.nan] * 4):
        with pytest.raises(fenchel.InvalidData, match="whole numbers"):
            Dataset(X, Y, np.array(qid))


@pytest.mark.parametrize("y", [[1, 2, None, 4], [1, 2, "a", 4], [1, np.inf, 2, 3], [[1]] * 4])
def test_targets_that_are_neither_numbers_nor_text_are_refused(y):
    with pytest.raises(fenchel.InvalidData, match=r"^y "):
        Dataset(X, np.array(y, dtype=object if None in y or "a" in y else float))


# CSV.


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("1,2,3\n4,5,6\n", None),
        ("a,b,c\n4,5,6\n", ("a", "b")),
        ('"a","b","c"\r\n4,5,6\r\n', ("a", "b")),
        ("\ufeffa,b,c\n4,5,6\n", ("a", "b")),
        ("\n\na,b,c\n\n4,5,6", ("a", "b")),
        ("a;b;c\n4;5;6\n", ("a", "b")),
        ("a\tb\tc\n4\t5\t6\n", ("a", "b")),
        ("0,1,target\n4,5,6\n", ("0", "1")),
        ("4,5,setosa\n4,5,virginica\n", None),
        ("a,b,c\n4,5,setosa\n", ("a", "b")),
        ("4,5,'6'\n4,5,'6'\n", None),
        ("1e5,-.5,+6\n4,5,6\n", None),
    ],
)
def test_a_row_of_names_is_recognised(tmp_path, content, names):
    found = read(saved(tmp_path, "data.csv", content))
    assert found.feature_names == names
    np.testing.assert_array_equal(found.X[-1], [4, 5])
    assert len(found.X) == (1 if names else 2)


def test_quoted_numbers_are_numbers(tmp_path):
    for quote in "\"'":
        rows = "1.5,2,'-1'\n'3',4,'1'\n".replace("'", quote)
        found = read(saved(tmp_path, "data.csv", rows))
        assert same(found.X, np.array([[1.5, 2], [3, 4]])) and same(found.y, np.array([-1.0, 1.0]))


def test_booleans_are_numbers_and_leave_the_target_a_number(tmp_path):
    found = read(saved(tmp_path, "data.csv", "a,b,y\n1,true,5\n2,false,6\n"))
    assert same(found.X, np.array([[1.0, 1], [2, 0]])) and same(found.y, np.array([5.0, 6.0]))


def test_line_breaks_within_fields_are_kept_in_large_files(tmp_path):
    n = 300_000
    words = np.full(n, "over\ntwo lines")
    assert same(again(Dataset(np.ones((n, 1)), words), tmp_path / "data.csv").y, words)


@pytest.mark.parametrize(
    ("header", "target", "expected"),
    [
        ("a,b,c", None, 2),
        ("a,y,c", None, 1),
        ("Label,a,b", None, 0),
        ("label,target,a", None, 1),
        ("a,b,c", "b", 1),
        ("a,b,c", 0, 0),
        ("a,b,c", -2, 1),
        ("a,b,c", "1", 1),
        ("2,b,y", "2", 0),
        ("a,y,c", "c", 2),
    ],
)
def test_the_target_is_what_was_asked_for_or_named_so_or_last(tmp_path, header, target, expected):
    found = read(saved(tmp_path, "data.csv", f"{header}\n10,11,12\n"), target=target)
    assert found.y.tolist() == [10 + expected]
    assert found.X.tolist() == [[x for x in (10, 11, 12) if x != 10 + expected]]


def test_an_unknown_target_gets_a_hint(tmp_path):
    path = saved(tmp_path, "data.csv", "age,height,response\n1,2,3\n")
    refuses(path, str(path), "no column 'respons'", "did you mean 'response'", target="respons")
    refuses(path, "no column 3", "'age', 'height', 'response'", target=3)


def test_features_are_picked_by_name_in_the_order_asked_for(tmp_path):
    for suffix in (".csv", *BINARY):
        path = tmp_path / f"data{suffix}"
        write(Dataset(X, Y, QID, NAMES), path)
        found = read(path, features=["weight of it", "age"])
        assert found.feature_names == ("weight of it", "age")
        np.testing.assert_array_equal(found.X, X[:, [2, 0]])
        assert same(found.y, Y) and same(found.qid, QID)
        refuses(path, "no column 'hight'", "did you mean 'height'", features=["hight"])


def test_columns_that_are_not_picked_may_hold_anything(tmp_path):
    path = saved(tmp_path, "data.csv", "a,town,y\n1,Bonn,2\n3,,4\n")
    assert read(path, features=["a"]).X.tolist() == [[1], [3]]


def test_files_without_names_take_features_in_their_order(tmp_path):
    assert read(saved(tmp_path, "a.csv", "1,2\n3,4\n"), features=["p", "q"]).y is None
    assert read(saved(tmp_path, "b.csv", "1,2,9\n3,4,9\n"), features=["p", "q"]).y.tolist() == [
        9,
        9,
    ]
    refuses(tmp_path / "b.csv", "2 feature columns; 5 are needed", n_features=5)
    write(Dataset(X, Y), tmp_path / "c.npz")
    refuses(tmp_path / "c.npz", "3 columns; 5 are expected", n_features=5)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ["the file is empty"]),
        (" \n\n", ["the file is empty"]),
        ("a,b\n", ["no rows"]),
        ("a,b,y\n1,2,3\n\n4,x,6\n", [":4: column 'b'", "1 of 2", "'x' in row 1"]),
        ("\n\na,b,y\n1,2,3\n4,,6\n", [":5: column 'b' has 1 missing value"]),
        ("a,b,y\n1,2,3\n4,NA,6\n", [":3: column 'b' has 1 missing value"]),
        ("a,b,y\n1,2,3\n4,5\n", [":3: 2 fields where the first row has 3"]),
        ("a,y\n1,2\n3,4,5\n", [":3: 3 fields where the first row has 2"]),
        ('a,y\n1,"u\nv"\nq,"w"\n', [":4: column 'a'", "'q' in row 1"]),
        ("1,2\n3,4\nz,5\n", [":3: column '0'", "'z' in row 2"]),
        ("a,y\n1,\n2,3\n", [":2: column 'y' has 1 missing value"]),
        ("a,y\n1,u\n2,\n", [":3: column 'y' has 1 missing value"]),
        ("a,b,a\n1,2,3\n", ["columns 0 and 2 are both called 'a'"]),
        (",a,y\n0,1,2\n", ["column 0 has no name", "index=False"]),
        ("a,y\n1,inf\n", [":2: y holds", "row 0"]),
        ("a,y\n1,2\ninf,2\n", ["inf at row 1, column 0"]),
        ("a,y\n1e200,2\n", ["rescale"]),
        ("y\n1\n", ["0 feature columns"]),
        ("qid,a,y\n1,1,1\n2,1,1\n1,1,1\n", [":4: qid 1 in row 2"]),
        ("qid,a,y\n1.5,1,1\n", ["whole numbers"]),
        ("qid,a,y\n,1,1\n", [":2: column 'qid' has 1 missing value"]),
        ("a,when,y\n1,2020-01-01,3\n", ["column 'when'", "not numbers"]),
        (b"a,\xe9,y\n1,2,3\n", [":1: the line is not UTF-8"]),
        (b"a,b,y\n1,2,\xe9\n", ["not UTF-8"]),
    ],
)
def test_what_is_wrong_with_a_table_is_said_with_its_place(tmp_path, content, said):
    path = saved(tmp_path, "data.csv", content)
    refuses(path, f"{path}:", *said)


@pytest.mark.parametrize("suffix", [t for t in TEXT if t.endswith((".gz", ".bz2", ".xz"))])
def test_damaged_compression_is_an_error_that_names_the_file(tmp_path, suffix):
    """FAULTS #35"""
    path = tmp_path / f"data{suffix}"
    rng = np.random.default_rng(0)
    write(Dataset(rng.normal(size=(3000, 5)), rng.normal(size=3000)), path)
    whole = path.read_bytes()
    for cut in (1, 10, len(whole) // 2, len(whole) - 1):
        refuses(saved(tmp_path, path.name, whole[:cut]), str(path), "compressed data")
    refuses(saved(tmp_path, path.name, b"no such thing"), str(path), "compressed data")
    harmed = bytearray(whole)
    harmed[len(whole) // 2] ^= 0xFF
    refuses(saved(tmp_path, path.name, bytes(harmed)), str(path))


def test_a_table_that_outgrows_the_memory_is_stopped(tmp_path, monkeypatch):
    """FAULTS #47"""
    path = saved(tmp_path, "bomb.csv.gz", gzip.compress(b"0,0\n" * 20_000_000, 1))
    monkeypatch.setattr(memory, "available", lambda: 200 << 20)  # the columns alone would fit
    refuses(path, "memory", kind=MemoryError)


@given(st.binary(max_size=200) | st.text("01,;.\n\"'aNe-", max_size=60).map(str.encode))
def test_no_bytes_make_the_reader_of_tables_fail_in_another_way(content):
    with tempfile.TemporaryDirectory() as folder:
        try:
            read(saved(Path(folder), "data.csv", content))
        except fenchel.InvalidData as error:
            assert "data.csv" in str(error)


# Parquet.


def test_parquet_of_pandas_is_read_without_its_index(tmp_path):
    table = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": pd.Categorical(["u", "v"])})
    table.index = ["first", "second"]
    table.to_parquet(tmp_path / "data.parquet")
    found = read(tmp_path / "data.parquet")
    assert found.feature_names == ("a", "b")
    assert same(found.X, np.array([[1.0, 1], [2, 0]])) and same(found.y, np.array(["u", "v"]))


def test_what_is_wrong_with_a_parquet_file_is_said_with_its_name(tmp_path):
    path = tmp_path / "data.parquet"
    for columns, said in (
        ({"a": ["u", "v"], "y": [1, 2]}, ["'a'", "one-hot"]),
        ({"a": [1, None], "y": [1, 2]}, ["'a' has 1 missing value", "row 1"]),
        ({"a": [1, 2], "y": [1, None]}, ["'y' has 1 missing value", "row 1"]),
        ({"a": [[1], [2]], "y": [1, 2]}, ["'a'", "List"]),
        ({"a": pa.array([], pa.float64()), "y": pa.array([], pa.float64())}, ["no rows"]),
    ):
        pq.write_table(pa.table(columns), path)
        refuses(path, str(path), *said)
    pq.write_table(pa.table([[1], [2], [3]], names=["a", "a", "y"]), path)
    refuses(path, "columns 0 and 1 are both called 'a'")


def test_damaged_parquet_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "data.parquet"
    write(Dataset(X, Y), path)
    whole = path.read_bytes()
    for cut in (0, 3, 8, len(whole) // 2, len(whole) - 1):
        refuses(saved(tmp_path, "data.parquet", whole[:cut]), str(path))
    refuses(saved(tmp_path, "data.parquet.gz", whole), "without .gz")


def test_sparse_data_too_large_for_a_table_are_refused_with_the_size(tmp_path):
    wide = sparse.csr_array((2000, 130_000))
    for suffix in (".csv", ".parquet"):
        with pytest.raises(fenchel.InvalidData, match=r"1\.9 GiB.*\.npz"):
            write(Dataset(wide, np.zeros(2000)), tmp_path / f"data{suffix}")
    assert not list(tmp_path.iterdir())


def test_a_feature_with_the_name_of_the_target_is_refused_in_a_table(tmp_path):
    for name in ("y", "qid"):
        with pytest.raises(fenchel.InvalidData, match=f"called '{name}'"):
            write(Dataset(X, Y, None, ("a", name, "b")), tmp_path / "data.csv")


def test_text_for_targets_is_refused_by_svmlight(tmp_path):
    with pytest.raises(fenchel.InvalidData, match="numbers for targets, not text such as 'u'"):
        write(Dataset(X, np.array([*"uvuv"])), tmp_path / "data.svm")


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    for name in ("pyarrow", "pyarrow.csv", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, name, None)
    for suffix in (".csv", ".parquet"):
        path = saved(tmp_path, f"data{suffix}", "a,y\n1,2\n")
        refuses(path, 'pip install "fenchel[tables]"', kind=ImportError)
        with pytest.raises(ImportError, match=r"fenchel\[tables\]"):
            write(Dataset(X, Y), path)


# Other formats.


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"PAR1....", "Parquet; name it .parquet"),
        (b"PK\x03\x04", ".npz"),
        (b"% a comment\n\n@RELATION iris\n", "ARFF"),
        (b"\x93NUMPY\x01\x00", "NumPy array"),
        (b"\x80\x05\x95", "pickle"),
        (b"SQLite format 3\x00", "SQLite"),
        (b'{"a": 1}', "JSON"),
        (b"<html>", "HTML"),
        ("1 1:2\n".encode("utf-16"), "UTF-16"),
        (gzip.compress(b"1 1:2\n", mtime=0), "add .gz"),
        (lzma.compress(b"1 1:2\n"), "add .xz"),
    ],
)
def test_other_formats_are_recognised(tmp_path, content, said):
    for name in ("data.svm", "data", "data.unknown", "data.csv"):
        path = saved(tmp_path, name, content)
        refuses(path, str(path), "looks like", said)


def test_a_table_without_the_suffix_of_one_is_recognised(tmp_path):
    found = read(saved(tmp_path, "data.txt", "1,2,3\n4,5,6\n"))
    assert found.X.tolist() == [[1, 2], [4, 5]] and found.y.tolist() == [3, 6]


def test_a_missing_file_and_a_folder_are_the_systems_errors(tmp_path):
    for suffix in (*TEXT, *BINARY):
        refuses(tmp_path / f"absent{suffix}", "absent", kind=FileNotFoundError)
    refuses(tmp_path, kind=IsADirectoryError)


# Real data.


@pytest.fixture(scope="module")
def folder():
    root = os.environ.get("FENCHEL_DATA")
    if not root:
        pytest.skip("set FENCHEL_DATA to the folder of real data sets to run this test")
    return Path(root)


def test_mammography_has_no_names_and_quotes_its_classes(folder):
    found = read(folder / "mammography" / "mammography.csv.xz")
    assert found.X.shape == (11183, 6) and found.feature_names is None
    assert dict(zip(*np.unique(found.y, return_counts=True), strict=True)) == {-1: 10923, 1: 260}
    assert found.X[0].tolist()[:2] == [0.23001961, 5.0725783]


def test_insurance_claims_are_read_where_they_are_numbers(folder, tmp_path):
    with lzma.open(folder / "freMTPL2" / "freMTPL2freq.csv.xz") as file:
        head = b"".join(itertools.islice(file, 1001))
    path = saved(tmp_path, "head.csv", head)
    refuses(path, f"{path}:2: column 'Area' holds text", "'D' in row 0", target="ClaimNb")
    found = read(path, target="ClaimNb", features=["Exposure", "Density"])
    expected = pd.read_csv(path)
    np.testing.assert_array_equal(found.X, expected[["Exposure", "Density"]])
    assert same(found.y, expected["ClaimNb"].to_numpy())


@pytest.mark.parametrize("name", ["winequality-red", "abalone", "ailerons"])
def test_ordinal_tables_are_what_pandas_reads(folder, name):
    path = folder / "ordinal" / f"{name}.csv.xz"
    found, expected = read(path, target="response"), pd.read_csv(path)
    assert same(found.y, expected["response"].to_numpy().astype(float))
    rest = expected.drop(columns="response")
    assert found.feature_names == tuple(rest.columns)
    np.testing.assert_allclose(found.X, rest, rtol=1e-15)
