"""What the pages of the site take from the program itself when the site is built (mkdocs.yml).

`<!-- help -->` becomes the reference of all commands, from the same source as `--help`;
`<!-- names: fenchel.losses -->` the documentation of all public names of a module; and
`docs/explanation/certificates.md` in a docstring a link to that page.
"""

from __future__ import annotations

import html
import importlib
import inspect
import itertools
import os
import re
from collections.abc import Iterator
from typing import Any

PANELS_LAST = "Options"  # what typer calls options without a panel: --help


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page with what is generated in its place."""
    if "<!-- help -->" in markdown:
        markdown = markdown.replace("<!-- help -->", "\n".join(commands()))
    return re.sub(r"<!-- names: ([\w.]+) -->", lambda found: names(found[1]), markdown)


def on_page_content(html_text: str, *, page: Any, files: Any, **_: Any) -> str:
    """The page with links for the names of pages that docstrings mention."""

    def linked(found: re.Match[str]) -> str:
        file = files.get_file_from_path(found[1])
        if file is None:
            raise FileNotFoundError(f"{page.file.src_uri}: no page docs/{found[1]}")
        here = os.path.dirname(page.file.dest_uri) or "."
        title = os.path.splitext(os.path.basename(found[1]))[0].replace("-", " ")
        return f'<a href="{os.path.relpath(file.dest_uri, here)}">{title}</a>'

    if not page.file.src_uri.startswith("reference/api/"):
        return html_text
    return re.sub(r"docs/([\w/-]+\.md)", linked, html_text)


def names(module: str) -> str:
    """Directives for the classes and functions that a module lists."""
    found = importlib.import_module(module)
    kinds = [getattr(found, name) for name in found.__all__]
    ours = [each for each in kinds if inspect.isclass(each) or inspect.isfunction(each)]
    paths = [f"{each.__module__}.{each.__qualname__}" for each in ours]
    return "\n\n".join(f"::: {path}" for path in paths if path.startswith("fenchel."))


def commands() -> Iterator[str]:
    """A section for each command: usage, what it does, its flags by panel."""
    import typer

    from fenchel.cli import app

    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        context = typer.Context(command, info_name=f"fenchel {name}")
        usage = command.get_usage(context).removeprefix("Usage:").strip()
        about = re.sub(r"\n(?!\n)", " ", command.help or "")
        yield f"\n## fenchel {name}\n\n```\n{usage}\n```\n\n{plain(about)}\n"
        yield from flags(command, context)


def flags(command: Any, context: Any) -> Iterator[str]:
    def panel(parameter: Any) -> str:
        usual = "Arguments" if parameter.param_type_name == "argument" else PANELS_LAST
        return parameter.rich_help_panel or usual

    shown = [each for each in command.params if not getattr(each, "hidden", False)]
    shown.sort(key=lambda each: (panel(each) == PANELS_LAST, panel(each) != "Arguments"))
    grouped: dict[str, list[Any]] = {}
    for each in shown:
        grouped.setdefault(panel(each), []).append(each)
    for title, parameters in grouped.items():
        rows = [each.get_help_record(context) for each in parameters]
        yield f"\n| {title} | |\n|---|---|"
        yield from (f"| `{cell(flag)}` | {plain(cell(text))} |" for flag, text in rows if text)


def cell(text: str) -> str:
    return text.replace("|", r"\|")


def plain(text: str) -> str:
    """Text of a terminal as Markdown: nothing in it is markup."""
    text = html.escape(re.sub(r"\s+\[required\]", "", text), quote=False)
    return "".join(
        part if code else re.sub(r"([*_\[\]])", r"\\\1", part)
        for part, code in zip(
            re.split(r"(`[^`]*`)", text), itertools.cycle((False, True)), strict=False
        )
    )
