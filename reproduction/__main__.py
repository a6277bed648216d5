"""python -m reproduction [yu10-16 teo07 ...]: makes runs, judges them, writes the site.

Those that are named are renewed on the site that is there; all others stay as they are.
"""

from __future__ import annotations

import argparse
import math
import os
import sys
from pathlib import Path

from reproduction import registry
from reproduction.cache import Cache
from reproduction.entries import kept
from reproduction.runner import Outcome, reproduce
from reproduction.site import write

_BUILD = Path(__file__).parents[1] / "build" / "reproduction"


def main() -> int:
    """The whole of it; 1 if a script is broken."""
    options = _options()
    if options.list:
        for name in registry.identifiers():
            print(f"{name:18} {registry.script(name).title}")
        return 0
    scripts = [registry.script(name) for name in registry.chosen(options.figures)]
    cache = Cache(options.cache)
    if options.fresh:
        for script in scripts:
            for each in (script, script.reason):
                for run in each.runs(options.quick).values() if each is not None else ():
                    cache.forget(run)
    jobs = options.jobs or (os.cpu_count() or 1 if options.quick else 1)
    outcomes = reproduce(scripts, cache, quick=options.quick, jobs=jobs, minutes=options.minutes)
    folder = options.output or _BUILD / ("quick" if options.quick else "site")
    page = write(outcomes, folder, kept(folder, options.quick) if options.figures else None)
    for outcome in outcomes:
        _tell(outcome)
        if outcome.reason is not None:
            _tell(outcome.reason)
    print(f"see {page}")
    return int(any(outcome.broken for outcome in outcomes))


def _tell(outcome: Outcome) -> None:
    print(f"{outcome.script.id:22} {outcome.verdict:11} {outcome.script.title}")
    for check in outcome.checks:
        print(f"{'':22} {'holds' if check.holds else 'fails':11} {check.statement}", end="")
        print(f" ({check.measured})" if check.measured else "")
    if outcome.fault:
        print(outcome.fault, file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m reproduction", description=__doc__)
    parser.add_argument("figures", nargs="*", help="such as yu10-16, or yu10; all without")
    parser.add_argument("--quick", action="store_true", help="few rows: does it work?")
    parser.add_argument("--fresh", action="store_true", help="forget what is kept of them")
    parser.add_argument("--list", action="store_true", help="what there is")
    parser.add_argument("--jobs", type=int, help="runs at a time: 1, or all cores if quick")
    parser.add_argument(
        "--minutes", type=float, default=math.inf, help="after which no run is begun any more"
    )
    parser.add_argument("--output", type=Path, help="the folder of the site")
    parser.add_argument("--cache", type=Path, default=_BUILD / "cache", help="of finished runs")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
