"""Arguments and options that several commands share."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

OUTPUT, DATA, TABLES = "Output", "Reading the data", "Columns of tables"
table_option = partial(typer.Option, rich_help_panel=TABLES)

_data = typer.Argument(
    metavar="DATA",
    help="svmlight, .csv, .tsv, .parquet, .npz or .store; text may be .gz, .bz2 or .xz; "
    "- reads svmlight from stdin. For tags of tokens: CoNLL, with the tag in the last column, or "
    "svmlight named .svm, .svmlight or .libsvm, with a qid for each sequence.",
    show_default=False,
)
DataPath = Annotated[Path, _data]
DataPathOrOwners = Annotated[Path | None, _data]  # None where the rows stay with their owners
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
Columns = Annotated[
    list[str] | None,
    table_option(metavar="<names>", help="Features from these columns only: a,b; may come again."),
]
Ignore = Annotated[
    list[str] | None, table_option(metavar="<names>", help="Leave these columns out.")
]
Categorical = Annotated[
    list[str] | None,
    table_option(metavar="<names>", help="Take these columns for text, even if they hold numbers."),
]
Dates = Annotated[
    list[str] | None,
    table_option(metavar="<names>", help="Take dates and times in these columns as days."),
]
Na = Annotated[
    list[str] | None,
    table_option(metavar="<text>", help="Another text that stands for a missing value."),
]
Decimal = Annotated[
    str | None,
    table_option(metavar=",|.", help="The mark before decimals; the other is one of thousands."),
]
Missing = Annotated[
    str | None,
    table_option(
        metavar="<how>",
        help="Missing values are filled with the median or the most_frequent, text always with "
        "the latter; indicator adds a column that says where; refuse. (default median)",
    ),
]
Scale = Annotated[
    bool | None,
    table_option("--scale", metavar="", help="Numbers are given mean 0 and deviation 1."),
]
Weight = Annotated[
    str | None, table_option(metavar="<name>", help="The column that says what a row counts.")
]
Group = Annotated[
    str | None,
    table_option(
        metavar="<name>",
        help="The column of the query of a row, or of what --cv keeps together. (default qid)",
    ),
]
IndexBase = Annotated[
    int | None,
    typer.Option(
        metavar="0|1",
        help="What svmlight indices count from. (default 0 if the file has an index 0, else 1)",
        rich_help_panel=DATA,
    ),
]
Stream = Annotated[
    bool | None,
    typer.Option(
        "--stream",
        metavar="",
        help="Leave the rows of svmlight or .parquet in the file, and read them in each pass.",
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
