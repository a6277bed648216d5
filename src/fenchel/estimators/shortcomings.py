"""What there is to say of a fit that found less than its user hoped for."""

from __future__ import annotations

from collections.abc import Sequence

from fenchel.errors import FenchelWarning, Setting
from fenchel.estimators.settings import words
from fenchel.losses import Loss, MultivariateLoss, NuLoss, Perceptron, SquaredPerceptron
from fenchel.result import Result


def worst(results: Sequence[Result]) -> Result:
    """The result that is furthest from its minimum."""
    return max(results, key=lambda result: (not result.converged, result.gap))


def shortfall(name: str, results: Sequence[Result], tol: float) -> str:
    """That an estimator of that name did not reach its tolerance, and what to do."""
    last, n_short = worst(results), sum(not result.converged for result in results)
    which = f" for {n_short} of {len(results)} classes, the worst" if len(results) > 1 else ""
    return (
        f"{name} stopped short{which} after {last.iterations} iterations: the certified gap is "
        f"{last.gap:.2g}, tol asks for {tol:g}; {last.ending.worded(words)}"
    )


def nothing(
    name: str, loss: Loss, measure: str, results: Sequence[Result]
) -> FenchelWarning | None:
    """That w = 0 was found, where a loss makes that likely, and why; None if all is well."""
    if all(result.w.any() for result in results):
        return None
    said: tuple[str, ...] = ()
    if isinstance(loss, NuLoss):
        said = (
            f"{name} found nothing: with nu = {loss.nu:g} w = 0 is best, up to "
            f"{max(result.certificate.width for result in results):.1g} in the objective, because "
            f"{loss.without_direction}; raise nu",
        )
    elif isinstance(loss, Perceptron | SquaredPerceptron):
        said = (
            f"{name} learnt nothing: the objective of a perceptron is 0 at w = 0, and nowhere less "
            "(its algorithm stops at any w that separates the classes); use ",
            Setting("loss", "hinge"),
            ", which asks for a margin",
        )
    elif isinstance(loss, MultivariateLoss) and measure:
        said = (
            f"{name} found nothing better than w = 0, where all scores are the same: the bound of "
            f"{measure} is too loose for these rows, or ",
            Setting("strength"),
            " too large. Try a smaller ",
            Setting("strength"),
            ", or a loss of pairs, ",
            Setting("loss", "roc", text="metric='roc_auc'"),
            " or ",
            Setting("loss", "rank_hinge"),
        )
    if not said:
        return None
    warning = FenchelWarning(*said)
    warning.words = words
    return warning
