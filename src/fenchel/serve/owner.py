"""An owner's data: what it tells of them, by the guard's leave, with noise or under masks."""

from __future__ import annotations

import logging
import secrets
import threading
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fenchel import posing
from fenchel._system import blas
from fenchel.callers import users_line
from fenchel.data.rows import WithOnes
from fenchel.data.shards import Shard
from fenchel.engines.messages import (
    MOST_OWNERS,
    VERSION,
    Answer,
    Label,
    Opening,
    Query,
    Shape,
    packed,
    unpacked,
)
from fenchel.errors import FenchelWarning, InvalidData, Setting
from fenchel.losses import Labels, ScalarLoss
from fenchel.losses.residual import SquaredError
from fenchel.risks import shardwork
from fenchel.risks.base import Array, Problem, Risk
from fenchel.risks.linear import LinearRisk
from fenchel.risks.point import LinearPoint
from fenchel.serve import rows
from fenchel.serve.guard import Client, Guard, Limits, Refused
from fenchel.serve.keys import Roster
from fenchel.serve.privacy import Accountant, Privacy, clipped, normal
from fenchel.serve.sessions import Session, Sessions

log = logging.getLogger("fenchel.serve")

_CLIENTS = 4096  # whose queries are counted one by one


@dataclass(frozen=True)
class About:
    """What an owner says of its columns and classes."""

    loss: str
    options: dict[str, float]
    intercept: bool = False
    classes: tuple[Label, ...] | None = None
    feature_names: tuple[str, ...] | None = None
    index_base: int | None = None


@dataclass
class Owner:
    """Answers queries on one problem, of a loss of one score a row."""

    problem: Problem
    about: About
    limits: Limits = field(default_factory=Limits)
    privacy: Privacy | None = None
    roster: Roster | None = None

    def __post_init__(self) -> None:
        risk = _summed(self.problem.risk, self.about.loss)
        if risk.n_rows < self.limits.min_rows:
            raise InvalidData(
                f"the data have {risk.n_rows} rows, fewer than the {self.limits.min_rows} whose "
                "sums may be told"
            )
        self.risk = risk
        self.n_queries = 0
        self.sessions = Sessions()
        self.nonce = secrets.token_hex(16)
        self.accountant = None if self.privacy is None else Accountant(self.privacy)
        self.rare = np.zeros(risk.n_parameters, dtype=bool) if self.privacy else self._rare()
        self._lengths = None if self.privacy is None else rows.lengths(risk)
        self._clients: dict[str, Client] = {}
        self._lock = threading.Lock()  # one query at a time: kernels use all cores as it is
        origin = np.zeros(risk.n_parameters)
        self._reach = np.ones(risk.n_rows) if self.privacy else rows.reach(risk, ~self.rare)
        self.guard = Guard(
            risk.n_rows,
            self._objective(origin, self._at(origin)),
            self.limits,
            affine=isinstance(risk.loss, SquaredError),
            masked=self.roster is not None,
        )

    @property
    def shape(self) -> Shape:
        """What the coordinator is told of the data before any risk is computed."""
        about, privacy = self.about, self.privacy
        return Shape(
            VERSION,
            self.risk.n_rows,
            self.risk.n_parameters,
            about.loss,
            about.options,
            about.intercept,
            about.classes,
            about.feature_names,
            about.index_base,
            rows.rounded(self.risk.length) if privacy is None else privacy.clip,
            privacy is None,
            self.nonce,
            None if self.roster is None else self.roster.digest,
            0 if self.roster is None else len(self.roster.secrets),
        )

    def open(self, opening: Opening, client: str) -> str:
        """The name of a new session."""
        if len(opening.together) > MOST_OWNERS:
            raise Refused(422, f"at most {MOST_OWNERS} owners may answer together")
        if self.roster is not None and (
            self.nonce not in opening.together
            or len(opening.together) != len(self.roster.secrets)
            or len(set(opening.together)) != len(opening.together)
        ):
            raise Refused(403, "the masks are for other owners than those who are asked")
        with self._lock:
            return self.sessions.open(client, opening.together)

    def answer(self, query: Query, client: str) -> Answer:
        """The answer, or Refused; either is logged."""
        with self._lock:
            try:
                answer = self._answer(query, client)
            except Refused as error:
                log.warning("%s round %d: refused: %s", client, query.round, error.why)
                raise
            told = "value" if answer.gradient is None else "value and gradient"
            log.info("%s round %d: query %d: %s", client, query.round, self.n_queries, told)
            return answer

    def _answer(self, query: Query, client: str) -> Answer:
        try:
            w = unpacked("w", query.w, self.risk.n_parameters)
        except InvalidData as error:
            raise Refused(422, str(error)) from error
        session = self.sessions.enter(query.session, client, query.round)
        counted = self._counted(client)
        point = self._at(w)
        if self.accountant is None:
            J = self._objective(w, point)
            with blas.one_thread():
                slopes = self._reach * self._slopes(point)
                tells = self.guard.admit(counted, query.kind, query.w, J, slopes)
            value = self.risk.n_rows * point.value
            gradient = self.risk.n_rows * point.subgradient if tells else None
        else:
            tells = query.kind != "value"
            self.accountant.charge(tells)
            value, gradient = self._noisy(point, tells)
        if gradient is not None:
            gradient[self.rare] = 0.0
        return self._sealed(session, query, value, gradient)

    def _counted(self, client: str) -> Client:
        """The client, whose query counts, whether or not it is answered."""
        if client not in self._clients and len(self._clients) >= _CLIENTS:
            raise Refused(429, f"{_CLIENTS} clients have asked, and no more are known apart")
        counted = self._clients.setdefault(client, self.guard.client())
        if self.n_queries >= self.limits.max_queries:
            raise Refused(429, f"all {self.limits.max_queries} queries were asked")
        if counted.queries >= self.limits.client_queries:
            raise Refused(429, f"all {self.limits.client_queries} queries of a client were asked")
        self.n_queries += 1
        counted.queries += 1
        return counted

    def _at(self, w: Array) -> LinearPoint:
        """The point at w; rare columns count as zeros."""
        with blas.one_thread(), np.errstate(all="ignore"):  # overflow is the guard's business
            return self.risk.at(np.where(self.rare, 0.0, w))

    def _objective(self, w: Array, point: LinearPoint) -> float:
        with np.errstate(all="ignore"):
            return self.problem.strength * self.problem.regularizer.value(w) + point.value

    def _slopes(self, point: LinearPoint) -> Array:
        return self.risk.engine.gather(point.slopes).ravel()

    def _noisy(self, point: LinearPoint, with_gradient: bool) -> tuple[float, Array | None]:
        """The sums of clipped parts, and noise."""
        privacy, engine = self.privacy, self.risk.engine
        if privacy is None or self._lengths is None:
            raise InvalidData("there is noise with differential privacy only")
        with np.errstate(all="ignore"):
            losses = engine.gather(engine.map(_losses, self.risk.loss, point.z))
            value, slopes = clipped(losses, self._slopes(point), self._lengths, privacy.clip)
        deviation = privacy.noise * privacy.clip
        value += deviation * float(normal(1)[0])
        if not with_gradient:
            return value, None
        total: Array = engine.total(engine.map(shardwork.adjoint, engine.scatter(slopes)))
        return value, total + deviation * normal(len(total))

    def _sealed(self, session: Session, query: Query, value: float, gradient: Any) -> Answer:
        """The answer as it is sent, under masks if there are others."""
        numbers, n = np.array([value]), self.risk.n_rows
        if self.roster is None:
            sealed = None if gradient is None else packed(gradient)
            return Answer(query.round, n, packed(numbers), sealed)
        context = self.roster.context(session.together, "value", query.w)
        told = self.roster.masked(numbers, context)
        if gradient is None:
            return Answer(query.round, n, told, None)
        context = self.roster.context(session.together, "gradient", query.w)
        return Answer(query.round, n, told, self.roster.masked(gradient, context))

    def _rare(self) -> npt.NDArray[np.bool_]:
        """The columns whose sums would tell of fewer than `crowd` rows: they count as zeros."""
        nonzero = rows.nonzero(self.risk)
        if self.about.intercept:
            nonzero = np.append(nonzero, self.risk.n_rows)
        rare: npt.NDArray[np.bool_] = (nonzero > 0) & (nonzero < self.limits.crowd)
        if rare.any():
            warnings.warn(
                f"{np.sum(rare)} columns are nonzero in fewer than {self.limits.crowd} rows, and "
                "are served as zeros: their sums would tell of single rows",
                FenchelWarning,
                stacklevel=users_line(),
            )
        return rare


def _losses(shard: Shard, loss: ScalarLoss, z: Array) -> Array:
    values: Array = loss.value(z, shard.y)
    return values


def owned(
    X: Any,
    y: Any = None,
    *,
    loss: str,
    strength: float = 1e-4,
    intercept: bool = False,
    limits: Limits | None = None,
    privacy: Privacy | None = None,
    roster: Roster | None = None,
    feature_names: Sequence[str] | None = None,
    index_base: int | None = None,
    **options: Any,
) -> Owner:
    """The owner of some rows; `strength` is that of the objective it watches.

    The names of the columns and the base of indices are told, so that owners are found out whose
    columns mean something else.
    """
    problem = posing.problem(X, y, loss=loss, strength=strength, **options)
    risk = _summed(problem.risk, loss)
    if intercept:
        n_columns = risk.n_parameters
        shards = [replace(shard, rows=WithOnes(shard.rows)) for shard in risk.engine.shards]
        ones = LinearRisk(risk.loss, risk.engine.place(shards))
        penalty = posing.for_outputs(problem.regularizer, n_columns, True, 1)
        problem = Problem(ones, penalty, strength)
    names = None if feature_names is None else tuple(feature_names)
    about = About(loss, options, intercept, _classes(risk, y), names, index_base)
    return Owner(problem, about, limits or Limits(), privacy, roster)


def _summed(risk: Risk, loss: str) -> LinearRisk:
    """The risk, if its sums over rows are those of other owners' with the same w."""
    if not isinstance(risk, LinearRisk) or risk.classes is not None or not risk.facts.separable:
        raise InvalidData(
            Setting("loss", loss),
            " cannot be served: it is not a sum over rows of one score each, so that sums of "
            "several owners would not add up to it",
        )
    return risk


def _classes(risk: LinearRisk, y: Any) -> tuple[Label, ...] | None:
    """The two classes in their order, as a problem takes them."""
    if risk.loss.labels is not Labels.BINARY:
        return None
    classes = np.unique(y).tolist()
    return tuple(name if isinstance(name, str) else float(name) for name in classes)
