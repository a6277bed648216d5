"""Supposed: (1) SDCA is ahead as it takes a step per row, so its passes fall where the same rows
come many times, and nobody else's do. (2) What an accelerated method loses to bundles it loses by
the conditioning of the data: the paper's own geometry beside those that fenchel takes from the
columns. (3) Or by its smoothing: all levels from fine to coarse.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from reproduction import Check, Results, Run, Table, run
from reproduction.announced import certify

TITLE = "The experiment: the same rows many times, other geometries, other levels of smoothing"
TIMES = (1, 4, 16)
GEOMETRIES = ("own", "columns", "whitened")
LEVELS = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4)
SOLVERS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "SDCA": ("sdca", {}),
    "AGM-inf": ("agm-inf", {}),
    "ls-BMRM": ("ls-bmrm", {}),
}
GAP = 1e-2


def cases() -> dict[tuple[str, str], tuple[int, str, Mapping[str, Any]]]:
    """Set and name: rows, solver and options."""
    found: dict[tuple[str, str], tuple[int, str, Mapping[str, Any]]] = {}
    for times in TIMES:
        for name, (solver, options) in SOLVERS.items():
            found[f"a9a, repeated={times}", name] = 2000, solver, options
    for data in ("a9a", "w8a"):
        found[data, "ls-BMRM"] = 8000, "ls-bmrm", {}
        for prox in GEOMETRIES:
            found[data, f"AGM-inf, {prox}"] = 8000, "agm-inf", {"prox": prox}
    for mu in LEVELS:
        found["w8a", f"AGM-inf, mu = {mu:g}"] = 8000, "agm-inf", {"mu": mu}
    return found


def runs(quick: bool) -> dict[tuple[str, str], Run]:
    """To a gap of 1e-2 at 1e-4."""
    return {
        key: run(
            certify,
            data=key[0],
            loss="hinge",
            strength=1e-4,
            solver=solver,
            options=options,
            rows=100 if quick else rows,
            gap=GAP,
            seconds=0.5 if quick else 60.0,
            iterations=20 if quick else 3000,
        )
        for key, (rows, solver, options) in list(cases().items())[: 3 if quick else None]
    }


def passes(found: Results, data: str, name: str) -> float:
    """Until a hundredth is certified."""
    return found[data, name].first("passes", gap=GAP) if (data, name) in found else float("nan")


def draw(found: Results) -> Sequence[Table]:
    """Passes and iterations."""
    rows = [
        [data, name, passes(found, data, name), each.first("iteration", gap=GAP)]
        for (data, name), each in found.items()
    ]
    return [Table("to a certified gap of 1e-2", ["set", "solver", "passes", "iterations"], rows)]


def verdict(found: Results) -> list[Check]:
    """What is supposed."""
    n = {
        name: [passes(found, f"a9a, repeated={times}", name) for times in TIMES] for name in SOLVERS
    }
    steady = [max(n[name]) <= 1.05 * min(n[name]) for name in ("AGM-inf", "ls-BMRM")]
    by_prox = {
        data: [passes(found, data, f"AGM-inf, {prox}") for prox in GEOMETRIES]
        for data in ("a9a", "w8a")
    }
    bundle = {data: passes(found, data, "ls-BMRM") for data in by_prox}
    by_mu = [passes(found, "w8a", f"AGM-inf, mu = {mu:g}") for mu in LEVELS]
    return [
        Check(
            "four times the same rows take SDCA half the passes or less, the others as many",
            all(b <= a / 2 for a, b in zip(n["SDCA"], n["SDCA"][1:], strict=False)) and all(steady),
            "; ".join(f"{name} {each}" for name, each in n.items()),
        ),
        Check(
            "a9a: AGM is behind ls-BMRM in its own geometry, and level in that of the data",
            by_prox["a9a"][0] > 3 * bundle["a9a"] and by_prox["a9a"][-1] <= 1.2 * bundle["a9a"],
            f"{by_prox['a9a']}; ls-BMRM {bundle['a9a']}",
        ),
        Check(
            "w8a: no geometry and no level of smoothing brings it to the passes of ls-BMRM",
            min(by_prox["w8a"] + by_mu) > bundle["w8a"],
            f"geometries {by_prox['w8a']}, levels {by_mu}; ls-BMRM {bundle['w8a']}",
        ),
    ]
