"""Time and function evaluations until J is within 1 % of the best value found, on parse re-ranking
with 1.2 million features (36,000 sentences): OWL-QN and the split of Kazama and Tsujii by L-BFGS-B
under L1, two implementations of L-BFGS under L2, all with memory 5.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from reproduction import Check, Results, Run, Table, run
from reproduction.reranking import reranked

TITLE = "Table 2: evaluations to 1 % above the minimum, OWL-QN, K&T and L-BFGS"
CLAIM = """OWL-QN needs 54 evaluations, K&T more than 946, L-BFGS under L2 107 and 109: OWL-QN is
dramatically better than K&T, and converges even faster than L-BFGS."""
HERE = """A generated task of the same shape, 3,000 lists of 10 candidates with 100,000 features:
the Penn Treebank cannot be had. An evaluation is two passes over the data. The minimum is
certified. "K&T, in bursts" restarts L-BFGS-B every 100 iterations; "ours" is fenchel's owlqn."""
WHY = """K&T falls the further behind, the more features there are: 3.2 times OWL-QN's evaluations
with 3,000 of them, 4.3 and 4.7 with 10,000 and 30,000, 4.7 with all (the experiment below). That
levels off, so the paper's 1.2 million do not make it an order of magnitude; SciPy's L-BFGS-B is not
AlgLib's port of 2007, which we cannot run. L-BFGS under L2 starts from the columns' scales here;
from H = 1, as in the paper, it needs 82 to 119 evaluations (the paper: 107 and 109), more than
OWL-QN, as claimed."""

RUNS = {
    "OWL-QN": ("owlqn", "l1", {"form": "printed", "memory": 5}),
    "OWL-QN, ours": ("owlqn", "l1", {"memory": 5}),
    "K&T": ("kt-split", "l1", {"memory": 5, "burst": None}),
    "K&T, in bursts": ("kt-split", "l1", {"memory": 5}),
    "L-BFGS": ("lbfgs", "l2", {"memory": 5}),
}
PRINTED = {"OWL-QN": "54", "K&T": "> 946", "L-BFGS": "109"}


def runs(quick: bool) -> dict[str, Run]:
    """Each until it certifies 1e-5, or for 1000 calls, as in the paper."""
    return {
        name: run(
            reranked,
            size="quick" if quick else "full",
            solver=solver,
            penalty=penalty,
            options=options,
            calls=150 if quick else 1000,
        )
        for name, (solver, penalty, options) in RUNS.items()
    }


def calls(found: Results, name: str, within: float, field: str = "calls") -> float:
    """Evaluations, or seconds, to that fraction above the least under its penalty."""
    penalty = RUNS[name][1]
    values = [found[each].get("objective", math.inf) for each in RUNS if RUNS[each][1] == penalty]
    return found[name].first(field, objective=(1 + within) * min(values))


def draw(found: Results) -> Sequence[Table]:
    """The paper's numbers beside ours."""
    rows = [
        [
            name,
            PRINTED.get(name, ""),
            *(calls(found, name, within) for within in (1e-2, 1e-3, 1e-4)),
            calls(found, name, 1e-2, "seconds"),
            found[name].get("nonzeros", ""),
            found[name].get("gap", ""),
        ]
        for name in RUNS
    ]
    head = ["", "the paper's, to 1 %", "to 1 %", "0.1 %", "0.01 %", "seconds to 1 %"]
    return [Table("evaluations of J and its gradient", [*head, "nonzeros", "certified gap"], rows)]


def verdict(found: Results) -> list[Check]:
    """Ratios of evaluations."""
    n = {name: calls(found, name, 0.01) for name in RUNS}
    return [
        Check(
            "OWL-QN needs fewer evaluations than K&T",
            n["OWL-QN"] < n["K&T"],
            f"{n['OWL-QN']:g} and {n['K&T']:g}; in bursts {n['K&T, in bursts']:g}",
        ),
        Check(
            "by more than an order of magnitude",
            n["K&T"] > 10 * n["OWL-QN"],
            f"{n['K&T'] / n['OWL-QN']:.1f} times",
        ),
        Check(
            "and fewer than L-BFGS under L2",
            n["OWL-QN"] < n["L-BFGS"],
            f"{n['OWL-QN']:g} and {n['L-BFGS']:g}",
        ),
    ]
