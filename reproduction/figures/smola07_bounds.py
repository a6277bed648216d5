"""Theorem 5: BMRM comes to the precision epsilon after at most log2(lambda J(0) / G^2 H*) + 8 G^2
H* / (lambda epsilon) - 4 steps, G being the largest norm of a subgradient of the risk and H* = 1
under L2; theorem 4: each step raises the model by gamma_t/2 min(1, lambda gamma_t / 4 G^2 H*) at
least. And theorem 5 for smooth losses: O(log(1/epsilon)) steps.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.contest import thinned

TITLE = "Theorems 4 and 5: the bounds beside the steps that were needed"
CLAIM = """The number of steps is O(1 / (lambda epsilon)) for any loss; in practice it grows more
slowly as lambda falls, and the rate is that of smooth functions."""
HERE = """a9a with the hinge and with the logistic loss, cuts at the model's minimiser. G is
measured: the largest norm of a subgradient at any point of the run."""
WHY = ""

STRENGTHS = (1e-1, 1e-2, 1e-3, 1e-4)
EPSILONS = (1e-2, 1e-3, 1e-4)


def followed(
    loss: str,
    strength: float,
    rows: int | None = None,
    iterations: int = 3000,
    seconds: float = 10.0,
) -> Mapping[str, Any]:
    """Gaps in absolute terms at each step of BMRM, and the largest norm of a subgradient."""
    import time

    import numpy as np

    import fenchel
    from reproduction.data import load

    X, y, _ = load("a9a", rows)
    problem = fenchel.problem(X, y, loss=loss, strength=strength)
    best, lower, G, start = math.inf, 0.0, 0.0, time.perf_counter()
    gaps, raised = [], []
    for step in fenchel.solver("bmrm", step=1.0).iterate(problem, np.zeros(X.shape[1])):
        G = max(G, float(np.linalg.norm(step.point.subgradient)))
        gamma, last = step.objective - step.lower_bound, lower
        best, lower = min(best, step.objective), max(lower, step.lower_bound)
        gaps.append(best - lower)
        raised.append((lower - last, gamma))
        if (
            gaps[-1] < EPSILONS[-1]
            or len(gaps) >= iterations
            or time.perf_counter() - start > seconds
        ):
            break
    # The model after step t + 1 is known at step t + 2: its rise belongs to the gamma before it.
    least = [0.5 * gamma * min(1.0, strength * gamma / (4 * G * G)) for (_, gamma) in raised[1:-1]]
    kept = [rise >= bound - 1e-12 for (rise, _), bound in zip(raised[2:], least, strict=True)]
    return {"gaps": gaps, "G": G, "start": gaps[0], "kept": sum(kept), "steps": len(kept)}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """Two losses at each strength."""
    return {
        (loss, strength): run(
            followed,
            loss=loss,
            strength=strength,
            rows=800 if quick else None,
            iterations=150 if quick else 3000,
            seconds=0.5 if quick else 8.0,
        )
        for loss in ("hinge", "logistic")
        for strength in (STRENGTHS[:2] if quick else STRENGTHS)
    }


def bound(found: Mapping[str, Any], strength: float, epsilon: float) -> float:
    """Theorem 5, eq. 13; inf of a run that failed."""
    if "G" not in found:
        return math.inf
    square = found["G"] ** 2
    return (
        math.log2(max(strength * found["start"] / square, 1.0))
        + 8 * square / (strength * epsilon)
        - 4
    )


def needed(found: Mapping[str, Any], epsilon: float) -> float:
    """The steps to an absolute gap."""
    return next((k + 1 for k, gap in enumerate(found.get("gaps", ())) if gap <= epsilon), math.inf)


def draw(found: Results) -> Sequence[Panel | Table]:
    """Steps against the strength, and the bound."""
    strengths = list(dict.fromkeys(strength for _, strength in found))
    panels: list[Panel | Table] = []
    for loss in ("hinge", "logistic"):
        measured = [
            Series(
                f"{epsilon:g}",
                strengths,
                [needed(found[loss, each], epsilon) for each in strengths],
            )
            for epsilon in EPSILONS
        ]
        theory = [
            Series(
                f"{epsilon:g}, theorem 5",
                strengths,
                thinned([bound(found[loss, each], each, epsilon) for each in strengths]),
                "dashed",
            )
            for epsilon in EPSILONS[:2]
        ]
        panels.append(
            Panel(f"{loss}: steps to epsilon", "strength", "steps", [*measured, *theory], "xy")
        )
    rows = [
        [loss, f"{strength:g}", each["steps"], each["kept"], round(each["G"], 3)]
        for (loss, strength), each in found.items()
        if "G" in each
    ]
    return [
        *panels,
        Table(
            "theorem 4", ["loss", "strength", "steps", "that rise as much as promised", "G"], rows
        ),
    ]


def verdict(found: Results) -> list[Check]:
    """The bounds hold, and are far from tight."""
    cases = [
        (key, each, epsilon) for key, each in found.items() if "G" in each for epsilon in EPSILONS
    ]
    over = [
        1
        for key, each, epsilon in cases
        if math.isfinite(needed(each, epsilon))
        and needed(each, epsilon) > bound(each, key[1], epsilon)
    ]
    kept = sum(each.get("kept", 0) for each in found.values())
    steps = sum(each.get("steps", 0) for each in found.values())
    exponents = [
        math.log(needed(each, EPSILONS[2]) / needed(each, EPSILONS[0])) / math.log(100)
        for each in found.values()
        if math.isfinite(needed(each, EPSILONS[2]))
    ]
    slack = [
        bound(each, key[1], epsilon) / needed(each, epsilon)
        for key, each, epsilon in cases
        if math.isfinite(needed(each, epsilon))
    ]
    return [
        Check(
            "no run needs more steps than theorem 5 allows",
            not over,
            f"{len(cases) - len(over)} of {len(cases)}; "
            f"the bound is {min(slack, default=0):.0f} to {max(slack, default=0):.1e} times that",
        ),
        Check(
            "every step raises the model by what theorem 4 promises",
            kept == steps,
            f"{kept} of {steps} steps",
        ),
        Check(
            "steps grow more slowly than 1/epsilon",
            max(exponents, default=1.0) < 0.9,
            "like epsilon to the power of -" + ", -".join(f"{each:.2f}" for each in exponents),
        ),
    ]
