"""Supposed: a second worker takes little from the first on queries because these are so few that
most of a worker's CPU time goes into what a second one does not share, messages and dispatch; and
on levels because their loss is the driver's, who needs all scores for it. So rows, and whole
queries, are repeated, which leaves J as it is, and the CPU time of a worker stands beside that of
the same values and gradients in a process without workers.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.found import Found
from reproduction.scaling import Law, scaled

TITLE = "The experiment: the same rows many times"
SETS = {"ndcg": "lightgbm_rank", "ordinal": "fried"}
TIMES = (1, 4, 16)


def runs(quick: bool) -> dict[tuple[str, int], Run]:
    """Each loss on more and more copies, by one worker."""
    return {
        (loss, times): run(
            scaled,
            loss=loss,
            data=f"{data}, repeated={times}",
            strength=1e-2,
            rows=300 if quick else None,
            workers=[1],
            iterations=3 if quick else 25,
            limit=240.0,
        )
        for loss, data in (list(SETS.items())[:1] if quick else SETS.items())
        for times in (TIMES[:1] if quick else TIMES)
    }


def share(each: Found) -> float:
    """Values and gradients over the CPU time of a worker, which may do but a part of them."""
    return float(each["products"]) / Law.of(each).t if "products" in each else float("nan")


def draw(found: Results) -> Sequence[Panel | Table]:
    """The share of the work that a second worker can take."""
    series = [
        Series(name, times, [share(found[name, n]) for n in times])
        for name in SETS
        if (times := [n for loss, n in found if loss == name])
    ]
    rows = [
        [loss, times, 1e3 * Law.of(each).t, 1e3 * each["products"], f"{share(each):.0%}"]
        for (loss, times), each in found.items()
        if "products" in each
    ]
    head = ["loss", "copies", "CPU ms of a worker, an iteration", "values and gradients", "share"]
    label = "values and gradients / CPU of a worker"
    return [Panel("", "copies of the rows", label, series, "x"), Table("work", head, rows)]


def verdict(found: Results) -> list[Check]:
    """How much of the work a second worker can take."""
    shares = {
        loss: [share(each) for (name, _), each in found.items() if name == loss] for loss in SETS
    }
    ndcg, ordinal = shares["ndcg"], shares["ordinal"]
    told = {loss: ", ".join(f"{each:.0%}" for each in every) for loss, every in shares.items()}
    return [
        Check(
            "ndcg: values and gradients are less than half of a worker's CPU time",
            bool(ndcg) and ndcg[0] < 0.5,
            told["ndcg"],
        ),
        Check(
            f"ndcg: and with {TIMES[-1]} times the rows at least twice that share",
            bool(ndcg) and ndcg[-1] >= 2 * ndcg[0],
            told["ndcg"],
        ),
        Check(
            f"ordinal: with {TIMES[-1]} times the rows they are more than a worker does at all",
            bool(ordinal) and ordinal[-1] > 1,
            told["ordinal"],
        ),
    ]
