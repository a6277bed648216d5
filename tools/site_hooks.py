"""What the pages of the site take from the program itself when the site is built (mkdocs.yml).

`<!-- help -->` becomes the reference of all commands, from the same source as `--help`;
`<!-- names: fenchel.losses -->` the documentation of all public names of a module;
`<!-- other names -->` that of the names of fenchel that no page of the same folder has; and
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
from pathlib import Path
from typing import Any

PRODUCT = r"<(\w+, [^<>]+)>"  # <x, w> is a product of vectors, which Markdown takes for a tag
PANELS_LAST = "Options"  # what typer calls options without a panel: --help


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page with what is generated in its place."""
    if "<!-- help -->" in markdown:
        markdown = markdown.replace("<!-- help -->", "\n".join(commands()))
    if "<!-- other names -->" in markdown:
        markdown = markdown.replace(
            "<!-- other names -->", others(Path(page.file.abs_src_path).parent)
        )
    return re.sub(r"<!-- names: ([\w.]+) -->", lambda found: names(found[1]), markdown)


def on_page_content(html_text: str, *, page: Any, files: Any, **_: Any) -> str:
    """The page with products of vectors and, in the API, links to pages that docstrings name."""

    def linked(found: re.Match[str]) -> str:
        file = files.get_file_from_path(found[1])
        if file is None:
            raise FileNotFoundError(f"{page.file.src_uri}: no page docs/{found[1]}")
        here = os.path.dirname(page.file.dest_uri) or "."
        title = os.path.splitext(os.path.basename(found[1]))[0].replace("-", " ")
        return f'<a href="{os.path.relpath(file.dest_uri, here)}">{title}</a>'

    html_text = re.sub(PRODUCT, r"&lt;\1&gt;", html_text)
    if page.file.src_uri.startswith("benchmarks/"):
        return f'<div class="figures">{html_text}</div>'
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


def others(folder: Path) -> str:
    """Directives for the public names of fenchel that no page in the folder has."""
    import fenchel.errors

    pages = "".join(path.read_text(encoding="utf-8") for path in folder.glob("*.md"))
    modules = re.findall(r"<!-- names: fenchel\.(\w+) -->", pages)
    listed = {name for each in modules for name in getattr(fenchel, each).__all__}
    listed |= set(re.findall(r"^::: fenchel\.(\w+)$", pages, re.MULTILINE))
    listed |= {"sklearn", *modules, *vars(fenchel.errors)}  # a page has all errors
    left = [name for name in fenchel.__all__ if name not in listed]
    return "\n\n".join(f"::: fenchel.{name}" for name in left)


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
        rows = [(flag(each, context), each.help or "") for each in parameters]
        yield f"\n| {title} | |\n|---|---|"
        yield from (f"| `{cell(name)}` | {plain(cell(text))} |" for name, text in rows)


def flag(parameter: Any, context: Any) -> str:
    """Its names with the kind of its value; of an argument its name alone."""
    shown, _ = parameter.get_help_record(context) or ("", "")
    return shown.partition(" ")[0] if parameter.param_type_name == "argument" else shown


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
