"""An estimator's settings, written once: as fields of its class, with what they mean beside them.

`@declared` makes the keyword-only constructor of the fields, a base class's among them, as a
dataclass has it; type checkers and editors know them. The docstring of a class has what is new in
it or differs, and is completed with what its bases say of everything else that it has.
"""

from __future__ import annotations

import functools
import inspect
import re
import typing
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar, dataclass_transform

from fenchel.settings import check_known

T = TypeVar("T")

_HEADING = re.compile(r"^(\w+)\n-+\n", re.MULTILINE)
_INHERITED = ("Parameters", "Attributes")
_ORDER = ("", *_INHERITED, "Examples")
_written: dict[type, dict[str, str]] = {}  # of each class its docstring's sections, as they stand


@dataclass_transform(kw_only_default=True, eq_default=False, field_specifiers=(field,))
def declared(kind: type[T]) -> type[T]:
    """The class with a constructor of its fields, and a docstring that knows all of them."""
    doc = kind.__doc__  # before the dataclass gives one to a class without, as under python -OO
    dataclass(kw_only=True, eq=False, repr=False)(kind)
    settings = _described(kind)
    _understanding(kind, settings)
    if doc is not None:
        _written[kind] = _sections(doc)
        kind.__doc__ = _completed(kind, settings)
    return kind


def _understanding(kind: type, settings: Sequence[str]) -> None:
    """Makes the constructor say which setting may be meant by one that it does not have."""
    construct = kind.__dict__["__init__"]

    @functools.wraps(construct)
    def init(self: object, /, *args: object, **given: object) -> None:
        check_known(kind.__name__, given, settings)
        construct(self, *args, **given)

    init.__signature__ = construct.__signature__  # type: ignore[attr-defined]
    init.__annotations__ = construct.__annotations__  # from Python 3.14 on not copied by `wraps`
    kind.__init__ = init  # type: ignore[misc]


def _described(kind: type) -> list[str]:
    """The constructor's settings, a class's own before its bases'; so they stand in its signature.

    Their types, which are text here, can be looked up only where they are declared.
    """
    init = kind.__dict__["__init__"]
    given = dict(inspect.signature(init).parameters)
    found = (name for base in kind.__mro__ for name in inspect.get_annotations(base))
    names = list(dict.fromkeys(name for name in found if name in given))
    init.__signature__ = inspect.Signature([given[name] for name in ("self", *names)])
    types = typing.get_type_hints(kind)
    init.__annotations__ = {name: types[name] for name in names}
    return names


def _completed(kind: type, settings: list[str]) -> str:
    """The docstring, with what bases say of the parameters and attributes it is silent about."""
    sections = dict(_written[kind])
    for title in _INHERITED:
        found: dict[str, str] = {}  # by the names before the colon
        for base in kind.__mro__:
            for entry in _entries(_written.get(base, {}).get(title, "")):
                found.setdefault(entry.partition(" :")[0], entry)
        names = [name for name in settings if name in found] if title == "Parameters" else found
        sections[title] = "\n".join(found[name] for name in names)
    order = sorted(sections, key=_ORDER.index)
    return "\n\n".join(_section(title, sections[title]) for title in order)


def _sections(doc: str) -> dict[str, str]:
    """A docstring's text by the headings above it; what comes first has none."""
    first, *rest = _HEADING.split(inspect.cleandoc(doc))
    return {"": first.strip()} | {
        title: body.strip("\n") for title, body in zip(rest[::2], rest[1::2], strict=True)
    }


def _entries(text: str) -> list[str]:
    """The entries of a section, each of which begins with a line that is not indented."""
    return re.split(r"\n+(?=\S)", text) if text else []


def _section(title: str, text: str) -> str:
    return f"{title}\n{'-' * len(title)}\n{text}" if title else text
