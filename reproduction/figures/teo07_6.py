"""Time of BMRM on 1 to 64 computers with the soft margin, ranking (NDCG) and ordinal losses: CPU
and communication together.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Series, Table, run
from reproduction.scaling import Law, scaled

TITLE = "Figure 6: time against the number of workers, T(n) = s + t / n"
CLAIM = """For the soft margin loss the time is s + t / n, s being that of the inner programme and t
that of values and gradients. Ranking scales worse, as queries have different sizes; strengths do
not matter for the scaling."""
HERE = """Dask workers, processes of this machine with a thread each: 1 and 2, which is what two
cores can show; the dashed lines continue by the law. t is the CPU time of the workers' own calls in
an iteration, s everything else: programme, messages, dispatch. Covertype (hinge), the queries of
LightGBM's example (NDCG) and five levels of fried (ordinal)."""
WHY = """On the queries values and gradients are a tenth of the CPU time that a worker spends on
an iteration; the rest is messages and dispatch, which a second worker does not share. With 16 times
the rows they are most of it. The ordinal loss is one of all scores together: the driver gathers and
sorts them, and that takes more CPU time than the products that workers share, the more so the more
rows there are (the experiment below). What the paper says of queries of different sizes does not
show: our shards hold whole queries of about equal weight."""

LOSSES = {"hinge": "covtype", "ndcg": "lightgbm_rank", "ordinal": "fried"}
WORKERS = (1, 2)
MORE = (1, 2, 4, 8, 16, 32, 64)


def runs(quick: bool) -> dict[tuple[str, float], Run]:
    """Each loss at two strengths; quick: one loss at one."""
    return {
        (loss, strength): run(
            scaled,
            loss=loss,
            data=data,
            strength=strength,
            rows=2000 if quick else None,
            workers=[1] if quick else list(WORKERS),
            iterations=5 if quick else 25,
            limit=240.0,
        )
        for loss, data in (list(LOSSES.items())[:1] if quick else LOSSES.items())
        for strength in ((1e-3,) if quick else (1e-2, 1e-4))
    }


def draw(found: Results) -> Sequence[Panel | Table]:
    """Measured times, and the law."""
    panels: list[Panel | Table] = []
    for loss in dict.fromkeys(loss for loss, _ in found):
        series = []
        for (name, strength), each in found.items():
            if name == loss and "seconds" in each:
                law = Law.of(each)
                series += [
                    Series(f"{strength:g}", law.workers, law.seconds, "points"),
                    Series(f"{strength:g}, s + t/n", MORE, [law(n) for n in MORE], "dashed"),
                ]
        panels.append(Panel(loss, "workers", "seconds an iteration", series, "xy"))
    rows = [
        [loss, f"{strength:g}", each["shards"], law.s, law.t, law(64)]
        for (loss, strength), each in found.items()
        if "seconds" in each and (law := Law.of(each))
    ]
    return [
        *panels,
        Table("the law, seconds", ["loss", "strength", "shards", "s", "t", "T(64)"], rows),
    ]


def verdict(found: Results) -> list[Check]:
    """What two workers do, beside the law of one."""
    laws = {key: Law.of(each) for key, each in found.items() if "seconds" in each}
    halved = {key: law.shared for key, law in laws.items() if law.shared is not None}
    near = [key for key, ratio in halved.items() if 0.4 <= ratio <= 0.7]
    hinge = [ratio for key, ratio in halved.items() if key[0] == "hinge"]
    ndcg = [ratio for key, ratio in halved.items() if key[0] == "ndcg"]
    return [
        Check(
            "with two workers each does half of what one did, 40 to 70 %, for all losses",
            bool(near) and len(near) == len(halved),
            ", ".join(f"{key[0]} {ratio:.0%}" for key, ratio in halved.items())
            or "one worker only",
        ),
        Check(
            "ranking scales worse than the soft margin",
            bool(hinge and ndcg) and min(ndcg) > max(hinge),
            "",
        ),
    ]
