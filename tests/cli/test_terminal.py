"""The command line as a person meets it: on a terminal, with keys pressed and signals sent."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from commands import HANGS
from sklearn.datasets import dump_svmlight_file

import fenchel

pytestmark = pytest.mark.slow

pexpect = pytest.importorskip("pexpect")

Spawn = Callable[..., "pexpect.spawn"]

# A run that would go on for minutes: many iterations, each a few milliseconds.
ENDLESS = ["--solver", "bmrm-noqp", "--gap", "1e-12", "--max-iterations", "9999999"]
FENCHEL = ("-m", "fenchel")
COLOUR = re.compile(r"\x1b\[(?:\d;)*3\d")  # the foreground colours of a terminal
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Rows of two overlapping classes."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((4000, 30)).round(3)
    y = np.sign(X @ np.linspace(-1, 1, 30) + 3 * rng.standard_normal(4000))
    path = tmp_path_factory.mktemp("data") / "data.svm"
    dump_svmlight_file(X, y, str(path), zero_based=False)
    return path


@pytest.fixture
def spawn(tmp_path: Path) -> Iterator[Spawn]:
    """`spawn("train", ...)` on a terminal of its own, in a fresh folder."""
    children: list[pexpect.spawn] = []

    def start(
        *arguments: object,
        columns: int = 100,
        program: tuple[str, str] = FENCHEL,
        **variables: str,
    ) -> pexpect.spawn:
        hidden = {"COLUMNS", "LINES"}
        env = {name: value for name, value in os.environ.items() if name not in hidden}
        child = pexpect.spawn(
            sys.executable,
            [*program, *map(str, arguments)],
            cwd=tmp_path,
            env={**env, "TERM": "xterm-256color", **variables},
            dimensions=(40, columns),
            encoding="utf-8",
            timeout=HANGS,
        )
        children.append(child)
        return child

    yield start
    for child in children:
        child.close(force=True)


def lasting(iteration: int, condition: str) -> tuple[str, str]:
    """`fenchel` with an iteration that lasts for as long as a condition holds."""
    script = f"""
        import time
        from fenchel.cli import main
        from fenchel.cli.progress import Silent

        take = Silent.__call__

        def lasting(self, record):
            take(self, record)
            while record.iteration >= {iteration} and {condition}:
                time.sleep(0.01)
            return self.interrupts.code is not None

        Silent.__call__ = lasting
        main()
    """
    return "-c", textwrap.dedent(script)


def ended(child: pexpect.spawn) -> str:
    """Everything printed until the end."""
    child.expect(pexpect.EOF)
    child.wait()
    return str(child.before)


def test_a_terminal_shows_a_live_table_and_then_the_summary(
    spawn: Spawn, data: Path, tmp_path: Path
) -> None:
    child = spawn("train", data, "-o", "m", "--gap", "1e-6")
    child.expect("4,000 rows, 30 features, [0-9,]+ nonzeros")
    for title in ("iteration", "objective", "lower bound", "gap", "passes", "elapsed"):
        child.expect(title)
    seen = ended(child)
    assert "converged" in seen
    assert child.exitstatus == 0
    assert (tmp_path / "m").exists()


def test_the_bar_and_the_rate_are_seen_while_it_runs(spawn: Spawn, data: Path) -> None:
    child = spawn("train", data, "-o", "m", *ENDLESS)
    child.expect("rows/s")
    child.expect("gap to 1.0e-12")
    child.expect("━")
    child.expect("left")


def test_ctrl_c_saves_the_best_model_and_says_how_to_go_on(
    spawn: Spawn, data: Path, tmp_path: Path
) -> None:
    """FAULTS #22."""
    child = spawn("train", data, "-o", "m", *ENDLESS)
    child.expect("left")
    child.sendintr()
    seen = ended(child)
    assert child.exitstatus == 130
    assert "not converged (interrupted)" in seen
    assert "fenchel resume m.checkpoint" in seen
    assert "Traceback" not in seen
    model = fenchel.load(tmp_path / "m")
    assert model.status_ == "interrupted" and 1e-12 < model.gap_ < 1
    assert sorted(os.listdir(tmp_path)) == ["m", "m.checkpoint"]


def test_ctrl_c_keeps_the_strengths_of_a_path_that_are_done(spawn: Spawn, data: Path) -> None:
    options = ["--solver", "bmrm-noqp", "--gap", "0.1", "--max-iterations", "9999999"]
    child = spawn("path", data, "--strengths", "100,10,1e-8", *options)
    child.expect("run 3/3")  # which would take minutes
    child.sendintr()
    seen = CONTROL.sub("", ended(child))
    assert child.exitstatus == 130 and "Traceback" not in seen
    assert seen.count("interrupted") == 1
    assert "2 of 3 strengths converged" in seen


def test_ctrl_c_twice_quits_at_once_and_writes_nothing(
    spawn: Spawn, data: Path, tmp_path: Path
) -> None:
    """FAULTS #22: the second one may come before the iteration is over."""
    child = spawn("train", data, "-o", "m", *ENDLESS, program=lasting(1, "True"))
    child.expect("gap to")
    child.sendintr()
    child.expect("Ctrl-C again quits at once")
    child.kill(signal.SIGTERM)
    seen = ended(child)
    assert child.exitstatus == 130  # of the first
    assert "Traceback" not in seen and "not converged" not in seen
    assert "m" not in os.listdir(tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]
    assert "\x1b[?25h" in seen  # the cursor is back


def test_sigterm_and_resume_end_where_an_undisturbed_run_ends(data: Path, tmp_path: Path) -> None:
    """FAULTS #23: the same trajectory, bit for bit."""
    flags = ["--solver", "bmrm-noqp", "--gap", "1e-3", "--strength", "2e-3", "--threads", "1"]
    train = ["train", str(data), *flags, "--json", "-o"]
    run = subprocess.run([sys.executable, *FENCHEL, *train, "whole"], cwd=tmp_path, **PIPED)
    whole = json.loads(run.stdout)
    program = lasting(100, "self.interrupts.code is None")  # it does not end by itself
    child = subprocess.Popen([sys.executable, *program, *train, "part"], cwd=tmp_path, **PIPES)
    assert child.stderr is not None and child.stdout is not None
    while True:  # until some iterations are done
        words = child.stderr.readline().split()
        assert words, "it ended too early"
        if words[0].isdigit() and int(words[0]) >= 64:
            break
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate(timeout=HANGS)
    assert child.returncode == 143
    assert json.loads(out)["runs"][0]["status"] == "interrupted"
    assert "fenchel resume part.checkpoint" in err
    resumed = subprocess.run(
        [sys.executable, *FENCHEL, "resume", "part.checkpoint", "--json"],
        cwd=tmp_path,
        **PIPED,
    )
    assert resumed.returncode == 0
    for what in ("objective", "lower_bound", "gap", "iterations"):
        assert json.loads(resumed.stdout)["runs"][0][what] == whole["runs"][0][what]
    part, undisturbed = (fenchel.load(tmp_path / name) for name in ("part", "whole"))
    assert np.array_equal(part.coef_, undisturbed.coef_)
    assert sorted(os.listdir(tmp_path)) == ["part", "whole"]


PIPES = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
PIPED = {"capture_output": True, "text": True}


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_while_reading_quits_at_once(
    spawn: Spawn, tmp_path: Path, number: signal.Signals, code: int
) -> None:
    copies = tmp_path / "copies"  # of the rows that it waits for from the keyboard
    copies.mkdir()
    child = spawn("train", "-", "-o", "m", TMPDIR=str(copies))
    while not list(copies.glob("fenchel-*")):
        assert child.isalive()
        time.sleep(0.05)
    child.kill(number)
    seen = ended(child)
    assert child.exitstatus == code
    assert "Traceback" not in seen
    assert os.listdir(tmp_path) == ["copies"] and os.listdir(copies) == []


def test_a_signal_that_strikes_in_a_destructor_is_not_lost() -> None:
    """Python drops what is raised there; the wish to leave must outlive it."""
    script = (
        "import os, signal, time\n"
        "from fenchel.cli.exits import Quit\n"
        "from fenchel.cli.signals import Interrupts\n"
        "class Struck:\n"
        "    def __del__(self):\n"
        "        os.kill(os.getpid(), signal.SIGTERM)\n"
        "        time.sleep(0.1)\n"
        "try:\n"
        "    with Interrupts().watched():\n"
        "        Struck()\n"
        "        time.sleep(30)\n"
        "        print('nothing came')\n"
        "except Quit as left:\n"
        "    raise SystemExit(int(left.code))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], **PIPED)
    assert "Exception ignored" in done.stderr
    assert done.returncode == 143
    assert done.stdout == ""


@pytest.mark.parametrize("columns", [24, 60])
def test_a_narrow_terminal_is_not_overrun(spawn: Spawn, data: Path, columns: int) -> None:
    child = spawn("train", data, "-o", "m", *ENDLESS, columns=columns)
    child.expect("objective")
    drawn = []
    for _ in range(5):  # over each other
        child.expect("gap to")
        drawn.append(child.before)
    child.sendintr()
    seen = "gap to".join([*drawn, ended(child)]).replace("^C", "")  # the terminal's echo
    seen = CONTROL.sub("", seen)
    tables = [line for line in re.split(r"[\r\n]+", seen) if "objective" in line or "━" in line]
    assert tables
    assert max(map(len, tables)) <= columns
    assert "…" not in "".join(tables)  # whole columns are left out, none is cut


def test_no_color_is_honoured(spawn: Spawn, data: Path) -> None:
    seen = ended(spawn("train", data, "-o", "m", NO_COLOR="1"))
    assert "converged" in seen
    assert not COLOUR.search(seen)


def test_a_dumb_terminal_gets_lines(spawn: Spawn, data: Path) -> None:
    seen = ended(spawn("train", data, "-o", "m", "--solver", "ls-bmrm", TERM="dumb"))
    assert "\x1b" not in seen
    assert re.search(r"\n +8 ", seen)


def test_stdout_stays_clean_beside_the_live_table(spawn: Spawn, data: Path, tmp_path: Path) -> None:
    child = pexpect.spawn(
        "/bin/sh",
        ["-c", f"{sys.executable} -m fenchel train {data} -o m --json > out.json"],
        cwd=tmp_path,
        encoding="utf-8",
        timeout=HANGS,
    )
    assert "iteration" in ended(child)
    assert json.loads((tmp_path / "out.json").read_text())["converged"] is True


def test_errors_are_one_line_in_red(spawn: Spawn) -> None:
    seen = ended(spawn("train", "none.svm", "-o", "m"))
    assert CONTROL.sub("", seen).strip() == "error: there is no file none.svm"
    assert COLOUR.search(seen)


def test_a_wrong_flag_names_the_right_one(spawn: Spawn) -> None:
    child = spawn("train", "d", "-o", "m", "--strenght", "1")
    assert "--strength" in ended(child)
    assert child.exitstatus == 2


def test_help_fits_the_terminal(spawn: Spawn) -> None:
    seen = CONTROL.sub("", ended(spawn("train", "--help", columns=80)))
    assert "--regularizer" in seen
    assert max(len(line.rstrip()) for line in seen.splitlines()) <= 80


def test_completion_knows_the_commands(spawn: Spawn) -> None:
    child = spawn(_FENCHEL_COMPLETE="complete_bash", COMP_WORDS="fenchel ", COMP_CWORD="1")
    seen = ended(child).split()
    assert seen == [
        "train",
        "path",
        "race",
        "predict",
        "evaluate",
        "inspect",
        "verify",
        "export",
        "convert",
        "resume",
        "serve",
        "owner",
        "worker",
    ]
