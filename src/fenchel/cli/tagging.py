"""Tags of tokens: files with a token a line, as the commands read and measure them.

Files whose name says so are svmlight, where lines of a qid are a sequence; all others are CoNLL.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fenchel.cli import inputs, reading
from fenchel.cli.choices import SEQUENCES, nearest
from fenchel.cli.exits import UsageError
from fenchel.cli.models import is_labeler
from fenchel.cli.settings import Settings
from fenchel.cli.sources import STDIN, Files, check_readable
from fenchel.cli.summary import label
from fenchel.cli.terminal import Terminal, short
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.conll import Tokens
    from fenchel.data.dataset import Dataset

_DEFAULT = "default"


@dataclass(frozen=True)
class Tagged:
    """Tokens, or the rows of each sequence, and tags; else the fields of a data set of numbers."""

    X: Tokens | list[Any]
    y: list[list[Any]]
    qid: None = None
    feature_names: None = None
    index_base: int | None = None


def settled(settings: Settings, source: Files | None) -> Settings:
    """The settings with the text of a template in place of its file."""
    if settings.loss not in SEQUENCES:
        return settings
    data = None if source is None else source.only("a file of tokens")
    if data is not None and inputs.is_svmlight(data):
        _refuse_names(settings, data)
        return settings
    return msgspec.structs.replace(settings, template=_template(settings.template or _DEFAULT))


def _refuse_names(settings: Settings, data: Path) -> None:
    for name in ("template", "min_count", "hashed"):
        if getattr(settings, name) is not None:
            flag = name.replace("_", "-")
            raise UsageError(
                f"--{flag} is for columns of text, but {short(data)} is svmlight by its name"
            )


def _template(given: str) -> str:
    """A name, which comes before a file that is called so, or text."""
    from fenchel.features.templates import NAMED

    if given in NAMED:
        return given
    if os.path.isfile(given):
        try:
            return Path(given).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError(f"--template: {given} is not UTF-8 text: {error.reason}") from error
    if "%" not in given:
        raise UsageError(
            f"--template: there is no file {given!r}, and no template of that name: give a file, "
            f"or one of {', '.join(NAMED)}"
        )
    return given


def check(settings: Settings) -> None:
    """Refuses a template that cannot be understood."""
    from fenchel.features.templates import parsed

    if settings.template is None:
        return
    try:
        parsed(settings.template)
    except InvalidData as error:
        raise UsageError(f"--template: {error}") from error


def read(path: Path, terminal: Terminal, settings: Settings) -> tuple[Dataset, float]:
    """Tokens and tags to be trained on, and the seconds it took to read them."""
    if inputs.is_svmlight(path):
        found, seconds = inputs.read(Files((path,)), terminal, index_base=settings.index_base)
        X, y = _cut(found.X, found.y, found.qid, path)
        return cast("Dataset", Tagged(X, y, index_base=found.index_base)), seconds
    tokens, seconds = _tokens(path, terminal)
    return cast("Dataset", _tagged(tokens, path, settings.template)), seconds


def read_for(model: Any, path: Path, terminal: Terminal, index_base: int | None) -> Tagged:
    """Tokens and tags as the model takes them."""
    if _takes_rows(model, path):
        return Tagged(*_rows_for(model, path, terminal, index_base))
    return _tagged(_tokens(path, terminal)[0], path, model.template)


def check_forbidden(forbid: list[str] | None, model: Any) -> None:
    """Refuses pairs of tags that the model does not have."""
    for pair in forbid or []:
        if not is_labeler(model):
            raise UsageError("--forbid is for models of tags, and this is none")
        tags, known = pair.split(), list(_by_name(model))
        unknown = [tag for tag in tags if tag not in known]
        if len(tags) != 2 or unknown:
            hint = nearest(unknown[0], known) if unknown else ""
            raise UsageError(
                f"--forbid: expected two tags of the model, as in --forbid 'O I-NP'; got "
                f"{pair!r}{hint}"
            )


def predicted(
    model: Any, path: Path, forbid: list[str] | None, index_base: int | None, terminal: Terminal
) -> Iterator[str]:
    """The tag of each token, line by line as in a CoNLL file: "" where that has no token."""
    forbidden = _pairs(forbid, model)
    if _takes_rows(model, path):
        X, _ = _rows_for(model, path, terminal, index_base)
        tags = itertools.chain.from_iterable(model.predict(X, forbidden=forbidden))
        return map(label, tags)
    tokens, _ = _tokens(path, terminal)
    needed = _needed(model.template)
    if len(tokens.columns) < needed:
        raise InvalidData(
            f"{short(path)}: lines have {len(tokens.columns)} columns; the template reads {needed}"
        )
    tags = itertools.chain.from_iterable(model.predict(tokens, forbidden=forbidden))
    assert tokens.lines is not None
    *places, n_lines = tokens.lines.tolist()
    of_line = dict(zip(places, tags, strict=True))
    return (of_line.get(line, "") for line in range(n_lines))


def measured(
    model: Any, path: Path, forbid: list[str] | None, index_base: int | None, terminal: Terminal
) -> tuple[int, dict[str, float | None]]:
    """The number of sequences, and how well the model's tags agree with those of the file."""
    data = read_for(model, path, terminal, index_base)
    _warn_of_unknown(data, path, model, terminal)
    tags = model.predict(data.X, forbidden=_pairs(forbid, model))
    pairs = list(zip(data.y, tags, strict=True))
    right = [ours == theirs for pair in pairs for ours, theirs in zip(*pair, strict=True)]
    return len(tags), {
        "token_accuracy": sum(right) / len(right),
        "sequence_accuracy": sum(ours == theirs for ours, theirs in pairs) / len(tags),
        **({} if isinstance(data.X, list) else _chunks(data.y, tags)),
    }


def _chunks(gold: list[list[str]], tags: list[list[str]]) -> dict[str, float | None]:
    from fenchel.estimators.chunks import agreement

    found = agreement(gold, tags)
    measures = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
    return {f"chunk_{name}": value if found.chunks else None for name, value in measures.items()}


def _warn_of_unknown(data: Tagged, path: Path, model: Any, terminal: Terminal) -> None:
    known = set(model.classes_.tolist())
    where: dict[Any, tuple[int, int]] = {}
    tagged = ((i, tag) for i, tags in enumerate(data.y, 1) for tag in tags)
    for token, (i, tag) in enumerate(tagged):
        if tag not in known:
            where.setdefault(tag, (i, token))
    if where:
        tag, (i, token) = next(iter(where.items()))
        who = "1 tag of DATA is" if len(where) == 1 else f"{len(where)} tags of DATA are"
        others = ", and others" * (len(where) > 1)
        column = "" if isinstance(data.X, list) else ". The last column was taken as the tag"
        terminal.warn(
            f"{who} not known to the model: {label(tag)!r} in sequence {i}, "
            f"{short(path)}:{_line(data, path, token)}{others}. Such tokens count as wrong{column}"
        )


def _line(data: Tagged, path: Path, token: int) -> int | None:
    """The line that a token stands in, the first being 1."""
    from fenchel.data import files

    if isinstance(data.X, list):
        return files.line_of(path, token)
    assert data.X.lines is not None
    return int(data.X.lines[token]) + 1


def _by_name(model: Any) -> dict[str, Any]:
    """The tags of a model by what people write."""
    return {label(tag): tag for tag in model.classes_.tolist()}


def _pairs(forbid: list[str] | None, model: Any) -> list[list[Any]] | None:
    tags = _by_name(model)
    return None if forbid is None else [[tags[tag] for tag in pair.split()] for pair in forbid]


def _takes_rows(model: Any, path: Path) -> bool:
    """Whether the file holds rows of numbers, which must be what the model takes."""
    _check_file(path)
    rows = inputs.is_svmlight(path)
    if rows and model.template is not None:
        raise InvalidData(
            f"{short(path)} is svmlight by its name, but the model takes columns of text"
        )
    if not rows and model.template is None:
        raise InvalidData(
            f"{short(path)} is CoNLL by its name, but the model has no template for columns of "
            "text; rows of numbers are read from svmlight, named .svm"
        )
    return rows


def _rows_for(
    model: Any, path: Path, terminal: Terminal, index_base: int | None
) -> tuple[list[Any], list[list[Any]]]:
    source = Files((path,))
    found = reading.read_for(
        model, model.loss, source, terminal, target=None, index_base=index_base
    )
    return _cut(found.X, found.y, found.qid, path)


def _cut(X: Any, y: Any, qid: Any, path: Path) -> tuple[list[Any], list[list[Any]]]:
    """The rows and the labels of each sequence."""
    import numpy as np

    from fenchel.estimators.sequences import split

    inputs.check_queries(qid, path, "sequence")
    starts = np.concatenate([[0], np.flatnonzero(np.diff(qid)) + 1, [len(qid)]])
    return [X[i:j] for i, j in itertools.pairwise(starts.tolist())], split(y, starts)


def _tagged(tokens: Tokens, path: Path, template: str | None) -> Tagged:
    from fenchel.estimators.sequences import split

    *columns, tags = tokens.columns
    needed = _needed(template)
    if len(columns) < needed:
        raise InvalidData(
            f"{short(path)}: lines have {len(columns) + 1} columns, of which the last was taken as "
            f"the tag; the template reads {needed} before it"
        )
    return Tagged(tokens._replace(columns=columns), split(tags, tokens.starts))


def _needed(template: str | None) -> int:
    from fenchel.features.templates import n_columns, parsed

    return 1 if template is None else n_columns(parsed(template))


def _tokens(path: Path, terminal: Terminal) -> tuple[Tokens, float]:
    from fenchel.data.conll import read_conll

    _check_file(path)
    with terminal.step(f"read {short(path)}") as step:
        tokens = read_conll(path)
        step.found = f"{tokens.n_sequences:,} sequences, {tokens.n_tokens:,} tokens"
    return tokens, step.seconds


def _check_file(path: Path) -> None:
    check_readable(path)
    if path == STDIN:
        raise UsageError("tokens are read from a file, not from stdin")
