"""Transformers and pipelines as trees of plain values, and back.

An object is stored under the name of its class in an allow-list, with the arguments of its
constructor and what `fit` found. Loading looks the name up in the same list, hands the arguments to
the constructor, and sets the attributes that the list knows after checking each: no name in a file
is imported or looked up anywhere else, and nothing is called that the file could choose.
"""

from __future__ import annotations

import inspect
from collections import UserList
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

import numpy as np
from msgspec import Meta

import fenchel
from fenchel._system.container import Arrays
from fenchel.errors import Incompatible, InvalidData
from fenchel.model import checks, fitted, own, values
from fenchel.model.parameters import Own, Parameter
from fenchel.model.values import Leaf, Node, Numbers, Plain, Pool, Unstorable

_DEEPEST = 48  # a pipeline in a union in a table takes some 12

_Name = Annotated[str, Meta(max_length=64)]


class Several(Node, frozen=True, tag="several"):
    """A list, a tuple, or an array of objects that are no plain values."""

    items: list[Value]
    family: Literal["list", "tuple", "array"] = "list"


class StoredDict(Node, frozen=True, tag="pairs"):
    """A dict; pairs, because the keys of JSON are text."""

    pairs: list[tuple[Plain, Value]]


class Function(Node, frozen=True, tag="function"):
    """A function of the allow-list."""

    name: _Name


class Object(Node, frozen=True, tag="object"):
    """An object of a class of the allow-list."""

    kind: _Name
    parameters: dict[_Name, Value]
    fitted: dict[_Name, Value]
    output: Literal["default", "pandas", "polars"] | None = None  # of set_output(transform=)


class Model(Node, frozen=True, tag="model"):
    """One of the library's own estimators, fitted, as files of their own hold it."""

    header: fitted.Stored
    arrays: dict[str, Numbers]


class Unfitted(Node, frozen=True, tag="unfitted"):
    """One of the library's own estimators, not fitted."""

    version: _Name
    estimator: _Name
    parameters: dict[str, Parameter]
    arrays: dict[str, Numbers]


Value = Leaf | Several | StoredDict | Function | Object | Model | Unfitted


@dataclass(frozen=True)
class Kind:
    """A class of the allow-list: what its objects hold, and how that is checked."""

    made: type
    fitted: Mapping[str, checks.Check] = field(default_factory=dict)
    optional: Mapping[str, checks.Check] = field(default_factory=dict)  # of some settings, versions
    parameters: Mapping[str, checks.Check] = field(default_factory=dict)  # all others are plain
    dropped: frozenset[str] = frozenset()  # parameters of the run alone
    derived: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)  # made from the rest
    valid: Callable[[Any], None] = lambda made: None  # laws of the settings, else ValueError
    holds: Callable[[Any], bool] = lambda fitted: True  # laws between the attributes


COMMON: Mapping[str, checks.Check] = {
    "n_features_in_": checks.count,
    "feature_names_in_": checks.words,
}
OF_THE_RUN = {"_stop_words_id", "_metadata_request", "_skl_callbacks", "_sklearn_output_config"}


class Storing:
    """Turns objects into nodes; knows where it is, for the sake of its refusals."""

    def __init__(
        self, kinds: Mapping[str, Kind], functions: Mapping[str, Any], columns: fitted.TableColumns
    ):
        self.pool = Pool()
        self.named: list[str] = []  # classes of the user's own
        self._kinds, self._functions, self._columns = kinds, functions, columns
        self._steps: list[str] = []
        self._depth = 0

    def object(self, value: Any) -> Object:
        """The node of an object of a class of the allow-list."""
        kind = self._kinds.get(type(value).__name__)
        if kind is None or type(value) is not kind.made:
            raise Incompatible(self._unknown_class(value))
        names = _parameters(kind.made)
        found = _found(value, names)
        known = {*COMMON, *kind.fitted, *kind.optional}
        extra = found.keys() - known - OF_THE_RUN - kind.derived.keys()
        if extra:
            raise InvalidData(
                f"{self._where(value)}: it has the attributes {sorted(extra)!r:.200}, which this "
                f"fenchel, {fenchel.__version__}, does not know"
            )
        output = found.get("_sklearn_output_config", {}).get("transform")
        return Object(
            type(value).__name__,
            {
                name: self._attribute(value, name, getattr(value, name))
                for name in sorted(names - kind.dropped)
            },
            {name: self._attribute(value, name, found[name]) for name in found if name in known},
            output,
        )

    def _ours(self, value: Any) -> Model | Unfitted:
        if not hasattr(value, "n_features_in_"):
            held: Arrays = {}
            parameters = fitted.stored_parameters(value, held)
            self._note(parameters)
            name = fitted.name_of(value)
            return Unfitted(fenchel.__version__, name, parameters, self._held(held))
        header, held = fitted.described(value, self._columns)
        self._note(header.parameters)
        return Model(header, self._held(held))

    def _note(self, parameters: dict[str, Parameter]) -> None:
        self.named += [each.name for each in parameters.values() if isinstance(each, Own)]

    def _held(self, arrays: Arrays) -> dict[str, Numbers]:
        return {name: values.stored(arrays[name], self.pool) for name in sorted(arrays)}  # type: ignore[misc]  # arrays of numbers

    def _attribute(self, owner: Any, name: str, value: Any) -> Value:
        try:
            return self._value(value)
        except Unstorable as error:
            unfit = error.args[0] if error.args else value
            raise InvalidData(
                f"{self._where(owner)}: its {name} holds {unfit!r:.200}, of type "
                f"{type(unfit).__name__}; a file holds numbers, text, arrays of these and some "
                f"functions ({', '.join(self._functions)}). Call set_params({name}=...) first"
            ) from error

    def _value(self, value: Any) -> Value:
        with self._deeper(value):
            if isinstance(value, list | tuple | range | UserList):
                items = [self._item(value, k) for k in range(len(value))]
                return Several(items, "tuple" if isinstance(value, tuple) else "list")
            if isinstance(value, dict):
                return self._dict(value)
            for name, known in self._functions.items():
                if value is known:
                    return Function(name)
            if type(value).__name__ in self._kinds or hasattr(value, "get_params"):
                if not isinstance(value, type):
                    found = fitted.settled(value)
                    return self._ours(found) if fitted.is_ours(found) else self.object(found)
            return self._leaf(value)

    def _leaf(self, value: Any) -> Value:
        if type(value).__module__.partition(".")[0] == "pandas" and hasattr(value, "tolist"):
            return self._value(value.tolist())  # columns chosen by an Index
        try:
            return values.stored(value, self.pool)
        except Unstorable:
            if isinstance(value, np.ndarray) and value.dtype.kind == "O" and value.ndim == 1:
                return Several([self._value(each) for each in value], "array")
            raise Unstorable(value) from None

    def _item(self, value: Any, k: int) -> Value:
        """An item of a list; of a pair or a triple of a step, its object by the step's name."""
        named = isinstance(value, tuple) and isinstance(value[0], str) and k == 1
        if not named:
            return self._value(value[k])
        self._steps.append(value[0])
        node = self._value(value[k])
        self._steps.pop()
        return node

    def _dict(self, value: dict[Any, Any]) -> Value:
        numbers = all(type(each) is int or isinstance(each, np.integer) for each in value.values())
        if value and numbers and all(isinstance(key, str) for key in value):
            return values.stored_vocabulary(value, self.pool)
        return StoredDict([(values.plain(key), self._value(each)) for key, each in value.items()])

    @contextmanager
    def _deeper(self, value: Any) -> Iterator[None]:
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidData(
                f"{self._where(value)}: it lies in itself, or deeper than {_DEEPEST} levels"
            )
        yield
        self._depth -= 1

    def _where(self, owner: Any) -> str:
        step = " > ".join(repr(name) for name in self._steps)
        return f"cannot save {f'the step {step}, ' if step else ''}a {type(owner).__name__}"

    def _unknown_class(self, value: Any) -> str:
        known = [name for name in self._kinds if not name.startswith("_")]
        return (
            f"{self._where(value)} of {type(value).__module__}: a file holds only classes that "
            f"fenchel knows, which are fenchel's own estimators ({', '.join(fitted.saveable())}) "
            f"and of scikit-learn {', '.join(known)}. Use one of these, do that step's work before "
            "the pipeline, or keep the whole with skops.io or joblib, for people who trust you"
        )


class Restoring:
    """Makes objects of nodes, of which nothing is believed."""

    def __init__(
        self,
        kinds: Mapping[str, Kind],
        functions: Mapping[str, Any],
        pool: Pool,
        allowed: own.Allowed,
    ):
        self._kinds, self._functions = kinds, functions
        self._pool, self._allowed = pool, allowed
        self._depth = 0

    def value(self, node: Value) -> Any:
        """What a node stands for."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise InvalidData(f"its steps lie deeper in each other than {_DEEPEST} levels")
        made = self._made(node)
        self._depth -= 1
        return made

    def _made(self, node: Value) -> Any:
        if isinstance(node, Object):
            return self._object(node)
        if isinstance(node, Several):
            return self._several(node)
        if isinstance(node, StoredDict):
            return {key: self.value(each) for key, each in node.pairs}
        if isinstance(node, Model):
            return fitted.restored(node.header, self._arrays(node), self._allowed)
        if isinstance(node, Unfitted):
            arrays = self._arrays(node)
            return fitted.unfitted(
                node.estimator, node.version, node.parameters, arrays, self._allowed
            )
        if isinstance(node, Function):
            if node.name not in self._functions:
                raise InvalidData(f"its function {node.name!r} is none that a file may name")
            return self._functions[node.name]
        return values.restored(node, self._pool)

    def _several(self, node: Several) -> Any:
        items = [self.value(each) for each in node.items]
        if node.family != "array":
            return tuple(items) if node.family == "tuple" else items
        array = np.empty(len(items), dtype=object)
        for k, item in enumerate(items):
            array[k] = item
        return array

    def _arrays(self, node: Model | Unfitted) -> Arrays:
        return {
            name: np.asarray(values.restored(each, self._pool))
            for name, each in node.arrays.items()
        }

    def _object(self, node: Object) -> Any:
        kind = self._kinds.get(node.kind)
        if kind is None:
            raise InvalidData(f"its class {node.kind!r} is none that a file may name")
        parameters = {name: self.value(each) for name, each in node.parameters.items()}
        found = {name: self.value(each) for name, each in node.fitted.items()}
        made = _constructed(node.kind, kind, parameters)
        _check_fitted(node.kind, kind, found)
        vars(made).update(found)
        if node.output is not None:
            vars(made)["_sklearn_output_config"] = {"transform": node.output}
        if found:
            _finish(node.kind, kind, made)
        return made


def _found(value: Any, names: set[str]) -> dict[str, Any]:
    """What `fit` has set; other classes than estimators are made by their constructors alone."""
    if not hasattr(value, "get_params"):
        return {}
    return {name: vars(value)[name] for name in sorted(vars(value)) if name not in names}


def _parameters(kind: type) -> set[str]:
    return set(inspect.signature(kind).parameters)


def _constructed(name: str, kind: Kind, parameters: dict[str, Any]) -> Any:
    unknown = parameters.keys() - (_parameters(kind.made) - kind.dropped)
    if unknown:
        raise InvalidData(f"its {name} has parameters of no such class: {sorted(unknown)!r:.200}")
    for each, value in parameters.items():
        if not kind.parameters.get(each, checks.plain)(value, {}):
            raise InvalidData(f"its {name} cannot have such a value of {each}")
    try:
        made = kind.made(**parameters)
        if hasattr(kind.made, "_parameter_constraints"):
            made._validate_params()
        kind.valid(made)
    except (ValueError, TypeError, IndexError, AttributeError) as error:
        raise InvalidData(f"its {name} cannot be made: {error}") from error
    return made


def _check_fitted(name: str, kind: Kind, found: dict[str, Any]) -> None:
    """Every attribute is known and as it must be, and none is missing, unless all are."""
    known = {**COMMON, **kind.fitted, **kind.optional}
    unknown = found.keys() - known.keys()
    if unknown:
        raise InvalidData(f"its {name} has attributes of no such class: {sorted(unknown)!r:.200}")
    sizes = {"n": found["n_features_in_"]} if checks.count(found.get("n_features_in_"), {}) else {}
    for attribute, value in found.items():
        if not known[attribute](value, sizes):
            raise InvalidData(f"the {attribute} of its {name} is not what it must be")
    missing = kind.fitted.keys() - found.keys()
    if missing and missing != kind.fitted.keys():
        raise InvalidData(f"its {name} lacks {sorted(missing)[0]}")


def _finish(name: str, kind: Kind, made: Any) -> None:
    """Makes what is made from the rest, and checks the laws between attributes."""
    try:
        fits = kind.fitted.keys() - vars(made).keys() or kind.holds(made)
        for attribute, derive in kind.derived.items():
            vars(made)[attribute] = derive(made)
    except (ValueError, TypeError, IndexError, AttributeError, OverflowError) as error:
        raise InvalidData(f"the attributes of its {name} contradict each other: {error}") from error
    if not fits:
        raise InvalidData(f"the attributes of its {name} contradict each other")
