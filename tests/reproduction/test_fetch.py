"""benchmarks/fetch.py on small files: what it makes of them, refuses, and writes."""

import dataclasses
import functools
import gzip
import http.server
import io
import lzma
import struct
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def fetch():
    sys.path.insert(0, str(FOLDER))
    try:
        import fetch

        yield fetch
    finally:
        sys.path.remove(str(FOLDER))


ARFF = b"""% a comment
@relation mv
@attribute x1 numeric
@attribute 'x3' {brown, red, green}
@attribute x7 {no, yes}
@attribute y numeric
@data
3.5, brown, no, -13.8646
0,green, yes, 2
"""


def test_nominal_columns_become_indicators_one_if_there_are_two_values(fetch):
    assert list(fetch.arff(ARFF)) == ["-13.8646 1:3.5 2:1.0", "2.0 4:1.0 5:1.0"]


def test_letters_queries_comments_and_csv(fetch):
    letters = b"T,2,8\nA,0,1\n"
    assert list(fetch.letters(letters)) == ["20 1:2.0 2:8.0", "1 2:1.0"]
    assert list(fetch.last_letters(letters)) == []
    rows = fetch.with_queries(b"0 1:2\n1\n2 3:1\n", b"2\n1\n")
    assert list(rows) == ["0 qid:1 1:2", "1 qid:1", "2 qid:2 3:1"]
    letor = b"0 qid:7 1:0.5 #docid = GX1\n"
    assert list(fetch.without_comments(letor)) == ["0 qid:7 1:0.5"]
    assert list(fetch.last_column(b"a,b,class\n0,2.5,7\n")) == ["7 2:2.5"]


def test_images_packed_or_not(fetch):
    pixels = np.zeros((2, 784), dtype=np.uint8)
    pixels[0, 3], pixels[1, 783] = 255, 1
    images = struct.pack(">4i", 2051, 2, 28, 28) + pixels.tobytes()
    labels = struct.pack(">2i", 2049, 2) + bytes([5, 9])
    expected = ["5 4:255.0", "9 784:1.0"]
    assert list(fetch.images(images, labels)) == expected
    assert list(fetch.images(gzip.compress(images), gzip.compress(labels))) == expected


def test_a_digest_is_of_numbers_and_not_of_their_spelling(fetch):
    same = [b"1 1:0.5 3:2\n-1 2:1\n", b"1.0 1:5e-1 3:2.0\n-1 2:1.000\n"]
    assert len({fetch.digest(text) for text in same}) == 1
    others = [b"1 1:0.5 3:2\n-1 2:2\n", b"1 1:0.5 2:2\n-1 2:1\n", b"1 1:0.5 3:2\n1 2:1\n"]
    assert len({fetch.digest(text) for text in (same[0], *others)}) == 4
    assert fetch.digest(b"1 qid:1 1:1\n") != fetch.digest(b"1 qid:2 1:1\n")


def test_members_of_archives_are_found_by_the_ends_of_their_names(fetch):
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w:gz") as archive:
        content = b"a,class\n1,2\n"
        entry = tarfile.TarInfo("package-1.0/data/small.csv")
        entry.size = len(content)
        archive.addfile(entry, io.BytesIO(content))
    known = fetch.digest(b"2 1:1\n")
    source = fetch.Source("small/small", (), fetch.last_column, known, ("data/small.csv",))
    assert fetch.made(source, [file.getvalue()]) == b"2 1:1.0\n"
    with pytest.raises(ValueError, match=r"has no other\.csv"):
        fetch.made(dataclasses.replace(source, member=("other.csv",)), [file.getvalue()])


def test_other_numbers_are_not_written(fetch, tmp_path, monkeypatch, capsys):
    there = tmp_path / "source.svm"
    there.write_text("1 1:1\n")
    known = fetch.digest(b"1 1:1\n")
    good = fetch.Source("one/one", (there.as_uri(),), fetch.plain, known)
    bad = dataclasses.replace(good, file="two/two", digest="0" * 64)
    gone = dataclasses.replace(good, file="three/three", urls=((tmp_path / "no").as_uri(),))
    monkeypatch.setattr(fetch, "SOURCES", {"good": good, "bad": bad, "gone": gone})
    monkeypatch.setattr("sys.argv", ["fetch.py", "--to", str(tmp_path / "data")])
    with pytest.raises(SystemExit, match="could not get bad, gone"):
        fetch.main()
    written = [str(path.relative_to(tmp_path / "data")) for path in tmp_path.rglob("*.xz")]
    assert written == ["one/one.xz"]
    assert lzma.decompress((tmp_path / "data" / "one" / "one.xz").read_bytes()) == b"1 1:1\n"
    assert "its numbers are not those we know" in capsys.readouterr().err


def test_sources_are_fixed_and_their_files_are_those_that_are_read(fetch):
    from reproduction.data import SETS

    read = {each.file for each in SETS.values()}
    assert {"a9a/a9a", "covtype/covtype", "mnist/mnist", "letter/letter"} <= read
    for name, source in fetch.SOURCES.items():
        assert len(source.digest) == 64 and source.urls, name
        assert all(url.startswith("https://") and "/master/" not in url for url in source.urls)
        assert source.file in read or name.endswith(".t") or name.startswith("mq2008"), name


def test_the_list_needs_no_network():
    done = subprocess.run(
        [sys.executable, FOLDER / "fetch.py", "--list"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("a9a ")


@pytest.fixture
def served(tmp_path):
    """A folder over http on this machine alone."""
    folder = tmp_path / "served"
    folder.mkdir()
    handler = functools.partial(Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def test_files_and_archives_come_over_http_and_are_held_to_their_digests(
    fetch, served, tmp_path, monkeypatch, capsys
):
    folder, address = served
    (folder / "rank.train").write_text("0 1:2\n1 2:1\n")
    (folder / "rank.train.query").write_text("2\n")
    (folder / "cut").write_text("1 1:1\n")  # a file that was cut off, of two rows
    with tarfile.open(folder / "package.tgz", mode="w:gz") as archive:
        (tmp_path / "small.csv").write_text("a,class\n1,2\n")
        archive.add(tmp_path / "small.csv", "package/data/small.csv")
    plain, digest = fetch.plain, fetch.digest
    two = (f"{address}/rank.train", f"{address}/rank.train.query")
    sources = {
        "ranks": fetch.Source(
            "rank/train.svm", two, fetch.with_queries, digest(b"0 qid:1 1:2\n1 qid:1 2:1\n")
        ),
        "packed": fetch.Source(
            "packed/small",
            (f"{address}/package.tgz",),
            fetch.last_column,
            digest(b"2 1:1\n"),
            ("data/small.csv",),
        ),
        "cut": fetch.Source("cut/cut", (f"{address}/cut",), plain, digest(b"1 1:1\n-1 1:2\n")),
        "gone": fetch.Source("gone/gone", (f"{address}/404",), plain, "0" * 64),
    }
    monkeypatch.setattr(fetch, "SOURCES", sources)
    monkeypatch.setattr("sys.argv", ["fetch.py", "--to", str(tmp_path / "data")])
    with pytest.raises(SystemExit, match="could not get cut, gone"):
        fetch.main()
    told = capsys.readouterr().err
    assert "cut: its numbers are not those we know" in told and "gone: HTTP Error 404" in told
    written = sorted(path.relative_to(tmp_path / "data") for path in tmp_path.rglob("*.xz"))
    assert [str(path) for path in written] == ["packed/small.xz", "rank/train.svm.xz"]
    (folder / "package.tgz").unlink()  # what is there is not asked for again
    monkeypatch.setattr("sys.argv", ["fetch.py", "packed", "--to", str(tmp_path / "data")])
    fetch.main()
