"""Rows that stay in their files: asked for by --stream, or as workers elsewhere can read them."""

from __future__ import annotations

import msgspec

from fenchel.cli import places, raw, several
from fenchel.cli.choices import RANKING, SEQUENCES
from fenchel.cli.exits import UsageError
from fenchel.cli.settings import Settings
from fenchel.cli.sources import Files


def check(data: Files | None, loss: str) -> None:
    """Refuses to stream what is no file of rows whose name says what it is."""
    if loss in SEQUENCES:
        raise UsageError(
            f"--stream is for rows; the tokens of --loss {loss} are read as a whole: leave it out"
        )
    if data is not None and not _named(data):
        raise UsageError(
            "--stream reads a file of rows again in each pass: give one whose name says what it is"
        )


def check_fit(data: Files | None, loss: str) -> None:
    """Refuses to fit, while its rows stay in the files, what is read with all of them."""
    check(data, loss)
    if loss in several.LOSSES:
        raise UsageError(
            f"--loss {loss} has several targets a row, which are read with all rows: leave out "
            "--stream"
        )


def _named(data: Files) -> bool:
    return not data.is_stdin and data.kind is None


def able(data: Files) -> bool:
    """Whether these files can be streamed, by their names."""
    from fenchel.data.files import streamable

    return _named(data) and all(map(streamable, data.paths))


def stay(data: Files, settings: Settings) -> bool:
    """Whether the rows are left in their files, as those of a store always are."""
    from fenchel.data.compression import suffixes

    return bool(settings.stream) or any(suffixes(path)[0] == ".store" for path in data.paths)


def settled(settings: Settings, data: Files | None) -> tuple[Settings, bool]:
    """The settings, and whether workers are to read the rows once and to keep them in memory.

    So they do, where nothing was said, with Parquet whose columns are complete numbers: what is
    made of others is known here alone. The rows are then streamed, as far as this process goes.
    """
    if settings.stream:
        check_fit(data, settings.loss)
    elif settings.stream is None and data is not None and _readable_by_workers(data, settings):
        return msgspec.structs.replace(settings, stream=True), True
    return settings, False


def _readable_by_workers(data: Files, settings: Settings) -> bool:
    from fenchel.data.compression import suffixes

    if not places.on_dask(settings) or not _named(data) or raw.asked(settings):
        return False
    whole = (*SEQUENCES, *several.LOSSES, *RANKING)  # or with groups, which no block may part
    parquet = all(suffixes(path) == (".parquet", "") for path in data.paths)
    return settings.loss not in whole and parquet and raw.complete_numbers(data, settings)
