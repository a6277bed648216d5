"""The tables of losses in the docs, made from the table of losses.

`python tests/documents.py` writes them between their markers; a test fails where they are not what
it would write.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from fenchel.losses.table import TABLE, Row

ROOT = Path(__file__).parent.parent
START, END = "<!-- losses: written by tests/documents.py -->", "<!-- /losses -->"


def groups() -> list[list[Row]]:
    """Rows that stand together and are for the same."""
    return [list(rows) for _, rows in itertools.groupby(TABLE, key=lambda row: row.purpose)]


def code(names: list[str]) -> str:
    return ", ".join(f"`{name}`" for name in dict.fromkeys(names))


def options(rows: list[Row]) -> str:
    """The options of a group, each with the losses that take it if not all of them do."""
    takers: dict[str, list[str]] = {}
    for row in rows:
        for option in row.options:
            takers.setdefault(option.name, []).append(row.name)
    return ", ".join(
        code([name]) + (f" ({', '.join(losses)})" if len(losses) < len(rows) else "")
        for name, losses in takers.items()
    )


def for_python() -> list[str]:
    lines = ["| `loss=` | options | for | fitted by |", "|---|---|---|---|"]
    for rows in groups():
        names = code([row.name for row in rows])
        fitted_by = code([row.estimator or "problem" for row in rows])
        lines.append(f"| {names} | {options(rows)} | {rows[0].purpose} | {fitted_by} |")
    return lines


_FILES = {"taxonomy": "--taxonomy", "cost": "--label-costs"}  # options that are files


def for_the_command_line() -> list[str]:
    lines = ["| `--loss` | fits | options |", "|---|---|---|"]
    for rows in groups():
        names = code([name for row in rows for name in row.command_names])
        flags = [f"--{flag.name.replace('_', '-')}" for row in rows for flag in row.flags]
        options = {option.name for row in rows for option in row.options}
        flags += [flag for name, flag in _FILES.items() if name in options]
        if rows[0].estimator == "Classifier":
            flags.append("--balanced")
        lines.append(f"| {names} | {rows[0].purpose} | {code(flags)} |")
    return lines


DOCUMENTS = {
    "docs/reference/losses.md": for_python,
    "docs/reference/command-line.md": for_the_command_line,
}


def written(document: str) -> str:
    """The document as it should be."""
    text = (ROOT / document).read_text()
    before, rest = text.split(START)
    after = rest.split(END)[1]
    return "\n".join([before + START, *DOCUMENTS[document](), END + after])


if __name__ == "__main__":
    for document in DOCUMENTS:
        (ROOT / document).write_text(written(document))
