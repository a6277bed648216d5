"""Supposed: a second worker takes little from the first on queries and levels because these are so
few that most of a worker's CPU time goes into what its rows do not change: messages and dispatch.
So rows, and whole queries, are repeated, which leaves J as it is, and one worker has all of them or
half: what each of two workers has, without their disturbing each other.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.scaling import Law, scaled

TITLE = "The experiment: the same rows many times"
SETS = {"ndcg": "lightgbm_rank", "ordinal": "fried"}
TIMES = (1, 2, 16, 32)


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
            iterations=3 if quick else 40,
            limit=240.0,
        )
        for loss, data in (list(SETS.items())[:1] if quick else SETS.items())
        for times in (TIMES[:1] if quick else TIMES)
    }


def work(found: Results, loss: str) -> dict[int, float]:
    """The worker's CPU seconds an iteration, by the number of copies."""
    mine = {times: each for (name, times), each in found.items() if name == loss}
    return {times: Law.of(each).t for times, each in mine.items() if "seconds" in each}


def fixed(cpu: dict[int, float]) -> float:
    """What no row adds to it, by the line through 16 and 32 copies."""
    return 2 * cpu[16] - cpu[32]


def draw(found: Results) -> Sequence[Panel | Table]:
    """CPU time against the number of copies."""
    cpu = {loss: work(found, loss) for loss in SETS}
    series = [Series(loss, [*each], [*each.values()]) for loss, each in cpu.items()]
    rows = [
        [loss, times, 1e3 * seconds]
        for loss, each in cpu.items()
        for times, seconds in each.items()
    ]
    head = ["loss", "copies", "CPU of a worker an iteration, milliseconds"]
    return [
        Panel("", "copies of the rows", "CPU seconds an iteration", series, "xy"),
        Table("work of one worker", head, rows),
    ]


def verdict(found: Results) -> list[Check]:
    """How much of the work a second worker can take."""
    checks = []
    for loss in SETS:
        cpu = work(found, loss)
        known = set(TIMES) <= set(cpu)
        few, many = (cpu[1] / cpu[2], cpu[16] / cpu[32]) if known else (0.0, 0.0)
        checks += [
            Check(
                f"{loss}: half of the rows take less of the CPU time of all, the more there are",
                many < few,
                f"{few:.0%} of twice the rows, {many:.0%} of 32 times as many",
            ),
            Check(
                "what no row adds to it is most of a worker's time on the rows as they are",
                known and fixed(cpu) > 0.5 * cpu[1],
                f"{1e3 * fixed(cpu):.0f} of {1e3 * cpu[1]:.0f} ms" if known else "",
            ),
        ]
    return checks
