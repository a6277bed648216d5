"""What the command line knows: its names and choices, its help, and what the docs say of them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from commands import Command

import fenchel
from fenchel.cli import choices
from fenchel.cli.evaluate import Evaluated
from fenchel.cli.exits import Code
from fenchel.cli.inspect import Inspected
from fenchel.cli.settings import Settings
from fenchel.cli.summary import RunSummary, Trained
from fenchel.losses import LOSSES as ALL_LOSSES
from fenchel.losses import MultivariateLoss

LOSSES = {n: kind for n, kind in ALL_LOSSES.items() if not issubclass(kind, MultivariateLoss)}
ROOT = Path(__file__).parent.parent.parent


# Help and completion, which must not wait for NumPy


def loaded_after(*lines: str, env: dict[str, str] | None = None) -> tuple[str, list[str]]:
    """What a fresh process prints for some command lines, and what heavy modules each left."""
    script = (
        "import sys\n"
        "from fenchel.cli import main\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'matplotlib', 'pyarrow', 'pandas'}\n"
        "for line in sys.argv[1:] or ['']:\n"
        "    try:\n        main(line.split())\n"
        "    except SystemExit:\n        pass\n"
        "    print('heavy:', *sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, *lines],
        capture_output=True,
        text=True,
        env={**os.environ, "COLUMNS": "200", **(env or {})},
    )
    return done.stdout, [line[6:] for line in done.stderr.splitlines() if line[:6] == "heavy:"]


def test_help_does_not_import_numpy() -> None:
    commands = "train predict evaluate inspect convert resume worker serve owner".split()
    lines = ["--version", "--help", *(f"{name} --help" for name in commands)]
    out, heavy = loaded_after(*lines)
    assert out.count("Usage: ") == len(lines) - 1 and "fenchel" in out
    assert dict(zip(lines, heavy, strict=True)) == dict.fromkeys(lines, "")


def test_losses_complete_without_numpy() -> None:
    typed = {"_FENCHEL_COMPLETE": "complete_bash", "COMP_CWORD": "3"}
    out, heavy = loaded_after(env={**typed, "COMP_WORDS": "fenchel train --loss squared_"})
    assert out.split() == [name for name in choices.LOSSES if name.startswith("squared_")]
    assert heavy == [""]


def test_the_help_of_train_names_every_setting_and_choice(run: Command) -> None:
    shown = run("train", "--help").out
    for name in Settings.__struct_fields__:
        assert f"--{name.replace('_', '-')}" in shown
    words = shown.replace("│", " ").split()
    for name in (*choices.LOSSES, *choices.REGULARIZERS, *choices.SOLVERS):
        assert any(word.strip(".,") == name for word in words)


def test_python_m_fenchel_prints_the_version() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "fenchel", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"fenchel {fenchel.__version__}\n"


def test_a_bare_call_shows_the_help(run: Command) -> None:
    done = run()
    assert done.code == 2
    assert "Usage: fenchel" in done.out
    assert done.err == ""


# The documentation


def test_every_field_of_the_json_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    from fenchel.cli.convert import Converted
    from fenchel.cli.owner import Owning
    from fenchel.cli.path_summary import PathPoint, Report
    from fenchel.cli.prediction_files import Predicted
    from fenchel.cli.serve import Serving
    from fenchel.cli.verify import Verified, VerifiedRun
    from fenchel.cli.worker import Working

    reports = (Trained, RunSummary, Evaluated, Inspected, Predicted, Converted, Report, PathPoint)
    for report in (*reports, Verified, VerifiedRun, Serving, Owning, Working):
        for field in report.__struct_fields__:
            assert f"`{field}`" in text


def test_every_exit_code_and_loss_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    assert all(f"| {code.value} |" in text for code in Code)
    assert all(f"`{name}`" in text for name in choices.LOSSES)
