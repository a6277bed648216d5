"""`fenchel.plot`: what a run proved, against time and passes over the data."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from fenchel.errors import InvalidData
from fenchel.files import destination, replacing
from fenchel.report.curves import Curve, curves
from fenchel.result import Result

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
    results: Result | Mapping[str, Result],
    path: str | os.PathLike[str] | None = None,
    *,
    title: str = "",
    settings: Mapping[str, object] | None = None,
) -> Figure:
    """Draws objective, lower bound and gap against seconds and passes over the data.

    Takes one result, or several under their names. With a `path` it also writes a picture (.png,
    .svg, .pdf) or a page that works without a network (.html), in which `settings` are listed.
    """
    check_path(path)
    drawn = curves(results)
    from fenchel.report import figure

    drawing = figure.draw(drawn, title)
    if path is not None:
        with replacing(path) as file:
            _write(file, _kind(path), drawing, drawn, title, settings or {})
    return drawing


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
    return "" if path is None else Path(path).suffix.lower()


def _write(
    file: BinaryIO,
    kind: str,
    drawing: Figure,
    drawn: list[Curve],
    title: str,
    settings: Mapping[str, object],
) -> None:
    if kind == ".html":
        from fenchel.report import page

        file.write(page.compose(drawn, title, settings).encode())
    else:
        from fenchel.report import figure

        figure.save(drawing, file, kind[1:])
