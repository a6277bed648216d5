"""What the site shows of a figure: a row of its index and a section of a page.

Both are text that a later run can take from the pages as they are, so that one figure is run anew
while all others stay, with the machine and the commit that their runs were made at.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from fenchel.report.shell import charts, table
from reproduction.chart import scene_of
from reproduction.runner import Outcome
from reproduction.shape import Check, Panel, Table

VERDICTS = {
    "reproduced": "reproduced",
    "partly": "partly",
    "not": "not reproduced",
    "broken": "the script is broken",
    "unfinished": "not run to the end",
}
QUICK = """<p class="quick">A quick run on few rows, or on random ones: it shows that everything
works. Its verdicts say nothing of the papers.</p>"""


class Entry(NamedTuple):
    """A figure on the site, as HTML."""

    name: str
    row: str
    section: str

    @classmethod
    def of(cls, outcome: Outcome) -> Entry:
        """What a run came to."""
        return cls(outcome.script.id, _row(outcome), _section(outcome))

    @property
    def verdict(self) -> str:
        """As the row's badge says it."""
        found = re.search(r'class="verdict (\w+)"', self.row)
        return found[1] if found else ""

    @property
    def heading(self) -> str:
        """The title, which leads to the section, and the badge."""
        title, _, badge = self.section.partition("<h2>")[2].partition("</h2>")[0].rpartition("<sp")
        return f'<a href="#{self.name}">{title.strip()}</a> <sp{badge}'


def kept(folder: Path, quick: bool) -> dict[str, Entry]:
    """The entries of a site that is there, by name; none if it is of the other kind of run."""
    index = folder / "index.html"
    if not index.is_file() or (QUICK in (text := index.read_text())) != quick:
        return {}
    pages = "".join(path.read_text() for path in sorted(folder.glob("*.html")))
    found = re.finditer(r'<section id="([^"]+)">.*?</section>\n', pages, flags=re.DOTALL)
    sections = {each[1]: each[0] for each in found}
    rows = re.finditer(r'<tr><td><a href="\w+\.html#([^"]+)">.*?</tr>', text, flags=re.DOTALL)
    return {each[1]: Entry(each[1], each[0], sections[each[1]]) for each in rows}


def _row(outcome: Outcome) -> str:
    script = outcome.script
    held = sum(bool(check.holds) for check in outcome.checks)
    count = f"{held} of {len(outcome.checks)} hold"
    where = f"{script.paper.lower()}.html#{script.id}"
    return (
        f'<tr><td><a href="{where}">{html.escape(script.title)}</a></td>'
        f"<td>{_badge(outcome)}<br><small>{count}</small></td>"
        f"<td>{html.escape(_reason(outcome))}</td></tr>"
    )


def _reason(outcome: Outcome) -> str:
    """The script's own, or else which of its statements fail; nothing where all hold."""
    if outcome.verdict == "reproduced":
        return ""
    if outcome.missing:
        return f"{outcome.missing} of its runs were not made yet"
    if outcome.fault:
        return outcome.fault.strip().splitlines()[-1]
    failing = [check for check in outcome.checks if not check.holds]
    fails = [f"{c.statement} ({c.measured})" if c.measured else c.statement for c in failing]
    return outcome.script.why or f"Fails: {'; '.join(fails)}."


def _badge(outcome: Outcome) -> str:
    return f'<span class="verdict {outcome.verdict}">{VERDICTS[outcome.verdict]}</span>'


def _section(outcome: Outcome) -> str:
    script = outcome.script
    judged = outcome.verdict not in ("reproduced", "unfinished")
    return f"""<section id="{script.id}">
<h2>{html.escape(script.title)} {_badge(outcome)}</h2>
{_part("What is done" if script.paper == "fenchel" else "The paper did", script.did)}
{_part("Claim" if script.paper == "fenchel" else "It claims", script.claim)}
{_part("Here", script.here)}
{_checks(outcome.checks)}
{_part("Why", script.why) if judged else ""}
{_results(outcome)}
{_experiment(outcome.reason) if outcome.reason is not None else ""}
</section>
"""


def _experiment(outcome: Outcome) -> str:
    """The one that shows why: what is supposed and run, what holds of it, the numbers."""
    head = f"<h3>{html.escape(outcome.script.title)}</h3>"
    return head + _part("", outcome.script.did) + _checks(outcome.checks) + _results(outcome)


def _part(name: str, text: str) -> str:
    title = f"<b>{name}.</b> " if name else ""
    return f"<p>{title}{html.escape(text)}</p>" if text else ""


def _checks(checks: Iterable[Check]) -> str:
    items = "".join(
        f'<li class="{"holds" if c.holds else "fails"}">{html.escape(c.statement)}'
        f"<br><small>{html.escape(c.measured)}</small></li>"
        for c in checks
    )
    return f'<ul class="checks">{items}</ul>'


def _results(outcome: Outcome) -> str:
    fault = f"<pre>{html.escape(outcome.fault)}</pre>" if outcome.fault else ""
    return f'{fault}\n{_shown(outcome)}\n<p class="made">{html.escape(_made(outcome))}</p>'


def _shown(outcome: Outcome) -> str:
    panels = [each for each in outcome.shown if isinstance(each, Panel)]
    drawn = charts(scene_of(panels)) if panels else ""
    tables = "".join(
        f"<h3>{html.escape(each.title)}</h3>{table(each.head, _rounded(each.rows))}"
        for each in outcome.shown
        if isinstance(each, Table)
    )
    return drawn + tables


def _rounded(rows: Iterable[Iterable[object]]) -> list[list[object]]:
    """Cells as people read them: three digits of what is no whole number."""
    return [[_digits(cell) if isinstance(cell, float) else cell for cell in row] for row in rows]


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number.is_integer() or abs(number) >= 1000 else f"{number:.3g}"


def _made(outcome: Outcome) -> str:
    """What the runs took, where and when they were made, and which of them failed."""
    found = outcome.found.values()
    seconds = sum(each.seconds_taken for each in found)
    n = len(outcome.found)
    facts = [f"{n} run{'s' * (n != 1)}, {seconds:,.{0 if seconds >= 10 else 1}f} s"]
    facts += [_all(each.made.get(what, "") for each in found) for what in _FACTS]
    failed = [f"{key}: {each.failed}" for key, each in outcome.found.items() if each.failed]
    if failed:
        facts.append(f"{len(failed)} runs gave nothing: {'; '.join(failed[:8])}")
    return " | ".join(filter(None, facts))


_FACTS = ("date", "commit", "machine", "versions")


def _all(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(filter(None, values))))
