"""The page of the demo: four pictures, each with what was proved."""

from __future__ import annotations

import html
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

import fenchel
from fenchel.report import curves, lines
from fenchel.report.page import certificates
from fenchel.report.shell import charts, composed, section, table

SOLVERS = (
    "polish",
    "sdca",
    "ls-bmrm",
    "bmrm",
    "sublbfgs",
    "hybrid",
    "agm-inf",
    "excessive-gap",
    "pegasos",
)


def write(page: Path, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Writes the page, in which the table of the terminal comes first."""
    page.parent.mkdir(parents=True, exist_ok=True)
    parts = [closing_in(), race(), path(), sequences()]
    text = composed("fenchel: fits that prove how good they are", LEAD, _timed(head, rows), *parts)
    page.write_text(text, encoding="utf-8")


LEAD = """<p class="lead">Other libraries stop when progress is small and hope. fenchel computes two
numbers, lower bound &le; min J &le; objective, and stops when they meet; code that shares nothing
with the solvers proves both from the data. Everything on this page was computed by
<code>make demo</code> just now.</p>"""


def _timed(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    return section(
        "Beside scikit-learn",
        "<p>Milliseconds, medians of five fits, of one where it takes long; scikit-learn at its "
        "default settings. &ldquo;Its gap&rdquo; is how far its coefficients are from the minimum "
        "at most, by the lower bound that fenchel proved, where both minimise the same (LinearSVC "
        "almost: it penalises the intercept). The last lines are of small and easy fits, at which "
        "scikit-learn can be the faster.</p>" + table(head, rows),
    )


def proof(result: Any, problem: Any) -> str:
    """What `verify` says of a result, as a user would see it."""
    text = f""">>> fenchel.verify(result, problem)
{fenchel.verify(result, problem)!r}
>>> fenchel.verify(result, problem, rigorous=True)  # exact arithmetic
{fenchel.verify(result, problem, rigorous=True)!r}"""
    return f'<pre class="proof"><code>{html.escape(text)}</code></pre>'


def cancer() -> tuple[Any, Any, list[str]]:
    data = load_breast_cancer()
    return StandardScaler().fit_transform(data.data), data.target, list(data.feature_names)


def closing_in() -> str:
    """One run, both bounds."""
    X, y, _ = cancer()
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-3, intercept=True)
    result = fenchel.minimize(problem, "bmrm", gap=1e-5)
    return section(
        "The certificate closing in",
        "<p>A support vector machine on the breast cancer data. The objective falls, the lower "
        "bound rises, and the minimum is in the band between them at every moment: whoever stops "
        "early knows what that costs.</p>"
        + charts(curves.scene(curves.curves(result), ""))
        + proof(result, problem),
    )


def race() -> str:
    """Several solvers on one problem."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 30))
    y = np.sign(X @ rng.standard_normal(30) + 2 * rng.standard_normal(10_000))
    problem = fenchel.problem(X, y, loss="hinge", strength=1e-4)
    fenchel.minimize(problem, max_iterations=1)  # so that the first does not pay for imports
    runs = fenchel.race(problem, SOLVERS, gap=1e-5, max_iterations=400, max_seconds=1.5)
    drawn = curves.curves(runs)
    best = min(runs.values(), key=lambda result: result.gap)
    return section(
        "A race of solvers",
        "<p>One problem (hinge loss, 10,000 rows, 30 columns), nine of the solvers. J* is the "
        "minimum; each objective is compared with the best lower bound of all, so no curve "
        "flatters. Click a name to see a solver alone.</p>"
        + charts(curves.scene(drawn, ""))
        + certificates(drawn)
        + proof(best, problem),
    )


def path() -> str:
    """Sparse models, from the strongest penalty to the weakest."""
    X, y, names = cancer()

    def posed(strength: float) -> Any:
        settings = {"loss": "logistic", "regularizer": "l1", "intercept": True}
        return fenchel.problem(X, y, strength=strength, **settings)

    walked = fenchel.path(posed(1e-3))
    drawn = lines.lines(walked, features=names)
    gaps = [fenchel.verify(r, posed(s)).gap for s, r in zip(walked.strengths, walked, strict=True)]
    said = f"""{walked!r}
>>> max(fenchel.verify(result, posed(s)).gap for s, result in zip(path.strengths, path))
{max(gaps):.2g}"""
    return section(
        "A sparse path",
        "<p>Logistic regression with an L1 penalty on the breast cancer data, at "
        f"{len(walked)} strengths from the first at which nothing is selected. Every point of "
        f"every line is certified: "
        f"{drawn.summary}.</p>"
        + charts(lines.scene(drawn, ""))
        + f'<pre class="proof"><code>{html.escape(said)}</code></pre>',
    )


def sequences() -> str:
    """Digits in a row, read together."""
    rows, digits, starts = digit_rows(seed=0)
    test, right, ends = digit_rows(seed=1)
    groups = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    problem = fenchel.problem(rows, digits, loss="crf", groups=groups, strength=1e-3)
    result = fenchel.minimize(problem, gap=1e-4)
    pairs = problem.risk.pairs
    read = decoded(test, ends, pairs.states(result.w), pairs.transitions(result.w))
    alone = LogisticRegression(C=1e3 / len(rows), max_iter=1000).fit(rows, digits).predict(test)
    return section(
        "A model of sequences",
        "<p>Rows of eight noisy digits, of which each is mostly one or two more than the one "
        "before. A conditional random field reads a row as a whole: "
        f"<b>{np.mean(read == right):.1%}</b> of the digits of new rows are right, "
        f"{np.mean(alone == right):.1%} if each is read by itself. It is certified as well.</p>"
        + strips(test, read, alone, right, ends)
        + proof(result, problem),
    )


def digit_rows(seed: int, n: int = 300, length: int = 8) -> tuple[Any, Any, Any]:
    """Images in rows: half of the digits that come with scikit-learn are for each seed."""
    rng = np.random.default_rng(seed)
    images, values = load_digits(return_X_y=True)
    images, values = images[seed::2] / 16, values[seed::2]
    digits = rng.integers(10, size=(n, length))
    for t in range(1, length):
        ahead = rng.choice([1, 2, 0], size=n, p=[0.6, 0.3, 0.1])
        digits[:, t] = np.where(ahead > 0, digits[:, t - 1] + ahead, digits[:, t]) % 10
    of = [np.flatnonzero(values == k) for k in range(10)]
    chosen = [rng.choice(of[k]) for k in digits.ravel()]
    noisy = images[chosen] + 0.5 * rng.standard_normal((n * length, 64))
    return noisy, digits.ravel(), np.arange(0, n * length + 1, length)


def decoded(rows: Any, starts: Any, states: Any, transitions: Any) -> Any:
    """The labelling of each sequence with the largest score, by dynamic programming."""
    scores, labels = rows @ states, []
    for start, end in itertools.pairwise(starts):
        best, back = scores[start], []
        for t in range(start + 1, end):
            each = best[:, None] + transitions
            back.append(each.argmax(axis=0))
            best = each.max(axis=0) + scores[t]
        label = [int(best.argmax())]
        for step in reversed(back):
            label.append(int(step[label[-1]]))
        labels += label[::-1]
    return np.array(labels)


def strips(rows: Any, read: Any, alone: Any, right: Any, starts: Any, n: int = 3) -> str:
    """Some rows in which reading together helps, as pictures over what was read."""
    gained = (read == right).astype(int) - (alone == right)
    chosen = sorted(range(len(starts) - 1), key=lambda i: -gained[starts[i] : starts[i + 1]].sum())[
        :n
    ]
    parts = []
    for i in chosen:
        cells = range(starts[i], starts[i + 1])
        images = "".join(f"<td>{image(rows[t])}</td>" for t in cells)
        lines = [("the row", images)]
        for name, labels in (("read together", read), ("one by one", alone)):
            marks = "".join(
                f'<td class="{"right" if labels[t] == right[t] else "wrong"}">{labels[t]}</td>'
                for t in cells
            )
            lines.append((name, marks))
        body = "".join(f"<tr><th>{name}</th>{cells}</tr>" for name, cells in lines)
        parts.append(f'<div class="scroll"><table class="strip">{body}</table></div>')
    return STRIP_STYLE + "".join(parts)


STRIP_STYLE = """<style>
.strip { margin: 0.6em 0 }
.strip td { text-align: center !important; padding: 2px 4px }
.strip th { text-align: left !important; font-weight: normal }
.strip svg { width: 2.4em; height: 2.4em; display: block }
.wrong { color: var(--bad); font-weight: 700; text-decoration: line-through }
</style>"""


def image(pixels: Any) -> str:
    """Eight by eight pixels as squares, darker where there is more ink."""
    squares = "".join(
        f'<rect x="{k % 8}" y="{k // 8}" width="1" height="1" opacity="{min(max(v, 0), 1):.1f}"/>'
        for k, v in enumerate(pixels)
        if v > 0.05
    )
    return (
        f'<svg viewBox="0 0 8 8" fill="currentColor" shape-rendering="crispEdges">{squares}</svg>'
    )
