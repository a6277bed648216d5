"""Single columns of tables as they are, and tables of columns written to files."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel._system.files import replacing
from fenchel.data import tables
from fenchel.data.compression import suffixes, writing
from fenchel.data.delimited import text_columns, usual_delimiter
from fenchel.errors import InvalidData


def read_column(path: str | os.PathLike[str], name: str) -> npt.NDArray[Any]:
    """A column of a .csv, .tsv or .parquet as it stands there: numbers, or text."""
    if suffixes(path)[0] == ".parquet":
        module = tables.arrow("parquet")
        schema = module.read_schema(path)
        _check(path, schema.names, name)
        column = module.read_table(path, columns=[name]).column(0)
    else:
        column = text_columns(path, lambda names: _check(path, names, name)).column(0)
    return np.asarray(column.to_numpy(zero_copy_only=False))


def _check(path: str | os.PathLike[str], names: list[str], name: str) -> list[str]:
    try:
        return [names[tables.column_of(names, name)]]
    except InvalidData as error:
        raise InvalidData(f"{os.fspath(path)}: {error}") from error


def write_columns(table: dict[str, Any], path: str | os.PathLike[str]) -> None:
    """A table of columns as .parquet, .csv or .tsv, which may be compressed, in one step."""
    pa, (suffix, compression) = tables.arrow(""), suffixes(path)
    content = pa.table({name: pa.array(_plain(values)) for name, values in table.items()})
    if suffix == ".parquet":
        if compression:
            raise InvalidData(f"{os.fspath(path)}: Parquet is written without {compression}")
        with replacing(path) as file:
            tables.arrow("parquet").write_table(content, file)
        return
    module = tables.arrow("csv")
    marks = module.WriteOptions(delimiter=usual_delimiter(path))
    with writing(path) as file:
        module.write_csv(content, file, write_options=marks)


def _plain(values: npt.NDArray[Any]) -> Any:
    """Whole numbers without a point; text and numbers that mix as text."""
    if values.dtype.kind == "O" and len({type(value) for value in values}) > 1:
        return [str(value) for value in values]
    return values.tolist() if values.dtype.kind in "OU" else values
