"""Training across owners: `--engine owners:FILE`, a file with the URL of an owner a line."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fenchel.cli.exits import UsageError
from fenchel.cli.settings import Settings
from fenchel.cli.sources import STDIN, Files
from fenchel.cli.terminal import Terminal, short

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset
    from fenchel.engines.owners import Owners

_PREFIX = "owners:"
_FILES = ("certificate", "key", "authority")
_TLS = "tls://"
_OF_ROWS = {
    "balanced": False,
    "stream": None,
    "target": None,
    "index_base": None,
    "offset": None,
    "exposure": None,
    "format": None,
}  # and what leaves them out


@dataclass(frozen=True)
class Owned:
    """Rows that stay with their owners; the fields are those of a data set."""

    X: Owners
    classes: tuple[float | str, ...] | None
    feature_names: tuple[str, ...] | None
    index_base: int | None
    y: None = None
    qid: None = None


def named(settings: Settings) -> bool:
    """Whether the settings ask for owners."""
    return (settings.engine or "").startswith(_PREFIX)


def settled(settings: Settings) -> Settings:
    """The settings with paths that hold wherever the job goes on, if they fit together."""
    given = {name: getattr(settings, name) for name in _FILES if getattr(settings, name)}
    if not named(settings):
        _check_tls(settings, given)
        return msgspec.structs.replace(settings, **_absolute(given))
    for name, without in _OF_ROWS.items():
        if getattr(settings, name) != without:
            flag = name.replace("_", "-")
            raise UsageError(f"--{flag} is a matter of rows, which stay with their owners")
    paths = _absolute({"engine": (settings.engine or "").removeprefix(_PREFIX)} | given)
    paths["engine"] = f"{_PREFIX}{paths['engine']}"
    return msgspec.structs.replace(settings, **paths)


def _check_tls(settings: Settings, given: dict[str, str]) -> None:
    """Refuses files for TLS where nobody speaks it, or half of what a cluster needs."""
    tls = (settings.engine or "").startswith(_TLS)
    for name in given if not tls else ():
        raise UsageError(
            f"--{name} is for owners and clusters: give --engine {_PREFIX}FILE, with their URLs, "
            f"or --engine {_TLS}scheduler:8786"
        )
    if given and not {"authority", "certificate"} <= set(given):
        raise UsageError(
            "--authority and --certificate go together: a cluster that speaks TLS believes those, "
            "and is believed, whose certificates are of one authority"
        )


def _absolute(files: dict[str, str]) -> dict[str, str]:
    """The paths from wherever one is; all files must be there."""
    for name, path in files.items():
        if not os.path.isfile(path):
            raise UsageError(f"--{name}: there is no file {path!r}")
    return {name: os.path.abspath(path) for name, path in files.items()}


def source(data: Files | None, settings: Settings) -> list[str]:
    """Where the rows are: files, stdin or owners."""
    if named(settings):
        if data is not None:
            raise UsageError(
                f"with --engine {_PREFIX}FILE the rows are the owners': leave out {data}"
            )
        return [settings.engine or ""]
    if data is None:
        raise UsageError(f"no DATA: give a file, or --engine {_PREFIX}FILE for the rows of owners")
    return [str(path if path == STDIN else path.absolute()) for path in data.paths]


def read(settings: Settings, terminal: Terminal, *, loss: str) -> tuple[Dataset, float]:
    """The owners, asked for their shapes, and the seconds that took; they must serve the loss."""
    from fenchel.engines.owners import Owners
    from fenchel.engines.urls import read_urls

    urls = read_urls(short((settings.engine or "").removeprefix(_PREFIX)))
    owners = Owners(urls, **{name: getattr(settings, name) for name in _FILES})
    with terminal.step(f"ask {len(urls)} owner{'s' * (len(urls) > 1)}") as step:
        first, (n_rows, n_features) = owners.shapes[0], owners.shape
        step.found = f"{n_rows:,} rows, {n_features:,} features"
    if first.loss != loss:
        raise UsageError(f"the owners serve --loss {first.loss}; got --loss {loss}")
    X: Any = owners
    owned = Owned(X, first.classes, first.feature_names, first.index_base)
    return cast("Dataset", owned), step.seconds
