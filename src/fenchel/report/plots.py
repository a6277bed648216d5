"""`fenchel.plot`: what a run proved, against time and passes over the data."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from pathlib import PurePath
from typing import TYPE_CHECKING

from fenchel._system.files import destination, replacing
from fenchel.errors import InvalidData
from fenchel.report import curves as runs
from fenchel.report import lines as paths
from fenchel.report.scene import Scene
from fenchel.result import Path, Result

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = (".png", ".svg", ".pdf", ".html")
_BY_MATPLOTLIB = (".png", ".pdf")


def plot(
    results: Result | Path | Mapping[str, Result],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    settings: Mapping[str, object] | None = None,
) -> Figure:
    """Draws objective, lower bound and gap against seconds and passes over the data.

    Takes one result, or several under their names, of which it draws how far each is from the
    minimum at most, by the best lower bound of all, unless their bounds show that they are not of
    one problem. Of a path it draws the largest coefficients and the gap against strength. With a
    `path` it also writes a picture (.png, .svg, .pdf) or a page that works without a network
    (.html), in which `settings` are listed.
    """
    check_path(path)
    _require("matplotlib")
    from fenchel.report import figure

    if isinstance(results, Path):
        drawn = paths.lines(results, features=results.feature_names)
        if path is not None:
            write_lines(drawn, path, title=title, settings=settings)
        return figure.draw(paths.scene(drawn, title))
    curves = runs.curves(results)
    if path is not None:
        write_curves(curves, path, title=title, settings=settings)
    return figure.draw(runs.scene(curves, title))


def write_curves(
    drawn: list[runs.Curve],
    path: str | os.PathLike[str],
    *,
    title: str = "",
    settings: Mapping[str, object] | None = None,
) -> None:
    """Writes the picture or the page of runs; needs matplotlib for .png and .pdf alone."""

    def page() -> str:
        from fenchel.report import page

        return page.compose(drawn, title, settings or {})

    _write(runs.scene(drawn, title), path, page)


def write_lines(
    drawn: paths.Lines,
    path: str | os.PathLike[str],
    *,
    title: str = "",
    settings: Mapping[str, object] | None = None,
) -> None:
    """The same for what is known of a path."""

    def page() -> str:
        from fenchel.report import path_page

        return path_page.compose(drawn, title, settings or {})

    _write(paths.scene(drawn, title), path, page)


def check_path(path: str | os.PathLike[str] | None) -> None:
    """Raises unless a plot can be written there; to be called before long work that ends in one."""
    if path is None:
        return
    if _kind(path) not in _KINDS:
        raise InvalidData(
            f"cannot plot to {os.fspath(path)}: its name must end in one of {', '.join(_KINDS)}"
        )
    destination(path)
    if _kind(path) in _BY_MATPLOTLIB:
        _require("matplotlib")


def _require(package: str) -> None:
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f'plots need {package}, which could not be imported; pip install "fenchel[plot]"'
        ) from error


def _kind(path: str | os.PathLike[str]) -> str:
    return PurePath(path).suffix.lower()


def _write(scene: Scene, path: str | os.PathLike[str], page: Callable[[], str]) -> None:
    with replacing(path) as file:
        if _kind(path) == ".html":
            file.write(page().encode())
        elif _kind(path) == ".svg":
            from fenchel.report import svg

            file.write(svg.drawn(scene).encode())
        else:
            from fenchel.report import figure

            figure.save(figure.draw(scene), file, _kind(path)[1:])
