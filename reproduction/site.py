"""The site: an index with all verdicts, and a page a paper with each figure beside its claim.

A folder of files that need no network, made as fenchel makes the pages of its own plots: figures
are SVG, which a small script lets answer to the pointer.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from pathlib import Path

from fenchel.report.shell import charts, composed, table
from reproduction.chart import scene_of
from reproduction.registry import PAPERS
from reproduction.runner import Outcome
from reproduction.shape import Panel, Table

_STYLE = f"<style>\n{(Path(__file__).parent / 'site.css').read_text()}</style>"

VERDICTS = {
    "reproduced": "reproduced",
    "partly": "partly",
    "not": "not reproduced",
    "broken": "the script is broken",
    "unfinished": "not run to the end",
}


def write(outcomes: Sequence[Outcome], folder: Path) -> Path:
    """Writes all pages; returns the index."""
    folder.mkdir(parents=True, exist_ok=True)
    papers = [key for key in PAPERS if any(o.script.paper == key for o in outcomes)]
    index = composed("Five papers, run again", _STYLE, _links(papers), _index(outcomes, papers))
    (folder / "index.html").write_text(index)
    for key in papers:
        own = [outcome for outcome in outcomes if outcome.script.paper == key]
        parts = (_quick(own), _cited(key), _contents(own), *map(_figure, own))
        title = f"{key}: {PAPERS[key].title}"
        page = composed(title, _STYLE, _links(papers), *parts)
        (folder / f"{key.lower()}.html").write_text(page)
    return folder / "index.html"


def _links(papers: Sequence[str]) -> str:
    names = [("index", "all papers"), *((key.lower(), f"[{key}]") for key in papers)]
    return "<nav>" + " ".join(f'<a href="{n}.html">{text}</a>' for n, text in names) + "</nav>"


def _contents(own: Sequence[Outcome]) -> str:
    rows = "".join(
        f'<li><a href="#{o.script.id}">{html.escape(o.script.title)}</a> {_badge(o)}</li>'
        for o in own
    )
    return f"<ul>{rows}</ul>"


def _index(outcomes: Sequence[Outcome], papers: Sequence[str]) -> str:
    verdicts = ("reproduced", "partly", "not")
    head = ("paper", *(VERDICTS[each] for each in verdicts))
    counts = []
    for key in papers:
        own = [outcome.verdict for outcome in outcomes if outcome.script.paper == key]
        counts.append((f"[{key}]", *(own.count(each) for each in verdicts)))
    parts = [_quick(outcomes), _INTRODUCTION, table(head, counts)]
    for key in papers:
        rows = "".join(_row(o) for o in outcomes if o.script.paper == key)
        parts.append(f"<h2>[{key}]</h2>{_cited(key)}<table class='text reasons'>")
        parts.append("<tr><th>figure or table</th><th>verdict</th><th>why</th></tr>")
        parts.append(f"{rows}</table>")
    return "\n".join(parts)


def _quick(outcomes: Sequence[Outcome]) -> str:
    return _QUICK if any(outcome.quick for outcome in outcomes) else ""


_QUICK = """<p class="quick">A quick run on few rows, or on random ones: it shows that everything
works. Its verdicts say nothing of the papers.</p>"""
_INTRODUCTION = """<p>What each figure and table of the papers shows, run again by
<code>make reproduce</code>: the claim in our words, our figure beside it, and a verdict, which is
computed from statements that the runs decide: reproduced if all of them hold, partly if some do.
Minima are certified, not the best value that was seen.</p>"""


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


def _cited(key: str) -> str:
    text = ". ".join(filter(None, PAPERS[key]))
    return f"<p>{html.escape(text)}.</p>"


def _figure(outcome: Outcome) -> str:
    script = outcome.script
    judged = outcome.verdict not in ("reproduced", "unfinished")
    why = _part("Why", script.why) if judged else ""
    fault = f"<pre>{html.escape(outcome.fault)}</pre>" if outcome.fault else ""
    checks = "".join(
        f'<li class="{"holds" if c.holds else "fails"}">{html.escape(c.statement)}'
        f"<br><small>{html.escape(c.measured)}</small></li>"
        for c in outcome.checks
    )
    return f"""<section id="{script.id}">
<h2>{html.escape(script.title)} {_badge(outcome)}</h2>
{_part("What is done" if script.paper == "fenchel" else "The paper did", script.did)}
{_part("Claim" if script.paper == "fenchel" else "It claims", script.claim)}
{_part("Here", script.here)}
<ul class="checks">{checks}</ul>
{why}
{fault}
{_shown(outcome)}
<p class="made">{html.escape(_made(outcome))}</p>
</section>
"""


def _part(name: str, text: str) -> str:
    return f"<p><b>{name}.</b> {html.escape(text)}</p>" if text else ""


def _shown(outcome: Outcome) -> str:
    panels = [each for each in outcome.shown if isinstance(each, Panel)]
    drawn = charts(scene_of(panels)) if panels else ""
    tables = "".join(
        f"<h3>{html.escape(each.title)}</h3>{table(each.head, each.rows)}"
        for each in outcome.shown
        if isinstance(each, Table)
    )
    return drawn + tables


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
