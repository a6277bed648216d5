"""Drop-in estimators in model files: see estimators/protocol.py for what is asked of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np

from fenchel.errors import InvalidData
from fenchel.estimators.protocol import Saved, State
from fenchel.estimators.shortcomings import worst
from fenchel.result import Result
from fenchel.risks.base import Array
from fenchel.sklearn.biased import joined

_FACTS = 6  # see `InFiles._state`


class Found(NamedTuple):
    """What the minimisations of a fit found."""

    coef: Array  # a line for each score
    intercept: Array  # a number for each line
    n_iter: list[int]  # of each minimisation
    gaps: Array  # likewise, objective less lower bound


class InFiles:
    """The part of a drop-in that files know."""

    _takes_offset: ClassVar[bool] = False
    _flat: bool = True  # whether y had one dimension

    # In whatever shape scikit-learn's class has them.
    coef_: Any
    intercept_: Any
    n_iter_: Any
    result_: Result | list[Result]

    def _adopt(self, found: Found) -> None:
        """Keeps what was found in scikit-learn's shapes."""
        raise NotImplementedError

    def _bias(self) -> float | None:
        """The constant in the column of a penalised intercept; None where there is no column."""
        return None

    def _check(self) -> None:
        self._validate_params()  # type: ignore[attr-defined]  # scikit-learn's class has it

    def _column_names(self, given: Sequence[str] | None) -> Sequence[str] | None:
        return getattr(self, "feature_names_in_", None) if given is None else given

    def _state(self) -> State:
        """Coefficients and intercepts as they predict, and the bounds of scikit-learn's F."""
        me: Any = self
        coef, results = np.atleast_2d(me.coef_), results_of(self)
        offset = -me.offset_ if hasattr(self, "offset_") else me.intercept_
        together = results[0].w.ndim == 2
        facts = [me.objective_, me.lower_bound_, me.gap_, len(coef), together, self._flat]
        return State(
            coef=coef,
            intercept=np.array(np.broadcast_to(np.ravel(offset), len(coef)), dtype=np.float64),
            results=results,
            classes=getattr(self, "classes_", None),
            more={"facts": np.array(facts, dtype=np.float64), **self._more()},
        )

    def _more(self) -> dict[str, Array]:
        """Arrays that only this class has."""
        return {}

    def _restore(self, saved: Saved) -> None:
        me: Any = self
        facts = saved.array("facts", np.float64, (_FACTS,))
        me.objective_, me.lower_bound_, me.gap_ = facts[:3].tolist()
        n, together, self._flat = int(facts[3]), bool(facts[4]), bool(facts[5])
        if hasattr(me, "class_weight"):
            me.classes_ = saved.classes()
            n = 1 if len(me.classes_) == 2 else len(me.classes_)
        if not 1 <= n == facts[3]:
            raise InvalidData(f"it has {facts[3]:g} scores, which cannot be")
        coef, intercept = saved.coef((n, me.n_features_in_)), saved.numbers("intercept", n)
        w = joined(coef, intercept, self._bias())
        halves = np.concatenate([-w / 2, w / 2]) if n == 1 else w  # of two classes together
        results = saved.results([halves] if together else list(w), intercept)
        last = worst(results)
        me.status_, me.solver_ = last.status.name.lower(), last.solver
        me.result_ = results[0] if len(results) == 1 else results
        counts = [result.iterations for result in results]
        per_task = [each.objective - each.lower_bound for each in results]
        self._adopt(Found(coef, intercept, counts, np.array(per_task)))


def results_of(model: Any) -> list[Result]:
    """The results of a fitted model, one or several."""
    return model.result_ if isinstance(model.result_, list) else [model.result_]
