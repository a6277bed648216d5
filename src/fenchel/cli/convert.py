"""`fenchel convert`: from one file format to another."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from fenchel.cli import inputs
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import IndexBase, Quiet, Target, Verbose
from fenchel.cli.outputs import check_writable
from fenchel.cli.terminal import Terminal, short, size
from fenchel.data.compression import suffixes
from fenchel.errors import InvalidData

_TABLES = (".csv", ".tsv", ".parquet", ".npz", ".store")


def convert(
    source: Annotated[
        Path, typer.Argument(metavar="IN", help="- reads svmlight from stdin.", show_default=False)
    ],
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="Its suffix says how.", show_default=False)
    ],
    target: Target = None,
    index_base: IndexBase = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Convert data between svmlight, .csv, .tsv, .parquet, .npz and .store.

    Text may be compressed: .gz, .bz2 or .xz. An .npz file is read fastest. A .store is trained on
    without being read into memory; svmlight and .parquet become one without being so either.
    """
    terminal = Terminal(quiet=quiet, verbose=verbose)
    check_writable(output)
    if source.exists() and source.resolve() == output.resolve():
        raise UsageError(f"{output} is what is to be converted: give the output another name")
    with terminal.warnings():
        streamed, kind = suffixes(output)[0] == ".store", suffixes(source)[0]
        if streamed and kind not in _TABLES:
            return _stream(source, output, index_base, terminal)
        dataset, _ = inputs.read(
            source,
            terminal,
            target=target,
            index_base=index_base,
            stream=streamed and kind == ".parquet",
        )
        with terminal.step(f"write {output}") as step:
            from fenchel.data import files

            files.write(dataset, output)
            step.found = size(os.path.getsize(output))
    return Code.OK


def _stream(source: Path, output: Path, index_base: int | None, terminal: Terminal) -> Code:
    """svmlight to a store, part by part."""
    from fenchel.data.store_stream import svmlight_to_store

    with inputs.file(source) as path, terminal.step(f"write {short(output)}") as step:
        try:
            n_rows = svmlight_to_store(path, output, index_base=index_base)
        except InvalidData as error:
            raise inputs.renamed(error, path, source) from error
        rate = n_rows / max(time.perf_counter() - step.started, 1e-9)
        step.found = f"{n_rows:,} rows, {size(os.path.getsize(output))}, {rate:,.0f} rows a second"
    return Code.OK
