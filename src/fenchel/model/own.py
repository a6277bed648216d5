"""Losses and penalties of a user's own class in a model file: by name, and loaded if allowed.

The file says "module:qualname" and the settings. Loading makes an object of that class only if the
caller has allowed it, by the class or by its name; a name is imported only then. Nothing is
unpickled, and what was imported must be a class of the right kind.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from operator import attrgetter
from typing import Any

from fenchel.errors import Incompatible, InvalidData


def name_of(kind: type) -> str:
    """ "module:qualname"."""
    return f"{kind.__module__}:{kind.__qualname__}"


def checked_name(what: str, value: object) -> str:
    """The name of the class of a loss or penalty, which must lead to that class again."""
    kind = type(value)
    problem = None
    if kind.__module__ == "__main__":
        problem = "a script's own classes have no name for others: move it into a module"
    elif "<locals>" in kind.__qualname__:
        problem = "it is made inside a function: move it to the top of its module"
    elif _imported(name_of(kind)) is not kind:
        problem = "that name leads to something else"
    if problem is not None:
        raise InvalidData(
            f"cannot save a model whose {what} is {value!r}, of {name_of(kind)}: a file holds the "
            f"name of its class, to be imported where it is loaded, but {problem}. Or keep such a "
            "model with pickle or joblib, for people who trust you"
        )
    return name_of(kind)


def settings_of(what: str, value: Any) -> dict[str, Any]:
    """All arguments of the constructor, with the values that make such an object again."""
    known = value.settings()
    names = list(inspect.signature(type(value)).parameters)
    missing = [name for name in names if name not in known and not hasattr(value, name)]
    if missing:
        raise InvalidData(
            f"cannot save a model whose {what} is {value!r}: its constructor takes {missing[0]!r}, "
            f"of which the object says nothing. Keep it as self.{missing[0]}"
        )
    return {name: known[name] if name in known else getattr(value, name) for name in names}


class Allowed:
    """Classes that a file may name."""

    def __init__(self, allow: Iterable[type | str]):
        if isinstance(allow, str | type):
            raise Incompatible(f"allow must be a list of classes or of their names; got {allow!r}")
        self._known: dict[str, type | None] = {}  # None: to be imported
        for each in allow:
            if isinstance(each, type):
                self._known[name_of(each)] = each
            elif isinstance(each, str) and each.count(":") == 1:
                self._known.setdefault(each, None)
            else:
                raise Incompatible(
                    "allow must hold classes, or names like 'my_package.losses:MyLoss'; got "
                    f"{each!r}"
                )

    def made(self, what: str, base: type, name: str, settings: dict[str, Any]) -> Any:
        """The object of the class of that name, which must be a `base`."""
        if name not in self._known:
            raise InvalidData(
                f"its {what} is of a class that is not fenchel's, {name!r}, and loading would run "
                "that class's code. If you know and trust it, say so: "
                f"fenchel.load(path, allow=[{name!r}])"
            )
        kind = self._known[name] or _imported(name)
        if not (isinstance(kind, type) and issubclass(kind, base)):
            raise InvalidData(f"its {what} is to be of {name!r}, which is no {base.__name__}")
        try:
            return kind(**settings)
        except (TypeError, ValueError) as error:  # FenchelErrors about settings are ValueErrors
            raise InvalidData(f"its {what} cannot be made: {name}: {error}") from error


def _imported(name: str) -> Any:
    """What a name stands for; its module is imported."""
    module, _, qualname = name.partition(":")
    try:
        return attrgetter(qualname)(importlib.import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidData(f"cannot import {name!r}: {error}") from error
