"""The svmlight reader equals scikit-learn's on sound files, and says where the others are not."""

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_svmlight_file

import fenchel
from fenchel import _kernels
from fenchel._system import memory
from fenchel.data import svmlight
from fenchel.data.svmlight import parse_svmlight, read_svmlight
from fenchel.data.svmlight_writing import write_svmlight

PACKED = {
    ".gz": lambda content: gzip.compress(content, 1),
    ".bz2": lambda content: bz2.compress(content, 1),
    ".xz": lambda content: lzma.compress(content, preset=0),
}
finite = st.floats(allow_nan=False, allow_infinity=False)


@pytest.fixture
def file(tmp_path):
    """file("text") writes a file and gives its path."""

    def write(content, name="data.svm"):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def same(a, b):
    """Equal bit for bit, types included."""
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def assert_same(mine, theirs):
    """Equal (X, y, qid or None), X in its stored arrays."""
    for name in ("indptr", "indices", "data"):
        assert same(getattr(mine[0], name), getattr(theirs[0], name)), name
    assert mine[0].shape == theirs[0].shape and same(mine[1], theirs[1])
    assert (mine[2] is None and theirs[2] is None) or same(mine[2], theirs[2])


def assert_as_scikit_learn(path, content, qid=False):
    X, y, *q = load_svmlight_file(io.BytesIO(content), query_id=qid)
    X = sparse.csr_array(X)
    expected = sparse.csr_array(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )
    X, y_mine, *q_mine = read_svmlight(path, qid=qid)
    assert_same((X, y_mine, *q_mine, None)[:3], (expected, y, *q, None)[:3])
    assert X.has_canonical_format and X.has_sorted_indices


def refused(path, *said, **options):
    """The message of InvalidData, which holds every phrase of `said`."""
    with pytest.raises(fenchel.InvalidData) as error:
        parse_svmlight(path, **options)
    for phrase in said:
        assert phrase in str(error.value)
    return str(error.value)


def outcome(content, *, chunk=1 << 18, piece=1 << 22, n_threads=1, index_base=None, qid=True):
    """What the kernel makes of a text, cut in pieces and chunks of these sizes."""
    parser = _kernels.SvmlightParser32(index_base, 2**31 - 1, qid, n_threads, chunk)
    pieces = [content[i : i + piece] for i in range(0, len(content), piece)]
    if not all(parser.feed(np.frombuffer(p, np.uint8)) for p in pieces) or not parser.finish():
        return parser.fault, parser.fault_place
    arrays = tuple(array.tobytes() for array in parser.take())
    return arrays, parser.highest, parser.highest_place, parser.index_base, parser.has_queries


# --- what is read


@st.composite
def sound_lines(draw, qid=None):
    """A sound line in bytes: decimals in many spellings, blanks, comments, line ends."""
    blank = st.sampled_from([b" ", b"  ", b"\t", b" \t "])
    number = st.floats(-1e308, 1e308)  # rounded to few digits, larger ones would be infinite
    spelled = st.sampled_from(["{!r}", "{:.6g}", "{:+.3e}", "{:.17g}", "{:.25g}"])
    parts = [draw(st.sampled_from([b"", b" "])), draw(spelled).format(draw(number)).encode()]
    if qid is not None:
        parts += [draw(blank), b"qid:%d" % qid]
    indices = sorted(draw(st.sets(st.integers(1, 60), max_size=6)))
    for j in indices:
        parts += [draw(blank), b"%d:" % j, draw(spelled).format(draw(number)).encode()]
    parts.append(draw(st.sampled_from([b"", b" ", b" # a: comment", b"# 1:2"])))
    parts.append(draw(st.sampled_from([b"\n", b"\r\n", b"\n\n", b"\n# 7:7\n", b"\n \t\n"])))
    return b"".join(parts)


sound_texts = st.lists(sound_lines(), min_size=1, max_size=8).map(b"".join)


@given(sound_texts, st.booleans())
def test_sound_text_reads_as_in_scikit_learn(tmp_path_factory, content, zero_based):
    content += b"1 0:1 3:4\n" if zero_based else b"1 1:1 3:4\n"
    path = tmp_path_factory.getbasetemp() / "sound.svm"
    path.write_bytes(content)
    assert_as_scikit_learn(path, content)


@settings(max_examples=50)
@given(st.data(), st.lists(st.integers(-(2**63), 2**63 - 1), min_size=1, max_size=5, unique=True))
def test_queries_read_as_in_scikit_learn(tmp_path_factory, data, queries):
    content = b"".join(
        data.draw(sound_lines(qid)) for qid in queries for _ in range(data.draw(st.integers(1, 3)))
    )
    content += b"1 qid:%d 2:1" % queries[-1]
    path = tmp_path_factory.getbasetemp() / "queries.svm"
    path.write_bytes(content)
    assert_as_scikit_learn(path, content, qid=True)
    assert_as_scikit_learn(path, content, qid=False)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["a9a/a9a", "20news/train.tfidf.svm", "mq2008/S1.svm"])
def test_real_data_read_as_in_scikit_learn(file, name):
    root = os.environ.get("FENCHEL_DATA")
    if not root:
        pytest.skip("set FENCHEL_DATA to the folder of real data sets to run this test")
    content = lzma.decompress(Path(f"{root}/{name}.xz").read_bytes())
    assert_as_scikit_learn(file(content), content, qid="mq2008" in name)
    packed = parse_svmlight(f"{root}/{name}.xz", n_threads=2)
    assert_same(packed[:3], parse_svmlight(file(content), n_threads=1)[:3])


DECIMALS = """
    1 +1 -0 0 00012 .5 5. 1e5 1E-5 1e+05 0.1 1e-0005 1e22 1e23 8.5e-23 4.9e-324 1e-400
    18446744073709551617 123456789012345678 9007199254740993 9007199254740992.5
    -1e-999999999 0e999999999999999999999
    2.2250738585072011e-308 1.7976931348623157e308 3333333333333333333333333333333333333333
    0.1000000000000000055511151231257827021181583404541015625
""".split()
LONG = [
    "0." + "0" * 400 + "1",
    "0" * 500 + "1e-400",
    "1" * 300 + "e-600",
    "1" + "0" * 400 + "e-400",
]


@pytest.mark.parametrize("spelled", DECIMALS + LONG)
def test_a_decimal_is_what_float_makes_of_it(file, spelled):
    X, y = read_svmlight(file(f"{spelled} 1:{spelled} 2:1\n"))
    assert same(np.array([y[0], X.data[0]]), np.array([float(spelled)] * 2))


@given(st.lists(finite, min_size=1, max_size=20), st.integers(1, 25))
def test_decimals_of_any_length_are_what_float_makes_of_them(numbers, digits):
    spelled = [f"{x:.{digits}e}" for x in numbers] + [repr(x) for x in numbers]
    expected = np.array([float(s) for s in spelled])
    spelled, expected = np.array(spelled)[np.isfinite(expected)], expected[np.isfinite(expected)]
    text = "".join(f"{s} 1:1\n" for s in spelled)
    (_, _, _, y, _), *_ = outcome(text.encode())
    assert y == expected.tobytes()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_blanks_comments_and_line_ends_do_not_matter(file, end):
    """FAULTS #31."""
    plain = parse_svmlight(file("1 1:2 3:4\n-1 2:5\n0\n"))
    lines = ["# head: 1", "", " \t", "1\t1:2  3:4 # 9:9", "", "  -1 2:5\t", "0#", "#"]
    for final in (end, "", end * 1000):
        odd = parse_svmlight(file(end.join(lines) + final, "odd.svm"))
        assert_same(odd[:3], plain[:3])
        marked = parse_svmlight(file("\ufeff" + end.join(lines) + final, "bom.svm"))
        assert_same(marked[:3], plain[:3])


def test_a_comment_may_hold_anything(file):
    X, y = read_svmlight(file(b"1 1:2 #\x00\xff nan :: \xef\xbb\xbf\n#\x00\n-1 1:1"))
    assert y.tolist() == [1, -1] and X.toarray().tolist() == [[2], [1]]


def test_unsorted_indices_are_sorted(file):
    """FAULTS #30."""
    rng = np.random.default_rng(0)
    columns = rng.permutation(5000) + 1
    X, y = read_svmlight(
        file("1 " + " ".join(f"{j}:{float(j) / 7!r}" for j in columns) + "\n2 1:3\n")
    )
    assert np.array_equal(X.indices[:-1], np.arange(5000)) and X.has_sorted_indices
    assert np.array_equal(X.data[:-1], np.arange(1, 5001) / 7) and y.tolist() == [1, 2]


def test_explicit_zeros_and_empty_rows_are_kept(file):
    X, _ = read_svmlight(file("1\n2 3:0\n3\n"))
    assert X.shape == (3, 3) and X.nnz == 1 and X.indptr.tolist() == [0, 0, 1, 1]


def test_an_index_0_anywhere_makes_the_whole_file_zero_based(file):
    """FAULTS #29, #32."""
    found = parse_svmlight(file("1 1:1 5:2\n" * 3 + "1 2:1\n1 0:7 1:8\n"))
    assert found.index_base == 0 and found.X.shape[1] == 6
    assert found.X.indices.tolist() == [1, 5] * 3 + [2, 0, 1]
    found = parse_svmlight(file("1 1:1 5:2\n"))
    assert found.index_base == 1 and found.X.indices.tolist() == [0, 4]


def test_the_base_can_be_given(file):
    """FAULTS #29, #32: a 0 where features count from 1 is an error with its line."""
    found = parse_svmlight(file("1 1:1 5:2\n"), index_base=0)
    assert found.index_base == 0 and found.X.indices.tolist() == [1, 5]
    said = refused(
        file("1 1:1\n# x\n-1 2:3 0:7\n"), ":3:8: ", "'0:7'", "index_base=0", index_base=1
    )
    assert "data.svm" in said
    for wrong in (2, -1, "1", 1.5):
        refused(file("1 1:1\n"), "index_base must be 0, 1 or None", index_base=wrong)


def test_n_features_widens_and_bounds(file):
    path = file("1 1:1\n1 2:1 7:1 3:1\n1 7:1\n")
    assert read_svmlight(path, n_features=9)[0].shape == (3, 9)
    assert read_svmlight(path, n_features=7)[0].shape == (3, 7)
    refused(path, ":2:7: ", "'7:1'", "n_features=6", "n_features >= 7", n_features=6)
    refused(path, ":2:7: ", "n_features >= 8", n_features=7, index_base=0)
    assert read_svmlight(file("1\n2\n"), n_features=4)[0].shape == (2, 4)
    for wrong in (0, -1, 2.5, "3"):
        with pytest.raises(fenchel.InvalidData, match="n_features must be a whole number >= 1"):
            read_svmlight(path, n_features=wrong)


def test_indices_are_int32_unless_n_features_asks_for_more(file):
    """FAULTS #29: beyond 2^31 - 1 an index is a mistake, unless n_features says otherwise."""
    X, _ = read_svmlight(file("1 1:1 2147483647:2\n"))
    assert X.indices.dtype == np.int32 and X.shape[1] == 2**31 - 1
    path = file("1 1:1\n1 2147483648:2\n")
    refused(path, ":2:3: ", "the index is too large", "'2147483648:2'")
    X, _ = read_svmlight(path, n_features=2**33)
    assert X.indices.dtype == np.int64 and X.indices.tolist() == [0, 2**31 - 1]
    refused(file(f"1 {2**33 + 1}:1\n"), "too large", n_features=2**33)


# --- queries


def test_queries_are_given_where_they_are_asked_for(file):
    path = file("2 qid:7 1:1\n1 qid:7 1:2\n0 qid:-3 2:1\n")
    X, y, qid = read_svmlight(path, qid=True)
    assert qid.dtype == np.int64 and qid.tolist() == [7, 7, -3]
    assert X.nnz == 3 and y.tolist() == [2, 1, 0]
    assert len(read_svmlight(path)) == 2
    assert parse_svmlight(path).qid.tolist() == [7, 7, -3]
    assert parse_svmlight(path, qid=False).qid is None
    assert parse_svmlight(file("1 1:1\n")).qid is None
    with pytest.raises(fenchel.InvalidData, match="no line has a qid"):
        read_svmlight(file("1 1:1\n"), qid=True)


def test_a_qid_on_some_lines_only(file):
    """FAULTS #33."""
    refused(file("1 qid:1 1:1\n# c\n1 1:1\n"), ":3:1: ", "has no qid", "every line")
    refused(file("1 1:1\n1 qid:1 1:1\n"), ":2:3: ", "has a qid", "'qid:1'")
    X, _ = read_svmlight(file("1 qid:1 1:1\n1 1:1\n"))  # nobody asked
    assert X.shape == (2, 1)


def test_rows_of_a_query_that_do_not_stand_together(file):
    """FAULTS #34."""
    path = file("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n")
    refused(path, ":4:3: ", "'qid:1'", "sort the file by qid")
    zero = file("1 qid:0 1:1\n1 qid:2 1:1\n1 qid:0 1:1\n", "zero.svm")
    refused(zero, ":3:3: ", "'qid:0'")
    assert read_svmlight(path, qid=False)[0].shape == (4, 1)


@pytest.mark.parametrize("qid", [True, False])
@pytest.mark.parametrize("spelled", ["", "x", "1.5", "1x", "9223372036854775808", "+1", "-", "1:2"])
def test_a_qid_that_is_no_number(file, spelled, qid):
    refused(file(f"1 1:1\n1 qid:{spelled} 1:1\n"), ":2:3: ", "qid is not a whole number", qid=qid)


def test_a_qid_among_the_features(file):
    refused(file("1 1:1 qid:1\n"), ":1:7: ", "right after the label")


# --- what is refused

FAULTY = {
    "1 1:1\n1 2\n": ":2:3: the colon of index:value is missing: '2';",
    "1 1:1 2:\n": ":1:7: the value is missing: '2:';",
    "1 1: 2\n": ":1:3: the value is missing: '1:';",
    "1 1:abc\n": ":1:3: the value is not a number: '1:abc';",
    "1 1:1.5.2\n": "the value is not a number: '1:1.5.2';",
    "1 1:0x10\n": "the value is not a number",
    "1 1:1_000\n": "the value is not a number",
    "1 1:1e\n": "the value is not a number",
    "1 1:1e+\n": "the value is not a number",
    "1 1:-\n": "the value is not a number",
    "1 1:.\n": "the value is not a number",
    "1 1:--1\n": "the value is not a number",
    "1 1:1,5\n": "the value is not a number",
    "1 1:2:3\n": "the value is not a number",
    "1 1:1\x00\n": ":1:3: the value is not a number: '1:1\\x00';",
    "\x00": ":1:1: the label is not a number: '\\x00';",
    "1 \x001:1\n": ":1:3: the index is not a whole number: '\\x001:1';",
    "1 1:1\ncat 1:1\n": ":2:1: the label is not a number: 'cat'; number the classes",
    "1: 1:1\n": ":1:1: the line does not begin with a label: '1:';",
    "1 1:1\n\n  3:4 5:6\n": ":3:3: the line does not begin with a label: '3:4';",
    "qid:1 1:1\n": "the line does not begin with a label: 'qid:1';",
    "1,2 3:4\n": ":1:1: several labels on one line: '1,2'; sets of labels are for",
    "1 1:1 :5\n": ":1:7: the index is not a whole number: ':5';",
    "1 a:5\n": "the index is not a whole number: 'a:5';",
    "1 1.5:5\n": "the index is not a whole number: '1.5:5';",
    "1 +1:5\n": "the index is not a whole number: '+1:5';",
    "1 -1:5\n": ":1:3: the index is negative: '-1:5';",
    f"1 {2**31}:5\n": ":1:3: the index is too large:",
    f"1 1:1\n1 {2**63}:5\n": ":2:3: the index is too large:",
    f"1 {10**30}:5\n": ":1:3: the index is too large:",
    f"1 {2**64 + 1}:5\n": ":1:3: the index is too large:",
    "1 1:1\n1 3:1 2:1 3:2\n": ":2:11: the index stands twice on this line: '3:2';",
    "1 2:1 2:1\n": ":1:7: the index stands twice on this line: '2:1';",
    "1 qid:3 9:1 5:1 5:2 9:3\n": ":1:17: the index stands twice on this line: '5:2';",
    "1 1:1e400\n": ":1:3: the number is nan, infinite or too large: '1:1e400';",
    "-1e309 1:1\n": ":1:1: the number is nan, infinite or too large: '-1e309';",
    "1 1:" + "9" * 400 + "\n": "the number is nan, infinite or too large: '1:999",
    "1 1:1\r1 1:1\r": ":1:7: the colon of index:value is missing: '1';",
    "label,feature\n1,2\n": "several labels",
}


@pytest.mark.parametrize("text", FAULTY, ids=repr)
def test_a_fault_is_reported_with_file_line_column_token_and_remedy(file, text):
    """FAULTS #27, #29, #30."""
    path = file(text)
    said = refused(path, FAULTY[text])
    assert re.match(rf"{re.escape(str(path))}:\d+:\d+: .+: '.*'; .+", said)
    assert refused(path, qid=False, n_threads=1) == said


@pytest.mark.parametrize(
    "token", ["nan", "NaN", "-nan", "inf", "-inf", "+Inf", "Infinity", "1e999"]
)
def test_nan_and_inf_are_refused(file, token):
    """FAULTS #28."""
    refused(file(f"1 1:1\n1 1:1 2:{token}\n"), ":2:7: the number is nan, infinite", f"'2:{token}'")
    refused(file(f"1 1:1\n{token} 1:1\n"), ":2:1: the number is nan, infinite", f"'{token}'")


def test_every_fault_has_words():
    assert set(svmlight._WORDS) == set(_kernels.SvmlightFault) - {_kernels.SvmlightFault.none}


def test_a_token_is_shown_in_part_if_it_is_long_and_as_text_if_it_is_not_text(file):
    said = refused(file("1 " + "x" * 10_000 + "\n"))
    assert "'" + "x" * 40 + "...'" in said and len(said) < 300
    refused(file(b"1 1:\xff\xfe\n"), r"'1:\\xff\\xfe'")
    refused(file("1 1:½\n"), "'1:½'")


@pytest.mark.parametrize(
    "text", ["", "\n", "# only\n#comments", "\r\n\r\n", " ", "\ufeff", "\ufeff#"]
)
def test_a_file_without_data(file, text):
    refused(file(text), "data.svm", "the file holds no data")


def test_a_file_without_features(file):
    refused(file("1\n2\n3\n"), "data.svm", "no line has features", "n_features")


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.svm"):
        read_svmlight(tmp_path / "nowhere.svm")
    with pytest.raises(IsADirectoryError, match=re.escape(str(tmp_path))):
        read_svmlight(tmp_path)


# --- cuts and threads


@settings(max_examples=200)
@given(
    st.one_of(sound_texts, st.binary(max_size=60), st.sampled_from([t.encode() for t in FAULTY])),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(1, 4),
)
@example(b"\xef\xbb\xbf1 1:1\n", 1, 1, 1)
@example(b"1 1:1\n\xef\xbb\xbf1 1:1\n", 6, 6, 1)  # a byte order mark is one at the beginning only
@example(b"1 qid:1 1:1\n1 qid:2 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n", 5, 3, 2)
@example(b"1 qid:1 1:1\n1 1:1\nx", 1, 50, 3)
@example(b"1 1:1\n\n\n#\nx 1:1\n1 y:1\n", 1, 50, 3)
def test_cuts_and_threads_change_nothing(content, chunk, piece, n_threads):
    for qid in (True, False):
        whole = outcome(content, qid=qid)
        assert outcome(content, chunk=chunk, piece=piece, n_threads=n_threads, qid=qid) == whole


def test_threads_change_nothing_on_a_large_file(file):
    rng = np.random.default_rng(0)
    X = sparse.random_array((30_000, 1000), density=0.01, format="csr", rng=rng)
    path = file("")
    write_svmlight(path, X, rng.integers(0, 5, size=30_000))
    alone = parse_svmlight(path, n_threads=1)
    for n_threads in (2, 3, 8, 10**12):
        assert_same(parse_svmlight(path, n_threads=n_threads)[:3], alone[:3])
    content = path.read_bytes()
    assert len(content) > svmlight._BLOCK  # several blocks
    line = content.count(b"\n", 0, 6_000_000) + 1
    broken = content[:6_000_000] + b" 7:oops " + content[6_000_000:7_000_000] + b" x" + content
    for n_threads in (1, 2, 8):
        refused(file(broken, "broken.svm"), f"broken.svm:{line}:", "oops", n_threads=n_threads)


def test_the_first_fault_is_the_one_reported():
    content = b"1 1:1\n" * 50 + b"1 bad\n" + b"1 1:1\n" * 50 + b"worse\n"
    for chunk in (1, 7, 100, 10_000):
        for n_threads in (1, 2, 5):
            fault, (line, column, token) = outcome(content, chunk=chunk, n_threads=n_threads)
            assert fault is _kernels.SvmlightFault.colon_missing
            assert (line, column, token) == (51, 3, b"bad")


def test_a_huge_line_and_many_blank_lines(file):
    n = 400_000
    line = "1 " + " ".join(f"{j}:1" for j in range(1, n + 1))
    assert len(line) > svmlight._BLOCK // 2
    X, y = read_svmlight(file("\n" * 3_000_000 + line + "\n" + "\r\n" * 2_000_000 + line))
    assert X.shape == (2, n) and X.nnz == 2 * n and y.tolist() == [1, 1]
    refused(file("\n" * 5_000_000 + line + " x"), f":5000001:{len(line) + 2}: ", "'x'")


def test_files_are_read_by_several_threads_at_once(file):
    """FAULTS #45."""
    path = file("".join(f"{i % 3} {1 + i % 50}:{i}\n" for i in range(50_000)))
    expected, found = parse_svmlight(path), []
    readers = [
        threading.Thread(target=lambda: found.append(parse_svmlight(path, n_threads=2)))
        for _ in range(6)
    ]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    assert len(found) == 6
    for one in found:
        assert_same(one[:3], expected[:3])


# --- compressed files


@pytest.mark.parametrize("suffix", PACKED)
def test_compressed_files_read_as_plain_ones(file, suffix):
    content = b"".join(b"%d %d:%d.5\n" % (i % 2, 1 + i % 9, i) for i in range(500_000))
    assert len(content) > svmlight._BLOCK
    plain = parse_svmlight(file(content))
    packed = parse_svmlight(file(PACKED[suffix](content), "data.svm" + suffix))
    assert_same(packed[:3], plain[:3])
    twice = PACKED[suffix](content[:1000]) + PACKED[suffix](content[1000:])  # cat a.gz b.gz
    assert_same(parse_svmlight(file(twice, "two.svm" + suffix))[:3], plain[:3])
    refused(file(PACKED[suffix](b"1 1:1\n1 x"), "bad.svm" + suffix), f"bad.svm{suffix}:2:3: ")


@pytest.mark.parametrize("suffix", PACKED)
def test_damaged_compressed_files_are_named(file, suffix):
    """FAULTS #35."""
    rng = np.random.default_rng(0)
    content = "".join(f"1 1:{x!r}\n" for x in rng.normal(size=20_000)).encode()
    packed = PACKED[suffix](content)
    for n in (len(packed) - 1, len(packed) // 2, 20):
        refused(file(packed[:n], "cut.svm" + suffix), "cut.svm" + suffix, "ends too early")
    spoilt = bytearray(packed)
    spoilt[len(packed) // 2] ^= 0xFF
    refused(file(bytes(spoilt), "spoilt.svm" + suffix), "spoilt.svm" + suffix, "is damaged")
    refused(file(b"1 1:1\n", "plain.svm" + suffix), "plain.svm" + suffix, "is damaged")


# --- memory


def test_what_does_not_fit_is_refused_before_it_is_allocated(file, monkeypatch):
    """FAULTS #47."""
    path = file("1 1:1 2:2\n" * 1_000_000)
    monkeypatch.setattr(memory, "available", lambda: 70_000_000)
    with pytest.raises(MemoryError, match=r"reading .*data\.svm needs about .* GB more memory"):
        read_svmlight(path)
    monkeypatch.setattr(memory, "available", lambda: 120_000_000)
    assert read_svmlight(path)[0].shape == (1_000_000, 2)


def test_a_small_file_that_unpacks_into_a_huge_one_ends_in_a_memory_error(file, monkeypatch):
    """FAULTS #47: the size of compressed data is not known beforehand."""
    one = gzip.compress(b"1 1:1\n" * 200_000)
    path = file(one * 100, "bomb.svm.gz")
    given_out = []

    def available():
        given_out.append(None)
        return 100_000_000 - 20_000_000 * len(given_out)

    monkeypatch.setattr(memory, "available", available)
    with pytest.raises(MemoryError, match=r"bomb\.svm\.gz"):
        read_svmlight(path)


def test_a_line_without_end_ends_in_a_memory_error(file, monkeypatch):
    """FAULTS #47: as of /dev/zero."""
    monkeypatch.setattr(memory, "available", lambda: 150_000_000)
    with pytest.raises(MemoryError, match=r"data\.svm"):
        read_svmlight(file(bytes(16_000_000)))


def test_memory_is_asked_of_the_system():
    """FAULTS #47."""
    have = memory.available()
    assert have is not None and 1 << 20 < have < 1 << 60
    memory.require(1, "nothing")
    with pytest.raises(
        MemoryError, match=r"the lot needs about .* GB more .* are available; do this"
    ):
        memory.require(1e30, "the lot", "do this")


def test_the_limit_of_a_container_counts(tmp_path, monkeypatch):
    """FAULTS #47: /proc/meminfo speaks of the whole machine."""
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("700000\n")
    (tmp_path / "memory.stat").write_text("anon 5\ninactive_file 100000\n")
    monkeypatch.setattr(memory, "_CGROUPS", tmp_path)
    assert memory.available() == 400_000
    (tmp_path / "memory.max").write_text("max\n")
    assert memory.available() > 1_000_000


# --- writing


@st.composite
def matrices(draw):
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 6))
    mask = draw(st.lists(st.booleans(), min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    rows, columns = np.nonzero(np.reshape(mask, shape))
    values = draw(st.lists(finite, min_size=len(rows), max_size=len(rows)))
    return sparse.csr_array((np.array(values, dtype=float), (rows, columns)), shape=shape)


@given(matrices(), st.data(), st.sampled_from([0, 1]), st.booleans())
def test_what_is_written_reads_back_bit_for_bit(tmp_path_factory, X, data, base, with_queries):
    n, d = X.shape
    y = np.array(data.draw(st.lists(finite, min_size=n, max_size=n)))
    qid = np.sort(data.draw(st.lists(st.integers(-5, 5), min_size=n, max_size=n)))
    path = tmp_path_factory.getbasetemp() / "written.svm"
    write_svmlight(path, X, y, qid if with_queries else None, index_base=base)
    found = parse_svmlight(path, n_features=d, index_base=base)
    expected = sparse.csr_array(
        (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), shape=X.shape
    )
    assert_same(found[:3], (expected, y, qid if with_queries else None))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["", *PACKED])
def test_written_files_are_compressed_as_their_names_say(tmp_path, suffix):
    rng = np.random.default_rng(0)
    X = sparse.random_array((10_000, 50), density=0.1, format="csr", rng=rng)
    y, path = rng.normal(size=10_000), tmp_path / f"data.svm{suffix}"
    write_svmlight(path, X, y)
    found, labels = read_svmlight(path, n_features=50)
    assert np.array_equal(found.toarray(), X.toarray()) and same(labels, y)
    theirs, labels = load_svmlight_file(str(path), n_features=50) if suffix != ".xz" else (X, y)
    assert np.array_equal(theirs.toarray(), X.toarray()) and same(labels, y)


def test_decimals_are_the_shortest(tmp_path):
    path = tmp_path / "data.svm"
    write_svmlight(path, np.array([[0.1, 0.0, 3.0], [1e-300, -2.5, 0.0]]), [1, -1], [4, 4])
    assert path.read_text() == "1 qid:4 1:0.1 3:3\n-1 qid:4 1:1e-300 2:-2.5\n"
    write_svmlight(path, np.array([[0.1]]), [0], index_base=0)
    assert path.read_text() == "0 0:0.1\n"


DENSE = [np.array, np.asfortranarray]
SPARSE = [sparse.csc_array, sparse.coo_matrix, sparse.csr_matrix]


@pytest.mark.parametrize(
    "kind, dtype",
    [(kind, dtype) for kind in DENSE + SPARSE for dtype in (np.float32, np.float64, np.int16)]
    + [(kind, dtype) for kind in DENSE for dtype in (">f8", object)],
)
def test_any_matrix_can_be_written(tmp_path, kind, dtype):
    """FAULTS #43."""
    X = np.array([[0, 2, 3], [4, 0, 0]]).astype(dtype)
    write_svmlight(tmp_path / "data.svm", kind(X), np.array([1, 0], dtype=np.int8))
    assert np.array_equal(read_svmlight(tmp_path / "data.svm")[0].toarray(), X.astype(float))


def test_the_callers_matrix_stays_as_it_is(tmp_path):
    X = sparse.csr_array((np.array([1.0, 2, 4]), np.array([2, 0, 2]), np.array([0, 3])), (1, 3))
    before = X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes(), X.nnz
    write_svmlight(tmp_path / "data.svm", X, [1])
    assert before == (X.data.tobytes(), X.indices.tobytes(), X.indptr.tobytes(), X.nnz)
    assert (tmp_path / "data.svm").read_text() == "1 1:2 3:5\n"


X1 = np.ones((3, 2))


@pytest.mark.parametrize(
    "X, y, options, said",
    [
        (X1, [1, 2], {}, "y must hold one number for each of the 3 rows"),
        (X1, [[1], [2], [3]], {}, "y must hold one number"),
        (X1, ["a", "b", "c"], {}, "number the classes"),
        (X1, [1, np.nan, 2], {}, r"y\[1\] is nan"),
        (np.array([[1, 2], [3, np.inf], [5, 6]]), [1, 2, 3], {}, r"X\[1, 1\] is inf"),
        (np.ones(3), [1, 2, 3], {}, "X"),
        ([["a", "b"]], [1], {}, "X cannot be written"),
        (X1, [1, 2, 3], {"qid": [1, 2]}, "qid must hold one whole number"),
        (X1, [1, 2, 3], {"qid": [1.0, 2.0, 3.0]}, "qid must hold one whole number"),
        (X1, [1, 2, 3], {"qid": [1, 2, 1]}, "the rows of qid 1 do not stand together: row 2"),
        (X1, [1, 2, 3], {"index_base": 2}, "index_base must be 0 or 1"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(tmp_path, X, y, options, said):
    path = tmp_path / "data.svm"
    path.write_text("as it was")
    with pytest.raises(fenchel.InvalidData, match=said):
        write_svmlight(path, X, y, **options)
    assert path.read_text() == "as it was" and os.listdir(tmp_path) == ["data.svm"]


def test_a_matrix_broken_behind_scipys_back_is_not_written(tmp_path):
    """FAULTS #12."""
    X = sparse.csr_array(X1)
    X.indices = np.array([0, 1, 0, 7, 0, 1], dtype=np.int32)
    with pytest.raises(fenchel.InvalidData, match="X cannot be written"):
        write_svmlight(tmp_path / "data.svm", X, [1, 2, 3])
    X = sparse.csr_array(X1)
    X.indptr = np.array([0, 4, 2, 6], dtype=np.int32)
    with pytest.raises(fenchel.InvalidData, match="X cannot be written"):
        write_svmlight(tmp_path / "data.svm", X, [1, 2, 3])


def test_the_kernel_refuses_arrays_that_do_not_fit():
    start, column = np.array([0, 1]), np.array([0], dtype=np.int32)
    value, label = np.array([1.0]), np.array([1.0])
    good = (start, column, value, label, None, 1, 0, 1)
    assert _kernels.svmlight_text(*good) == b"1 1:1\n"
    for place, wrong in [
        (0, np.array([0, 2])), (0, np.array([0])), (0, np.array([-1, 1])), (0, np.array([1, 0])),
        (2, np.zeros(0)), (3, np.zeros(2)), (4, np.array([1, 2])), (6, 2), (7, 2),
    ]:  # fmt: skip
        with pytest.raises(ValueError):
            _kernels.svmlight_text(*good[:place], wrong, *good[place + 1 :])


@pytest.mark.slow
def test_reading_costs_no_more_memory_than_the_result_and_a_block(file):
    """The text is not kept: peak memory is the arrays, and some blocks and chunks."""
    path = file(("1 " + " ".join(f"{j}:0.1234567" for j in range(1, 200)) + "\n") * 20_000)
    size = path.stat().st_size
    code = f"""
import re
from fenchel.data.svmlight import read_svmlight
status = lambda: open("/proc/self/status").read()  # ru_maxrss starts with that of the parent
peak = lambda: 1024 * int(re.search("VmHWM: *\t *([0-9]+)", status())[1])
before = peak()
X, y = read_svmlight({str(path)!r}, n_threads=1)
print(peak() - before, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes + 16 * len(y))
"""
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    peak, result = map(int, run.stdout.split())
    assert size > 40_000_000 and peak < 1.2 * result + 5 * svmlight._BLOCK
