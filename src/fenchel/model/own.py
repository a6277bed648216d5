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
    """Where a class is found: "module:qualname"."""
    return f"{kind.__module__}:{kind.__qualname__}"


def checked_name(what: str, value: object) -> str:
    """The name of the class of a loss or penalty, which must lead to that class again."""
    name = name_of(type(value))
    trouble = _trouble(type(value))
    if trouble:
        raise InvalidData(
            f"cannot save a model whose {what} is {value!r}: the file names its class, {name!r}, "
            f"for others to import, but {trouble}. Or keep such a model with pickle or joblib, for "
            "people who trust you"
        )
    return name


def _trouble(kind: type) -> str:
    """What keeps others from importing a class by its name; nothing if they can."""
    if kind.__module__ == "__main__":
        return "a script or notebook cannot be imported: move the class into a module"
    if "<locals>" in kind.__qualname__:
        return "it is made inside a function: move it to the top of its module"
    try:
        return "" if imported(name_of(kind)) is kind else "that name leads to something else"
    except InvalidData as error:
        return str(error)


def settings_of(what: str, value: Any) -> dict[str, Any]:
    """All arguments of the constructor, with the values that make such an object again."""
    known = value.settings()
    names = list(inspect.signature(type(value)).parameters)
    missing = [name for name in names if name not in known and not hasattr(value, name)]
    if missing:
        raise InvalidData(
            f"cannot save a model whose {what} is {value!r}: its constructor takes {missing[0]!r}, "
            f"which the object does not keep. Set self.{missing[0]} there"
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
        kind = self._known[name] or imported(name)
        if not (isinstance(kind, type) and issubclass(kind, base)):
            raise InvalidData(f"its {what} is to be of {name!r}, which is no {base.__name__}")
        try:
            return kind(**settings)
        except (TypeError, ValueError) as error:  # FenchelErrors about settings are ValueErrors
            raise InvalidData(f"its {what} cannot be made: {name}: {error}") from error


def imported(name: str) -> Any:
    """What a name leads to; its module is imported."""
    module, _, qualname = name.partition(":")
    try:
        return attrgetter(qualname)(importlib.import_module(module))
    except (ImportError, AttributeError, ValueError) as error:
        raise InvalidData(f"{name!r} cannot be imported: {error}") from error
