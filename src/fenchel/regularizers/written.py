"""A first question to a regulariser of a user, before a solver asks it many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fenchel.errors import InvalidData
from fenchel.regularizers.base import Regularizer
from fenchel.regularizers.boxed import Boxed
from fenchel.settings import user_written


def check_written(regularizer: Regularizer, n_parameters: int, layout: str = "") -> None:
    """Raises InvalidData where what a user wrote does not fit a w of so many numbers.

    It is asked where it says that it is least, as it need not be finite elsewhere. `layout` says
    what the numbers are, where they are not one for each column.
    """
    written = regularizer.inner if isinstance(regularizer, Boxed) else regularizer
    if not user_written(written):
        return
    n, end = n_parameters, f"; w holds {layout}" if layout else ""
    w = _answer(written, "start", lambda: written.start(n), n, end)
    _answer(written, "value", lambda: written.value(w.copy()), n, end)
    _answer(written, "subgradient", lambda: written.subgradient(w.copy()), n, end)
    if written.has("prox"):
        _answer(written, "prox", lambda: written.prox(w.copy(), 1.0), n, end)


def _answer(
    written: Regularizer, name: str, ask: Callable[[], object], n: int, end: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """The numbers that a method gives."""
    call = f"{type(written).__name__}.{name}"
    try:
        with np.errstate(all="ignore"):
            answer = np.asarray(ask(), dtype=np.float64)
    except Exception as error:
        raise InvalidData(f"{call} raised {error!r} for a w of {n} numbers{end}") from error
    wanted, fits = f"{n} numbers, as w has", answer.shape == (n,)
    if name == "value":
        wanted, fits = "one number", answer.size == 1
    if not fits:
        got = f"an array of shape {answer.shape}"
        raise InvalidData(f"{call} gave {got} for a w of {n} numbers; it must give {wanted}{end}")
    return answer
