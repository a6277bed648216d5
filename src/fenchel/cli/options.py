"""Arguments and options that several commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

OUTPUT, DATA, TABLES = "Output", "Reading the data", "Columns of tables"

_data = typer.Argument(
    metavar="DATA",
    help="svmlight, .csv, .tsv, .parquet, .npz or .store; text may be .gz, .bz2 or .xz; "
    "- reads stdin. Several files, or a glob in quotes, give their rows in turn. For tags of "
    "tokens: CoNLL, with the tag in the last column, or svmlight named .svm, .svmlight "
    "or .libsvm, with a qid for each sequence.",
    show_default=False,
)
DataPaths = Annotated[list[Path], _data]
DataPathsOrOwners = Annotated[list[Path] | None, _data]  # None: the rows stay with their owners
ModelPath = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A model that train saved.", show_default=False)
]
Target = Annotated[
    str | None,
    typer.Option(metavar="<name>", help="The column that holds the target.", rich_help_panel=DATA),
]
Offset = Annotated[
    str | None,
    typer.Option(
        metavar="<name>",
        help="poisson, gamma, tweedie: the column of a table that is added to scores.",
        rich_help_panel=DATA,
    ),
]
Exposure = Annotated[
    str | None,
    typer.Option(
        metavar="<name>",
        help="The same: the column whose logarithm is added.",
        rich_help_panel=DATA,
    ),
]
Format = Annotated[
    str | None,
    typer.Option(
        metavar="<name>",
        help="svmlight, csv, tsv or parquet, for stdin and where the name does not say.",
        rich_help_panel=DATA,
    ),
]
_names = partial(typer.Option, rich_help_panel=TABLES, metavar="<names>")
_column = partial(typer.Option, rich_help_panel=TABLES, metavar="<name>")
_MISSING_HELP = (
    "Fill missing numbers with the median or the most_frequent, text with the latter; indicator "
    "adds a column that says where; or refuse them. (default median)"
)
OF_TABLES: dict[str, Any] = {
    "weight": Annotated[str | None, _column(help="The column that says how much a row counts.")],
    "group": Annotated[
        str | None,
        _column(help="The column of queries, or of what --cv keeps together. (default qid)"),
    ],
    "columns": Annotated[
        list[str] | None, _names(help="Make features of these columns only: a,b or given again.")
    ],
    "ignore": Annotated[list[str] | None, _names(help="Leave these columns out.")],
    "categorical": Annotated[
        list[str] | None, _names(help="Take these columns for text, even if they hold numbers.")
    ],
    "dates": Annotated[
        list[str] | None, _names(help="Take dates and times in these columns as days.")
    ],
    "missing": Annotated[
        str | None, typer.Option(rich_help_panel=TABLES, metavar="<how>", help=_MISSING_HELP)
    ],
    "na": Annotated[
        list[str] | None,
        typer.Option(
            rich_help_panel=TABLES, metavar="<text>", help="Text that stands for a missing value."
        ),
    ],
    "decimal": Annotated[
        str | None,
        typer.Option(
            rich_help_panel=TABLES,
            metavar=",|.",
            help="The mark before decimals; the other one may divide thousands.",
        ),
    ],
    "scale": Annotated[
        bool | None,
        typer.Option(
            "--scale",
            rich_help_panel=TABLES,
            metavar="",
            help="Give each column of numbers mean 0 and deviation 1.",
        ),
    ],
}
IndexBase = Annotated[
    int | None,
    typer.Option(
        metavar="0|1",
        help="What svmlight indices count from. (default 0 if the file has an index 0, else 1)",
        rich_help_panel=DATA,
    ),
]
_STREAM_HELP = (
    "Leave the rows of svmlight or .parquet in the file, and read them in each pass. --no-stream "
    "sends those of .parquet to a cluster, whose workers read columns of numbers themselves."
)
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream/--no-stream",
        metavar="",
        help=_STREAM_HELP,
        rich_help_panel=DATA,
    ),
]
StreamOnce = Annotated[
    bool,
    typer.Option(
        "--stream",
        metavar="",
        help="Leave the rows of svmlight or .parquet in the file, and read them block by block.",
        rich_help_panel=DATA,
    ),
]
Forbid = Annotated[
    list[str] | None,
    typer.Option(
        metavar="'<tag> <next>'",
        help="Two tags that must not follow each other; may be given again.",
        rich_help_panel=OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", metavar="", help="One JSON object on stdout.", rich_help_panel=OUTPUT),
]
Quiet = Annotated[
    bool,
    typer.Option(
        "--quiet", "-q", metavar="", help="Only warnings and errors.", rich_help_panel=OUTPUT
    ),
]
Verbose = Annotated[
    bool,
    typer.Option(
        "--verbose",
        "-v",
        metavar="",
        help="More detail; tracebacks of errors.",
        rich_help_panel=OUTPUT,
    ),
]
