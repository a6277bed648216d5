"""Archives of NumPy and SciPy: ours are theirs, and none is trusted."""

from __future__ import annotations

import io
import itertools
import os
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import pytest
from datasets import NAMES, QID, X, Y, refuses, same
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

import fenchel
from fenchel._system import memory
from fenchel.data.dataset import Dataset
from fenchel.data.files import read, write


def test_scipy_reads_our_archives_and_we_read_scipys(tmp_path):
    matrix, path = sparse.csr_array(X), tmp_path / "data.npz"
    write(Dataset(matrix, Y, QID, NAMES, 0), path)
    assert same(sparse.load_npz(path), matrix)
    assert isinstance(sparse.load_npz(path), sparse.csr_array)
    for kind, packed in itertools.product(("csr", "csc", "coo"), (True, False)):
        sparse.save_npz(path, sparse.csr_matrix(X).asformat(kind), compressed=packed)
        np.testing.assert_array_equal(read(path).X.toarray(), X)
    sparse.save_npz(path, sparse.dia_matrix(X))
    refuses(path, str(path), "'dia'", "tocsr()")


def test_we_read_plain_archives_of_numpy(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.ones((4, 3), dtype=">f4"), y=np.array([1, 2, 1, 2]))
    found = read(tmp_path / "data.npz")
    assert found.X.dtype == np.float32 and same(found.y, np.array([1.0, 2, 1, 2]))
    np.savez(tmp_path / "data.npz", Z=X)
    refuses(tmp_path / "data.npz", "'Z'", "named 'X'")


class Hostile:
    def __reduce__(self):
        return os.mkdir, ("/tmp/fenchel-was-fooled",)


def test_pickles_are_never_loaded(tmp_path):
    """FAULTS #36"""
    path = tmp_path / "data.npz"
    for arrays in ({"X": np.array([[Hostile()]])}, {"X": X, "y": np.array([Hostile()] * 4)}):
        np.savez(path, **arrays)
        refuses(path, str(path), "pickled objects, which are never loaded")
    assert not os.path.exists("/tmp/fenchel-was-fooled")


def archive(path, **members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(f"{name}.npy", content)
    return path


def header(shape, kind="<f8"):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        file, {"descr": kind, "fortran_order": False, "shape": shape}
    )
    return file.getvalue()


@pytest.mark.parametrize("shape", [(1 << 40, 1 << 20), (1 << 62,), (-1,), (3, 3), (0,)])
def test_an_array_that_lies_about_its_size_is_refused_before_it_is_made(tmp_path, shape):
    path = archive(tmp_path / "data.npz", X=header(shape) + bytes(64))
    refuses(path, str(path), "says it has", "but holds 64")


def test_a_bomb_is_refused_before_it_is_unpacked(tmp_path, monkeypatch):
    """FAULTS #47"""
    path = archive(tmp_path / "data.npz", X=header((1 << 20, 8)) + bytes(1 << 26))
    assert path.stat().st_size < 1 << 20
    monkeypatch.setattr(memory, "available", lambda: 1 << 25)
    refuses(path, "memory", kind=MemoryError)


def test_a_matrix_wider_than_the_memory_is_refused(tmp_path):
    """FAULTS #47"""
    wide = sparse.csr_array(([1.0], [5], [0, 1]), shape=(1, 1 << 50))
    sparse.save_npz(tmp_path / "data.npz", wide)
    refuses(tmp_path / "data.npz", "memory", kind=MemoryError)


@pytest.mark.parametrize(
    "change",
    [
        {"indices": np.array([0, 9, 1])},
        {"indices": np.array([0, -1, 1])},
        {"indptr": np.array([0, 3, 2, 3])},
        {"indptr": np.array([0, 1, 2, 30])},
        {"data": np.ones(2)},
        {"data": np.array(["u", "v", "w"])},
        {"data": np.array([1.0, np.nan, 1])},
        {"shape": np.array([3])},
        {"shape": np.array([3, -3])},
        {"shape": np.array(["u", "v"])},
        {"format": np.array(b"\xff\xfe")},
        {"format": np.array([1, 2])},
        {"y": np.array([1.0, 2])},
        {"y": np.ones((3, 2))},
        {"y": np.array(["2020-01-01"] * 3, dtype="M8[D]")},
        {"qid": np.array([1, 2, 1])},
        {"feature_names": np.array([1, 2, 3])},
        {"feature_names": np.array(["a", "b"])},
        {"index_base": np.array(7)},
        {"index_base": np.array([0, 1])},
    ],
)
def test_inconsistent_archives_are_refused(tmp_path, change):
    """FAULTS #12"""
    good = sparse.csr_array(np.eye(3))
    parts = {"data": good.data, "indices": good.indices, "indptr": good.indptr}
    parts |= {"shape": np.array([3, 3]), "format": np.array(b"csr")}
    path = tmp_path / "data.npz"
    np.savez(path, **parts)
    read(path)
    np.savez(path, **parts | change)
    refuses(path, str(path))


def test_entries_of_an_archive_that_stand_twice_are_added_up_with_a_warning(tmp_path):
    """FAULTS #10"""
    sparse.save_npz(tmp_path / "data.npz", sparse.csr_array(([1.0, 2.0], [0, 0], [0, 2]), (1, 1)))
    with pytest.warns(fenchel.FenchelWarning, match="added up"):
        assert read(tmp_path / "data.npz").X.toarray() == [[3.0]]


@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_unsorted_and_wide_indices_of_an_archive_are_taken(tmp_path, kind):
    """FAULTS #11, #13"""
    parts = np.array([1.0, 2.0]), np.array([1, 0], dtype=kind), np.array([0, 2], dtype=kind)
    sparse.save_npz(tmp_path / "data.npz", sparse.csr_array(parts, shape=(1, 2)))
    found = read(tmp_path / "data.npz").X
    assert found.toarray().tolist() == [[2, 1]] and found.indices.dtype == np.int32


@given(st.data())
def test_no_damage_to_an_archive_makes_its_reader_fail_in_another_way(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "data.npz")
        write(Dataset(sparse.csr_array(X), Y, QID, NAMES, 1), path)
        content = bytearray(path.read_bytes())
        for _ in range(data.draw(st.integers(1, 4))):
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
        path.write_bytes(content[: data.draw(st.integers(0, len(content)) | st.just(len(content)))])
        try:
            read(path)
        except (fenchel.InvalidData, MemoryError) as error:
            assert "data.npz" in str(error) or isinstance(error, MemoryError)
