"""The site: an index with all verdicts, and a page a paper with each figure beside its claim.

A folder of files that need no network, made as fenchel makes the pages of its own plots: figures
are SVG, which a small script lets answer to the pointer.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from fenchel.report.shell import composed, table
from reproduction.entries import QUICK, VERDICTS, Entry
from reproduction.registry import KEYS, PAPERS, order
from reproduction.runner import Outcome

_STYLE = f"<style>\n{(Path(__file__).parent / 'site.css').read_text()}</style>"
_INTRODUCTION = """<p>What each figure and table of the papers shows, run again by
<code>make reproduce</code>: the claim in our words, our figure beside it, and a verdict, which is
computed from statements that the runs decide: reproduced if all of them hold, partly if some do.
Minima are certified, not the best value that was seen. Where a claim does not hold, the figure's
own panels show why, or an experiment below it.</p>"""


def write(
    outcomes: Sequence[Outcome], folder: Path, kept: Mapping[str, Entry] | None = None
) -> Path:
    """Writes all pages; returns the index. Entries that are kept stand beside the new ones.

    A figure without all its runs is shown as it was, if it is kept.
    """
    folder.mkdir(parents=True, exist_ok=True)
    found = dict(kept or {})
    for outcome in outcomes:
        if outcome.script.id not in found or outcome.verdict != "unfinished":
            found[outcome.script.id] = Entry.of(outcome)
    quick = QUICK if any(outcome.quick for outcome in outcomes) else ""
    papers: dict[str, list[Entry]] = {}
    for name in sorted(found, key=order):
        papers.setdefault(KEYS[name.partition("-")[0]], []).append(found[name])
    index = composed("Five papers, run again", _STYLE, _links(papers), quick, _index(papers))
    (folder / "index.html").write_text(index)
    for key, own in papers.items():
        contents = "".join(f"<li>{entry.heading}</li>" for entry in own)
        parts = (quick, _cited(key), f"<ul>{contents}</ul>", *(entry.section for entry in own))
        title = f"{key}: {PAPERS[key].title}"
        page = composed(title, _STYLE, _links(papers), *parts)
        (folder / f"{key.lower()}.html").write_text(page)
    return folder / "index.html"


def _links(papers: Mapping[str, Sequence[Entry]]) -> str:
    names = [("index", "all papers"), *((key.lower(), f"[{key}]") for key in papers)]
    return "<nav>" + " ".join(f'<a href="{n}.html">{text}</a>' for n, text in names) + "</nav>"


def _index(papers: Mapping[str, Sequence[Entry]]) -> str:
    verdicts = ("reproduced", "partly", "not")
    head = ("paper", *(VERDICTS[each] for each in verdicts))
    counts = []
    for key, own in papers.items():
        found = [entry.verdict for entry in own]
        counts.append((f"[{key}]", *(found.count(each) for each in verdicts)))
    parts = [_INTRODUCTION, table(head, counts)]
    for key, own in papers.items():
        parts.append(f"<h2>[{key}]</h2>{_cited(key)}<table class='text reasons'>")
        parts.append("<tr><th>figure or table</th><th>verdict</th><th>why</th></tr>")
        parts.append(f"{''.join(entry.row for entry in own)}</table>")
    return "\n".join(parts)


def _cited(key: str) -> str:
    text = ". ".join(filter(None, PAPERS[key]))
    return f"<p>{html.escape(text)}.</p>"
