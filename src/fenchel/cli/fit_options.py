"""Options of every command that fits."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from functools import partial, wraps
from pathlib import Path
from typing import Annotated, Any

import typer

from fenchel.cli.choices import LOSS_OPTIONS, LOSSES, OPTIONS, REGULARIZERS, SOLVERS, starting
from fenchel.cli.exits import Code
from fenchel.cli.options import OF_TABLES, OUTPUT
from fenchel.losses.table import Real, Whole, Word

what = partial(typer.Option, rich_help_panel="What is fitted")
when = partial(typer.Option, rich_help_panel="When to stop, and how to get there")
file = partial(typer.Option, rich_help_panel=OUTPUT, metavar="<file>")
_for_tls = partial(typer.Option, rich_help_panel="Owners of data, and tls://", metavar="<file>")
_of_loss = partial(typer.Option, rich_help_panel="Options of losses")


def _losses(incomplete: str) -> list[str]:
    return starting(LOSSES, incomplete)


def _regularizers(incomplete: str) -> list[str]:
    return starting(REGULARIZERS, incomplete)


def _solvers(incomplete: str) -> list[str]:
    return starting(SOLVERS, incomplete)


_LOSS_HELP = f"{', '.join(LOSSES)}. (default hinge)"
_REGULARIZER_HELP = f"{', '.join(REGULARIZERS)}. (default l2)"
_SOLVER_HELP = f"{', '.join(SOLVERS)}. (default auto)"
_GAP_HELP = "Stop at this proved (objective - lower bound) / objective. (default 1e-4)"
_ATOL_HELP = "Or at this objective - lower bound, where the objective may be 0. (default 0)"
_INTERCEPT_HELP = "An unregularised intercept. (default: with; novelty and most measures have none)"
_CONFIG_HELP = (
    "Settings in TOML, named as the flags. FENCHEL_STRENGTH and the like in the environment "
    "override it, flags override both."
)

Loss = Annotated[str | None, what(metavar="<name>", help=_LOSS_HELP, autocompletion=_losses)]
Regularizer = Annotated[
    str | None, what(metavar="<name>", help=_REGULARIZER_HELP, autocompletion=_regularizers)
]
_L1_HELP = "The share of l1 in elastic_net and elastic_net_ball. (default 0.5)"
_COSTS_HELP = (
    "What each label costs in place of another: a matrix, with labels in the first row and column, "
    "or sorted. For hierarchical_hinge also distance (default) or relative."
)
_TAXONOMY_HELP = (
    "hierarchical_hinge, hierarchical_softmax: the tree of the labels, as JSON or with a line "
    "child,parent for each node."
)
L1Ratio = Annotated[float | None, what(help=_L1_HELP)]
Radius = Annotated[float | None, what(help="Of elastic_net_ball. (default 1)")]
P = Annotated[float | None, what("--p", help="Of squared_p_norm, above 1 up to 2. (default 1.5)")]
Cap = Annotated[float | None, what(help="The most a weight of entropy may be. (default 1)")]
LabelCosts = Annotated[
    str | None,
    _of_loss(metavar="<file>", help=_COSTS_HELP),
]
Taxonomy = Annotated[str | None, _of_loss(metavar="<file>", help=_TAXONOMY_HELP)]
SolverOption = Annotated[
    list[str] | None,
    when(metavar="<name=value>", help="A setting of --solver, as step=1; may be given again."),
]
Lower = Annotated[float | None, what(help="The least a coefficient may be. (default no bound)")]
Upper = Annotated[float | None, what(help="The most a coefficient may be. (default no bound)")]
Intercept = Annotated[
    bool | None, what("--intercept/--no-intercept", metavar="", help=_INTERCEPT_HELP)
]
Balanced = Annotated[
    bool | None, what("--balanced", metavar="", help="Give rare classes as much weight as others.")
]
Template = Annotated[
    str | None,
    _of_loss(metavar="<name|file>", help="crf, ...: default, words, or a file as for CRF++."),
]
MinCount = Annotated[
    int | None, _of_loss(help="crf, ...: rarer features are left out. (default 1)")
]
Hashed = Annotated[
    int | None, _of_loss(help="crf, ...: hash features to so many columns. (default no hash)")
]
Gap = Annotated[float | None, when(help=_GAP_HELP)]
Atol = Annotated[float | None, when(help=_ATOL_HELP)]
Solver = Annotated[str | None, when(metavar="<name>", help=_SOLVER_HELP, autocompletion=_solvers)]
Threads = Annotated[int | None, when(help="The model does not depend on it. (default: all)")]
Engine = Annotated[
    str | None,
    when(
        metavar="<where>",
        help="threads, serial, dask, tcp://scheduler, tls://scheduler, mpi; for train also "
        "owners:FILE with their URLs, a line each. (default threads)",
    ),
]
Certificate = Annotated[str | None, _for_tls(help="Who we are, in PEM.")]
Key = Annotated[str | None, _for_tls(help="Of the certificate.")]
Authority = Annotated[
    str | None, _for_tls(help="Whose owners or cluster we believe, in PEM. (owners: the system's)")
]
_OF_ENGINES: dict[str, Any] = {
    "engine": Engine,
    "certificate": Certificate,
    "key": Key,
    "authority": Authority,
}
Config = Annotated[Path | None, file(help=_CONFIG_HELP)]


Command = Callable[..., Code]


def with_loss_options(names: Collection[str], *, before: str) -> Callable[[Command], Command]:
    """Gives a command a flag for each of those options of losses, before one of its parameters."""
    return _with_flags([_flag(name) for name in names], before)


def with_table_options(*, before: str) -> Callable[[Command], Command]:
    """Gives a command the flags of tables, before one of its parameters."""
    return _with_flags([_optional(name, kind) for name, kind in OF_TABLES.items()], before)


def with_engine_options(*, before: str) -> Callable[[Command], Command]:
    """Gives a command the flags that say where it works, before one of its parameters."""
    return _with_flags([_optional(name, kind) for name, kind in _OF_ENGINES.items()], before)


def _with_flags(flags: list[inspect.Parameter], before: str) -> Callable[[Command], Command]:
    """The command itself does not take them: it finds them in the parameters of its context."""
    names = {flag.name for flag in flags}

    def decorated(command: Command) -> Command:
        @wraps(command)
        def run(**given: Any) -> Code:
            return command(**{name: given[name] for name in given if name not in names})

        signature = inspect.signature(command, eval_str=True)
        own = list(signature.parameters.values())
        place = list(signature.parameters).index(before)
        parameters = [*own[:place], *flags, *own[place:]]
        # Which is where typer looks for the flags of a command.
        run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]  # functions take any
        return run

    return decorated


def _flag(name: str) -> inspect.Parameter:
    """A parameter of a command, from which typer makes the flag."""
    option, losses = OPTIONS[name], ", ".join(LOSS_OPTIONS[name])
    kind = {Real: float, Whole: int, Word: str}[type(option)]
    default = option.default if isinstance(option, Word) else f"{option.default:g}"
    described = _of_loss(
        metavar="<name>" if isinstance(option, Word) else None,
        help=f"{losses}: {option.help}. (default {default})",
    )
    return _optional(name, Annotated[kind | None, described])


def _optional(name: str, kind: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None, annotation=kind
    )
