"""Not a figure: what subLBFGS's results depend on beside tolerance and memory, which figures 13 and
14 show. k_max bounds the rounds of algorithm 2, which the paper leaves open; B_0 is not named
either.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, run
from reproduction.compare import Tally, descents
from reproduction.contest import OF_SEVERAL, contest

TITLE = "Sensitivity: the limit of rounds, the first matrix, the search"
CLAIM = """Directions are rarely corrected with two classes (table 2 has 0 to 1 rounds in all), so
the limit of rounds does not matter there; any subgradient will do (section 8)."""
HERE = """a9a at 1e-4 and scene at 1e-2, as printed but for one choice at a time; also ours, with
the whole programme and a diagonal B_0."""
WHY = ""

PRINTED = OF_SEVERAL[1]
SOLVERS = {
    "as printed": ("sublbfgs", PRINTED),
    "k_max 1": ("sublbfgs", PRINTED | {"k_max": 1}),
    "k_max 10": ("sublbfgs", PRINTED | {"k_max": 10}),
    "k_max 1000": ("sublbfgs", PRINTED | {"k_max": 1000}),
    "random subgradients": ("sublbfgs", PRINTED | {"seed": 0}),
    "diagonal B_0": ("sublbfgs", PRINTED | {"b0": "diagonal"}),
    "inexact search": ("sublbfgs", PRINTED | {"search": "inexact"}),
    "ours": ("sublbfgs", {}),
}
SETS = {("a9a", 1e-4): "hinge", ("scene", 1e-2): "multilabel_hinge"}


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To half a per cent above the minimum."""
    return {
        (data, strength): run(
            contest,
            data=data,
            rows=300 if quick else None,
            loss=loss,
            strength=strength,
            rivals=SOLVERS,
            within=5e-3,
            seconds=0.5 if quick else 5.0,
            iterations=40 if quick else 400,
        )
        for (data, strength), loss in SETS.items()
    }


def draw(found: Results) -> Sequence[Panel]:
    """The excess over the minimum."""
    return descents(found, SOLVERS)


def verdict(found: Results) -> list[Check]:
    """Passes to 2 % on a9a."""
    tally = Tally(found)
    key = next(iter(found))
    cost = {name: tally.cost(name)[key] for name in SOLVERS}
    limits = [cost[name] for name in ("k_max 1", "k_max 10", "k_max 1000")]
    drawn = cost["random subgradients"] / cost["as printed"]
    return [
        Check(
            "with two classes the limit of rounds does not matter",
            max(limits) <= 1.2 * min(limits),
            f"{limits} passes to 2 %",
        ),
        Check(
            "nor does the choice of subgradients",
            0.6 <= drawn <= 1.7,
            f"{cost['random subgradients']:g} passes beside {cost['as printed']:g}",
        ),
    ]
