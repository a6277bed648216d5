"""The paper announces max-margin Markov networks (example 4), whose soft maximum over labellings is
a sum-product over the chain, and printed no experiments.
"""

from __future__ import annotations

from collections.abc import Sequence

from reproduction import Check, Panel, Results, Run, Table
from reproduction.announced import ahead, race, shown

TITLE = "Announced: max-margin Markov networks and conditional random fields"
CLAIM = "With the paper's extensions accelerated gradient methods outperform rivals (abstract)."
HERE = """Words of the OCR letters (about 1,000 letters), a margin of one per wrong letter (m3n),
and the likelihood (crf), at 1e-2 and 1e-3. Whoever cannot train for these losses is said to
refuse."""
WHY = """On max-margin networks block-coordinate Frank-Wolfe takes a step per word: with the
same words 2 and 4 times its passes fall from 128 to 90 and 68, and BMRM's do not. On the likelihood
AGM takes as many iterations as BMRM (46 and 49), but 5 passes in each, in its search for L, where
BMRM takes 2 (the experiment below)."""

SETS = [("ocr_letters", loss, strength) for loss in ("m3n", "crf") for strength in (1e-2, 1e-3)]


def runs(quick: bool) -> dict[tuple[str, str, float, str], Run]:
    """All solvers on all cases."""
    return race(quick, SETS, rows=1000, few=60)


def draw(found: Results) -> Sequence[Panel | Table]:
    """Gaps against passes."""
    return shown(found)


def verdict(found: Results) -> list[Check]:
    """Who is ahead."""
    return [ahead(found, 1e-2)]
