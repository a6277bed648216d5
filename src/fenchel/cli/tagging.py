"""Tags of tokens: files with a token a line, as the commands read and measure them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from fenchel.cli import inputs
from fenchel.cli.choices import SEQUENCES, nearest
from fenchel.cli.exits import UsageError
from fenchel.cli.models import is_labeler
from fenchel.cli.settings import Settings
from fenchel.cli.terminal import Terminal, short
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset
    from fenchel.features.templates import Tokens

_DEFAULT = "default"


@dataclass(frozen=True)
class Tagged:
    """Tokens and their tags; the other fields are those of a data set of numbers."""

    X: Tokens
    y: list[list[str]]
    qid: None = None
    feature_names: None = None
    index_base: None = None


def settled(settings: Settings) -> Settings:
    """The settings with the text of a template in place of its file."""
    if settings.loss not in SEQUENCES:
        return settings
    return msgspec.structs.replace(settings, template=_template(settings.template or _DEFAULT))


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


def read(path: Path, terminal: Terminal, template: str | None) -> tuple[Dataset, float]:
    """Tokens whose last column is the tag, and the seconds it took to read them."""
    tagged, seconds = _tagged(path, terminal, template)
    return cast("Dataset", tagged), seconds


def check_forbidden(forbid: list[str] | None, model: Any) -> None:
    """Refuses pairs of tags that the model does not have."""
    for pair in forbid or []:
        if not is_labeler(model):
            raise UsageError("--forbid is for models of tags, and this is none")
        tags, known = pair.split(), model.classes_.tolist()
        unknown = [tag for tag in tags if tag not in known]
        if len(tags) != 2 or unknown:
            hint = nearest(unknown[0], known) if unknown else ""
            raise UsageError(
                f"--forbid: expected two tags of the model, as in --forbid 'O I-NP'; got "
                f"{pair!r}{hint}"
            )


def predicted(
    model: Any, path: Path, forbid: list[str] | None, terminal: Terminal
) -> Iterator[str]:
    """The tag of each token, line by line as in the file: "" where that has no token."""
    tokens, _ = _tokens(path, terminal)
    tags = itertools.chain.from_iterable(model.predict(tokens, forbidden=_pairs(forbid)))
    assert tokens.lines is not None
    *places, n_lines = tokens.lines.tolist()
    of_line = dict(zip(places, tags, strict=True))
    return (of_line.get(line, "") for line in range(n_lines))


def measured(
    model: Any, path: Path, forbid: list[str] | None, terminal: Terminal
) -> tuple[int, dict[str, float | None]]:
    """The number of sequences, and how well the model's tags agree with the last column."""
    from fenchel.estimators.chunks import agreement

    data, _ = _tagged(path, terminal, model.template)
    _warn_of_unknown(data.y, model, terminal)
    tags = model.predict(data.X, forbidden=_pairs(forbid))
    found = agreement(data.y, tags)
    right = sum(ours == theirs for ours, theirs in zip(data.y, tags, strict=True))
    chunks = {"precision": found.precision, "recall": found.recall, "f1": found.f1}
    return len(tags), {
        "token_accuracy": found.accuracy,
        "sequence_accuracy": right / len(tags),
        **{f"chunk_{name}": value if found.chunks else None for name, value in chunks.items()},
    }


def _warn_of_unknown(gold: list[list[str]], model: Any, terminal: Terminal) -> None:
    known = set(model.classes_.tolist())
    where: dict[str, int] = {}
    for i, tags in enumerate(gold, 1):
        for tag in tags:
            if tag not in known:
                where.setdefault(tag, i)
    if where:
        tag, i = next(iter(where.items()))
        terminal.warn(
            f"{len(where)} tags of DATA are not known to the model, the first is {tag!r} in "
            f"sequence {i}: their tokens count as wrong. The last column was taken as the tag"
        )


def _pairs(forbid: list[str] | None) -> list[list[str]] | None:
    return None if forbid is None else [pair.split() for pair in forbid]


def _tagged(path: Path, terminal: Terminal, template: str | None) -> tuple[Tagged, float]:
    from fenchel.estimators.sequences import split
    from fenchel.features.templates import n_columns, parsed

    tokens, seconds = _tokens(path, terminal)
    *columns, tags = tokens.columns
    needed = 1 if template is None else n_columns(parsed(template))
    if len(columns) < needed:
        raise InvalidData(
            f"{short(path)}: lines have {len(columns) + 1} columns, of which the last was taken as "
            f"the tag; the template reads {needed} before it"
        )
    return Tagged(tokens._replace(columns=columns), split(tags, tokens.starts)), seconds


def _tokens(path: Path, terminal: Terminal) -> tuple[Tokens, float]:
    from fenchel.data.conll import read_conll

    inputs.check_readable(path)
    if path == inputs.STDIN:
        raise UsageError("tokens are read from a file, not from stdin")
    with terminal.step(f"read {short(path)}") as step:
        tokens = read_conll(path)
        step.found = f"{tokens.n_sequences:,} sequences, {tokens.n_tokens:,} tokens"
    return tokens, step.seconds
