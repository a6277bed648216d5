"""What a proof is of: the problem in plain words and numbers, so that others can check it.

A statement names the loss and the regulariser as the library does, with their options, and says
what was claimed of which data; with the arrays beside it, and the data, no other knowledge is
needed (docs/reference/proof-format.md). It is written where every row has dual variables, labels
that a file can hold, and nothing is of a user's own making.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta
from scipy import sparse

from fenchel._system.container import Arrays
from fenchel.losses import LOSSES, Labels
from fenchel.regularizers import REGULARIZERS
from fenchel.result import Certificate, Result, Status
from fenchel.risks.base import Array, Problem
from fenchel.risks.linear import LinearRisk, OffsetsRisk
from fenchel.verification import verify
from fenchel.witness import Witness

_Name = Annotated[str, Meta(max_length=64)]
_Option = bool | int | float | str
_Options = Annotated[dict[_Name, _Option], Meta(max_length=16)]
_Size = Annotated[int, Meta(ge=0, le=1 << 48)]

_LABELS = {
    Labels.BINARY, Labels.REAL, Labels.COUNT, Labels.POSITIVE, Labels.NONE, Labels.CLASSES
}  # fmt: skip


class Claim(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """What is claimed of one minimisation: lower_bound <= min J <= J(w) = objective."""

    objective: float
    lower_bound: float
    positive: _Size | None  # of two classes, or one against the rest: which of them is +1
    digest: Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]  # of rows and labels, see `_digests`


class Statement(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The problem, and a claim for each of its minimisations."""

    loss: _Name
    loss_options: _Options
    regularizer: _Name
    regularizer_options: _Options
    strength: float
    intercept: bool
    rows: _Size
    columns: _Size
    index_base: int | None  # what svmlight text calls the first column
    classes: list[_Option] | None  # the labels in order, where that is known
    claims: Annotated[list[Claim], Meta(min_length=1)]


def stated(
    results: Sequence[Result],
    problems: Sequence[Problem],
    classes: npt.NDArray[Any] | None = None,
    index_base: int | None = None,
) -> tuple[Statement, Arrays] | None:
    """The statement of some results, and its arrays; None where nobody else could check it.

    The bounds are those that `verify` finds, so that no more is claimed than is proved; it raises
    InvalidCertificate where a result claims more.
    """
    named = _named(problems[0]) if problems else None
    if named is None or any(result.status is Status.NONFINITE for result in results):
        return None
    risk = _linear(problems[0])
    duals = [_duals(*each) for each in zip(results, problems, strict=True)]
    certificates = [
        verify(replace(result, witness=Witness(alpha=alpha)), problem)
        for result, problem, alpha in zip(results, problems, duals, strict=True)
    ]
    statement = Statement(
        **named,
        strength=problems[0].strength,
        intercept=risk.facts.has_intercept or risk.n_offsets > 0,
        rows=risk.n_rows,
        columns=risk.shape[-1],
        index_base=index_base,
        classes=_plain_classes(risk, classes),
        claims=_claims(certificates, problems),
    )
    return statement, _arrays(results, problems[0], duals)


def _linear(problem: Problem) -> LinearRisk:
    assert isinstance(problem.risk, LinearRisk)
    return problem.risk


def _named(problem: Problem) -> dict[str, Any] | None:
    """Loss and regulariser by their names and plain options; None where that does not say all."""
    risk, omega = problem.risk, problem.regularizer
    if not isinstance(risk, LinearRisk) or type(risk) not in (LinearRisk, OffsetsRisk):
        return None
    if not risk.facts.has_duals or risk.loss.labels not in _LABELS or problem.strength == 0:
        return None  # without a penalty it is not the dual variables that prove the bound
    losses = [name for name, kind in LOSSES.items() if type(risk.loss) is kind]
    penalties = [name for name, kind in REGULARIZERS.items() if type(omega) is kind]
    options = [_given(risk.loss.settings()), _given(omega.settings(), "weights")]
    plain = all(isinstance(value, _Option) for each in options for value in each.values())
    if not (losses and penalties and plain):
        return None
    return {
        "loss": losses[0],
        "loss_options": options[0],
        "regularizer": penalties[0],
        "regularizer_options": options[1],
    }


def _given(settings: dict[str, Any], apart: str = "") -> dict[str, Any]:
    return {name: value for name, value in settings.items() if value is not None and name != apart}


def _duals(result: Result, problem: Problem) -> Array:
    """One dual variable for each score; 0 where there is no evidence, which proves J >= 0."""
    risk = problem.risk
    alpha = None if result.witness is None else risk.compressed(result.witness).alpha
    return np.zeros(risk.n_duals) if alpha is None else alpha


def _claims(certificates: Sequence[Certificate], problems: Sequence[Problem]) -> list[Claim]:
    digests = _digests([_linear(problem) for problem in problems])
    binary = _linear(problems[0]).loss.labels is Labels.BINARY
    first = 0 if len(problems) > 1 else 1  # of two classes the second is +1
    return [
        Claim(each.upper_bound, each.lower_bound, first + k if binary else None, digest)
        for k, (each, digest) in enumerate(zip(certificates, digests, strict=True))
    ]


def _plain_classes(risk: LinearRisk, classes: npt.NDArray[Any] | None) -> list[Any] | None:
    classes = risk.classes if classes is None else classes
    known: list[Any] | None = None if classes is None else classes.tolist()
    plain = known is not None and all(isinstance(label, _Option) for label in known)
    return known if plain else None


def _arrays(results: Sequence[Result], problem: Problem, duals: Sequence[Array]) -> Arrays:
    """A line for each minimisation; where one has K scores, a line for each of these."""
    risk, omega = _linear(problem), problem.regularizer
    K, together = risk.n_outputs, risk.classes is not None
    arrays: Arrays = {
        "w": np.vstack([result.w for result in results]),
        "intercept": np.ravel([result.intercept for result in results]).astype(np.float64),
        "alpha": duals[0].reshape(-1, K).T if together else np.stack(duals),
    }
    shards = risk.engine.shards
    if any(shard.s is not None for shard in shards):
        s = [np.ones(len(shard.y)) if shard.s is None else shard.s for shard in shards]
        arrays["sample_weight"] = np.concatenate(s)
    if any(shard.offset is not None for shard in shards):
        given = [shard.offset for shard in shards if shard.offset is not None]  # all have some
        arrays["offset"] = np.concatenate(given)
    c = None if omega.weights is None else omega.weights[::K][: risk.shape[-1]]
    if c is not None and np.any(c != 1):
        arrays["penalty_weights"] = np.array(c)
    return arrays


def _digests(risks: Sequence[LinearRisk]) -> list[str]:
    """SHA-256 of the data of each risk, which share their rows.

    Of (row, column, value) of every number of X that is not 0, in that order, then of the numbers
    of rows and columns, then of the labels as the loss takes them; all as little-endian float64.
    """
    rows, first = hashlib.sha256(), 0
    shape = risks[0].n_rows, risks[0].shape[-1]
    for shard in risks[0].engine.shards:
        X = sparse.coo_array(sparse.csr_array(shard.rows.matrix())[:, : shape[1]])
        order = np.lexsort((X.col, X.row))
        order = order[X.data[order] != 0]
        numbers = (first + X.row[order], X.col[order], X.data[order])
        rows.update(np.column_stack(numbers).astype("<f8").tobytes())
        first += len(shard.y)
    rows.update(np.array(shape, dtype="<f8").tobytes())
    digests = []
    for risk in risks:
        digest = rows.copy()
        for shard in risk.engine.shards:
            digest.update(np.asarray(shard.y).astype("<f8").tobytes())
        digests.append(digest.hexdigest())
    return digests
