"""`fenchel convert`: from one file format to another."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from fenchel.cli import inputs
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import IndexBase, Quiet, Target, Verbose
from fenchel.cli.outputs import check_writable
from fenchel.cli.terminal import Terminal, size


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
    """Convert data between svmlight, .csv, .tsv, .parquet and .npz.

    Text may be compressed: .gz, .bz2 or .xz. An .npz file is read fastest.
    """
    terminal = Terminal(quiet=quiet, verbose=verbose)
    check_writable(output)
    if source.exists() and source.resolve() == output.resolve():
        raise UsageError(f"{output} is what is to be converted: give the output another name")
    with terminal.warnings():
        dataset, _ = inputs.read(source, terminal, target=target, index_base=index_base)
        with terminal.step(f"write {output}") as step:
            from fenchel.data import files

            files.write(dataset, output)
            step.found = size(os.path.getsize(output))
    return Code.OK
