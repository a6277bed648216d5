"""The number of weights that are not 0 along the runs of OWL-QN (figure 5) and K&T (figure 6) on
the parse re-ranking task; and, for a smaller regularisation weight, more of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, run
from reproduction.contest import thinned
from reproduction.figures import andrew07_table2 as table
from reproduction.reranking import reranked

TITLE = "Figures 5 and 6: nonzero weights along the run, and against C"
CLAIM = """Both start with a significant fraction of the features (5 to 12 %) and prune them; OWL-QN
gets to a sparse model sooner, after a sharp valley at its second iteration."""
HERE = """The runs of table 2, and OWL-QN at five strengths for the last panel; a generated task,
whose hidden weights are few."""
WHY = """Whether there is a valley depends on the first step's length and the data; L-BFGS-B's
iterates are as sparse as OWL-QN's, as its bounds are active sets."""

STRENGTHS = (1e-3, 3e-4, 1e-4, 3e-5, 1e-5)


def runs(quick: bool) -> dict[str, Run]:
    """Those of table 2, and OWL-QN at other strengths."""
    others = {
        f"{strength:g}": run(
            reranked,
            size="quick" if quick else "full",
            solver="owlqn",
            strength=strength,
            calls=100 if quick else 300,
        )
        for strength in (STRENGTHS[:2] if quick else STRENGTHS)
    }
    own = table.runs(quick)
    return {name: own[name] for name in ("OWL-QN", "K&T")} | others


def draw(found: Results) -> Sequence[Panel]:
    """Along the runs, and against the strength."""
    along = [
        Series(name, thinned(found[name].column("calls")), found[name].column("nonzeros").tolist())
        for name in ("OWL-QN", "K&T")
    ]
    strengths = [name for name in found if name not in table.RUNS]
    counts = [found[name].get("nonzeros", 0) for name in strengths]
    against = Series("OWL-QN", [float(name) for name in strengths], counts)
    return [
        Panel("along the run", "function calls", "weights that are not 0", along, "xy"),
        Panel("at the minimum", "strength", "weights that are not 0", [against], "xy"),
    ]


def verdict(found: Results) -> list[Check]:
    """Peaks and ends."""
    owlqn, split = (found[name].column("nonzeros") for name in ("OWL-QN", "K&T"))
    d = found["OWL-QN"].get("n_parameters", 1)
    pruned = [len(each) > 2 and max(each) > each[-1] for each in (owlqn, split)]
    sooner = _settled(found, "OWL-QN") <= _settled(found, "K&T")
    counts = [found[name].get("nonzeros", 0) for name in found if name not in table.RUNS]
    return [
        Check(
            "both have more nonzeros on the way than in the end",
            all(pruned),
            f"{max(owlqn, default=0) / d:.1%} and {max(split, default=0) / d:.1%} of all at most, "
            f"{owlqn[-1:].sum() / d:.2%} and {split[-1:].sum() / d:.2%} in the end",
        ),
        Check(
            "OWL-QN is within 10 % of its last number sooner",
            sooner,
            f"after {_settled(found, 'OWL-QN'):g} and {_settled(found, 'K&T'):g} calls",
        ),
        Check("the smaller the strength, the more", counts == sorted(counts), f"{counts}"),
    ]


def _settled(found: Results, name: str) -> float:
    """The calls after which the number of nonzeros stays within 10 % of the last."""
    count, calls = found[name].column("nonzeros"), found[name].column("calls")
    away = [k for k in range(len(count)) if abs(count[k] - count[-1]) > 0.1 * count[-1]]
    return float(calls[min(away[-1] + 1, len(calls) - 1)]) if away and len(calls) else 0.0
