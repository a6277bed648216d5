"""`fenchel inspect`: what a model file holds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.text import Text

from fenchel.cli import models
from fenchel.cli.choices import LOSS_OPTIONS
from fenchel.cli.exits import Code
from fenchel.cli.options import OUTPUT, Json, ModelPath, Verbose
from fenchel.cli.steps import SavedStep, estimators, lines, steps_of
from fenchel.cli.summary import Label, RunSummary, label, runs_of, show_runs
from fenchel.cli.terminal import result
from fenchel.data.table_facts import TableFacts
from fenchel.errors import Incompatible

if TYPE_CHECKING:
    from fenchel.report.coefficients import Coefficient, Coefficients, Size

_BAR = 24  # the longest


class Inspected(msgspec.Struct):
    """The report of `fenchel inspect`."""

    version: str  # of the library that wrote the model
    model: str
    estimator: str
    loss: str
    parameters: dict[str, Any]
    features: int
    named_features: bool
    index_base: int | None
    offset_column: str | None
    exposure_column: str | None
    table: TableFacts | None  # the columns that the features were made of
    levels: dict[str, list[str]] | None  # of each column of text
    classes: list[Label] | None
    runs: list[RunSummary]
    intercepts: list[float]
    coefficients: list[dict[str, Any]]
    steps: list[SavedStep] | None = None  # of a pipeline, the estimator's last


class InspectedParts(msgspec.Struct):
    """The report of a file whose last step is no estimator of the library's own."""

    model: str
    steps: list[SavedStep]
    runs: dict[str, list[RunSummary]]  # of the estimators inside, by the way to each


def inspect(
    model: ModelPath,
    top: Annotated[
        int,
        typer.Option(
            "--top", "-n", min=0, help="How many coefficients per class.", rich_help_panel=OUTPUT
        ),
    ] = 10,
    json: Json = False,
    verbose: Verbose = False,
) -> Code:
    """Show what MODEL is, what was proved of it, and its largest coefficients."""
    found = models.whole(model)
    fitted = models.last_of(found)
    if fitted is None:
        return _inspect_parts(model, found, json)
    if hasattr(fitted, "table_") and found is not fitted:
        fitted = models.load(model)
    table = _coefficients(fitted, top)
    report = _report(model, fitted, table)
    if found is not fitted and hasattr(found, "steps"):
        report.steps = steps_of(found).steps
    if json:
        result(msgspec.json.encode(report).decode())
    else:
        _show(report, table, fitted)
    return Code.OK


def _inspect_parts(path: Path, found: Any, json: bool) -> Code:
    inside = dict(estimators(found))
    whole = steps_of(found)
    report = InspectedParts(
        str(path), [whole], {name: runs_of(each) for name, each in inside.items()}
    )
    if json:
        result(msgspec.json.encode(report).decode())
        return Code.OK
    for line in lines(whole):
        result(line)
    for name, each in inside.items():
        result(f"{name}:")
        show_runs(report.runs[name], each.tol)
    return Code.OK


def _coefficients(fitted: Any, top: int) -> Coefficients:
    from fenchel.report.coefficients import coefficients

    if not hasattr(fitted, "coef_"):
        raise Incompatible(
            f"a model with a kernel has no coefficients: it is a sum of {len(fitted.support_)} rows"
        )
    names: Sequence[object] | None = getattr(fitted, "feature_names_in_", None)
    if names is None:
        first = getattr(fitted, "index_base_", 0)
        names = range(first, first + fitted.n_features_in_)
    classes = getattr(fitted, "classes_", getattr(fitted, "target_names_", None))
    if models.is_labeler(fitted):
        names, classes = list(_pairs(fitted)), None
    if hasattr(fitted, "thresholds_"):  # one score for all levels
        classes = None
    labels = None if classes is None else [label(value) for value in classes.tolist()]
    return coefficients(fitted.coef_, fitted.intercept_, names, labels, top)


def _pairs(fitted: Any) -> Iterator[str]:
    """What the weights of a labeler are for: a feature, or a tag, and a tag."""
    first = getattr(fitted, "index_base_", 0)
    for feature, tag in fitted.state_features_:
        name = feature if isinstance(feature, str) else f"column {feature + first}"
        yield f"{name} -> {label(tag)}"
    for before, tag in fitted.transition_features_:
        yield f"{label(before)} -> {label(tag)}"


def _report(path: Path, fitted: Any, table: Coefficients) -> Inspected:
    from fenchel.model.file import header

    stored = header(path)
    return Inspected(
        version=stored.version,
        model=str(path),
        estimator=stored.estimator,
        loss=models.loss_name(fitted),
        parameters=dict(stored.parameters),
        features=stored.n_features,
        named_features=stored.named_features or hasattr(fitted, "feature_names_in_"),
        index_base=stored.index_base,
        offset_column=stored.offset_column,
        exposure_column=stored.exposure_column,
        table=stored.table,
        levels=_levels(fitted),
        classes=None if stored.classes is None else list(stored.classes),
        runs=runs_of(fitted),
        intercepts=[size.intercept for size in table.sizes],
        coefficients=[
            {"class": row.label, "feature": row.feature, "weight": row.weight}
            for row in table.largest
        ],
    )


def _levels(fitted: Any) -> dict[str, list[str]] | None:
    """The levels that each column of text had in training."""
    if not hasattr(fitted, "encoder_"):
        return None
    return {
        names[0]: [str(level) for level in step[-1].categories_[0]]
        for name, step, names in fitted.encoder_.transformers_
        if name.startswith("text")
    }


def _show(report: Inspected, table: Coefficients, fitted: Any) -> None:
    result(f"{report.estimator}: {_problem(fitted, report.loss)}  (fenchel {report.version})")
    result(_columns(report))
    for said in _table(report):
        result(said)
    for step in report.steps or () if report.levels is None else ():
        for said in lines(step, 1):
            result(said)
    show_runs(report.runs, fitted.tol)
    console = Console(highlight=False, soft_wrap=True)
    for size in table.sizes:
        rows = [row for row in table.largest if row.label == size.label]
        console.print()
        console.print(_title(size, len(rows)))
        for bar in _lines(rows):
            console.print(bar)


def _problem(fitted: Any, loss: str) -> str:
    options = {name: getattr(fitted, name) for name, able in LOSS_OPTIONS.items() if loss in able}
    given = {name: value for name, value in options.items() if value is not None}
    said = "".join(
        f", {name} {value if isinstance(value, str) else format(value, 'g')}"
        for name, value in given.items()
    )
    intercept = "with" if getattr(fitted, "fit_intercept", loss in ("f1", "fbeta")) else "without"
    return f"{loss}{said} + {fitted.penalty}, strength {fitted.alpha:g}, {intercept} intercept"


def _columns(report: Inspected) -> str:
    if report.named_features:
        how = "with names"
    else:
        how = "without names" if report.index_base is None else f"counted from {report.index_base}"
    if report.offset_column is not None:
        how += f", and offsets in {report.offset_column!r}"
    if report.exposure_column is not None:
        how += f", and exposures in {report.exposure_column!r}"
    if report.classes is None:
        return f"{report.features:,} features {how}"
    names = [label(value) for value in report.classes]
    shown = names if len(names) <= 12 else [*names[:10], "...", names[-1]]
    what = "targets" if report.estimator == "MultivariateRegressor" else "classes"
    return f"{report.features:,} features {how}; {len(names)} {what}: {', '.join(shown)}"


def _table(report: Inspected) -> Iterator[str]:
    """The columns of the table that the model was trained on."""
    facts = report.table
    if facts is None:
        return
    parts = {"target": facts.target, "weights": facts.weight, "groups": facts.group}
    said = [f"{what} {name!r}" for what, name in parts.items() if name is not None]
    if said:
        yield f"table with {', '.join(said)}"
    if report.levels is None:
        return
    for what, names in (("numbers", facts.of_kind("number")), ("days", facts.of_kind("date"))):
        if names:
            yield f"  {what}: {', '.join(names)}"
    for name, levels in report.levels.items():
        shown = levels if len(levels) <= 12 else [*levels[:10], "...", levels[-1]]
        yield f"  {name}: {len(levels)} levels: {', '.join(shown)}"
    yield f"  missing values: {facts.missing}"


def _title(size: Size, shown: int) -> Text:
    of = f"for class {size.label}: " if size.label is not None else ""
    some = f", the largest {shown}" if shown < size.nonzeros else ""
    return Text(
        f"{of}intercept {size.intercept:.6g}, {size.nonzeros:,} of {size.features:,} coefficients "
        f"nonzero{some}",
        style="bold",
    )


def _lines(rows: Sequence[Coefficient]) -> Iterator[Text]:
    """Name, weight and a bar for each."""
    width = max((len(row.feature) for row in rows), default=0)
    largest = abs(rows[0].weight) if rows else 1.0
    for row in rows:
        bar = "━" * max(1, round(_BAR * abs(row.weight) / largest))
        colour = "green" if row.weight > 0 else "red"
        yield Text.assemble(f"  {row.feature:<{width}}  {row.weight:>+12.6g}  ", (bar, colour))
