"""Every figure and table of the five papers, run again, drawn beside what the paper says, judged.

    make reproduce                      all of them, in full: half an hour; killed, it goes on
    make reproduce FIGURE=yu10-16       one, or several ("yu10-16 teo07-3"), or a paper (yu10)
    python -m reproduction yu10-16 --output docs/reproduction
                                        one on the page that is committed; all others stay
    make reproduce QUICK=1              all of them on few rows: what CI does
    python -m reproduction --help       the same with more to say; --list lists them

The site is written to build/reproduction/site (quick: build/reproduction/quick), finished runs are
kept in build/reproduction/cache. Real data are read from the folder that FENCHEL_DATA names
(benchmarks/fetch.py gets most of them); quick runs without it use random data of the same shape.

How to write one
----------------
A file in reproduction/figures, named by its paper and figure: figures/yu10_16.py is `yu10-16`, and
others are andrew07_table2, smola07_2, teo07_3, zhang11_rates. Nothing has to be registered. It has

    its docstring    what the paper did, in our words
    TITLE            "Figure 16: ...", as the page shows it
    CLAIM            what the paper says came out of it, in our words
    HERE             what is done differently here, and why: data, scales, machines, rivals
    WHY              why the claim does not hold, or only in part ("" if it does): the reason in the
                     table at the top of the page; say which panel or check shows it
    runs(quick)      what to run: a dict from keys (tuples of names and numbers) to `run(...)`
    draw(found)      what to show: a list of `Panel` and `Table`
    verdict(found)   what is claimed, as a list of `Check`: statements that the runs decide

and no code that runs on import. figures/yu10_16.py is the model to follow.

Where a claim does not hold, the experiment that shows why is a file of the same name in
reproduction/reasons: its docstring says what is supposed and what is varied, TITLE, runs, draw and
verdict are as above, and its checks state what is supposed. The page shows it below the figure;
it counts for no verdict. What it varies of a data set is in varied.py ("20news, columns=1024").
Passes and iterations judge it, not seconds. WHY says what came of it, also where it refutes what
was supposed.

`run(function, **arguments)` is a call that is made once, in another process, and remembered: under
the function's source, its arguments and fenchel's version. The function stands at the top level of
a module and takes and gives what JSON can hold (dicts with text for keys, lists, numbers, text;
NumPy arrays and numbers are converted). `limit=` is the seconds after which it is given up.
Mostly that is `run(solve, ...)`: one minimisation by fenchel on a set of data.py, with the columns
of its history. A rival (liblinear, scikit-learn) or a toy is a function of your own, in your file
or, if several figures share it, in rivals.py. What such a function imports, it imports inside.

`found[key]` is a `Found`: a dict with what the function gave, and

    found[key]["objective"]                            a value
    found[key].column("passes")                        a column of the history, as an array
    found[key].first("passes", gap=1e-3)               the passes until gap <= 1e-3; inf if never
    found[key].first("seconds", objective=1.02 * best) the same for J, against a certified minimum
    found[key].failed                                  why there is no value, or ""

A run that was too slow or did not fit into memory answers `first` with inf and `column` with an
empty array, so figures are drawn without it; the page says so, and it is remembered. A run or a
script with an error of its own is shown as broken, and the runner exits with 1.

`Check(statement, holds, measured)`: a sentence that can be wrong, whether it is, and the numbers
behind it, e.g. Check("subLBFGS needs fewer passes than BMRM at every strength below 1e-4 on 5 of 6
sets", len(won) >= 5, "all but usps"). All hold: reproduced; some: partly; none: not. Write what the
paper claims, also where you expect it to fail; a claim that the paper does not make has no place
among the checks (put it into a panel or a table). `finite` drops what was never reached.

Quick runs take `quick=True`: few rows (`rows=`), few strengths, `max_seconds` of a second or two.
All scripts together have about 90 seconds on two cores: aim at 3 seconds of CPU for one.
Checks must work, not hold, on quick data. `python -m reproduction yu10-16 --quick` is the loop to
work in; add --fresh after a change to code that the cache cannot see.
"""

from reproduction.found import Found, Results, finite
from reproduction.shape import Check, Panel, Run, Series, Table, run
from reproduction.solving import solve

__all__ = [
    "Check",
    "Found",
    "Panel",
    "Results",
    "Run",
    "Series",
    "Table",
    "finite",
    "run",
    "solve",
]
