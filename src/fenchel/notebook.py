"""Small tables in HTML, as notebooks show objects."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape


def facts(title: str, lines: Mapping[str, object]) -> str:
    """A title over lines of a name and what it is."""
    body = "".join(
        f"<tr><th style='text-align:left'>{escape(name)}</th>"
        f"<td style='text-align:left'>{escape(str(value))}</td></tr>"
        for name, value in lines.items()
    )
    return f"<table><caption>{escape(title)}</caption><tbody>{body}</tbody></table>"


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A title over columns with their heads."""
    head = "".join(f"<th>{escape(each)}</th>" for each in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    return (
        f"<table><caption>{escape(title)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{body}</tbody></table>"
    )
