"""Tables of numbers, text and dates: from the file to features, and what is said of it."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec

from fenchel.cli import inputs
from fenchel.cli.choices import NOVELTY
from fenchel.cli.exits import UsageError
from fenchel.cli.settings import Settings
from fenchel.cli.sources import Files
from fenchel.cli.terminal import Terminal

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset
    from fenchel.data.raw_tables import Read, Wanted
    from fenchel.data.table_facts import TableFacts

_SHOWN = 4  # columns or levels in a line
OPTIONS = (
    "columns",
    "ignore",
    "categorical",
    "dates",
    "na",
    "decimal",
    "missing",
    "scale",
    "weight",
    "group",
)


def asked(settings: Settings) -> list[str]:
    """The settings that were given of those that only tables have."""
    return [name for name in OPTIONS if getattr(settings, name) not in (None, False)]


def check_options(settings: Settings, data: Files | None) -> None:
    """Refuses what only tables have, of other files."""
    given = asked(settings)
    if given and (settings.stream or data is None or not data.is_table):
        why = "--stream leaves in the file" if settings.stream else "DATA is not"
        raise UsageError(
            f"--{given[0]} is for tables (.csv, .tsv, .parquet) that are read as a whole, which "
            f"{why}"
        )


def read(source: Files, terminal: Terminal, settings: Settings) -> tuple[Dataset, float]:
    """The data set of a table, its columns made features, and the seconds that took."""
    from fenchel.data.raw_tables import read_table

    with terminal.step(f"read {source}") as step:
        with source.opened() as paths:
            found = read_table(paths, _wanted(settings))
        with source.placed(found.counts):
            dataset = _encoded(found, settings)
        step.found = inputs.size(dataset.X)
    _say_target(found.facts, found.guessed, settings, terminal)
    for line in found.said:
        terminal.warn(line)
    _say_columns(found, dataset, terminal)
    return dataset, step.seconds


def _wanted(settings: Settings) -> Wanted:
    from fenchel.data.raw_tables import Wanted

    lists = {name: _many(getattr(settings, name)) for name in ("ignore", "categorical", "dates")}
    return Wanted(
        target=settings.target,
        columns=None if settings.columns is None else _many(settings.columns),
        offset=settings.exposure if settings.offset is None else settings.offset,
        weight=settings.weight,
        group=settings.group,
        decimal=settings.decimal,
        na=_many(settings.na),
        **lists,
    )


def _many(given: str | list[str] | None) -> list[str]:
    return [] if given is None else [given] if isinstance(given, str) else given


def _encoded(found: Read, settings: Settings) -> Dataset:
    """Columns made features: as they are if they are complete numbers, else by a transformer."""
    from fenchel.features import encoding

    columns, facts, encoder = found.cells.features, found.facts, None
    if settings.missing == "refuse":
        encoding.check_complete(columns)
    if encoding.needs_encoding(columns, settings.missing, settings.scale):
        facts = msgspec.structs.replace(facts, missing=settings.missing or "median")
        encoder = encoding.fitted(columns, facts.missing, settings.scale)
    return dataset_of(found, facts, encoder, exposure=settings.exposure)


def dataset_of(found: Read, facts: TableFacts, encoder: Any, *, exposure: str | None) -> Dataset:
    """The rows of a table as features."""
    import numpy as np

    from fenchel.data.checked import checked_matrix
    from fenchel.data.dataset import Dataset
    from fenchel.features import encoding

    cells = found.cells
    if encoder is None or facts.missing == "refuse":
        encoding.check_complete(cells.features)
    if encoder is None:
        columns: Any = list(cells.features.values())
        X: Any = checked_matrix(np.column_stack(columns)).matrix()
        names = tuple(cells.features)
    else:
        X = encoding.encoded(encoder, cells.features)
        names = tuple(encoder.get_feature_names_out())
    added = cells.offset
    if exposure is not None:
        added = inputs.logarithms(added, exposure)
    return Dataset(
        X,
        cells.y,
        cells.group,
        names if facts.named or encoder is not None else None,
        offset=added,
        weight=cells.weight,
        facts=facts,
        encoder=encoder,
        counts=found.counts,
    )


def read_like(
    model: Any, source: Files, terminal: Terminal, *, target: str | None
) -> inputs.FileRows:
    """The rows of a table in the columns of a model that was trained on one."""
    from fenchel.data.raw_tables import read_like as read_table_like

    facts, encoder = model.table_, getattr(model, "encoder_", None)
    exposure = getattr(model, "exposure_column_", None)
    offset = getattr(model, "offset_column_", None) if exposure is None else exposure
    with terminal.step(f"read {source}") as step:
        with source.opened() as paths:
            found = read_table_like(paths, facts, target=target, offset=offset)
        with source.placed(found.counts):
            dataset = dataset_of(found, found.facts, encoder, exposure=exposure)
        step.found = inputs.size(dataset.X)
    if encoder is not None:
        _warn_of_unknown(found, encoder, terminal)
        _say_gaps(found, terminal)
    return inputs.FileRows(dataset.X, dataset.y, dataset.qid, dataset.offset, dataset.weight)


def complete_numbers(source: Files, settings: Settings) -> bool:
    """Whether all features of Parquet files are numbers without gaps, as far as its footers tell.

    Only then can the files be read by whoever needs some of their rows.
    """
    from fenchel.data.parquet_rows import complete_numbers as complete
    from fenchel.data.raw_tables import numbers_only

    facts, _ = numbers_only(source.paths, _wanted(settings))
    return all(complete(path, facts.names) for path in source.paths)


def streamed(
    source: Files, terminal: Terminal, settings: Settings, *, check: bool
) -> tuple[Dataset, float]:
    """The data set of a table of numbers whose rows stay in the files, and the seconds it took."""
    from fenchel.data.raw_tables import numbers_only

    wanted = _wanted(settings)
    with terminal.step(f"read {source}") as step:
        _check_streamable(source)
        facts, guessed = numbers_only(source.paths, wanted)
        dataset = _left_in_files(source, facts, wanted.offset, check=check)
        step.found = inputs.size(dataset.X)
    _say_target(facts, guessed, settings, terminal)
    if not check:
        terminal.note("the rows stay in their files, where workers read them by the same paths")
    dataset = inputs.with_exposure(source, dataset, settings.exposure)
    return replace(dataset, facts=facts), step.seconds


def stream_like(
    model: Any, source: Files, terminal: Terminal, *, target: str | None
) -> inputs.FileRows:
    """The rows of a table that stay in its files, in the columns of a model trained on one."""
    facts, there = model.table_, _names(source)
    if getattr(model, "encoder_", None) is not None or not facts.named:
        raise UsageError(
            "--stream is for columns of numbers as they are; this model makes features of text or "
            "gaps, or knows columns by their places: leave out --stream"
        )
    parts = {"target": target or facts.target, "group": facts.group}
    now = msgspec.structs.replace(
        facts, **{part: name if name in (target, *there) else None for part, name in parts.items()}
    )
    exposure = getattr(model, "exposure_column_", None)
    offset = getattr(model, "offset_column_", None) if exposure is None else exposure
    with terminal.step(f"read {source}") as step:
        dataset = _left_in_files(source, now, offset, check=False)
        step.found = inputs.size(dataset.X)
    dataset = inputs.with_exposure(source, dataset, exposure)
    return inputs.FileRows(dataset.X, dataset.y, dataset.qid, dataset.offset)


def _names(source: Files) -> list[str]:
    """The columns of all files, which must be those of the first."""
    from fenchel.data.joined_tables import joined

    _check_streamable(source)
    return joined(source.paths).names


def _check_streamable(source: Files) -> None:
    from fenchel.data.files import check_able

    for path in source.paths:
        check_able(path, stream=True)


def _left_in_files(source: Files, facts: TableFacts, offset: str | None, *, check: bool) -> Dataset:
    """The columns of a table of numbers, by name, with the rows where they are."""
    from fenchel.data.parquet_rows import stream_parquet

    return source.read(
        lambda path: stream_parquet(
            path,
            check=check,
            target=facts.target,
            features=facts.names,
            n_features=None,
            offset=offset,
            group=facts.group,
        )
    )


def _say_target(facts: TableFacts, guessed: bool, settings: Settings, terminal: Terminal) -> None:
    """The target by its name, and a guess as a guess."""
    if settings.loss in NOVELTY or facts.target is None:
        return
    name = facts.target
    if guessed:
        terminal.warn(f"the target is a guess: {name!r}, the last column. Name it with --target")
    elif settings.target is None:
        terminal.note(f"target: {name!r}, by its name")
    else:
        terminal.note(f"target: {name!r}")


def _say_columns(found: Read, dataset: Dataset, terminal: Terminal) -> None:
    if dataset.encoder is None:
        return
    from fenchel.data.cells import TextLevels

    columns = found.cells.features.values()
    levels = [len(column.texts) for column in columns if isinstance(column, TextLevels)]
    n_numbers = len(columns) - len(levels)
    parts = [f"{n_numbers} of numbers"] if n_numbers else []
    if levels:
        parts.append(f"{len(levels)} of text with {sum(levels):,} levels")
    terminal.note(f"columns: {', '.join(parts)}; {dataset.X.shape[1]:,} features")
    _say_gaps(found, terminal)


def _say_gaps(found: Read, terminal: Terminal) -> None:
    """Which columns had values filled."""
    from fenchel.data.cells import counted
    from fenchel.features.encoding import gaps_of

    counts = {name: int(gaps_of(column).sum()) for name, column in found.cells.features.items()}
    gaps = {name: count for name, count in counts.items() if count}
    if gaps:
        shown = [f"{name!r} in {counted(count)}" for name, count in gaps.items()]
        more = f" and {len(shown) - _SHOWN} more columns" if len(shown) > _SHOWN else ""
        terminal.note(f"missing values were filled: {', '.join(shown[:_SHOWN])}{more}")


def _warn_of_unknown(found: Read, encoder: Any, terminal: Terminal) -> None:
    from fenchel.data.cells import counted
    from fenchel.features.encoding import unknown_levels

    for name, (n_rows, levels) in unknown_levels(encoder, found.cells.features).items():
        shown = ", ".join(map(repr, levels[:_SHOWN])) + (", ..." if len(levels) > _SHOWN else "")
        terminal.warn(
            f"column {name!r}: {counted(n_rows)} with levels that the model does not know "
            f"({shown}); they count as none of its levels"
        )
