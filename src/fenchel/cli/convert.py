"""`fenchel convert`: from one file format to another."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from fenchel import __version__
from fenchel.cli import inputs, sources
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import Format, IndexBase, Json, Quiet, Target, Verbose
from fenchel.cli.outputs import check_writable
from fenchel.cli.terminal import Terminal, result, short, size
from fenchel.data.compression import suffixes

_TABLES = (".csv", ".tsv", ".parquet", ".npz", ".store")


class Converted(msgspec.Struct):
    """The report of `fenchel convert`."""

    version: str
    source: str
    output: str
    rows: int
    features: int | None  # null where rows were passed on without being counted
    bytes: int


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="- reads stdin.", show_default=False)
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Its suffix says how.", show_default=False)
    ],
    target: Target = None,
    index_base: IndexBase = None,
    format: Format = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Convert data between svmlight, .csv, .tsv, .parquet, .npz and .store.

    Text may be compressed: .gz, .bz2 or .xz. An .npz file is read fastest. A .store is trained on
    without being read into memory; svmlight and .parquet become one without being so either.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    given = sources.source([source], format)
    assert given is not None
    check_writable(output)
    if source.exists() and source.resolve() == output.resolve():
        raise UsageError(f"{output} is what is to be converted: give the output another name")
    with terminal.warnings():
        streamed, kind = suffixes(output)[0] == ".store", _kind(given)
        if streamed and kind not in _TABLES:
            rows, features = _stream(given, output, index_base, terminal), None
        else:
            kept = streamed and kind == ".parquet" and format is None
            rows, features = _convert(given, output, target, index_base, terminal, stream=kept)
    if json:
        n_bytes = os.path.getsize(output)
        report = Converted(__version__, str(source), str(output), rows, features, n_bytes)
        result(msgspec.json.encode(report).decode())
    return Code.OK


def _kind(given: sources.Files) -> str:
    """The suffix that says what a file is, or would."""
    if given.kind is None:
        return suffixes(given.path)[0]
    return "" if given.kind == "svmlight" else f".{given.kind}"


def _convert(
    given: sources.Files,
    output: Path,
    target: str | None,
    index_base: int | None,
    terminal: Terminal,
    *,
    stream: bool,
) -> tuple[int, int]:
    """By way of memory, or of blocks of rows; the numbers of rows and features."""
    from fenchel.data import files

    dataset, _ = inputs.read(given, terminal, target=target, index_base=index_base, stream=stream)
    with terminal.step(f"write {output}") as step:
        files.write(dataset, output)
        step.found = size(os.path.getsize(output))
    return dataset.X.shape


def _stream(given: sources.Files, output: Path, index_base: int | None, terminal: Terminal) -> int:
    """svmlight to a store, part by part; the number of rows."""
    from fenchel.data.store_stream import svmlight_to_store

    with terminal.step(f"write {short(output)}") as step:
        (rows,) = given.each(lambda path: svmlight_to_store(path, output, index_base=index_base))
        rate = rows / max(time.perf_counter() - step.started, 1e-9)
        step.found = f"{rows:,} rows, {size(os.path.getsize(output))}, {rate:,.0f} rows a second"
    return rows
