"""Supposed: random subgradients differ from the steepest one at weights of 0 only, so OWL-QNr fails
where many weights are 0 at the minimum, and not at the small strengths at which few are. And:
algorithm 2 takes more rounds, the more columns there are, which is what OWL-QN* loses by on text.
So strengths are varied on three sets, and columns of 20 newsgroups are thrown together.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.contest import contest, excess, rival, took

TITLE = "The experiment: from few weights of 0 to many, from few columns to many"
STRENGTHS = {
    "a9a": (1e-1, 1e-2, 1e-3, 1e-4, 1e-5),
    "w8a": (1e-2, 1e-3, 1e-4, 1e-5),
    "covtype": (1e-1, 1e-2, 1e-3, 1e-5),
}
RANDOM = {
    "OWL-QN": ("owlqn", {"form": "printed"}),
    "OWL-QNr": ("owlqn", {"form": "printed", "seed": 0}),
}
STAR = {"OWL-QN*": ("owlqn-star", {"form": "printed"})}
COLUMNS = tuple(f"20news, columns={4**k}" for k in range(3, 7))
WITHIN = 1e-3


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """To a thousandth above the minimum, or 300 iterations."""
    zeros = [(data, each) for data, strengths in STRENGTHS.items() for each in strengths]
    columns = [(data, 1e-4) for data in COLUMNS]
    return {
        (data, strength): run(
            contest,
            data=data,
            rows=300 if quick else 5000,
            loss="logistic",
            regularizer="l1",
            strength=strength,
            rivals=STAR if data in COLUMNS else RANDOM,
            within=WITHIN,
            judge_gap=1e-6,
            seconds=0.5 if quick else 30.0,
            iterations=20 if quick else 300,
        )
        for data, strength in (zeros[1:2] + columns[:1] if quick else zeros + columns)
    }


def zeros(found: Results, key: tuple[str, float]) -> float:
    """The share of weights that are 0 at the minimum."""
    return 1 - found[key].get("nonzeros", 0) / found[key].get("n_parameters", 1)


def rounds(found: Results, key: tuple[str, float]) -> float:
    """Of algorithm 2 in an iteration."""
    star = rival(found[key], "OWL-QN*")
    return float(star.get("rounds", 0)) / max(1, star.get("iterations", 1))


def draw(found: Results) -> Sequence[Panel | Table]:
    """Where OWL-QNr ends against the zeros; rounds against the columns."""
    cases = [key for key in found if key[0] not in COLUMNS]
    ends = {
        key: float(excess(found[key], "OWL-QNr")[-1]) for key in cases if "rivals" in found[key]
    }
    series = [
        Series(data, [zeros(found, key) for key in ends if key[0] == data],
               [end for key, end in ends.items() if key[0] == data])
        for data in dict.fromkeys(data for data, _ in cases)
    ]  # fmt: skip
    columns = [key for key in found if key[0] in COLUMNS]
    grown = Series(
        "OWL-QN*",
        [found[key].get("n_parameters", 0) for key in columns],
        [rounds(found, key) for key in columns],
    )
    rows = [
        [data, f"{strength:g}", f"{zeros(found, (data, strength)):.0%}"]
        + [took(found[data, strength], name, "passes", WITHIN) for name in RANDOM]
        + [f"{ends[data, strength]:.1e}" if (data, strength) in ends else ""]
        for data, strength in cases
    ]
    head = ["set", "strength", "zeros", "OWL-QN", "OWL-QNr", "OWL-QNr ends above by"]
    return [
        Panel("OWL-QNr", "share of zeros", "(J - min J) / min J in the end", series, "y"),
        Panel("20 newsgroups", "columns", "rounds of algorithm 2 an iteration", [grown], "x"),
        Table("passes to a thousandth above the minimum", head, rows),
    ]


def verdict(found: Results) -> list[Check]:
    """What is supposed."""
    cases = [key for key in found if key[0] not in COLUMNS]
    cost = {key: took(found[key], "OWL-QNr", "passes", WITHIN) for key in cases}
    fails = [zeros(found, key) for key in cases if cost[key] == float("inf")]
    arrives = [zeros(found, key) for key in cases if cost[key] < float("inf")]
    as_fast = [
        key
        for key in cases
        if cost[key] <= 3 * took(found[key], "OWL-QN", "passes", WITHIN) < float("inf")
    ]
    grown = [rounds(found, key) for key in found if key[0] in COLUMNS]
    return [
        Check(
            "OWL-QNr breaks down wherever more weights are 0 than where it does not, on all sets",
            bool(fails and arrives) and min(fails) > max(arrives),
            f"zeros from {min(fails, default=1):.0%} up, and up to {max(arrives, default=0):.0%}",
        ),
        Check(
            "where it does not it needs the passes of OWL-QN, within a factor of 3",
            bool(arrives) and len(as_fast) == len(arrives),
            f"in {len(as_fast)} of {len(arrives)} cases",
        ),
        Check(
            "rounds of algorithm 2 in an iteration grow with the columns",
            grown == sorted(grown) and grown[-1] > 2 * grown[0],
            ", ".join(f"{each:.3g}" for each in grown),
        ),
    ]
