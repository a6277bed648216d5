"""The pages of the docs, and how what they show is run.

The blocks of a page run in order, in one folder and with one set of names, as if they were pasted
one after the other: ```pycon as doctests, ```python as it is, ```console command by command (`$`).
Blocks of other languages, and those without one, are records: they show seconds, data that not
everyone has, or packages that are not there.
"""

from __future__ import annotations

import doctest
import re
import shlex
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from commands import Command

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = sorted(DOCS.rglob("*.md"))
RUN = ("pycon", "python", "console")


class Block(NamedTuple):
    language: str
    text: str
    line: int


def blocks(page: Path) -> list[Block]:
    """The fenced blocks of a page that are run, with the lines on which they begin."""
    text = page.read_text(encoding="utf-8")
    fences = re.finditer(r"^```(\w+)[^\n]*\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    return [
        Block(each[1], each[2], text[: each.start()].count("\n") + 2)
        for each in fences
        if each[1] in RUN
    ]


def named(page: Path) -> str:
    return str(page.relative_to(DOCS).with_suffix(""))


class Runner:
    """Runs the blocks of one page."""

    def __init__(self, page: Path, run: Command):
        self.page, self.run = page, run
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.services: list[subprocess.Popen[str]] = []

    def __call__(self, block: Block) -> None:
        getattr(self, block.language)(block)

    def pycon(self, block: Block) -> None:
        test = doctest.DocTestParser().get_doctest(
            block.text, {}, str(self.page), str(self.page), block.line - 1
        )
        test.globs = self.names
        told: list[str] = []
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        runner.run(test, out=told.append, clear_globs=False)
        assert not told, "".join(told)

    def python(self, block: Block) -> None:
        padded = "\n" * (block.line - 1) + block.text  # so that errors name lines of the page
        exec(compile(padded, str(self.page), "exec"), self.names)

    def console(self, block: Block) -> None:
        for typed, seen in commands(block.text):
            if typed.startswith("cat > "):
                Path(typed.split()[2]).write_text(seen.removesuffix("END\n"), encoding="utf-8")
            elif typed.endswith(" &"):
                self.serve(shlex.split(typed)[1:-1])
            else:
                self.compare(typed, seen)

    def compare(self, typed: str, seen: str) -> None:
        told = self.told(typed)
        if seen.strip():
            assert sorted(words(told)) == sorted(words(seen)), f"{typed}\n{told}"
            assert numbers(told) == pytest.approx(numbers(seen), rel=0.05)

    def told(self, typed: str) -> str:
        program, *arguments = shlex.split(typed)
        if program == "fenchel":
            done = self.run(*arguments)
            return done.err + done.out
        if program == "python":
            program = sys.executable
        elif shutil.which(program) is None:
            pytest.skip(f"{program} is not there")
        return subprocess.run(
            [program, *arguments], check=True, capture_output=True, text=True
        ).stdout

    def serve(self, arguments: list[str]) -> None:
        """A service, which says on stderr where it listens; one that does not is ended."""
        service = subprocess.Popen(
            [sys.executable, "-m", "fenchel", *arguments], stderr=subprocess.PIPE, text=True
        )
        self.services.append(service)
        assert service.stderr is not None
        told, patience = "", threading.Timer(60, service.kill)
        patience.start()
        while "http://" not in (line := service.stderr.readline()):
            told += line
            if not line and "in use" in told:
                pytest.skip("another process has the port of the page")
            assert line, f"fenchel {shlex.join(arguments)} has ended: {told}"
        patience.cancel()

    def close(self) -> None:
        for service in self.services:
            service.terminate()
            service.communicate()


def commands(text: str) -> Iterator[tuple[str, str]]:
    """What is typed, and what is to be seen."""
    for each in re.split(r"^\$ ", text.replace("\\\n", ""), flags=re.MULTILINE)[1:]:
        typed, _, seen = each.partition("\n")
        yield typed, seen


def words(text: str) -> list[str]:
    """The lines without figures, which depend on clocks, solvers and versions; no iterations."""
    text = re.sub(r"\(fenchel [^)]*\)", "(fenchel)", text)
    lines = [re.sub(r"[-+±]?\d[\d.,]*(e[-+]\d+)?|━+", "#", line) for line in text.splitlines()]
    lines = [re.sub(r"^\S+: # iterations.*", "solver", line) for line in lines]
    return [
        " ".join(line.split()) for line in lines if not re.match(r" +# .* s |  iteration", line)
    ]


def numbers(text: str) -> list[float]:
    """The predictions among the lines."""
    return [float(line) for line in text.splitlines() if re.fullmatch(r"[\d.]+", line)]
