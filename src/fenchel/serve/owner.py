"""An owner's data and what guards them ([Teo07] section 4.1)."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from fenchel import posing
from fenchel._system import blas
from fenchel.data.rows import WithOnes
from fenchel.engines.messages import VERSION, Answer, Label, Query, Shape, packed, unpacked
from fenchel.errors import FenchelError, InvalidData, Setting
from fenchel.losses import Labels
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.settings import positive, real, whole

log = logging.getLogger("fenchel.serve")

_SESSIONS = 64  # of which the last round is remembered


class Refused(FenchelError):
    """A query that the owner does not answer, with the status of HTTP that says so."""

    def __init__(self, status: int, message: str):
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class Limits:
    """What an owner allows.

    `rise` is how often its objective at w = 0 the objective may be at a w that is answered: honest
    solvers lower it, and ask far above it in their first steps only. `clip` and `noise` are the
    largest length of a subgradient and the deviation of Gaussian noise on every number.
    """

    max_queries: int = 10_000
    min_rows: int = 100
    rise: float = 1000.0
    clip: float | None = None
    noise: float = 0.0

    def __post_init__(self) -> None:
        whole("max_queries", self.max_queries, least=1)
        whole("min_rows", self.min_rows, least=1)
        positive("rise", self.rise)
        if self.clip is not None:
            positive("clip", self.clip)
        if real("noise", self.noise) < 0:
            raise InvalidData(Setting("noise"), f" must be >= 0; got {self.noise!r}")


@dataclass
class Owner:
    """Answers queries on one problem, of a loss of one score a row."""

    problem: Problem
    loss: str
    options: dict[str, float]
    limits: Limits = field(default_factory=Limits)
    intercept: bool = False
    classes: tuple[Label, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None

    def __post_init__(self) -> None:
        risk = self.problem.risk
        if not isinstance(risk, LinearRisk) or risk.classes is not None or not risk.facts.separable:
            raise InvalidData(f"{self.loss} is not a sum over rows of one score each")
        if risk.n_rows < self.limits.min_rows:
            raise InvalidData(
                f"the data have {risk.n_rows} rows, fewer than the {self.limits.min_rows} whose "
                "sums may be told"
            )
        self.risk = risk
        self.n_queries = 0
        self._rounds: OrderedDict[str, int] = OrderedDict()
        self._random = np.random.default_rng()
        self._lock = threading.Lock()  # one query at a time: kernels use all cores as it is
        self._start = self._objective(np.zeros(risk.n_parameters))[0]

    @property
    def shape(self) -> Shape:
        """What the coordinator is told of the data before any risk is computed."""
        return Shape(
            VERSION,
            self.risk.n_rows,
            self.risk.n_parameters,
            self.loss,
            self.options,
            self.intercept,
            self.classes,
            self.feature_names,
            self.index_base,
            self.risk.length,
            self.risk.fingerprint().hex(),
            self.limits.noise,
        )

    def answer(self, query: Query, client: str) -> Answer:
        """The answer, or Refused; either is logged."""
        with self._lock:
            try:
                answer = self._answer(query)
            except Refused as error:
                log.warning("%s round %d: refused: %s", client, query.round, error)
                raise
            log.info("%s round %d: answered query %d", client, query.round, self.n_queries)
            return answer

    def _answer(self, query: Query) -> Answer:
        try:
            w = unpacked("w", query.w, self.risk.n_parameters)
        except InvalidData as error:
            raise Refused(422, str(error)) from error
        if self.n_queries >= self.limits.max_queries:
            raise Refused(429, f"all {self.limits.max_queries} queries were asked")
        if query.round <= self._rounds.get(query.session, 0):
            raise Refused(409, f"round {query.round} was asked before")
        self.n_queries += 1  # a refused one counts too
        self._rounds[query.session] = query.round
        self._rounds.move_to_end(query.session)
        while len(self._rounds) > _SESSIONS:
            self._rounds.popitem(last=False)
        J, value, subgradient = self._objective(w)
        if not J <= self.limits.rise * max(self._start, 1.0):
            raise Refused(
                403,
                f"the objective there is {J:.3g}, against {self._start:.3g} at w = 0: no honest "
                "solver goes that far up. Use one with a line search, such as lbfgs or owlqn",
            )
        n = self.risk.n_rows
        return Answer(query.round, n, *self._blurred(n * value, n * subgradient))

    def _objective(self, w: Array) -> tuple[float, float, Array]:
        with blas.one_thread(), np.errstate(all="ignore"):  # overflow is the guard's business
            point = self.risk.at(w)
            return self.problem.objective(point), point.value, point.subgradient

    def _blurred(self, value: float, subgradient: Array) -> tuple[float, bytes]:
        clip, noise = self.limits.clip, self.limits.noise
        length = float(np.linalg.norm(subgradient))
        if clip is not None and length > clip:
            subgradient = subgradient * (clip / length)
        if noise > 0:
            value += float(self._random.normal(0.0, noise))
            subgradient = subgradient + self._random.normal(0.0, noise, subgradient.shape)
        return float(value), packed(subgradient)


def owned(
    X: Any,
    y: Any = None,
    *,
    loss: str,
    strength: float = 1e-4,
    intercept: bool = False,
    limits: Limits | None = None,
    feature_names: Sequence[str] | None = None,
    index_base: int | None = None,
    **options: Any,
) -> Owner:
    """The owner of some rows; `strength` is that of the objective it watches.

    The names of the columns and the base of indices are told, so that owners are found out whose
    columns mean something else.
    """
    problem = posing.problem(X, y, loss=loss, strength=strength, **options)
    risk = problem.risk
    if intercept and isinstance(risk, LinearRisk) and risk.classes is None:
        n_columns = risk.n_parameters
        shards = [replace(shard, rows=WithOnes(shard.rows)) for shard in risk.engine.shards]
        ones = LinearRisk(risk.loss, risk.engine.place(shards))
        penalty = posing.for_outputs(problem.regularizer, n_columns, True, 1)
        problem = Problem(ones, penalty, strength)
    return Owner(
        problem,
        loss,
        options,
        limits or Limits(),
        intercept,
        _classes(risk, y),
        None if feature_names is None else tuple(feature_names),
        index_base,
    )


def _classes(risk: Risk, y: Any) -> tuple[Label, ...] | None:
    """The two classes in their order, as a problem takes them."""
    if not isinstance(risk, LinearRisk) or risk.loss.labels is not Labels.BINARY:
        return None
    classes = np.unique(y).tolist()
    return tuple(name if isinstance(name, str) else float(name) for name in classes)
