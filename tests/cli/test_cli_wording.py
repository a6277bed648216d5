"""The command line names settings by their flags, and leaves what users named as it is."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import Command

import fenchel
from fenchel.cli.sources import STDIN, renamed
from fenchel.cli.wording import in_flags
from fenchel.errors import Setting

NAMES = ["alpha 1", "strength 3", "gap", "`gap`", "intercept=False", "max_iter", "index_base=0"]
TAGS = ["--loss", "crf", "--template", "words"]


@pytest.mark.parametrize("name", NAMES)
def test_the_command_line_leaves_names_of_users_alone(run: Command, name: str) -> None:
    Path(f"{name}.csv").write_text(f"{name},b,y\n1,2,0\nx,3,1\n")
    said = " ".join(run("train", f"{name}.csv", "-o", "m").err.split())
    assert f"{name}.csv:3: column {name!r} holds numbers, but for 1 row" in said
    Path("one.csv").write_text(f"a,y\n1,{name}\n2,{name}\n")
    said = " ".join(run("train", "one.csv", "-o", "m").err.split())
    assert f"single class, {name!r}" in said
    Path(name).write_text("1 1:1\n-1 0:2\n")
    said = " ".join(run("train", name, "-o", "m", "--index-base", 1).err.split())
    assert f"{name}:2:4: the index is 0" in said and "read the file with --index-base 0" in said


@pytest.mark.parametrize(
    ("data", "flags", "said"),
    [
        ("0 1:1\n0 1:2\n", ["--loss", "poisson"], "use --no-intercept"),
        ("1 1:1\n1.5 1:2\n", [], "did you mean --loss squared_error?"),
        ("1 1:1\n2 1:2\n3 1:1\n", ["--loss", "f1"], "use --loss hinge"),
        ("1 1:1\n2 1:2\n", ["--strength", "0", "--solver", "bmrm"], "it needs --strength > 0"),
        ("1 1:1\n2 1:2\n", ["--strength", "0", "--loss", "nu_hinge"], "and --strength > 0"),
        ("1 1:1\n2 1:2\n", ["--strength", "1e-200"], "--strength must be 0, or at least"),
        ("1 1:1\n2 1:2\n", ["--engine", "none"], "unknown --engine 'none'"),
        ("1 1:1\n2 1:2\n", ["--loss", "recall_at_k", "--k", "9"], "--k is 9, but"),
        ("1 1:1\n2 1:2\n2 1:1\n", ["--loss", "nu_hinge", "--nu", "1"], "--nu is at most"),
        ("the D\ncat N\n", [*TAGS, "--min-count", "9"], "lower --min-count"),
        (
            "the D\ncat N\n",
            [*TAGS, "--min-count", "9", "--hashed", "9"],
            "--min-count is for a vocabulary: with --hashed",
        ),
    ],
)
def test_the_command_line_says_its_flags(run: Command, data: str, flags: list, said: str) -> None:
    name = "d.conll" if data.startswith("the") else "d.svm"
    Path(name).write_text(data)
    done = run("train", name, "-o", "m", *flags)
    assert done.code in (2, 3) and said in " ".join(done.err.split())


def test_a_command_names_the_flags_that_it_has(run: Command) -> None:
    error = fenchel.InvalidData(Setting("strengths"), " is empty")
    assert in_flags(error, "train") == str(error) == "strengths is empty"
    assert in_flags(error, "path").startswith("--strengths is empty")
    Path("d").write_text("1 1:1\n-1 5:2\n")
    said = " ".join(run("owner", "d", "--n-features", 2).err.split())
    assert "too large for --n-features 2," in said and "give --n-features >= 5" in said
    assert "--max-queries must be" in run("owner", "d", "--max-queries", 0).err
    Path("bare").write_text("1\n-1\n")
    assert "give n_features if" in " ".join(run("train", "bare", "-o", "m").err.split())


def test_a_warning_is_shown_with_flags(run: Command) -> None:
    Path("d").write_text("1 1:1\n-1 1:1\n1 1:1\n-1 1:1\n")
    said = " ".join(run("train", "d", "-o", "m", "--loss", "f1", "--strength", 1000).err.split())
    assert "warning: MetricClassifier found nothing" in said
    assert "Try a smaller --strength, or a loss of pairs, --loss roc or --loss rank_hinge" in said


def test_the_name_of_stdin_goes_before_a_message_that_keeps_its_settings() -> None:
    error = fenchel.InvalidData("/tmp/copy:2: use ", Setting("index_base", 0))
    shown = renamed(error, Path("/tmp/copy"), STDIN)
    assert in_flags(shown) == "stdin:2: use --index-base 0"
