"""Files of tagged text: a token a line, columns apart, and a blank line after each sequence."""

from __future__ import annotations

import os

import numpy as np

from fenchel.data.compression import reading
from fenchel.errors import InvalidData
from fenchel.features.templates import Tokens


def read_conll(path: str | os.PathLike[str], n_columns: int | None = None) -> Tokens:
    """The tokens of a file, compressed or not; columns are parted by blanks or tabs.

    All lines have as many columns as the first, or `n_columns`. Lines that begin with -DOCSTART-
    are passed over.
    """
    name = os.fspath(path)
    with reading(path) as file:
        content = file.read()
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = content[: error.start].count(b"\n") + 1
        raise InvalidData(f"{name}:{at}: the text is not UTF-8 ({error.reason})") from error
    tokens: list[list[str]] = []
    starts, in_sequence = [], False
    for number, line in enumerate(text.split("\n"), 1):
        columns = line.split()
        if not columns or columns[0] == "-DOCSTART-":
            in_sequence = False
            continue
        if not in_sequence:
            starts.append(len(tokens))
            in_sequence = True
        n_columns = len(columns) if n_columns is None else n_columns
        if len(columns) != n_columns:
            raise InvalidData(
                f"{name}:{number}: the line has {len(columns)} columns, but {n_columns} are "
                f"expected; got {line.strip()!r:.80}"
            )
        tokens.append(columns)
    if not tokens:
        raise InvalidData(f"{name}: the file has no tokens, one a line")
    return Tokens(list(zip(*tokens, strict=True)), np.array([*starts, len(tokens)], dtype=np.int64))
