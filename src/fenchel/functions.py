"""From a convex function of a user's own to a problem."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import regularizers
from fenchel.errors import Incompatible
from fenchel.regularizers import Boxed, Regularizer, take_options
from fenchel.risks.base import Array, Problem
from fenchel.risks.function import FunctionRisk, OwnFunction
from fenchel.settings import checked_strength, understood, whole


@understood
def function(
    oracle: Callable[[Array], Any],
    n_parameters: int,
    *,
    steepest: Callable[[Array, Array], Any] | None = None,
    kinks: Callable[[Array, Array], Any] | None = None,
    nonnegative: bool = False,
    differentiable: bool = False,
    regularizer: str | Regularizer = "l2",
    strength: float = 0.0,
    lower: npt.ArrayLike | None = None,
    upper: npt.ArrayLike | None = None,
    **options: Any,
) -> Problem:
    """J(w) = strength * Omega(w) + R(w) for any convex R: `oracle(w)` gives (R(w), a subgradient).

    With `strength` 0, the default, J is R alone. `nonnegative` and `differentiable` are claims that
    solvers and certificates rely on. Where R has kinks, `steepest(w, p)` gives the tangent whose
    slope a is largest along p, which sublbfgs and its kin need: (h, a) with R(v) >= h + <a, v - w>
    for all v. At a kink up to round-off, where w lies a little to one side, that may be the piece
    on the other side, whose height h at w is a little below R(w). If R is piecewise linear along
    every ray, `kinks(w, p)` may give all eta > 0 at which w + eta p bends, for exact line searches.

    A bound of min J needs something that holds w: a penalty, or bounds `lower` and `upper` of the
    parameters, together with some strength. A function that says nonnegative=True is bounded by 0.
    """
    if not callable(oracle):
        raise Incompatible(f"a function is needed, w -> (value, subgradient); got {oracle!r:.60}")
    if kinks is not None and steepest is None:
        raise Incompatible("kinks= needs steepest= too: they say where slopes jump, it by how much")
    penalty = regularizers.named(regularizer, take_options(regularizer, options))
    if options:
        raise Incompatible(f"unknown options: {', '.join(options)}")
    if lower is not None or upper is not None:
        penalty = Boxed(penalty, lower, upper)
    given = OwnFunction(
        oracle,
        whole("n_parameters", n_parameters, least=1),
        steepest,
        kinks,
        bool(nonnegative),
        bool(differentiable),
    )
    risk = FunctionRisk(given)
    penalty.free(given.n_parameters)  # refuses weights of the wrong length
    given.at(np.zeros(given.n_parameters))  # complains early
    return Problem(risk, penalty, checked_strength("strength", strength))
