"""The campaign against false certificates: random problems, all solvers, judged by one another.

    python fuzz/certificates.py --seconds 60 --jobs 2     a campaign: known problems, then random
    python fuzz/certificates.py --first 500 --problems 100 [--only bmrm,sdca,pdhg]
    python fuzz/certificates.py --seed 12 [--solver bmrm]           one problem again, in detail
    python fuzz/certificates.py --seed 12 --solver bmrm --script    the same as lines of Python
    python fuzz/certificates.py --seed 12 --solver bmrm --shrink false    of a smaller problem

One line is printed for each fault, and one a minute says how far the campaign is; the tables follow
at the end. The order and all counts depend on the seeds alone, but for faults of time. Exit code 1
says that there were faults.
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import judging
import workers
from conic import conic_value
from draws import describe, draw, posed
from judging import Run, judged
from known import KNOWN
from script import script
from shrink import shrunk
from tally import Tally
from workers import verdicts

from fenchel.errors import FenchelError

EVERY_SECONDS = 60.0  # a line says how far the campaign has come


def main() -> int:
    """Runs what the arguments ask for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--seconds", type=float, help="for how long problems are drawn")
    parser.add_argument("--problems", type=int, help="how many problems are drawn")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--new", action="store_true", help="without the known problems")
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--slow", type=float, help="seconds that no run may take, 5 by default")
    parser.add_argument("--report", type=Path, help="a file for the tables")
    parser.add_argument("--seed", type=int, help="judge the problem of this seed alone, in detail")
    parser.add_argument("--solver", help="with --seed: no other solver")
    parser.add_argument("--only", help="in a campaign: these solvers alone, with commas between")
    parser.add_argument("--script", action="store_true", help="with --seed: print it as Python")
    parser.add_argument(
        "--shrink", metavar="KIND", help="with both: of a smaller problem, by fault"
    )
    given = parser.parse_args()
    judging.SLOW = given.slow or judging.SLOW
    workers.ONLY = given.only.split(",") if given.only else None
    if given.seed is not None and (given.script or given.shrink):
        warnings.simplefilter("ignore")
        drawn = draw(given.seed)
        print(
            script(
                shrunk(drawn, given.solver, given.shrink) if given.shrink else drawn, given.solver
            )
        )
        return 0
    if given.seed is not None:
        return replay(given.seed, given.solver)
    return campaign(given)


def campaign(given: argparse.Namespace) -> int:
    """Problems of one seed after the other, until the time or their number is up."""
    tally, started = Tally(), time.monotonic()
    said = started
    seconds = 60.0 if given.seconds is None and given.problems is None else given.seconds
    known = 0 if given.new else len(KNOWN)
    for verdict in verdicts(_seeds(known, given.first, given.problems, seconds), given.jobs):
        tally.add(verdict)
        for line in verdict.lines:
            for kind, detail in line.faults:
                print(f"FAULT seed={verdict.seed} {kind} {line.solver}: {detail} [{verdict.what}]")
        if time.monotonic() - said >= EVERY_SECONDS:
            said = time.monotonic()
            print(f"{said - started:.0f} s: {tally.progress()}, seed {verdict.seed}")
        sys.stdout.flush()
    took = time.monotonic() - started
    tables = f"{tally.summary()}\n\n{tally.runs / took:.0f} runs a second, {took:.0f} s."
    print(f"\n{tables}")
    if given.report is not None:
        given.report.parent.mkdir(parents=True, exist_ok=True)
        given.report.write_text(f"# Campaign from seed {given.first}\n\n{tables}\n")
    return 1 if tally.n_faults else 0


def _seeds(known: int, first: int, problems: int | None, seconds: float | None) -> Iterator[int]:
    """The known problems first, then random ones."""
    started = time.monotonic()
    yield from range(-1, -1 - known, -1)
    for seed in itertools.count(first):
        late = seconds is not None and time.monotonic() - started > seconds
        if late or (problems is not None and seed >= first + problems):
            return
        yield seed


def replay(seed: int, solver: str | None) -> int:
    """One problem, with all that is known of its runs."""
    drawn = draw(seed)
    print(describe(drawn))
    problem = posed(drawn)
    if isinstance(problem, FenchelError):
        print(f"refused: {problem}")
        return 0
    warnings.simplefilter("ignore")
    runs = judged(problem, drawn, None, conic_value)
    shown = [run for run in runs if solver in (None, run.solver) and run.outcome != "refused"]
    for run in shown:
        _show(run)
    return 1 if any(run.faults for run in shown) else 0


def _show(run: Run) -> None:
    print(f"\n{run.solver}: {run.outcome}, {run.seconds:.3f} s of processor time")
    if run.result is not None:
        result = run.result
        print(f"  {result.lower_bound!r} <= min J <= {result.objective!r}, gap {result.gap:.3e}")
        print(f"  {result.iterations} iterations, verified {run.verified!r}")
        if run.value is not None:
            print(f"  J(w) = {run.value.at!r}, at most {run.value.above!r}")
        print(f"  w = {result.w.tolist()!r:.600}, intercept {result.intercept!r}")
    for fault in run.faults:
        print(f"  FAULT {fault.kind}: {fault.detail}")


if __name__ == "__main__":
    sys.exit(main())
