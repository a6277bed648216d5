"""What `train` and `resume` report on stdout: a few lines, or one JSON object."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

import fenchel
from fenchel.cli import inputs
from fenchel.cli.settings import Settings
from fenchel.cli.terminal import Terminal, duration, result

if TYPE_CHECKING:
    from fenchel.data.dataset import Dataset

Label = float | str | None


class RunSummary(msgspec.Struct):
    """One minimisation: the only one, or that of one class against the rest."""

    label: Label  # the class, null if there is only one run
    status: str
    objective: float
    lower_bound: float | None
    gap: float | None
    solver: str
    reason: str
    iterations: int
    passes: int
    proof_passes: int  # more, to prove the bounds by other code
    seconds: float
    nonzeros: int
    coefficients: int


class Trained(msgspec.Struct):
    """The report of a training job. Fields may be added; none will change its meaning."""

    version: str
    model: str
    bytes: int
    data: str
    files: list[str]
    rows: int
    features: int
    nonzeros: int | None
    classes: list[Label] | None
    estimator: str
    settings: Settings
    converged: bool
    gap: float | None  # the largest of all runs; null if nothing was proved
    runs: list[RunSummary]
    seconds: dict[str, float]


def trained(
    estimator: Any,
    dataset: Dataset,
    seconds: dict[str, float],
    *,
    files: list[str],
    output: str,
    settings: Settings,
) -> Trained:
    """The report of an estimator that was fitted to the files and saved as `output`."""
    rows, features, nonzeros = inputs.shape(dataset.X)
    classes = estimator.classes_.tolist() if hasattr(estimator, "classes_") else None
    return Trained(
        version=fenchel.__version__,
        model=output,
        bytes=os.path.getsize(output),
        data=files[0],
        files=files,
        rows=rows,
        features=features,
        nonzeros=nonzeros,
        classes=classes,
        estimator=type(estimator).__name__,
        settings=settings,
        converged=estimator.status_ == "converged",
        gap=finite(estimator.gap_),
        runs=runs_of(estimator),
        seconds=seconds,
    )


def runs_of(estimator: Any) -> list[RunSummary]:
    """One for each minimisation of a fit."""
    found = estimator.result_
    if not isinstance(found, list):
        return [_run(None, found)]
    return [_run(*pair) for pair in zip(estimator.classes_.tolist(), found, strict=True)]


def _run(name: Label, found: Any) -> RunSummary:
    import numpy as np

    return RunSummary(
        label=name,
        status=found.status.name.lower(),
        objective=float(found.objective),
        lower_bound=finite(found.lower_bound),
        gap=finite(found.gap),
        solver=found.solver,
        reason=found.reason,
        iterations=found.iterations,
        passes=int(found.passes),
        proof_passes=int(found.proof_passes),
        seconds=float(found.seconds),
        nonzeros=int(np.count_nonzero(found.w)),
        coefficients=found.w.size,
    )


def finite(value: float) -> float | None:
    """The number as JSON has it, which knows no other."""
    return float(value) if math.isfinite(value) else None


def show(report: Trained, terminal: Terminal) -> None:
    """Prints the report of a training, as text or as JSON."""
    if terminal.json:
        result(msgspec.json.encode(report).decode())
    else:
        show_runs(report.runs, report.settings.gap)


def show_runs(runs: Sequence[RunSummary], gap: float) -> None:
    """What was proved, and what it cost, in two lines and one for each class that fell short."""
    if len(runs) == 1:
        result(_bounds(runs[0], gap))
    else:
        done = sum(run.status == "converged" for run in runs)
        result(f"{done} of {len(runs)} classes converged to a gap of {gap:.1e}")
    for run in runs if len(runs) > 1 else ():
        if run.status != "converged":
            result(f"  class {label(run.label)}: {_bounds(run, gap)}")
    iterations, passes, proof, nonzeros, coefficients = (
        sum(getattr(run, what) for run in runs)
        for what in ("iterations", "passes", "proof_passes", "nonzeros", "coefficients")
    )
    more = f" and {proof:,} to prove it" if proof else ""
    result(
        f"{runs[0].solver}: {iterations:,} iterations, {passes:,} passes{more}, "
        f"{duration(sum(run.seconds for run in runs))}; "
        f"{nonzeros:,} of {coefficients:,} coefficients nonzero"
    )


def _bounds(run: RunSummary, gap: float) -> str:
    return f"{_ending(run, gap)}: {bounds(run.lower_bound, run.objective, run.gap)}"


def bounds(lower_bound: float | None, objective: float, gap: float | None) -> str:
    """Both bounds, with as many digits as show that they differ."""
    digits = 8 if not gap else min(17, max(8, 2 - math.floor(math.log10(gap))))
    lower = "?" if lower_bound is None else f"{lower_bound:.{digits}g}"
    return f"{lower} <= min J <= {objective:.{digits}g}"


def _ending(run: RunSummary, target: float) -> str:
    gap = "no gap" if run.gap is None else f"gap {run.gap:.1e}"
    if run.status == "converged" and (run.gap is None or run.gap > target):
        width = run.objective - (run.lower_bound or 0.0)
        return f"converged, {width:.1e} between the bounds"  # by --atol, or as J is 0
    if run.status == "converged":
        return f"converged, {gap} within {target:.1e}"
    return f"not converged ({run.status.replace('_', ' ')}), {gap}, not {target:.1e}"


def label(value: Label) -> str:
    """A class as people write it: 1, not 1.0."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)
