"""The binary sets of the paper's experiments: rows for training, columns, share of zeros."""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.tables import counted

TITLE = "Table 1: the binary data sets"
CLAIM = "Seven sets with these sizes."
HERE = """Covertype whole, Adult, MNIST in two classes and Leukemia (both of its parts in one file)
are the paper's; w8a, 20 newsgroups and imdb stand for CCAT, Astro-physics and Real-sim."""
WHY = "Covertype is whole here, and Leukemia has training and test samples in one file."

PRINTED = {
    "covtype": (522911, 54, 77.8),
    "mnist-binary": (60000, 780, 80.8),
    "a9a": (32561, 123, 88.7),
    "leukemia": (38, 7129, 0.0),
    "w8a": (None, None, None),
    "20news": (None, None, None),
    "imdb": (None, None, None),
}
OURS = ("covtype", "mnist-binary", "a9a", "leukemia")


def runs(quick: bool) -> dict[str, Run]:
    """Counts of each set; quick: of a few rows."""
    return {name: run(counted, data=name, rows=40 if quick else None) for name in PRINTED}


def draw(found: Results) -> Sequence[Table]:
    """The paper's numbers beside ours."""
    rows = [
        [
            name,
            *("" if value is None else value for value in PRINTED[name]),
            each.get("rows"),
            each.get("columns"),
            round(100 - each.get("density", 0), 1),
        ]
        for name, each in found.items()
    ]
    head = ["set", "rows", "columns", "sparsity %", "our rows", "our columns", "our sparsity %"]
    return [Table("sizes, the paper's and ours", head, rows)]


def verdict(found: Results) -> list[Check]:
    """Which are the paper's."""
    wide = [name for name in OURS if found[name].get("columns") == PRINTED[name][1]]
    tall = [name for name in OURS if found[name].get("rows") == PRINTED[name][0]]
    sparse = [
        name
        for name in OURS
        if abs(100 - found[name].get("density", 0) - (PRINTED[name][2] or 0)) < 0.5
    ]
    return [
        Check("the four sets that we have have its columns", len(wide) == 4, f"{wide}"),
        Check("its rows", len(tall) == 4, f"{tall}"),
        Check("and its sparsity, to half a per cent", len(sparse) == 4, f"{sparse}"),
    ]
