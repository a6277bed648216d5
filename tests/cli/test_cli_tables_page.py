"""docs/tables.md runs as pasted, and has a line for each kind of bad table."""

from __future__ import annotations

import doctest
import re
import shlex
from pathlib import Path

import pytest
from commands import Command
from test_cli_bad_tables import ERRORS, TREATED

PAGE = Path(__file__).parents[2] / "docs" / "tables.md"
BLOCKS = re.findall(r"```(console|pycon)\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)


def commands(block: str) -> list[tuple[str, str]]:
    """What is typed, and what is to be seen."""
    joined = block.replace("\\\n", "")
    parts = re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]
    return [(each.partition("\n")[0], each.partition("\n")[2]) for each in parts]


def words(text: str) -> list[str]:
    """The lines without figures, which depend on clocks and solvers, and without iterations."""
    lines = [re.sub(r"[-+±]?\d[\d.,]*(e[-+]\d+)?|━+", "#", line) for line in text.splitlines()]
    lines = [re.sub(r"^\S+: # iterations.*", "solver", line) for line in lines]
    return [
        " ".join(line.split()) for line in lines if not re.match(r" +# .* s |  iteration", line)
    ]


def means(text: str) -> list[float]:
    """The predictions among the lines."""
    return [float(line) for line in text.splitlines() if re.fullmatch(r"[\d.]+", line)]


def test_the_page_runs_as_pasted(run: Command):
    for kind, block in BLOCKS:
        if kind == "pycon":
            test = doctest.DocTestParser().get_doctest(block, {}, PAGE.name, None, 0)
            assert doctest.DocTestRunner().run(test).failed == 0
            continue
        for typed, seen in commands(block):
            if typed.startswith("cat > "):
                Path(typed.split()[2]).write_text(seen.removesuffix("END\n"))
                continue
            done = run(*shlex.split(typed)[1:])
            assert done.code == 0, done.err
            assert sorted(words(done.err + done.out)) == sorted(words(seen))
            assert means(done.out) == pytest.approx(means(seen), rel=0.05)


@pytest.mark.parametrize("bad", ERRORS + TREATED, ids=lambda bad: bad.kind)
def test_the_page_has_a_line_for_every_kind(bad):
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith(f"| {bad.kind}")]
    assert lines
    assert bad.fine or any(bad.said.replace("|", "\\|") in line for line in lines)
