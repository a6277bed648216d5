"""An estimator's parameters as plain values in a file, and back.

A loss, penalty or solver is stored as its name in the library's registry and its settings. Loading
looks the name up in the same registry and hands the settings to the constructor, which checks them.
One of a class of the user's own is stored under its module and name, see own.py: no name in a file
is ever imported that the caller has not allowed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fenchel._system.container import Arrays, take
from fenchel.errors import FenchelError, InvalidData
from fenchel.losses import LOSSES, Loss, Taxonomy
from fenchel.losses.taxonomy import taxonomy_of
from fenchel.model import own
from fenchel.regularizers import REGULARIZERS, Boxed, Regularizer
from fenchel.settings import construct, real
from fenchel.solvers import SOLVERS, Solver

_REGISTRIES: dict[str, tuple[type, Mapping[str, type]]] = {
    "loss": (Loss, LOSSES),
    "penalty": (Regularizer, REGULARIZERS),
    "solver": (Solver, SOLVERS),
}

_BOUNDS = ("lower", "upper")  # an infinite one is none
_INFINITE = "C"  # of a drop-in without a penalty; C is never none

Whole = Annotated[int, Meta(ge=-(1 << 63), le=(1 << 63) - 1)]
Length = Annotated[int, Meta(ge=0, le=1 << 48)]


class Vector(
    msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag="vector", omit_defaults=True
):
    """A setting that is one of the file's arrays, of float64 or, if they are whole, of int64."""

    array: str
    length: Length
    whole: bool = False


class Matrix(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag="matrix"):
    """A setting that is one of the file's arrays, of float64 in two dimensions."""

    array: str
    shape: tuple[Length, Length]


class Tree(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag="taxonomy"):
    """A taxonomy: its nodes, and the place of each one's parent."""

    nodes: list[bool | Whole | float | str]
    parents: list[Whole]


class Names(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag="names"):
    """Groups of names of columns."""

    groups: list[list[str]]


Plain = bool | Whole | float | str | None
Setting = bool | Whole | float | str | Vector | Matrix | Tree | Names | None


class Instance(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag="instance"):
    """A loss, penalty, solver or kernel of texts or graphs of the library."""

    kind: Literal["loss", "penalty", "solver", "kernel"]
    name: str
    settings: dict[str, Setting]


class Own(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag="own"):
    """A loss or penalty of a class of the user's own."""

    kind: Literal["loss", "penalty"]
    name: Annotated[str, Meta(max_length=1000)]  # "module:qualname"
    settings: dict[str, Setting]


class ClassWeights(msgspec.Struct, forbid_unknown_fields=True, frozen=True, tag="class_weights"):
    """Weights by class; pairs, because the keys of JSON are text."""

    pairs: list[tuple[bool | Whole | float | str, float]]


Parameter = Setting | Instance | Own | ClassWeights


def stored(name: str, value: Any, arrays: Arrays) -> Parameter:
    """What the header says of a parameter; vectors and matrices go into `arrays`."""
    for kind, (base, registry) in _REGISTRIES.items():
        if isinstance(value, base):
            return _stored_instance(kind, registry, value, arrays)
    if name == "kernel" and not isinstance(value, str | None):
        return _stored_kernel(value, arrays)
    if name == "taxonomy" and value is not None:
        return _stored_tree(taxonomy_of(value))
    if isinstance(value, Mapping):
        pairs = [(_plain(name, key), real(f"{name}[{key!r}]", w)) for key, w in value.items()]
        return ClassWeights(pairs)  # type: ignore[arg-type]  # no label is None
    if isinstance(value, np.ndarray | list | tuple):
        return _stored_array(name, value, arrays)
    if name in (*_BOUNDS, _INFINITE) and value is not None and np.isinf(value):
        return None  # which JSON has a word for
    return _plain(name, value)


def restored(name: str, parameter: Parameter, arrays: Arrays, allowed: own.Allowed) -> Any:
    """The parameter itself; takes its vectors and matrices out of `arrays`."""
    if isinstance(parameter, ClassWeights):
        return dict(parameter.pairs)
    if not isinstance(parameter, Instance | Own):
        return math.inf if name == _INFINITE and parameter is None else _setting(parameter, arrays)
    settings = {key: _setting(value, arrays) for key, value in parameter.settings.items()}
    known = (object, _kernels()) if parameter.kind == "kernel" else _REGISTRIES[parameter.kind]
    base, registry = known
    if isinstance(parameter, Own):
        return allowed.made(parameter.kind, base, parameter.name, settings)
    try:
        return construct(parameter.kind, parameter.name, registry, settings)
    except FenchelError as error:
        raise InvalidData(f"its parameter {name}: {error}") from error


def _stored_instance(
    kind: str, registry: Mapping[str, type], value: Any, arrays: Arrays
) -> Instance | Own:
    names = [name for name, known in registry.items() if type(value) is known]
    if names:
        settings = _stored_settings(kind, value.settings(), arrays)
        return Instance(kind, names[0], settings)  # type: ignore[arg-type]  # one of the three
    if kind == "solver":
        raise InvalidData(
            f"cannot save a model whose solver is {value!r}: the file names only the library's "
            "own. Call set_params(solver='auto') first"
        )
    if isinstance(value, Boxed):
        raise InvalidData(
            f"cannot save a model whose penalty is a Boxed: give the estimator penalty="
            f"{value.inner!r} with the settings lower= and upper=, which the file keeps"
        )
    name, given = own.checked_name(kind, value), own.settings_of(kind, value)
    return Own(kind, name, _stored_settings(kind, given, arrays))  # type: ignore[arg-type]  # the others


def _kernels() -> Mapping[str, type]:
    """Kernels of texts and graphs, whose module imports scikit-learn."""
    from fenchel.features.objects import OBJECT_KERNELS

    return OBJECT_KERNELS


def _stored_kernel(value: Any, arrays: Arrays) -> Instance:
    names = [name for name, known in _kernels().items() if type(value) is known]
    if not names:
        raise InvalidData(
            f"cannot save a model whose kernel is {value!r:.200}: a file holds no functions. Use "
            "kernel='precomputed' with the matrix that it gives, or keep such a model with pickle "
            "or joblib, for people who trust you"
        )
    return Instance("kernel", names[0], _stored_settings("kernel", value.settings(), arrays))


def _stored_settings(kind: str, settings: dict[str, Any], arrays: Arrays) -> dict[str, Setting]:
    return {
        key: _stored_setting(f"{kind}.{key}", setting, arrays) for key, setting in settings.items()
    }


def _stored_tree(tree: Taxonomy) -> Tree:
    nodes = [_plain("taxonomy", name) for name in tree.nodes]
    return Tree(nodes, list(tree.parents))  # type: ignore[arg-type]  # no node is None


def _stored_setting(name: str, value: Any, arrays: Arrays) -> Setting:
    if isinstance(value, Taxonomy):
        return _stored_tree(value)
    if isinstance(value, np.ndarray | list | tuple):
        return _stored_array(name, value, arrays)
    return _plain(name, value)


def _stored_array(name: str, value: Any, arrays: Arrays) -> Setting:
    """Numbers in one dimension or two, or groups of names."""
    if isinstance(value, list | tuple) and _are_names(value):
        return Names([list(group) for group in value])
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.empty(0, dtype=object)
    if array.ndim == 0:
        return _plain(name, array[()])
    if array.dtype.kind not in "biuf":
        raise InvalidData(f"cannot save a model whose {name} is no array of numbers")
    if array.ndim != 1:
        return _stored_matrix(name, array, arrays)
    whole = array.dtype.kind in "iu" and np.can_cast(array.dtype, np.int64)
    arrays[name] = array.astype(np.int64 if whole else np.float64)
    return Vector(name, len(array), whole)


def _are_names(value: Any) -> bool:
    return all(
        isinstance(group, list | tuple) and all(isinstance(each, str) for each in group)
        for group in value
    )


def _stored_matrix(name: str, array: npt.NDArray[Any], arrays: Arrays) -> Matrix:
    matrix = array.astype(np.float64)
    if matrix.ndim != 2 or not np.isfinite(matrix).all():
        raise InvalidData(f"cannot save a model whose {name} is no matrix of finite numbers")
    arrays[name] = matrix
    return Matrix(name, matrix.shape)


def _setting(value: Setting, arrays: Arrays) -> Any:
    if isinstance(value, Vector):
        return take(arrays, value.array, np.int64 if value.whole else np.float64, (value.length,))
    if isinstance(value, Matrix):
        return take(arrays, value.array, np.float64, value.shape)
    if isinstance(value, Tree):
        return Taxonomy(tuple(value.nodes), tuple(value.parents))
    if isinstance(value, Names):
        return value.groups
    return value


def _plain(name: str, value: Any) -> Plain:
    """A number, text, truth value or nothing; NumPy's scalars become Python's."""
    if isinstance(value, np.generic):
        value = value.item()
    finite = not isinstance(value, float) or math.isfinite(value)
    exact = not isinstance(value, int) or -(1 << 63) <= value < 1 << 63
    if type(value) in (bool, int, float, str, type(None)) and finite and exact:
        return value  # type: ignore[no-any-return]  # its type was just tested
    raise InvalidData(
        f"cannot save a model whose {name} is {value!r}, of type {type(value).__name__}: a model "
        "file holds numbers, text, names and matrices. "
        f"Call set_params({name.partition('.')[0]}=...) first"
    )
