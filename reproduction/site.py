"""The site: an index with all verdicts, and a page a paper with each figure beside its claim.

A folder of files that need no network: pages, and one script that draws. `small` writes the figures
as SVG into the pages instead, without data or script, for a repository.
"""

from __future__ import annotations

import html
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template

import vl_convert

from fenchel.references import REFERENCES
from fenchel.report.shell import table
from reproduction.chart import chart, colours, library
from reproduction.runner import Outcome
from reproduction.shape import Panel, Table

_FOLDER = Path(__file__).parent
_STYLE, _DRAW = ((_FOLDER / name).read_text() for name in ("site.css", "site.js"))
_SCRIPT = "drawing.js"
_SVG_WIDTH = 340

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>$title</title>
<style>
$style</style>
</head>
<body>
<nav>$links</nav>
<h1>$title</h1>
$content
$script
</body>
</html>
""")

VERDICTS = {
    "reproduced": "reproduced",
    "partly": "partly",
    "not": "not reproduced",
    "broken": "the script is broken",
}


def write(outcomes: Sequence[Outcome], folder: Path, *, small: bool = False) -> Path:
    """Writes all pages; returns the index."""
    folder.mkdir(parents=True, exist_ok=True)
    papers = [key for key in REFERENCES if any(o.script.paper == key for o in outcomes)]
    links = " ".join(
        f'<a href="{name}.html">{text}</a>'
        for name, text in [("index", "all papers"), *((key.lower(), key) for key in papers)]
    )
    index = _page("Five papers, run again", links, _index(outcomes, papers), "")
    (folder / "index.html").write_text(index)
    for key in papers:
        own = [outcome for outcome in outcomes if outcome.script.paper == key]
        content = _cited(key) + "".join(_figure(outcome, small) for outcome in own)
        script = "" if small else f'<script src="{_SCRIPT}"></script>'
        title = f"{key}: {REFERENCES[key].title}"
        (folder / f"{key.lower()}.html").write_text(_page(title, links, content, script))
    if not small:
        (folder / _SCRIPT).write_text(f"{library()}\n{_DRAW}")
    return folder / "index.html"


def _page(title: str, links: str, content: str, script: str) -> str:
    return _PAGE.substitute(
        title=html.escape(title), links=links, content=content, script=script, style=_STYLE
    )


def _index(outcomes: Sequence[Outcome], papers: Sequence[str]) -> str:
    verdicts = ("reproduced", "partly", "not")
    head = ("paper", *(VERDICTS[each] for each in verdicts))
    counts = []
    for key in papers:
        own = [outcome.verdict for outcome in outcomes if outcome.script.paper == key]
        counts.append((f"[{key}]", *(own.count(each) for each in verdicts)))
    quick = any(outcome.quick for outcome in outcomes)
    parts = [
        _QUICK if quick else "",
        _INTRODUCTION,
        f'<div class="scroll">{table(head, counts)}</div>',
    ]
    for key in papers:
        rows = "".join(_row(o) for o in outcomes if o.script.paper == key)
        parts.append(f"<h2>[{key}]</h2>{_cited(key)}<div class='scroll'><table class='text'>")
        parts.append("<tr><th>figure or table</th><th>verdict</th><th>why</th></tr>")
        parts.append(f"{rows}</table></div>")
    return "\n".join(parts)


_QUICK = """<p class="quick">A quick run on few rows, or on random ones: it shows that everything
works. Its verdicts say nothing of the papers.</p>"""
_INTRODUCTION = """<p>What each figure and table of the papers shows, run again by
<code>make reproduce</code>: the claim in our words, our figure beside it, and a verdict, which is
computed from statements that the runs decide: reproduced if all of them hold, partly if some do.
Minima are certified, not the best value that was seen.</p>"""


def _row(outcome: Outcome) -> str:
    script = outcome.script
    held = sum(check.holds for check in outcome.checks)
    count = f"{held} of {len(outcome.checks)} statements hold"
    fails = "; ".join(f"fails: {c.statement} ({c.measured})" for c in outcome.checks if not c.holds)
    reason = script.why if script.why and outcome.verdict != "reproduced" else fails
    return (
        f'<tr><td><a href="{script.paper.lower()}.html#{script.id}">{html.escape(script.title)}</a>'
        f"</td><td>{_badge(outcome)}<br><small>{count}</small></td><td>{html.escape(reason)}</td></tr>"
    )


def _badge(outcome: Outcome) -> str:
    return f'<span class="verdict {outcome.verdict}">{VERDICTS[outcome.verdict]}</span>'


def _cited(key: str) -> str:
    reference = REFERENCES[key]
    text = f"{reference.authors}. {reference.title}. {reference.venue}."
    return f"<p>{html.escape(text)}</p>"


def _figure(outcome: Outcome, small: bool) -> str:
    script = outcome.script
    why = _part("Why", script.why) if script.why and outcome.verdict != "reproduced" else ""
    fault = f"<pre>{html.escape(outcome.fault)}</pre>" if outcome.fault else ""
    checks = "".join(
        f'<li class="{"holds" if c.holds else "fails"}">{html.escape(c.statement)}'
        f"<br><small>{html.escape(c.measured)}</small></li>"
        for c in outcome.checks
    )
    return f"""<section id="{script.id}">
<h2>{html.escape(script.title)} {_badge(outcome)}</h2>
{_part("The paper did", script.did)}
{_part("It claims", script.claim)}
{_part("Here", script.here)}
{why}
<ul class="checks">{checks}</ul>
{fault}
{_shown(outcome, small)}
<p class="made">{html.escape(_made(outcome))}</p>
</section>
"""


def _part(name: str, text: str) -> str:
    return f"<p><b>{name}.</b> {html.escape(text)}</p>"


def _shown(outcome: Outcome, small: bool) -> str:
    panels = [each for each in outcome.shown if isinstance(each, Panel)]
    palette = colours(panels)
    drawn = "\n".join(_svg(p, palette) if small else _interactive(p, palette) for p in panels)
    tables = "".join(
        f'<h3>{html.escape(each.title)}</h3><div class="scroll">{table(each.head, each.rows)}</div>'
        for each in outcome.shown
        if isinstance(each, Table)
    )
    return f'<div class="panels">{drawn}</div>{tables}'


def _interactive(panel: Panel, palette: dict[str, str]) -> str:
    text = json.dumps(chart(panel, palette), allow_nan=False, separators=(",", ":"))
    safe = text.replace("<", "\\u003c")  # or a name ends the script
    return f'<div class="panel"><script type="application/json">{safe}</script></div>'


def _svg(panel: Panel, palette: dict[str, str]) -> str:
    return (
        f'<div class="panel">{vl_convert.vegalite_to_svg(chart(panel, palette, _SVG_WIDTH))}</div>'
    )


def _made(outcome: Outcome) -> str:
    """What the runs took, where and when they were made, and which of them failed."""
    found = outcome.found.values()
    seconds = sum(each.seconds_taken for each in found)
    facts = [f"{len(outcome.found)} runs, {seconds:,.0f} s"]
    facts += [_all(each.made.get(what, "") for each in found) for what in _FACTS]
    failed = [f"{key}: {each.failed}" for key, each in outcome.found.items() if each.failed]
    if failed:
        facts.append(f"{len(failed)} runs gave nothing: {'; '.join(failed[:8])}")
    return " | ".join(filter(None, facts))


_FACTS = ("date", "commit", "machine", "versions")


def _all(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(filter(None, values))))
