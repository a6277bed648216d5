"""Supposed: subLBFGS loses its lead where columns outnumber rows, and not because 20 newsgroups can
be separated. So columns of 20 newsgroups are thrown together until few are left; a9a is cut down to
fewer rows than columns; and a9a gets labels that a plane separates, with all of its rows.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.contest import BMRM, SUBLBFGS, contest, lead, took

TITLE = "The experiment: fewer columns, fewer rows, separable rows"
RIVALS = {"subLBFGS": SUBLBFGS, "BMRM": BMRM}
COLUMNS = tuple(
    ("20news" + more, None) for more in (*(f", columns={4**k}" for k in range(4, 8)), "")
)
ROWS = tuple(("a9a", rows) for rows in (100, 300, 1000, 3000))
SEPARABLE = (("a9a, separable", None),)
WITHIN = 0.1


def runs(quick: bool) -> dict[tuple[str, int | None], Run]:
    """To 10 % above the minimum, at 1e-5."""
    cases = (COLUMNS[0], ROWS[0]) if quick else COLUMNS + ROWS + SEPARABLE
    return {
        (data, rows): run(
            contest,
            data=data,
            rows=100 if quick else rows,
            loss="hinge",
            strength=1e-5,
            rivals=RIVALS,
            within=WITHIN,
            seconds=1.0 if quick else 30.0,
            iterations=100 if quick else 1000,
        )
        for data, rows in cases
    }


def leads(found: Results, cases: Sequence[tuple[str, int | None]]) -> list[float]:
    """BMRM's passes over subLBFGS's, in the cases that were run."""
    return [lead(found[case], "subLBFGS", "BMRM", WITHIN) for case in cases if case in found]


def ratio(found: Results, case: tuple[str, int | None]) -> float:
    """Columns a row."""
    return found[case].get("n_parameters", 0) / found[case].get("n_rows", 1)


def draw(found: Results) -> Sequence[Panel | Table]:
    """The lead against the number of columns a row."""
    families = {"20news, columns": COLUMNS, "a9a, rows": ROWS, "a9a, separable": SEPARABLE}
    series = [
        Series(name, [ratio(found, case) for case in cases if case in found], leads(found, cases))
        for name, cases in families.items()
    ]
    rows = [
        [data, each.get("n_rows"), each.get("n_parameters"), each.get("objective")]
        + [took(each, name, "passes", WITHIN) for name in RIVALS]
        for (data, _), each in found.items()
    ]
    head = ["set", "rows", "columns", "min J", *(f"passes of {name}" for name in RIVALS)]
    panel = Panel("", "columns a row", "passes of BMRM / of subLBFGS, to 10 %", series, "xy")
    return [panel, Table("passes to 10 % above the minimum", head, rows)]


def verdict(found: Results) -> list[Check]:
    """What is supposed."""
    by_columns, by_rows, separable = (leads(found, cases) for cases in (COLUMNS, ROWS, SEPARABLE))
    told = ", ".join(f"{each:.2g}" for each in by_columns)
    return [
        Check(
            "on 20 newsgroups the lead of subLBFGS falls with every column that is added",
            all(b < a for a, b in itertools.pairwise(by_columns)) and by_columns[0] > 5,
            f"BMRM's passes are {told} times its own",
        ),
        Check(
            "on a9a it is behind with fewer rows than columns, and ahead with more",
            by_rows[0] < 1 and all(each > 1 for each in by_rows[1:]),
            ", ".join(f"{each:.2g}" for each in by_rows),
        ),
        Check(
            "where rows are many and can be separated it is ahead all the same",
            all(each > 1 for each in separable) and bool(separable),
            ", ".join(f"{each:.2g}" for each in separable),
        ),
    ]
