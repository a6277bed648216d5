"""Arrays and a header in a file: what is written comes back, and nothing else comes in."""

import io
import json
import os
import pickle
import re
import subprocess
import sys
import zipfile
from typing import Annotated

import msgspec
import numpy as np
import pytest
import safetensors
import safetensors.numpy
from commands import HANGS
from forged import digest_of, entries_of, envelope, forge, safetensors_file
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

import fenchel
from fenchel._system import container


class Header(msgspec.Struct, forbid_unknown_fields=True):
    size: int
    name: Annotated[str, msgspec.Meta(max_length=1000)] = ""


HEADER = Header(3, 'naïve "quoted" \\ \n text')
ARRAYS = {
    "coef": np.array([[1.5, -0.0, 2.0], [np.pi, 1e-300, 7.0]]),
    "classes": np.array([-1, 1]),
    "none": np.empty((0, 6)),
    "text": np.frombuffer(b"[]", np.uint8),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "file.fenchel"


@pytest.fixture
def refused(path):
    """Says why a file with this content is refused; the message must name the file."""

    def why(content):
        path.write_bytes(content)
        with pytest.raises(fenchel.InvalidData) as caught:
            container.read(path, "model", Header)
        assert str(path) in str(caught.value)
        assert len(str(caught.value)) < 1000
        return str(caught.value)

    return why


@pytest.fixture
def content(path):
    container.write(path, "model", HEADER, ARRAYS)
    return path.read_bytes()


def test_header_and_arrays_come_back_as_they_were(path):
    container.write(path, "model", HEADER, ARRAYS)
    header, arrays = container.read(path, "model", Header)
    assert header == HEADER
    assert arrays.keys() == ARRAYS.keys()
    for name, array in ARRAYS.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()
        assert arrays[name].flags.writeable


@given(
    array=arrays_of.arrays(
        st.sampled_from([np.float64, np.int64, np.uint8]),
        arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
    ),
    text=st.text(st.characters(exclude_categories=["Cs"]), max_size=50),
)
def test_any_array_and_any_text_come_back(tmp_path_factory, array, text):
    path = tmp_path_factory.mktemp("any") / "file"
    container.write(path, "model", Header(1, text), {"a": array, "b": array.T})
    header, arrays = container.read(path, "model", Header)
    assert header.name == text
    assert arrays["a"].tobytes() == array.tobytes()
    assert arrays["b"].tobytes() == array.T.tobytes()  # also where it was not contiguous
    assert arrays["b"].shape == array.T.shape


def test_the_same_content_gives_the_same_bytes(path, content):
    backwards = dict(reversed(ARRAYS.items()))
    container.write(path, "model", HEADER, backwards)
    assert path.read_bytes() == content


def test_safetensors_reads_the_arrays_too(content):
    theirs = safetensors.numpy.load(content)
    assert theirs.keys() == ARRAYS.keys()
    assert all(np.array_equal(theirs[name], ARRAYS[name]) for name in theirs)


def test_the_forger_of_these_tests_knows_the_format(path):
    path.write_bytes(forge({"size": 3}, ARRAYS))
    header, arrays = container.read(path, "model", Header)
    assert header == Header(3)
    assert np.array_equal(arrays["coef"], ARRAYS["coef"])


# Damage. FAULTS #37.


def test_every_truncation_is_refused(content, refused):
    for length in range(len(content)):
        refused(content[:length])
    assert "cut off" in refused(content[:-1])
    assert "added to" in refused(content + b"\0")


@pytest.mark.slow
def test_every_flipped_bit_is_refused(content, refused):
    for position in range(len(content)):
        for bit in range(8):
            flipped = bytearray(content)
            flipped[position] ^= 1 << bit
            refused(bytes(flipped))


@given(st.data())
def test_damage_of_any_kind_is_refused_or_harmless(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("damage") / "file"
    container.write(path, "model", HEADER, ARRAYS)
    damaged = bytearray(path.read_bytes())
    start = data.draw(st.integers(0, len(damaged) - 1))
    stop = data.draw(st.integers(start, len(damaged)))
    damaged[start:stop] = data.draw(st.binary(max_size=40))
    path.write_bytes(damaged)
    try:
        header, arrays = container.read(path, "model", Header)
    except fenchel.InvalidData as error:
        assert str(path) in str(error)
    else:
        assert header == HEADER
        assert all(arrays[name].tobytes() == ARRAYS[name].tobytes() for name in ARRAYS)


# Malice: every digest is right. FAULTS #36, #37.


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty"),
        (b"\1\0\0", "cut off"),
        (pickle.dumps({"coef": [1.0]}), "pickle"),
        ((1 << 40).to_bytes(8, "little") + b"{}", "claims a header of 1099511627776 bytes"),
        (b"\xff" * 8, "claims a header"),
        (safetensors_file("{}" + " " * container.LARGEST_HEADER), "claims a header of 8388610"),
        (safetensors_file("{}"), "not one of fenchel's"),
        (safetensors_file("[" * 100_000), "cannot be understood"),
        (safetensors_file('{"__metadata__":' + "[" * 100_000), "cannot be understood"),
        (safetensors_file('{"a":' * 100_000), "cannot be understood"),
        (safetensors_file('{"__metadata__":{"fenchel":"\\ud800"}}'), "cannot be understood"),
        (safetensors_file({"__metadata__": {"pt": "x"}}), "cannot be understood"),
        (safetensors_file({"__metadata__": {"fenchel": "x"}}), "cannot be understood"),
        (safetensors_file({"__metadata__": {"fenchel": "[" * 100_000}}), "cannot be understood"),
        (safetensors_file({"__metadata__": {"fenchel": "{}", "more": ""}}), "cannot be understood"),
        (forge({"size": 1}, {}, version=2), "newer fenchel.*upgrade"),
        (forge({"size": 1}, {}, version=0), "cannot be understood"),
        (forge({"size": 1}, {}, kind="checkpoint"), "holds a checkpoint, not a model"),
        (forge({"size": "1"}, {}), "Expected `int`"),
        (forge({"size": 1, "more": 2}, {}), "unknown field `more`"),
        (forge({}, {}), "missing required field `size`"),
        (forge({"size": 1, "name": "x" * 1001}, {}), "length <= 1000"),
        (forge('{"size": 1, "size": 2}', {}), "key comes twice"),
        (forge('{"size": NaN}', {}), "cannot be understood"),
        (forge('{"size": ' + "1" * 5000 + "}", {}), "cannot be understood"),
        (forge({"size": 1}, {f"a{i}": np.zeros(1) for i in range(65)}), "length <= 65"),
        (forge({"size": 1}, {"a": np.zeros(3, np.float32)}), "cannot be understood"),
        (forge({"size": 1}, {"a": np.zeros((1,) * 5)}), "cannot be understood"),
    ],
    ids=lambda value: value[:30] if isinstance(value, str) else "",
)
def test_hostile_files_are_refused(content, words, refused):
    assert re.search(words, refused(content))


def test_a_zip_archive_is_refused_by_name(refused):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("coef.npy", b"x")
    assert "zip archive" in refused(buffer.getvalue())


def _layout(**entries):
    arrays = {"a": np.arange(4.0), "b": np.arange(4.0)}
    whole = entries_of(arrays)
    for name, changes in entries.items():
        whole[name] = {**whole.get(name, {}), **changes}
    metadata = {"fenchel": envelope('{"size": 1}', arrays)}
    data = b"".join(array.tobytes() for array in arrays.values())
    return {"__metadata__": metadata, **whole}, data


@pytest.mark.parametrize(
    "entries",
    [
        {"b": {"data_offsets": [0, 32]}},  # on top of a
        {"b": {"data_offsets": [16, 48]}},  # half on top of a
        {"b": {"data_offsets": [40, 72]}},  # a gap, and past the end
        {"b": {"data_offsets": [64, 32]}},  # backwards
        {"b": {"data_offsets": [-32, 0]}},
        {"b": {"data_offsets": [32, 64, 64]}},
        {"b": {"data_offsets": [32.5, 64]}},
        {"b": {"shape": [5]}},
        {"b": {"shape": [3]}},
        {"b": {"shape": [-4]}},
        {"b": {"shape": [2**40], "data_offsets": [32, 32 + 2**43]}},  # larger than the file
        {"b": {"shape": [2**62, 2**2]}},  # 2**64 = 0 in 64 bits
        {"b": {"shape": [2**40, 0]}},
        {"b": {"dtype": "F32"}},
        {"b": {"dtype": "I64"}},  # as many bytes, another type: the digest knows
        {"b": {"dtype": "object"}},
        {"b": {"more": 1}},
        {"c": {"dtype": "F64", "shape": [0], "data_offsets": [64, 64]}},  # one too many
    ],
    ids=str,
)
def test_arrays_must_tile_the_file(entries, refused):
    layout, data = _layout(**entries)
    refused(safetensors_file(layout, data))


def test_an_array_that_comes_twice_is_refused(refused):
    layout, data = _layout()
    text = json.dumps(layout)[:-1] + ', "b": ' + json.dumps(layout["b"]) + "}"
    assert "comes twice" in refused(safetensors_file(text, data))


def test_arrays_moved_to_another_name_are_refused(refused):
    layout, data = _layout()
    layout["c"] = layout.pop("b")
    assert "digest" in refused(safetensors_file(layout, data))


@pytest.mark.slow
def test_a_giant_claim_takes_no_memory(path):
    """FAULTS #37. Each of these claims gigabytes, or would unfold into them."""
    layout, data = _layout(b={"shape": [2**40], "data_offsets": [32, 32 + 2**43]})
    giants = [
        safetensors_file(layout, data),
        (2**40).to_bytes(8, "little") + b"{" * 100,
        safetensors_file("[" + "{}," * 2_000_000),
        safetensors_file("{" + ",".join(f'"{k}":0' for k in range(700_000)) + "}"),
        safetensors_file({"__metadata__": {"fenchel": "[" * 8_000_000}}),
        safetensors_file({"__metadata__": {"fenchel": '{"a":[' + "{}," * 2_000_000 + "{}]}"}}),
        forge('{"size": 1, "size": [' + "{}," * 2_000_000 + "{}]}", {}),
    ]
    script = """
import re, sys, msgspec, fenchel
from fenchel._system import container
class Header(msgspec.Struct): size: int
status = lambda: open("/proc/self/status").read()  # ru_maxrss starts with that of the parent
peak = lambda: int(re.search("VmHWM:[^0-9]*([0-9]+)", status())[1])
before = peak()
for path in sys.argv[1:]:
    try:
        container.read(path, "model", Header)
    except fenchel.InvalidData:
        pass
    else:
        sys.exit("accepted")
print(peak() - before)
"""
    paths = [path.with_suffix(f".{k}") for k in range(len(giants))]
    for giant, giant_path in zip(giants, paths, strict=True):
        giant_path.write_bytes(giant)
    command = [sys.executable, "-c", script, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANGS)
    assert int(done.stdout) < 250_000  # kB: 8 MB of short names take 130 MB until they are counted


# What is not a file. FAULTS #26.


def test_what_is_no_regular_file_is_refused_without_waiting(tmp_path):
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for path in (fifo, tmp_path, "/dev/zero"):
        with pytest.raises(fenchel.InvalidData, match="not a regular file"):
            container.read(path, "model", Header)


def test_a_missing_file_is_the_systems_own_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        container.read(tmp_path / "missing", "model", Header)


def test_refused_files_are_closed(tmp_path, refused):
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        refused(b"nothing")
        with pytest.raises(fenchel.InvalidData):
            container.read(tmp_path, "model", Header)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_header_too_large_to_be_read_again_is_not_written(path):
    with pytest.raises(fenchel.InvalidData, match="more than 8388608 bytes"):
        container.write(path, "model", Header(1, '"' * 3_000_000), {})
    assert not path.exists()


def test_a_full_disk_leaves_the_old_file(path, content):
    """FAULTS #25, by a limit on the size of files."""
    script = f"""
import resource, signal, numpy as np, msgspec
from fenchel._system import container
class Header(msgspec.Struct): size: int
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
try:
    container.write({str(path)!r}, "model", Header(1), {{"a": np.zeros(10_000)}})
except OSError as error:
    print("refused")
"""
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "refused\n"
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_take_checks_type_and_shape():
    arrays = {"a": np.zeros((2, 3))}
    for dtype, shape in ((np.int64, (2, 3)), (np.float64, (3, 2)), (np.float64, (6,))):
        with pytest.raises(fenchel.InvalidData, match="'a' must be"):
            container.take(dict(arrays), "a", dtype, shape)
    with pytest.raises(fenchel.InvalidData, match="'b' is missing"):
        container.take(arrays, "b", np.float64, (2, 3))
    assert container.take(arrays, "a", np.float64, (2, 3)).shape == (2, 3)
    assert arrays == {}


def test_the_digest_is_of_the_bytes_not_of_their_neighbourhood():
    a, b = np.arange(3.0), np.arange(4.0)
    assert digest_of({"a": a, "b": b}) != digest_of({"a": b, "b": a})
