"""Where a run starts: the parameters and dual variables that its caller gives it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from fenchel.errors import InvalidData, Setting
from fenchel.result import Result
from fenchel.risks.base import Array, Problem, Risk
from fenchel.solvers import State


def parameters(w0: npt.ArrayLike | Result | None, problem: Problem) -> Array:
    """The parameters to start from."""
    risk, regularizer = problem.risk, problem.regularizer
    if w0 is None:
        return regularizer.start(risk.n_parameters)
    if isinstance(w0, Result):
        w = risk.flattened(_checked(w0.w, risk.shape), w0.intercept)
    else:
        w = risk.flattened(_checked(w0, risk.shape), 0.0)
    regularizer.check(w)
    return w


def duals(w0: npt.ArrayLike | Result | None, w: Array, risk: Risk) -> State | None:
    """The dual variables of a result, where it has one for each score and nothing else."""
    if not isinstance(w0, Result) or w0.witness is None or w0.witness.alpha is None:
        return None
    alpha, b = w0.witness.alpha, w0.intercept
    if w0.witness.tangencies or alpha.shape != (risk.n_duals,):
        return None
    return {"w": w, "alpha": alpha, "b": np.array(b)}


def _checked(w0: npt.ArrayLike, shape: tuple[int, ...]) -> Array:
    wanted = " x ".join(map(str, shape))
    try:
        w = np.array(w0, dtype=None if np.iscomplexobj(w0) else np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        raise InvalidData(Setting("w0"), f" must hold {wanted} real numbers: {error}") from error
    if np.iscomplexobj(w0) or w.shape != shape:
        raise InvalidData(Setting("w0"), f" must hold {wanted} real numbers; got shape {w.shape}")
    if not np.isfinite(w).all():
        raise InvalidData(Setting("w0"), " holds nan or inf")
    return w
