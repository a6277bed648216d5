"""`fenchel.plot`: what a run proved, against time and passes over the data."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from fenchel._system.files import destination, replacing
from fenchel.errors import InvalidData
from fenchel.report.curves import curves
from fenchel.report.lines import Lines, lines
from fenchel.result import Path, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NEEDS = {
    "": ("matplotlib",),
    ".png": ("matplotlib",),
    ".svg": ("matplotlib",),
    ".pdf": ("matplotlib",),
    ".html": ("matplotlib", "altair", "vl_convert"),
}


def plot(
    results: Result | Path | Mapping[str, Result],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    settings: Mapping[str, object] | None = None,
) -> Figure:
    """Draws objective, lower bound and gap against seconds and passes over the data.

    Takes one result, or several under their names. Of a path it draws the largest coefficients and
    the gap against strength. With a `path` it also writes a picture (.png, .svg, .pdf) or a page
    that works without a network (.html), in which `settings` are listed.
    """
    check_path(path)
    if isinstance(results, Path):
        return plot_lines(
            lines(results, features=results.feature_names), path, title=title, settings=settings
        )
    drawn = curves(results)
    from fenchel.report import figure

    def page() -> str:
        from fenchel.report import page

        return page.compose(drawn, title, settings or {})

    return _written(figure.draw(drawn, title), path, page)


def plot_lines(
    drawn: Lines,
    path: str | os.PathLike[str] | None,
    *,
    title: str,
    settings: Mapping[str, object] | None,
) -> Figure:
    """The same for what is known of a path."""
    from fenchel.report import path_figure

    def page() -> str:
        from fenchel.report import path_page

        return path_page.compose(drawn, title, settings or {})

    return _written(path_figure.draw(drawn, title), path, page)


def check_path(path: str | os.PathLike[str] | None) -> None:
    """Raises unless `plot` can write there; to be called before long work that ends in a plot."""
    kind = _kind(path)
    if path is not None:
        if kind not in _NEEDS or not kind:
            raise InvalidData(
                f"cannot plot to {os.fspath(path)}: its name must end in one of "
                f"{', '.join(filter(None, _NEEDS))}"
            )
        destination(path)
    for package in _NEEDS[kind]:
        _require(package)


def _require(package: str) -> None:
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f'plots need {package}, which could not be imported; pip install "fenchel[plot]"'
        ) from error


def _kind(path: str | os.PathLike[str] | None) -> str:
    return "" if path is None else PurePath(path).suffix.lower()


def _written(
    drawing: Figure, path: str | os.PathLike[str] | None, page: Callable[[], str]
) -> Figure:
    if path is not None:
        with replacing(path) as file:
            if _kind(path) == ".html":
                file.write(page().encode())
            else:
                from fenchel.report import figure

                figure.save(drawing, file, _kind(path)[1:])
    return drawing
