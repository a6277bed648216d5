"""Arrays of other libraries, by the array API standard: where they are, and how they come here.

None of these libraries is imported: whoever gives an array has imported its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

# How an array is copied to this host, where NumPy's own way refuses. JAX copies by itself.
_FETCHED: dict[str, Callable[[Any], Any]] = {
    "torch": lambda values: values.detach().cpu(),
    "cupy": lambda values: values.get(),
    "array_api_strict": lambda values: values.to_device(type(values.device)("CPU_DEVICE")),
}

_WRAPPED = ("torch", "cupy")  # whose functions have names of the standard by array-api-compat


def is_array(values: Any) -> bool:
    """Whether this is an array of another library than NumPy."""
    return hasattr(type(values), "__dlpack_device__") and not isinstance(values, np.ndarray)


def is_away(values: Any) -> bool:
    """Whether this is an array in the memory of a device, and not in this host's.

    Devices have no common type; those that are the host's processor are called so by all libraries.
    """
    return is_array(values) and "cpu" not in str(getattr(values, "device", "cpu")).lower()


def to_host(values: Any) -> npt.NDArray[Any]:
    """The numbers of an array as NumPy has them: a copy if it is away, else the same memory."""
    fetch = _FETCHED.get(_library(values), np.asarray)
    return np.asarray(fetch(values))


def namespace(values: Any) -> Any:
    """The functions of an array's library, under the names that the standard has for them."""
    library = _library(values)
    if library not in _WRAPPED and hasattr(values, "__array_namespace__"):
        return values.__array_namespace__()
    try:
        import array_api_compat
    except ImportError as error:
        raise ImportError(
            f"arrays of {library} on a device are understood by array-api-compat: "
            'pip install "fenchel[array-api]"'
        ) from error
    return array_api_compat.array_namespace(values)


def taken(values: Any, rows: npt.NDArray[np.intp]) -> Any:
    """A copy of some rows of an array, where it is."""
    xp = namespace(values)
    return xp.take(values, xp.asarray(np.array(rows), device=values.device), axis=0)


def _library(values: Any) -> str:
    return type(values).__module__.partition(".")[0]
