"""Records docs/train.svg and docs/session.svg: `fenchel` on a real terminal, kept by tmux.

FENCHEL_DATA=... python examples/command_line.py
"""

from __future__ import annotations

import io
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parent.parent / "docs"
COLUMNS, LINES = 88, 34


class Terminal:
    """A shell in a detached tmux session of its own."""

    def __init__(self, folder: str):
        self.server = ["tmux", "-L", f"fenchel-{os.getpid()}"]
        size = ["-x", str(COLUMNS), "-y", str(LINES)]
        shell = "env -u PYTHONSTARTUP PS1='$ ' TERM=screen-256color bash --norc --noprofile"
        self.tmux("-f", "/dev/null", "new-session", "-d", *size, "-c", folder, shell)

    def tmux(self, *arguments: str) -> str:
        done = subprocess.run([*self.server, *arguments], check=True, stdout=subprocess.PIPE)
        return done.stdout.decode()

    def type(self, text: str) -> None:
        self.tmux("send-keys", text, "Enter")

    def screen(self) -> str:
        return self.tmux("capture-pane", "-e", "-p").rstrip()

    def wait(self, seen: Callable[[str], bool]) -> str:
        for _ in range(600):
            time.sleep(0.05)
            if seen(self.screen()):
                return self.screen()
        sys.exit(f"gave up waiting for the terminal, which shows\n{self.screen()}")

    def run(self, command: str) -> str:
        """The screen when the prompt is back."""
        self.type(command)
        time.sleep(0.3)
        return self.wait(lambda screen: screen.endswith("$"))


def save(screen: str, name: str, title: str) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.from_ansi(screen))
    console.save_svg(str(DOCS / name), title=title, unique_id="fenchel")


def main() -> None:
    data = os.environ.get("FENCHEL_DATA")
    if not data:
        sys.exit("set FENCHEL_DATA to the folder of the data sets (see its README)")
    with tempfile.TemporaryDirectory() as folder:
        for name in ("a9a.xz", "a9a.t.xz"):
            os.symlink(Path(data) / "a9a" / name, Path(folder) / name)
        terminal = Terminal(folder)
        try:
            terminal.run(f'fenchel() {{ {shlex.quote(sys.executable)} -m fenchel "$@"; }}; clear')
            terminal.type("fenchel train a9a.xz -o a9a.model --gap 1e-9")
            screen = terminal.wait(lambda screen: "s left" in screen and "e-05" in screen)
            save(screen, "train.svg", "fenchel train")
            terminal.wait(lambda screen: screen.endswith("$"))
            terminal.run("clear")
            terminal.run("fenchel train a9a.xz -o a9a.model --regularizer l1 --strength 1e-3")
            terminal.run("fenchel evaluate a9a.model a9a.t.xz")
            save(terminal.run("fenchel inspect a9a.model --top 8"), "session.svg", "fenchel")
        finally:
            terminal.tmux("kill-server")


if __name__ == "__main__":
    main()
