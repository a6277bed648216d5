"""`fenchel verify`: checks what was proved of a model, on its data or by asking their owners."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

import fenchel
from fenchel.cli import inputs, models, owners, reading, tagging
from fenchel.cli.choices import RANKING
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.fit_options import Authority, Certificate, Key
from fenchel.cli.options import (
    DataPathsOrOwners,
    Format,
    IndexBase,
    Json,
    ModelPath,
    Quiet,
    Target,
    Verbose,
)
from fenchel.cli.settings import Settings
from fenchel.cli.sources import Files, check_readable, source
from fenchel.cli.summary import Label, bounds, label
from fenchel.cli.terminal import Terminal, result
from fenchel.errors import InvalidCertificate

if TYPE_CHECKING:
    from fenchel.estimators.fitting import Posed
    from fenchel.estimators.protocol import Estimator


class VerifiedRun(msgspec.Struct):
    """What the data and the witness prove of one minimisation."""

    label: Label  # the class, null if there is only one run
    lower_bound: float
    objective: float
    gap: float
    source: str


class Verified(msgspec.Struct):
    """The report; where a claim does not hold there is an error instead."""

    version: str
    model: str
    data: str
    files: list[str]
    runs: list[VerifiedRun]


def verify(
    model: ModelPath,
    proof: Annotated[Path, typer.Option(metavar="<file>", help="What train --proof saved.")],
    data: DataPathsOrOwners = None,
    engine: Annotated[
        str | None, typer.Option(metavar="owners:FILE", help="Ask the owners of the rows.")
    ] = None,
    certificate: Certificate = None,
    key: Key = None,
    authority: Authority = None,
    target: Target = None,
    index_base: IndexBase = None,
    format: Format = None,
    rigorous: Annotated[
        bool, typer.Option("--rigorous", help="Bounds that hold in exact arithmetic.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Check the bounds of MODEL on the DATA it was trained on, or by asking their owners.

    The objective is computed anew at the model's coefficients, and the lower bound from the
    tangents and dual variables in the proof, by code that believes neither file. With --rigorous
    no round-off is believed either.
    """
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    fitted = models.load(model)
    settings = owners.settled(
        Settings(engine=engine, certificate=certificate, key=key, authority=authority)
    )
    if engine is not None and not owners.named(settings):
        raise UsageError("DATA are verified here: --engine is for owners:FILE only")
    rows = source(data, format)
    files = owners.source(rows, settings)
    with terminal.warnings():
        posed = _posed(fitted, rows, settings, terminal, target, index_base)
        with terminal.step("verify") as step:
            certificates = _certificates(fitted, list(posed.problems), proof, rigorous)
            step.found = f"{len(certificates)} certificate{'s' * (len(certificates) > 1)}"
    runs = [
        VerifiedRun(
            name, float(each.lower_bound), float(each.upper_bound), float(each.gap), each.source
        )
        for name, each in zip(_labels(fitted, len(certificates)), certificates, strict=True)
    ]
    _show(Verified(fenchel.__version__, str(model), files[0], files, runs), terminal)
    return Code.OK


def _posed(
    fitted: Estimator,
    data: Files | None,
    settings: Settings,
    terminal: Terminal,
    target: str | None,
    index_base: int | None,
) -> Posed:
    """The problems that the model was fitted to, as its estimator poses them."""
    if data is None:
        found = owners.read(settings, terminal, loss=models.loss_name(fitted))[0]
        return fitted._posed(found.X)
    if models.is_labeler(fitted):
        tagged = tagging.read_for(fitted, data.only("a file of tokens"), terminal, index_base)
        return fitted._posed(tagged.X, tagged.y)
    rows = reading.read_for(
        fitted,
        models.loss_name(fitted),
        data,
        terminal,
        target=target,
        index_base=index_base,
    )
    # The rows stand in the columns of the model, but do not know their names.
    names = getattr(fitted, "feature_names_in_", None)
    penalty = fitted._settings().resolved(names).regularizer
    fitted.set_params(penalty=penalty, feature_groups=None, lower=None, upper=None)
    if models.loss_name(fitted) in RANKING:
        inputs.check_queries(rows.qid, data.path)
        return fitted._posed(rows.X, rows.y, groups=rows.qid, sample_weight=rows.weight)
    return fitted._posed(rows.X, rows.y, offset=rows.offset, sample_weight=rows.weight)


def _certificates(fitted: Any, problems: Sequence[Any], proof: Path, rigorous: bool) -> list[Any]:
    from fenchel.model.proof import read_proof

    check_readable(proof)
    witnesses = read_proof(proof)
    found = fitted.result_ if isinstance(fitted.result_, list) else [fitted.result_]
    if not len(found) == len(problems) == len(witnesses):
        raise InvalidCertificate(
            f"the model has {len(found)} runs, its data {len(problems)} problems, and the proof "
            f"{len(witnesses)} witnesses: they do not belong together"
        )
    return [
        fenchel.verify(replace(each, witness=witness), problem, rigorous=rigorous)
        for each, witness, problem in zip(found, witnesses, problems, strict=True)
    ]


def _labels(fitted: Any, n: int) -> list[Label]:
    return [None] if n == 1 else fitted.classes_.tolist()


def _show(report: Verified, terminal: Terminal) -> None:
    if terminal.json:
        result(msgspec.json.encode(report).decode())
        return
    for run in report.runs:
        of = "" if run.label is None else f"class {label(run.label)}: "
        result(
            f"{of}verified, gap {run.gap:.1e}: {bounds(run.lower_bound, run.objective, run.gap)}, "
            f"from the {run.source}"
        )
