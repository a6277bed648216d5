"""A first question to a regulariser of a user, before a solver asks it many; and a last one."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from fenchel.errors import InvalidData
from fenchel.regularizers.base import Array, Regularizer
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


def _answer(written: Regularizer, name: str, ask: Callable[[], object], n: int, end: str) -> Array:
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


def missing(regularizer: Regularizer) -> str:
    """What is not written and no lower bound but that of R >= 0 comes without; "" if all is."""
    if regularizer.has("conjugate"):
        found = regularizer.has("conjugate_argmax") or regularizer.has("reach")
        return "" if found else f"{type(regularizer).__name__}.reach"
    if isinstance(regularizer, Boxed):  # whose conjugate is made of that
        return f"{type(regularizer.inner).__name__}.conjugate_argmax"
    return f"{type(regularizer).__name__}.conjugate"


def unhelpful(regularizer: Regularizer, w: Array) -> str:
    """Why a user's regulariser lets nothing be proved, as seen at a w; "" if that is not seen.

    Omega* is finite at any g of the subdifferential, and at 0, as Omega is bounded from below; so
    it is halfway between them, where round-off is no excuse.
    """
    written = regularizer.inner if isinstance(regularizer, Boxed) else regularizer
    if not user_written(written):
        return ""
    name, absent = type(written).__name__, missing(regularizer)
    if absent:
        return f"No lower bound but R >= 0 comes without {absent}, which is not written"
    if not math.isinf(written.conjugate(np.asarray(written.subgradient(w)) / 2)):
        return ""
    return (
        f"{name}.conjugate is inf at half of {name}.subgradient(w), w being that of the result: it "
        "is finite there for a convex Omega that is bounded from below, and proves nothing so"
    )
