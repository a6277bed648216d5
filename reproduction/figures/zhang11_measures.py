"""The paper announces training for the ROC area and the F1 score (example 3) by smoothing the
maximum over labellings, and printed no experiments.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Table
from reproduction.announced import ahead, race, shown

TITLE = "Announced: the ROC area and the F1 score"
CLAIM = "With the paper's extensions accelerated gradient methods outperform rivals (abstract)."
HERE = """a9a, 4,000 rows, the ROC loss and 1 - F1, at 1e-2 and 1e-3. Whoever cannot train for these
losses is said to refuse in the table."""
WHY = """No accelerated method knows these losses here, so nothing was compared. Written
out as the hinge loss of all pairs of 400 rows the ROC loss can be had: the best of them needs 44
and 76 passes, ls-BMRM 23 and 45, SDCA, with its step per pair, 8 and 11 (the experiment below). Of
F1, which is no sum of such terms, nothing is known."""

SETS = [("a9a", loss, strength) for loss in ("roc", "fbeta") for strength in (1e-2, 1e-3)]


def runs(quick: bool) -> dict[tuple[str, str, float, str], Run]:
    """All solvers on all cases."""
    return race(quick, SETS, rows=4000)


def draw(found: Results) -> Sequence[Panel | Table]:
    """Gaps against passes."""
    return shown(found)


def verdict(found: Results) -> list[Check]:
    """Who is ahead."""
    return [ahead(found, 1e-2)]
