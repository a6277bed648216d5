"""Files of tagged text: a token a line, columns apart, and a blank line after each sequence."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from fenchel.data.compression import reading
from fenchel.errors import InvalidData

_COLUMN = re.compile(r"[^ \t\r]+")  # other blanks, such as those that do not break, are letters


class Tokens(NamedTuple):
    """Tokens of all sequences, column by column; sequence i is starts[i] .. starts[i + 1] - 1.

    Tokens of a file have their lines, counted from 0, and the number of all lines at the end.
    """

    columns: Sequence[Sequence[str]]
    starts: npt.NDArray[np.int64]
    lines: npt.NDArray[np.int64] | None = None

    @property
    def n_sequences(self) -> int:
        """How many sequences there are."""
        return len(self.starts) - 1

    @property
    def n_tokens(self) -> int:
        """How many tokens there are."""
        return int(self.starts[-1])


def read_conll(path: str | os.PathLike[str]) -> Tokens:
    """The tokens of a file, compressed or not; columns are parted by blanks or tabs.

    All lines have as many columns as the first. Lines that begin with -DOCSTART- are passed over.
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
    starts, places, in_sequence = [], [], False
    lines = text.removesuffix("\n").split("\n")
    for place, line in enumerate(lines):
        columns = _COLUMN.findall(line)
        if not columns or columns[0] == "-DOCSTART-":
            in_sequence = False
            continue
        if not in_sequence:
            starts.append(len(tokens))
            in_sequence = True
        if tokens and len(columns) != len(tokens[0]):
            raise InvalidData(
                f"{name}:{place + 1}: the line has {len(columns)} columns, but {len(tokens[0])} "
                f"are expected; got {line!r:.80}"
            )
        tokens.append(columns)
        places.append(place)
    if not tokens:
        raise InvalidData(f"{name}: the file has no tokens, one a line")
    return Tokens(
        list(zip(*tokens, strict=True)),
        np.array([*starts, len(tokens)], dtype=np.int64),
        np.array([*places, len(lines)], dtype=np.int64),
    )
