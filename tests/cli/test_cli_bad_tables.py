"""Tables that something is wrong with: an error that says where, or what the docs say is done.

A line for each kind: the file, the flags, and what is said; `line` of an error is in the file.
"""

# ruff: noqa: E501  (a line for each kind)
from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import pytest
from commands import Command

GOOD = "a,b,y\n1,u,0\n2,v,1\n3,u,0\n4,v,1\n5,u,1\n"
FAR = (
    "a,b,y\n" + f"1,{'u' * 100_000},0\n2,{'v' * 100_000},1\n" * 22
)  # more than the head that is looked at


@dataclass
class Bad:
    """A table, and where its error is or, if it is no error, what is said of it."""

    kind: str
    content: str | bytes
    said: str
    line: int | None = None  # None: an error of the whole file
    flags: str = ""
    name: str = "t.csv"
    fine: bool = field(default=False, kw_only=True)


def body(*rows: str, header: str = "a,b,y") -> str:
    return "\n".join([header, *rows]) + "\n"


ERRORS = [
    Bad("empty file", "", "the file is empty"),
    Bad("blank lines only", "\n\n  \n", "the file is empty"),
    Bad("header only", "a,b,y\n", "it has no rows"),
    Bad("ragged row, short", GOOD + "6,u\n", "2 fields where the first row has 3", 7),
    Bad("ragged row, long", GOOD + "6,u,1,9\n", "4 fields where the first row has 3", 7),
    Bad("quote never closed", GOOD + '6,"u,1\n7,v,0\n', "is not closed?", 7),
    Bad("mixed types", body("1,u,0", "2,u,1", "oops,v,0", "4,v,1"), "column 'a' holds numbers, but for 1 row, the first with 'oops'", 4),
    Bad("question marks", body("1,u,0", "?,u,1", "3,v,0", "4,v,1"), "--na ?", 3),
    Bad("units in cells", body("1,u,0", "2,u,1", "3 kg,v,0", "4,v,1"), "'3 kg' in row 2", 4),
    Bad("spreadsheet errors", body("1,u,0", "#DIV/0!,u,1", "3,v,0", "4,v,1"), "'#DIV/0!'", 3),
    Bad("currency", body("$5,u,0", "2,u,1", "3,v,0", "4,v,1"), "'$5'", 2),
    Bad("duplicated header row", GOOD + "a,b,y\n" + "7,u,1\n", "column 'a' has its own name in row 5: a second header", 7),
    Bad("duplicate column names", "a,a,y\n1,2,0\n3,4,1\n", "columns 0 and 1 are both called 'a'"),
    Bad("names that differ in blanks", "a, a,y\n1,2,0\n3,4,1\n", "both called 'a'"),
    Bad("a column without a name", ",a,y\n0,1,0\n1,2,1\n", "column 0 has no name"),
    Bad("all columns empty", "a,b,y\n,,0\n,,1\n", "all its columns are empty"),
    Bad("only the target", "y\n0\n1\n", "it has 0 feature columns"),
    Bad("infinite value", body("1,u,0", "inf,v,1", "3,u,0"), "column 'a' holds 1 values that are infinite", 3),
    Bad("number beyond doubles", body("1,u,0", "1e400,v,1", "3,u,0", "4,u,1"), "infinite", 3),
    Bad("target missing", GOOD, "no column 'z': it has 'a', 'b', 'y'", flags="--target z"),
    Bad("target misspelt", "a,price\n1,2\n2,3\n", "did you mean 'price'?", flags="--target prce"),
    Bad("target with missing cells", GOOD + "6,u,\n", "the target 'y' has 1 missing value (null or nan), the first in row 5", 7),
    Bad("target with missing text", body("1,u,yes", "2,v,no", "3,u,NA"), "the target 'y' has 1 missing value", 4),
    Bad("target infinite", GOOD + "6,u,inf\n", "column 'y' holds 1 values that are infinite", 7, "--loss squared_error"),
    Bad("target of dates", "a,y\n1,2024-01-01\n2,2024-01-02\n", "the target 'y' holds dates"),
    Bad("target that is text, for numbers", body("1,u,3", "2,v,x", "3,u,4"), "x", None, "--loss squared_error"),
    Bad("one class", body("1,u,1", "2,v,1", "3,u,1"), "class", None),
    Bad("negative counts", body("1,u,1", "2,v,-1", "3,u,1"), "-1", 3, "--loss poisson"),
    Bad("weights negative", "a,w,y\n1,1,0\n2,-3,1\n3,1,0\n", "column 'w' holds weights, which must not be negative; in row 1 it is -3", 3, "--weight w"),
    Bad("weights missing", "a,w,y\n1,1,0\n2,,1\n3,1,0\n", "column 'w' has 1 missing value", 3, "--weight w"),
    Bad("weights that are text", "a,w,y\n1,1,0\n2,x,1\n3,1,0\n", "column 'w' has 'x' in row 1: no number", 3, "--weight w"),
    Bad("weights all zero", "a,w,y\n1,0,0\n2,0,1\n3,0,0\n", "weight", None, "--weight w"),
    Bad("weight column missing", GOOD, "no column 'w' of weights", flags="--weight w"),
    Bad("weight that is the target", GOOD, "cannot be both weight and the target", flags="--weight y --target y"),
    Bad("exposure zero", "a,e,y\n1,1,0\n2,0,1\n3,1,0\n", "exposures, which must be > 0; in row 1 it is 0", 3, "--loss poisson --exposure e"),
    Bad("offset missing", "a,e,y\n1,1,0\n2,,1\n3,1,0\n", "column 'e' has 1 missing value", 3, "--loss poisson --offset e"),
    Bad("group not contiguous", "a,q,y\n1,7,0\n2,8,1\n3,7,1\n", "comes back after other groups", 4, "--loss ndcg --group q"),
    Bad("group missing", "a,q,y\n1,7,0\n2,,1\n3,8,1\n", "column 'q' has 1 missing value", 3, "--loss ndcg --group q"),
    Bad("not UTF-8", "a,b,y\n1,u,0\n2,caf\xe9,1\n".encode("latin-1"), "not UTF-8", 3),
    Bad("not UTF-8, far down", FAR.encode() + b"2,caf\xe9,1\n", "column 'b' holds bytes that are not UTF-8", 46),
    Bad("UTF-16", GOOD.encode("utf-16"), "this looks like UTF-16"),
    Bad("NUL bytes", body("1,u,0", "2,v\0,1", "3,u,0"), "NUL byte", 3),
    Bad("a spreadsheet", b"PK\x03\x04" + b"\0" * 50, "zip archive"),
    Bad("a pickle", b"\x80\x04" + b"\0" * 50, "pickle"),
    Bad("Parquet named .csv", b"PAR1" + b"\0" * 50, "name it .parquet"),
    Bad("a page of the web", "<html><body>404</body></html>", "XML or HTML"),
    Bad("JSON", '{"a": 1}\n', "JSON"),
    Bad("damaged gzip", b"\x1f\x8b\x08\x00" + b"\0" * 20, "the compressed data", name="t.csv.gz"),
    Bad("not Parquet", "a,b\n1,2\n", "no readable Parquet file", name="t.parquet"),
    Bad("dates nobody asked for", "d,y\n2024-01-31,0\n2024-02-01,1\n", "column 'd' holds dates or times: take them as numbers of days with --dates d", 2),
    Bad("dates of another kind", "d,y\n31/01/2024,0\n01/02/2024,1\n", "what may be dates", 3),
    Bad("no date among dates", "d,y\n2024-01-31,0\nlast week,1\n", "is to hold dates, but has 'last week' in row 1", 3, "--dates d"),
    Bad("thousands separators", 'a,y\n"1,234",0\n"22,345",1\n', "--decimal , or --decimal .", 2),
    Bad("decimal commas with commas", 'a,y\n"1,25",0\n"22,5",1\n', "--decimal , or --decimal .", 2),
    Bad("decimal comma and point", 'a;y\n1,25;0\n2.5;1\n3,5;1\n', "--decimal", None),
    Bad("text of its own in each row", body(*(f"{i},name {i},{i % 2}" for i in range(30))), "column 'b' has another text in each of the 30 rows"),
    Bad("missing values refused", body("1,u,0", ",v,1", "3,u,0"), "column 'a' has 1 missing value, the first in row 1", 3, "--missing refuse"),
    Bad("missing text refused", body("1,u,0", "2,,1", "3,u,0"), "column 'b' has 1 missing value", 3, "--missing refuse"),
    Bad("ignored column missing", GOOD, "no column 'c' to leave out", flags="--ignore c"),
    Bad("a column both left out and taken", GOOD, "column 'a' cannot be both", flags="--columns a,b --ignore a"),
    Bad("dates and text at once", GOOD, "both as dates and as text", flags="--dates b --categorical b"),
]  # fmt: skip

TREATED = [
    Bad("byte order mark", b"\xef\xbb\xbf" + GOOD.encode(), "target: 'y', by its name", fine=True),
    Bad("Windows line ends", GOOD.replace("\n", "\r\n"), "5 rows", fine=True),
    Bad("old Macintosh line ends", GOOD.replace("\n", "\r"), "5 rows", fine=True),
    Bad("semicolons", GOOD.replace(",", ";"), "5 rows", fine=True),
    Bad("tabs in a .csv", GOOD.replace(",", "\t"), "5 rows", fine=True),
    Bad("commas in a .tsv", GOOD, "5 rows", name="t.tsv", fine=True),
    Bad("a table without a suffix", GOOD, "5 rows", name="t.data", fine=True),
    Bad("blank lines between", GOOD.replace("\n", "\n\n"), "5 rows", fine=True),
    Bad("blanks around cells", GOOD.replace(",", " , "), "1 of text with 2 levels", fine=True),
    Bad("single quotes", GOOD.replace("u", "'u'").replace("v", "'v'"), "1 of text with 2 levels", fine=True),
    Bad("quoted numbers", 'a,y\n"1",0\n"2",1\n', "2 rows, 1 features", fine=True),
    Bad("line ends in quotes", 'a,b,y\n1,"u\nu",0\n2,v,1\n', "2 rows", fine=True),
    Bad("no header", "1,u,0\n2,v,1\n3,u,0\n", "the target is a guess: '2', the last column", fine=True),
    Bad("target by its place", "a,b,c\n1,u,0\n2,v,1\n", "the target is a guess: 'c', the last column", fine=True),
    Bad("missing numbers", body("1,u,0", ",v,1", "NA,u,0", "4,v,1"), "missing values were filled: 'a' in 2 rows", fine=True),
    Bad("missing text", body("1,u,0", "2,,1", "3,u,0"), "missing values were filled: 'b' in 1 row", fine=True),
    Bad("words for missing", body("1,u,0", "?,v,1", "3,u,0"), "'a' in 1 row", flags="--na ?", fine=True),
    Bad("all-missing column", "a,b,c,y\n1,,u,0\n2,,v,1\n3,,u,1\n", "column 'b' has no values at all, and is left out", fine=True),
    Bad("constant column", "a,b,y\n1,5,0\n2,5,1\n", "2 rows", fine=True),
    Bad("decimal commas", "a;b;y\n1,5;u;0\n2,5;v;1\n", "decimal commas", fine=True),
    Bad("thousands by request", 'a,y\n"1,234.5",0\n"22,345",1\n', "1 of numbers", flags="--decimal . --scale", fine=True),
    Bad("decimal commas by request", 'a,y\n"1.234,5",0\n"2",1\n', "1 of numbers", flags="--decimal , --scale", fine=True),
    Bad("huge integers", "a,y\n123456789012345678901234567890,0\n1,1\n", "2 rows", flags="--scale", fine=True),
    Bad("truth values", "a,b,y\ntrue,u,0\nFalse,v,1\n", "1 of numbers, 1 of text", fine=True),
    Bad("dates as days", "d,y\n2024-01-31,0\n2024-02-01 12:00,1\n", "2 rows, 1 features", flags="--dates d", fine=True),
    Bad("times as parts of days", "d,y\n12:30:00,0\n14:00:00,1\n", "2 rows, 1 features", flags="--dates d", fine=True),
    Bad("codes as levels", "a,y\n01,0\n02,1\n01,0\n", "1 of text with 2 levels", flags="--categorical a", fine=True),
    Bad("codes with letters", "a,y\n1,0\nV2,1\nV3,0\n", "1 of text with 3 levels", fine=True),
    Bad("a column for the rows", body(*(f"{i},name {i},{i % 2}" for i in range(30))), "30 rows, 1 features", flags="--ignore b", fine=True),
    Bad("a name with a comma", '"a,b",c,y\n1,u,0\n2,v,1\n', "2 rows, 1 features", flags="--columns a,b", fine=True),
    Bad("groups that are text", "a,q,y\n1,x,0\n2,x,1\n3,w,1\n4,w,0\n", "4 rows, 1 features", flags="--loss ndcg --group q", fine=True),
    Bad("classes that are text", "a,y\n1,no\n2,yes\n3,yes\n", "classes: no is -1, yes is +1", fine=True),
    Bad("most rows differ", body(*(f"{i},name {i},{i % 2}" for i in range(150)), "151,name 3,0"), "150 levels in 151 rows", fine=True),
]  # fmt: skip


@pytest.mark.parametrize("bad", ERRORS + TREATED, ids=lambda bad: bad.kind)
def test_a_bad_table_gets_an_error_with_its_place_or_what_the_docs_say(run: Command, bad: Bad):
    content = bad.content.encode() if isinstance(bad.content, str) else bad.content
    Path(bad.name).write_bytes(content)
    done = run("train", bad.name, "-o", "m", "--strength", "1", *bad.flags.split())
    assert bad.said in done.err, done.err
    assert "fault of fenchel" not in done.err
    assert (done.code == 0) == bad.fine, done.err
    assert Path(bad.name).read_bytes() == content
    if not bad.fine:
        place = bad.name if bad.line is None else f"{bad.name}:{bad.line}:"
        assert place in done.err, done.err
        assert not Path("m").exists()
