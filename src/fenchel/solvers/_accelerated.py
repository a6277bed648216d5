"""What the accelerated methods of [Zhang11] share: the three ways to apply them to J (section 5).

    primal    R smoothed to a fixed level mu, which the gap asked for decides (5.1.1)
    dual      the dual, which is smooth as it is where Omega is strongly convex (5.3; 5.1.2 with mu)
    homotopy  R smoothed ever less: mu falls whenever J_mu is solved as well as it is worth

Each iterate x_k comes with a point alpha_k of the other problem, the mean of those at which the
tangents were taken (eq. 22, 35). Together they are a primal and a dual point, whose gap is J's own,
not that of its smoothed version: theorems 10 and 18 say how fast it goes to 0. Another mean of the
same dual points proves more (_dual_hull.py). No pass is spent on it, as the images X w and X'u are
means too. A loss without a conjugate has the bound that the gradients at some x_k prove, for a pass
each.
"""

from __future__ import annotations

import copy
import functools
from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Generic, NamedTuple

import numpy as np

from fenchel.engines import PerShard
from fenchel.errors import InvalidData
from fenchel.risks.base import Array, Point, Problem
from fenchel.risks.linear import LinearRisk
from fenchel.risks.views.black_box_form import BlackBoxForm
from fenchel.risks.views.chain_dual import ChainDual
from fenchel.risks.views.composite import Composite
from fenchel.risks.views.dual_ascent import has_dual_steps
from fenchel.risks.views.dual_form import DualForm
from fenchel.risks.views.forms import (
    DualPoint,
    Form,
    LinearForm,
)
from fenchel.risks.views.images import Imaged, X, Y, packed
from fenchel.risks.views.prox_functions import KINDS, ProxFunction, prox_function
from fenchel.risks.views.prox_functions import obstacle as prox_obstacle
from fenchel.risks.views.row_space import RowSpace
from fenchel.risks.views.smoothing import is_smoothable, optimised_widths
from fenchel.risks.views.soft_chains import SoftForm, SoftPoint, is_soft_chain
from fenchel.risks.views.soft_measures import SoftMeasureForm, is_soft_measure
from fenchel.risks.views.whole_form import primal_form
from fenchel.settings import one_of, positive
from fenchel.solvers import _scaled_dual
from fenchel.solvers._dual_hull import DualHull
from fenchel.solvers._estimates import Estimate, Minimum
from fenchel.solvers._gradient_bound import Bound, few_gradients
from fenchel.solvers._scaled_hull import scaled_bound
from fenchel.solvers._smoothness import is_soft, most_roughness, without_dual_smoothness
from fenchel.solvers._soft_cuts import SoftCuts
from fenchel.solvers.base import Needs, Solver, State, Step
from fenchel.tolerances import EPSILON, ROUND_OFF
from fenchel.witness import Witness

GAMMA_U, GAMMA_D = 2.0, 1.2  # how fast an estimate of L rises and falls; [Zhang11] leaves them open
OPTIMISTIC = 0.05  # the first L, relative to its upper bound
_HOPELESS = 1e200  # of L where it has no upper bound: J is no convex function
_LEAST = 1e-200  # of L: one over it, and some of them added up, must be finite
_LOOK = 3  # iterations from one lower bound to the next, which takes as long as some passes
_REST = 0.05  # the same, relative to those so far
_MODEL = 2  # looks from one best mean of the dual points to the next: on wide data it takes longer
_FORMS = ("primal", "dual", "homotopy")
_WIDTHS = ("equal", "optimised")
_FALL = 0.5  # of J, at which the level of smoothing is chosen anew
_FIRST = 0.5  # of J: what the first smoothing of the homotopy may change it by
_SOLVED = 0.5  # the gap of J_mu, relative to J's, at which the homotopy goes on
_LESS = 4.0  # by how much


class Iterate(NamedTuple, Generic[X, Y]):
    """x_k, the mean alpha_k, the estimate of L, and what makes all else that was learnt.

    The newest of the points that x_k and alpha_k are means of has that share in them.
    """

    x: Imaged[X, Y]
    alpha: Imaged[Y, X]
    newest: tuple[Imaged[X, Y], Imaged[Y, X]]
    share: float
    L: float
    memory: Callable[[], State]


class Start(NamedTuple, Generic[X, Y]):
    """The weight a of a step, and the place u of its tangent."""

    a: float
    u: Imaged[X, Y]


class Accelerated(Solver):
    """An accelerated gradient method in one of its forms.

    `mu` is the level of smoothing; None chooses it from the gap in the primal, and 0 in the dual.
    `widths="optimised"` smooths each row by its own share of mu ([Zhang11] section 5.6). `prox` is
    the geometry over w (risks/views/prox_functions.py), that of the regulariser or the data's.
    """

    needs = Needs(regularizer=("prox",))
    patience = 1000  # with momentum, bounds rise and fall

    def __init__(
        self,
        form: str = "primal",
        mu: float | None = None,
        widths: str = "equal",
        prox: str | ProxFunction = "auto",
    ):
        self.form = one_of("form", form, _FORMS)
        self.prox = prox if isinstance(prox, ProxFunction) else one_of("prox", prox, KINDS)
        self.mu = None if mu is None else positive("mu", mu)
        self.widths = one_of("widths", widths, _WIDTHS)
        if self.widths == "optimised" and self.form == "dual":
            raise InvalidData("widths='optimised' belongs to a smoothed primal, not to form='dual'")
        self._gap = 1e-4

    def aiming(self, gap: float) -> Solver:
        """The level of smoothing depends on the gap."""
        solver = copy.copy(self)
        solver._gap = gap
        return solver

    @abstractmethod
    def iterates(
        self, J: Composite[X, Y], x: Imaged[X, Y], L: float, state: State | None = None
    ) -> Iterator[Iterate[X, Y]]:
        """The method's own iterations from x with an optimistic estimate L, or from a state."""

    def iterate(self, problem: Problem, w: Array, state: State | None = None) -> Iterator[Step]:
        """J in the form that was asked for."""
        if self.form == "dual" and is_soft_chain(problem.risk):
            return self._staged(_Stages(self, problem, lambda mu: ChainDual(problem)), w, state)
        if self.form == "dual":
            dual = _Stages(self, problem, functools.partial(DualForm, problem))
            return self._staged(dual, w, state)

        @functools.cache  # the same for all stages
        def prox() -> ProxFunction:
            problem.pulse()  # a Gram matrix takes some passes, after those of the widths
            return prox_function(problem, self.prox)

        if is_soft_chain(problem.risk):
            soft = _Stages(self, problem, lambda mu: SoftForm(problem, mu, prox()))
            return self._staged(soft, w, state)
        if is_soft_measure(problem.risk):
            whole = _Stages(self, problem, lambda mu: SoftMeasureForm(problem, mu, prox()))
            return self._staged(whole, w, state)
        if not isinstance(problem.risk, LinearRisk):
            black_box = _Stages(self, problem, lambda mu: BlackBoxForm(problem, prox()))
            return self._staged(black_box, w, state)

        @functools.cache
        def widths() -> PerShard[Array] | None:
            return optimised_widths(problem.risk) if self.widths == "optimised" else None

        primal = _Stages(self, problem, lambda mu: primal_form(problem, mu, widths(), prox()))
        return self._staged(primal, w, state)

    def _staged(self, stages: _Stages[X, Y], w: Array, state: State | None) -> Iterator[Step]:
        """Stages of equal smoothing, one after another."""
        problem = stages.problem
        if state is not None and "stage" in state:
            stages.restore(state)
        else:
            start = problem.risk.at(w)
            yield Step(start, problem.objective(start))
            stages.begin(start.w, problem.objective(start))
        while True:
            J, x, L = stages.J, stages.x, stages.L
            for it in self.iterates(J, x, L, state):
                yield stages.step(it)
                if it.L >= _HOPELESS and J.L == np.inf:
                    return
                if stages.is_over(it):
                    break
            state = None

    def obstacle(self, problem: Problem) -> str | None:
        """What a form needs of the loss, and the certificate of the regulariser."""
        risk = problem.risk
        found = super().obstacle(problem) or _scaled_dual.obstacle(problem)
        found = found or prox_obstacle(problem, self.prox)
        if found is not None:
            return found
        if RowSpace.obstacle(risk) is not None:
            return self._obstacle_without_duals(problem)
        if self.form == "dual":
            if not has_dual_steps(risk):
                return "form='dual' knows the built-in losses of one score a row only"
            return without_dual_smoothness(problem)
        elif not risk.facts.differentiable and not is_smoothable(risk):
            return "it needs a differentiable loss, or a hinge or piecewise linear one to smooth"
        elif (
            self.widths == "optimised" and isinstance(risk, LinearRisk) and risk.classes is not None
        ):
            return "widths='optimised' belongs to losses of one score a row"
        elif self.form == "homotopy" and risk.facts.differentiable:
            return "form='homotopy' needs a loss with kinks: this one needs no smoothing"
        return None

    def _obstacle_without_duals(self, problem: Problem) -> str | None:
        """Gradients certify a smooth risk, scaled where Omega* is not finite."""
        if self.form == "dual" and is_soft_chain(problem.risk):
            if self.mu is not None:
                return "form='dual' of chains is not smoothed: it knows no mu"
            return without_dual_smoothness(problem)
        if is_soft(problem.risk) and self.form != "dual":
            return None
        if self.form != "primal" or not problem.risk.facts.differentiable:
            return "it needs a loss with a conjugate, or a differentiable one and form='primal'"
        return None


class _Stages(Generic[X, Y]):
    """A run of minimisations of J_mu for a sequence of mu, each J_mu made by `form`."""

    J: Form[X, Y]
    x: Imaged[X, Y]
    form: Callable[[float], Form[X, Y]]

    def __init__(self, solver: Accelerated, problem: Problem, form: Callable[[float], Form[X, Y]]):
        self.solver, self.problem, self.form = solver, problem, form
        self.stage, self.mu, self.chosen_at = 0, 0.0, np.inf
        self.objective = np.nan  # of the last step
        self.bound = self.smoothed_bound = np.nan  # of J and J_mu, at the last look
        self.looked, self._n_steps, self._due, self._n_looks = False, 0, _LOOK, 0
        self.has_duals = RowSpace.obstacle(problem.risk) is None
        self.soft = SoftCuts(problem) if is_soft(problem.risk) else None
        if self.has_duals:
            self.hull = DualHull(problem)
        elif problem.regularizer.strong_convexity > 0:
            self._at_point = few_gradients(problem).after
        else:
            self._at_point = scaled_bound(problem, every=1).at
        self.L = 0.0

    _at_point: Callable[[Point], Bound]  # what the gradient at a point proves

    def begin(self, w: Array, objective: float) -> None:
        """The first stage, from w."""
        solver, risk = self.solver, self.problem.risk
        self.chosen_at = objective
        size = abs(objective) if objective and np.isfinite(objective) else 1.0
        if solver.mu is not None:
            self.mu = solver.mu
        elif solver.form == "primal" and not risk.facts.differentiable:
            self.mu = solver._gap * size / most_roughness(risk)
        elif solver.form == "homotopy":
            self.mu = _FIRST * size / most_roughness(risk)
        self.J = self.form(self.mu)
        self.x = self.J.start(w)
        known = self.J.L if np.isfinite(self.J.L) else self.J.guess
        self.L = OPTIMISTIC * known

    @property
    def _with_duals(self) -> LinearForm[X, Y]:
        """J, of a risk whose rows have dual variables."""
        assert isinstance(self.J, LinearForm)
        return self.J

    def step(self, it: Iterate[X, Y]) -> Step:
        """The point, with what the dual points so far prove."""
        if self.has_duals:
            newest = (it.x, it.alpha) if self.hull.is_empty else it.newest
            self.hull.add(self._with_duals.dual(*newest), it.share)
        self.problem.effort.step = 1 / it.L
        if self.soft is not None:
            return self._soft_step(self.soft, it)
        self._n_steps += 1
        self.looked = self._n_steps >= self._due
        point = (self.J.point if self.looked else self.J.near_point)(it.x, it.alpha)
        self.objective = self.problem.objective(point)
        state = functools.partial(self._state, point.w, it)
        if not self.looked:
            return Step(point, self.objective, state=state, phase=self.stage)
        self._due = self._n_steps + max(_LOOK, int(_REST * self._n_steps))
        self._n_looks += 1
        self.bound, witness = self._proved(it) if self.has_duals else self._at_point(point)
        return Step(point, self.objective, self.bound, witness, state, self.stage)

    def _soft_step(self, cuts: SoftCuts, it: Iterate[X, Y]) -> Step:
        """The same of a soft maximum, whose own risk is another evaluation: at looks alone."""
        cuts.add(self._newest(it))
        self._n_steps += 1
        self.looked = self._n_steps >= self._due or self._shown is None
        if self.looked or self._shown is None:
            self._due = self._n_steps + max(_LOOK, int(_REST * self._n_steps))
            self._shown = self.J.point(it.x, it.alpha)
            self.objective = self.problem.objective(self._shown)
            self.bound, self._evidence = cuts.bound(self.mu)
            self.smoothed_bound = cuts.smoothed_bound
        place = it.alpha.x if self.solver.form == "dual" else it.x.x
        state = functools.partial(self._state, packed(place), it)
        evidence = self._evidence if self.looked else None
        bound = self.bound if self.looked else -np.inf
        return Step(self._shown, self.objective, bound, evidence, state, self.stage)

    def _newest(self, it: Iterate[X, Y]) -> SoftPoint:
        assert isinstance(self.J, SoftForm | SoftMeasureForm | ChainDual)
        return self.J.newest(it.x)

    _shown: Point | None = None  # the last place at which the risk itself is known
    _evidence: Callable[[], Witness] | None = None

    def _proved(self, it: Iterate[X, Y]) -> tuple[float, Callable[[], Witness]]:
        """What [Zhang11]'s mean proves, or the best mean."""
        J = self._with_duals
        of_all = self._n_looks % _MODEL == 0
        dual: DualPoint = self.hull.best(J) if of_all else J.dual(it.x, it.alpha)
        cut = J.cut(dual)
        bound = self.problem.bound(cut.a, cut.b, cut.sizes)
        if self.solver.form == "homotopy":
            self.smoothed_bound = bound - J.roughness(dual)
        return bound, cut.witness

    def is_over(self, it: Iterate[X, Y]) -> bool:
        """Whether the next stage is due; if so, it is prepared."""
        solver = self.solver
        if solver.form == "dual" or self.mu == 0 or not self.looked:
            return False
        if solver.form == "homotopy":
            smoothed = self.J.value(it.x) - self.smoothed_bound
            due, mu = smoothed <= _SOLVED * (self.objective - self.bound), self.mu / _LESS
            # Less than round-off of J makes no difference.
            due = due and mu * most_roughness(self.problem.risk) > EPSILON * abs(self.objective)
        else:
            due = solver.mu is None and 0 < self.objective < _FALL * self.chosen_at
            mu = self.mu * (self.objective / self.chosen_at) if due else 0.0
        due = due and mu > 0  # which may be less than the least of numbers, as J may
        if due:
            self.L, self.x = it.L * self.mu / mu, it.x
            self.mu, self.chosen_at, self.stage = mu, self.objective, self.stage + 1
            self.J = self.form(self.mu)
        return due

    def _state(self, w: Array, it: Iterate[X, Y]) -> State:
        stage = [self.stage, it.L, self.mu, self.chosen_at]
        return {
            "w": w,
            "x": packed(it.x.x),
            "stage": np.array(stage),
            **it.memory(),
        }

    def restore(self, state: State) -> None:
        """Takes over a stage."""
        stage, self.L, self.mu, self.chosen_at = state["stage"].tolist()
        self.stage = int(stage)
        self.J = self.form(self.mu)
        self.x = self.J.imaged(self.J.unpacked(state["x"]))


def remember(z: Imaged[X, Y], psi: Estimate[X, Y], alpha: Imaged[Y, X], weight: float) -> State:
    """What an accelerated method goes on from."""
    return {
        "z": packed(z.x),
        "s": packed(psi.s),
        "alpha": packed(alpha.x),
        "psi": np.array([psi.A, psi.c, psi.constant, psi.size, weight]),
    }


def remembered(
    J: Composite[X, Y], state: State
) -> tuple[Imaged[X, Y], Estimate[X, Y], Imaged[Y, X], float]:
    """The same again: three passes."""
    A, c, constant, size, weight = state["psi"].tolist()
    psi = Estimate(J, A, c, J.unpacked(state["s"]), constant, size)
    return J.imaged(J.unpacked(state["z"])), psi, J.unpacked_dual(state["alpha"]), weight


def lowered(J: Composite[X, Y], L: float) -> float:
    """L, if it is no less than makes a difference.

    It falls for as long as f is straight, as it is where a solution is reached. But Psi may be
    curved far more than f anyway, and what an L of less than round-off of its upper bound would
    gain is lost to the round-off of f.
    """
    bound = EPSILON**2 * J.L if np.isfinite(J.L) else 0.0
    curved = max(GAMMA_U * J.lambda_1, EPSILON * J.lambda_2)
    return max(L, J.sigma * curved, bound, _LEAST)


def accepted(J: Composite[X, Y], x: Imaged[X, Y], low: Minimum[X], L: float) -> bool:
    """J(x) <= the estimate's minimum, up to round-off; as L guarantees from J.L on.

    Where no L would do, as J is not a number, the driver is to see it.
    """
    value = J.value(x)
    if np.isnan(value) or L >= (J.L if np.isfinite(J.L) else _HOPELESS):
        return True
    return value <= low.value + ROUND_OFF * (abs(value) + low.size)
