"""What the pages share: one HTML file that holds all it needs. Needs vl-convert."""

from __future__ import annotations

import functools
import html
import json
import platform
from collections.abc import Iterable, Mapping
from string import Template
from typing import Any

import numpy as np
import vl_convert

import fenchel

_PAGE = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>$title</title>
<style>
body { font: 14px/1.45 system-ui, sans-serif; color: #222; max-width: 1000px; margin: 2em auto;
       padding: 0 1em; }
h1 { font-size: 1.4em; margin-bottom: 0.2em; }
h2 { font-size: 1.05em; margin: 1.8em 0 0.4em; }
p { margin: 0.2em 0; color: #555; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2em 1.1em 0.2em 0; text-align: right; white-space: nowrap; }
th { font-weight: 600; border-bottom: 1px solid #999; }
th:first-child, td:first-child { text-align: left; }
.text td, .text th { text-align: left; white-space: normal; }
</style>
</head>
<body>
<h1>$title</h1>
<p>The minimum of J lies between lower bound and objective;
gap = (objective &minus; lower bound) / |objective|.</p>
$before
<div id="chart"></div>
$after
<p style="margin-top: 2em">$versions</p>
<script>$library</script>
<script>vegaEmbed("#chart", $chart, {actions: {export: true, source: false, compiled: false,
editor: false}});</script>
</body>
</html>
""")


def composed(title: str, before: str, chart: Mapping[str, Any], after: str) -> str:
    """A page with a chart; what stands before and after it is HTML, the title is text."""
    return _PAGE.substitute(
        title=html.escape(title),
        before=before,
        after=after,
        versions=f"fenchel {fenchel.__version__}, Python {platform.python_version()}, "
        f"NumPy {np.__version__}",
        library=library(),
        chart=json.dumps(chart, allow_nan=False).replace(
            "<", "\\u003c"
        ),  # or a name ends the script
    )


def section(title: str, content: str) -> str:
    """A part of the page under its heading."""
    return f'<h2>{html.escape(title)}</h2>\n<div class="scroll">{content}</div>'


def settings_section(settings: Mapping[str, object]) -> str:
    """The settings as a part of the page, if there are any."""
    if not settings:
        return ""
    return section("Settings", table(("setting", "value"), settings.items(), "text"))


def table(head: Iterable[str], rows: Iterable[Iterable[object]], kind: str = "") -> str:
    """A table of text."""

    def line(cells: Iterable[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(c))}</{tag}>" for c in cells) + "</tr>"

    body = "\n".join(line(row, "td") for row in rows)
    return f'<table class="{kind}">\n{line(head, "th")}\n{body}\n</table>'


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and vegaEmbed, as one script."""
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;")
