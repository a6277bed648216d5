"""The problem of rows that are known through a kernel (risks/kernel.py)."""

from __future__ import annotations

from fenchel.data.classes import Targets
from fenchel.engines import Engine
from fenchel.errors import Incompatible, Setting
from fenchel.losses import Loss, ScalarLoss, VectorLoss
from fenchel.losses.written import check_conjugate, check_vector_conjugate
from fenchel.regularizers import L2, Regularizer
from fenchel.risks.base import Array, Problem
from fenchel.risks.existence import check_attainable
from fenchel.risks.gram_rows import GramMatrix, shards_of
from fenchel.risks.kernel import KernelNorm, KernelOffsetsRisk, KernelRisk, check_engine


def check_penalty(regularizer: object) -> None:
    """Refuses all but the squared length: what is not that is no function of inner products."""
    plain = isinstance(regularizer, L2) and regularizer.weights is None
    if not plain and regularizer != "l2":
        raise Incompatible(
            "with a kernel the penalty is the squared length of w in the space of its features: "
            "use ",
            Setting("regularizer", "l2"),
            f" without weights or bounds; got {regularizer!r}",
        )


def posed_by_kernel(
    gram: GramMatrix,
    targets: Targets,
    s: Array | None,
    *,
    loss: Loss,
    regularizer: str | Regularizer,
    strength: float,
    intercept: bool,
    engine: Engine,
    offset: Array | None = None,
) -> Problem:
    """The problem of labels and weights that were checked, of rows known by their products."""
    check_penalty(regularizer)
    check_engine(engine)
    if not strength > 0:
        raise Incompatible("with a kernel, ", Setting("strength"), " must be > 0")
    if not isinstance(loss, ScalarLoss | VectorLoss):
        raise Incompatible(
            f"with a kernel the loss is one of each row; {type(loss).__name__} is one of all of "
            "them, for which low-rank features can be used (docs/how-to/kernels.md)"
        )
    if intercept:
        check_attainable(loss, targets, s)
    if isinstance(loss, VectorLoss):
        return _of_vectors(gram, targets, s, loss, strength, intercept, engine)
    check_conjugate(loss, targets.y)
    shards = shards_of(gram, targets.y, s, offset)
    risk = KernelRisk(gram, loss, engine.place(shards), intercept=intercept)
    return Problem(risk, KernelNorm(risk), strength)


def _of_vectors(
    gram: GramMatrix,
    targets: Targets,
    s: Array | None,
    loss: VectorLoss,
    strength: float,
    intercept: bool,
    engine: Engine,
) -> Problem:
    loss = loss.for_classes(targets.classes)
    placed = engine.place(shards_of(gram, targets.y, s, None))
    if not intercept:
        risk = KernelRisk(gram, loss, placed, classes=targets.classes)
        check_vector_conjugate(loss, targets.y, risk.n_outputs)
        return Problem(risk, KernelNorm(risk), strength)
    profiled = KernelOffsetsRisk(gram, loss, placed, classes=targets.classes, intercept=True)
    if profiled.offsets is None or not profiled.offsets.attained:
        raise Incompatible(
            f"the intercepts of {type(loss).__name__} cannot be found exactly for these labels, as "
            "a kernel needs: use ",
            Setting("intercept", False),
        )
    check_vector_conjugate(loss, targets.y, profiled.n_outputs)
    return Problem(profiled, KernelNorm(profiled), strength)
