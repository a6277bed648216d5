"""The columns of a table as features: a scikit-learn ColumnTransformer, fitted and applied fast.

Numbers have their gaps filled with the median (or the most frequent number), with a column that
says where they were if asked for, and are standardised if asked for. Text becomes one column of 0
and 1 for each level seen in training; a level that was not is no column's. Missing text is the most
frequent level, or a level of its own.

The transformer is scikit-learn's, and what a model file keeps: it takes any data frame. But text in
rows, one Python object each, makes it slow. What it learns from text is the levels, and from
numbers the median, so it is fitted to a small table of these; scalers see all rows. It is applied
to each level once, and rows of the result are taken by code: row by row the same numbers.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from fenchel.data.cells import TextLevels
from fenchel.data.table_facts import Missing, TableFacts
from fenchel.data.tables import arrow
from fenchel.errors import InvalidData, Setting

Columns = Mapping[str, npt.NDArray[np.float64] | TextLevels]
ABSENT = "missing"  # the level of what is missing, where it has one of its own


def needs_encoding(columns: Columns, missing: Missing | None, scale: bool) -> bool:
    """Whether the columns are not features as they are."""
    if scale or missing not in (None, "refuse"):
        return True
    return any(isinstance(column, TextLevels) for column in columns.values()) or any(
        np.isnan(column).any() for column in columns.values() if not isinstance(column, TextLevels)
    )


def check_complete(columns: Columns) -> None:
    """Refuses missing values, with the first row that has one."""
    gaps = {name: np.flatnonzero(gaps_of(column)) for name, column in columns.items()}
    gaps = {name: rows for name, rows in gaps.items() if len(rows)}
    if gaps:
        name, rows = min(gaps.items(), key=lambda each: each[1][0])
        values = "1 missing value" if len(rows) == 1 else f"{len(rows):,} missing values"
        raise InvalidData(
            f"column {name!r} has {values}, the first in row {rows[0]}; fill them, or train with ",
            Setting("missing", "median"),
            row=int(rows[0]),
        )


def gaps_of(column: npt.NDArray[np.float64] | TextLevels) -> npt.NDArray[np.bool_]:
    """Which rows have no value."""
    if isinstance(column, TextLevels):
        return np.equal(column.codes, len(column.texts))
    return np.isnan(column)


def fitted(columns: Columns, missing: Missing, scale: bool) -> Any:
    """The ColumnTransformer of these columns."""
    from sklearn.compose import ColumnTransformer

    numbers = {
        name: column for name, column in columns.items() if not isinstance(column, TextLevels)
    }
    text = {name: column for name, column in columns.items() if isinstance(column, TextLevels)}
    parts = [(f"text{j}", _text(text[name], missing), [name]) for j, name in enumerate(text)]
    if numbers:
        parts.insert(0, ("numbers", _numbers(missing, scale), list(numbers)))
    transformer = ColumnTransformer(parts, verbose_feature_names_out=False)
    transformer.fit(_summary(numbers, text, columns, missing))
    if numbers and scale:
        _rescaled(transformer.named_transformers_["numbers"], numbers)
    return transformer


def _numbers(missing: Missing, scale: bool) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    strategy = "most_frequent" if missing == "most_frequent" else "median"
    imputer = SimpleImputer(strategy=strategy, add_indicator=missing == "indicator")
    return make_pipeline(imputer, StandardScaler()) if scale else make_pipeline(imputer)


def _text(column: TextLevels, missing: Missing) -> Any:
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    fill = ABSENT if missing == "indicator" else column.texts[int(np.argmax(column.rows()[:-1]))]
    return make_pipeline(
        SimpleImputer(strategy="constant", fill_value=fill), OneHotEncoder(handle_unknown="ignore")
    )


def _summary(
    numbers: Mapping[str, npt.NDArray[np.float64]],
    text: Mapping[str, TextLevels],
    columns: Columns,
    missing: Missing,
) -> Any:
    """A table from which the transformer learns what it would learn from all rows."""
    levels = {name: _levels(column, missing) for name, column in text.items()}
    n_rows = max(2, *map(len, levels.values())) if levels else 2
    content: dict[str, Any] = {}
    for name in columns:
        if name in text:
            content[name] = np.resize(np.array(levels[name], dtype=object), n_rows)
        else:
            content[name] = np.full(n_rows, _middle(numbers[name], missing))
            if missing == "indicator" and np.isnan(numbers[name]).any():
                content[name][-1] = np.nan  # for the column that says where there was none
    return arrow("").table(content)


def _levels(column: TextLevels, missing: Missing) -> list[str]:
    own = missing == "indicator" and column.rows()[-1] > 0
    return [*column.texts, ABSENT] if own else column.texts


def _middle(values: npt.NDArray[np.float64], missing: Missing) -> float:
    """What fills the gaps: of a table of this number alone, the statistic is this number."""
    known = values[~np.isnan(values)]
    if missing == "most_frequent":
        distinct, counts = np.unique(known, return_counts=True)
        return float(distinct[np.argmax(counts)])  # of equals the smallest, as scikit-learn has it
    return float(np.median(known))


def _rescaled(pipeline: Any, numbers: Mapping[str, npt.NDArray[np.float64]]) -> None:
    """Fits the scaler to all rows."""
    imputer, scaler = (step for _, step in pipeline.steps)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        scaler.fit(imputer.transform(np.column_stack(list(numbers.values()))))


def check_fits(transformer: Any, facts: TableFacts) -> None:
    """Refuses a transformer, which may come from a file, that is not of the columns of a table."""
    for _, step, names in getattr(transformer, "transformers_", [("", None, ["?"])]):
        known = isinstance(names, list) and set(names) <= set(facts.names)
        text = known and bool(set(names).intersection(facts.of_kind("text")))
        if not known or (text and (len(names) > 1 or not hasattr(step[-1], "categories_"))):
            raise InvalidData(f"its transformer is not one of the columns of its table: {names!r}")


def encoded(transformer: Any, columns: Columns) -> npt.NDArray[np.float64] | sparse.csr_array:
    """The features of rows, as the transformer makes them."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        parts = [
            _part(step, [columns[name] for name in names])
            for _, step, names in transformer.transformers_
        ]
    if transformer.sparse_output_:
        return _sparse(parts)
    return np.hstack([part if codes is None else part.toarray()[codes] for part, codes in parts])


def _part(step: Any, columns: list[Any]) -> tuple[Any, npt.NDArray[np.intp] | None]:
    """Numbers of all rows; or a row for each level, the last for none, and the codes of rows."""
    if not isinstance(columns[0], TextLevels):
        return step.transform(np.column_stack(columns)), None
    (column,) = columns
    texts = np.array([*column.texts, np.nan], dtype=object)
    return sparse.csr_array(step.transform(texts[:, None])), column.codes


def _sparse(parts: list[tuple[Any, npt.NDArray[np.intp] | None]]) -> sparse.csr_array:
    """All parts side by side, without zeros.

    A level has one entry, or none if it is unknown: then a zero in the first column stands in. So
    all rows have as many entries, and lie in two rectangles of values and columns.
    """
    widths = [part.shape[1] if codes is None else 1 for part, codes in parts]
    n_rows = len(parts[0][0] if parts[0][1] is None else parts[0][1])
    n_columns = sum(part.shape[1] for part, _ in parts)
    values = np.empty((n_rows, sum(widths)))
    places = np.empty((n_rows, sum(widths)), dtype=np.int32 if values.size < 2**31 else np.int64)
    at = first = 0
    for (part, codes), width in zip(parts, widths, strict=True):
        if codes is None:
            values[:, at : at + width] = part
            places[:, at : at + width] = np.arange(first, first + width)
        else:
            entries = np.diff(part.indptr)
            known = np.append(part.indices, 0)[np.where(entries, part.indptr[:-1], part.nnz)]
            values[:, at] = entries.astype(np.float64)[codes]
            places[:, at] = (known + first).astype(places.dtype)[codes]
        at, first = at + width, first + part.shape[1]
    starts = np.arange(n_rows + 1, dtype=places.dtype) * values.shape[1]
    X = sparse.csr_array((values.ravel(), places.ravel(), starts), shape=(n_rows, n_columns))
    X.eliminate_zeros()
    return X


def unknown_levels(transformer: Any, columns: Columns) -> dict[str, tuple[int, list[str]]]:
    """For each column of text, how many rows have levels that training had not, and which."""
    found = {}
    for _, step, names in transformer.transformers_:
        column = columns[names[0]] if len(names) == 1 else None
        if isinstance(column, TextLevels):
            known = set(step[-1].categories_[0].tolist())
            strange = [code for code, text in enumerate(column.texts) if text not in known]
            if strange:
                n_rows = int(column.rows()[strange].sum())
                found[names[0]] = (n_rows, [column.texts[code] for code in strange])
    return found
