"""Files that speak of labels: taxonomies, and what each label costs in place of another.

A taxonomy is JSON in one of the forms that Python takes (a nested object, an object from child to
parent, a list of paths), or text with a line for each node: `child,parent`, divided by a comma or a
tab; or a line for each leaf: `animal/cat`, from below the root.

Costs are a matrix, divided by commas, semicolons, tabs or blanks: in row z and column y what it
costs to predict z where y is right. With the labels in the first row and column, whose corner is
empty or a word, they may stand in any order; else they are those of the sorted labels.
"""

from __future__ import annotations

import csv
import json
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from fenchel.cli.choices import LEAVES, SEQUENCES, SETS, nearest
from fenchel.cli.exits import UsageError
from fenchel.cli.summary import label
from fenchel.cli.terminal import short
from fenchel.errors import InvalidData

if TYPE_CHECKING:
    from fenchel.cli.settings import Settings
    from fenchel.data.dataset import Dataset
    from fenchel.losses import Taxonomy

WORDS = ("distance", "relative")  # of the costs of leaves


class Costs(NamedTuple):
    """A matrix, and the labels of its rows and columns where the file has them."""

    names: list[str] | None
    matrix: list[list[float]]


def settled(settings: Settings) -> Settings:
    """The settings with paths that hold wherever the job goes on; files that do not are refused."""
    paths = {}
    if settings.taxonomy is not None:
        read_taxonomy(_checked("taxonomy", settings.taxonomy))
        paths["taxonomy"] = os.path.abspath(settings.taxonomy)
    if settings.label_costs is not None and not _is_word(settings):
        read_costs(_checked("label-costs", settings.label_costs))
        paths["label_costs"] = os.path.abspath(settings.label_costs)
    return msgspec.structs.replace(settings, **paths)


def _is_word(settings: Settings) -> bool:
    return settings.loss in LEAVES and settings.label_costs in WORDS


def _checked(flag: str, path: str) -> str:
    if not os.path.isfile(path):
        raise UsageError(f"--{flag}: there is no file {path!r}")
    return path


def applied(settings: Settings, dataset: Dataset) -> Dataset:
    """The data set with labels as the taxonomy has them: text, unless all its names are numbers."""
    if settings.taxonomy is None or dataset.y is None:
        return dataset
    return replace(dataset, y=_as_named(dataset.y, _tree(settings.taxonomy, dataset.y).nodes))


def as_leaves(y: Any, model: Any) -> Any:
    """Labels as the leaves of a model are called."""
    if y is None or type(model).__name__ != "HierarchicalClassifier":
        return y
    return _as_named(y, model.classes_.tolist())


def _as_named(y: Any, names: Any) -> Any:
    import numpy as np

    if y.dtype.kind == "f" and isinstance(names[0], str):
        return np.array([label(value) for value in y.tolist()])
    return y


def parameters(settings: Settings, dataset: Dataset) -> dict[str, Any]:
    """What these files say, as an estimator takes it."""
    found: dict[str, Any] = {}
    if settings.taxonomy is not None:
        found["taxonomy"] = _tree(settings.taxonomy, dataset.y)
    if settings.label_costs is None:
        return found
    if _is_word(settings):
        return {**found, "cost": settings.label_costs}
    classes = _classes(settings.loss, dataset.y, found.get("taxonomy"))
    return {**found, "cost": aligned(settings.label_costs, classes)}


def _classes(loss: str, y: Any, taxonomy: Taxonomy | None) -> list[Any]:
    """The labels in the order in which the estimator has them."""
    if taxonomy is not None:
        classes: list[Any] = taxonomy.classes.tolist()
        return classes
    if loss in SETS or loss in SEQUENCES:
        return sorted({each for labels in y for each in labels})
    return sorted(set(y.tolist()))


def read_taxonomy(path: str) -> Taxonomy:
    """The tree in a file, whose nodes are text."""
    from fenchel.losses.taxonomy import taxonomy_of

    text = _text(path)
    try:
        given = _of_json(text) if text.lstrip()[:1] in ("{", "[") else _of_lines(text)
        found = taxonomy_of(given)
        return type(found)(tuple(label(node) for node in found.nodes), found.parents)
    except json.JSONDecodeError as error:
        raise InvalidData(f"{short(path)}:{error.lineno}: this is no JSON: {error.msg}") from error
    except InvalidData as error:
        raise InvalidData(f"{short(path)}: {error}") from error


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidData(f"{short(path)}: this is not UTF-8 text: {error.reason}") from error
    except OSError as error:
        raise UsageError(f"cannot read {short(path)}: {error.strerror}") from error


def _of_json(text: str) -> Any:
    """With text for the names of nodes, where numbers are what JSON cannot have for keys."""

    def named(given: Any) -> Any:
        if isinstance(given, dict):
            return {str(name): named(below) for name, below in given.items()}
        if isinstance(given, list):
            return [named(each) for each in given]
        return given if given is None else label(given)

    return named(json.loads(text))


def _of_lines(text: str) -> Any:
    lines = [line.strip() for line in text.splitlines() if line.partition("#")[0].strip()]
    if not lines:
        raise InvalidData("it is empty")
    for mark in "\t,":
        if mark in lines[0]:
            return _parents(lines, mark)
    return [tuple(part.strip() for part in line.split("/")) for line in lines]


def _parents(lines: list[str], mark: str) -> dict[str, str | None]:
    parents: dict[str, str | None] = {}
    for number, fields in enumerate(csv.reader(lines, delimiter=mark), 1):
        names = [field.strip() for field in fields]
        if len(names) != 2 or not names[0]:
            raise InvalidData(f"entry {number} is no child and parent: {lines[number - 1]!r}")
        if names[0] in parents:
            raise InvalidData(f"entry {number}: {names[0]!r} has a parent already")
        parents[names[0]] = names[1] or None
    return parents


def _tree(path: str, y: Any) -> Taxonomy:
    """The tree, with numbers for names if they all are and labels are numbers too."""
    found = read_taxonomy(path)
    numbers = [_number(node) for node in found.nodes]
    if getattr(y, "dtype", None) is None or y.dtype.kind != "f" or None in numbers:
        return found
    return type(found)(tuple(numbers), found.parents)


def _number(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def read_costs(path: str) -> Costs:
    """The matrix in a file."""
    lines = [line for line in _text(path).splitlines() if line.strip()]
    if not lines:
        raise InvalidData(f"{short(path)}: it is empty")
    mark = next((mark for mark in "\t;," if mark in lines[0]), None)
    split = [line.split() for line in lines] if mark is None else csv.reader(lines, delimiter=mark)
    table = [[field.strip() for field in fields] for fields in split]
    if _number(table[0][0]) is not None:
        return Costs(None, _square(path, table))
    names = table[0][1:]
    if [row[0] for row in table[1:]] != names:
        raise InvalidData(
            f"{short(path)}: the first row and the first column must have the same labels, in the "
            f"same order; the row has {names!r:.100}"
        )
    return Costs(names, _square(path, [row[1:] for row in table[1:]]))


def _square(path: str, table: list[list[str]]) -> list[list[float]]:
    from fenchel.losses.vector import checked_cost

    for z, row in enumerate(table):
        bad = next((field for field in row if _number(field) is None), None)
        if bad is not None or len(row) != len(table):
            what = f"{bad!r}, no number" if bad is not None else f"{len(row)} numbers"
            raise InvalidData(
                f"{short(path)}: costs are a square matrix, of {len(table)} rows here; row {z} has "
                f"{what}"
            )
    matrix = [[float(field) for field in row] for row in table]
    try:
        checked_cost(matrix)
    except InvalidData as error:
        raise InvalidData(f"{short(path)}: {error}") from error
    return matrix


def aligned(path: str, classes: list[Any]) -> Any:
    """The costs of these labels, in their order."""
    import numpy as np

    names, matrix = read_costs(path)
    labels = [label(each) for each in classes]
    if names is None:
        if len(matrix) != len(labels):
            raise InvalidData(
                f"{short(path)}: it has costs of {len(matrix)} labels, the data have "
                f"{len(labels)}: {', '.join(labels[:8])}"
            )
        return np.array(matrix)
    for each in labels:
        if each not in names:
            raise InvalidData(f"{short(path)}: it lacks the label {each!r}{nearest(each, names)}")
    places = [names.index(each) for each in labels]
    return np.array(matrix)[np.ix_(places, places)]
