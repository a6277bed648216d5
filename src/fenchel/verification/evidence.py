"""What is known of a risk when it is verified: its values, and cuts with what round-off did."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
import numpy.typing as npt

from fenchel.result import Result
from fenchel.risks.base import Problem
from fenchel.verification import penalties
from fenchel.verification.checked_cut import CheckedCut
from fenchel.witness import Witness

Array = npt.NDArray[np.float64]


class Evidence(ABC):
    """A risk R as verification computes it, and the cuts of it that a witness stands for."""

    nonnegative: bool
    passes: int = 0  # products with X or X' so far

    @abstractmethod
    def parameters(self, result: Result) -> tuple[Array, float | Array]:
        """(w as one vector, the intercept, or the K of them, that is not part of it)."""

    @abstractmethod
    def value(self, w: Array, b: float | Array) -> float:
        """R at these parameters."""

    @abstractmethod
    def blur(self, w: Array, b: float | Array) -> float:
        """By how much R there may differ as it is computed here and elsewhere."""

    @abstractmethod
    def cut(
        self,
        witness: Witness,
        problem: Problem,
        w: Array,
        b: float | Array,
        *,
        blurred: bool = False,
    ) -> CheckedCut:
        """The cut; if blurred, with errors that hold for others who compute it, too.

        Raises InvalidCertificate where the witness proves no such thing. In coordinates without a
        penalty slopes must be 0. What round-off leaves of them counts as an error of c, as if no
        minimiser were more than twice as far out there as (w, b).
        """

    def penalty(self, problem: Problem, w: Array) -> tuple[float, float]:
        """Omega(w), and the magnitudes that it is added up from."""
        omega = problem.regularizer
        value = penalties.value(omega, w)
        return value, penalties.size(omega, w, value)

    def bound(
        self,
        witness: Witness,
        problem: Problem,
        w: Array,
        b: float | Array,
        *,
        blurred: bool = False,
        side: int = 1,
    ) -> float:
        """The least J that the cut leaves, its errors charged; with side = -1 to its advantage."""
        cut = self.cut(witness, problem, w, b, blurred=blurred)
        return penalties.bound(problem, cut, self.nonnegative, side)
