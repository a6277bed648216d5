"""`fenchel export`: a model as an ONNX graph, for runtimes without Python."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from fenchel.cli import models
from fenchel.cli.exits import Code, UsageError
from fenchel.cli.options import Json, ModelPath, Quiet, Verbose
from fenchel.cli.outputs import check_writable
from fenchel.cli.terminal import Terminal, result

if TYPE_CHECKING:
    import onnx


class Precision(StrEnum):
    """The types of numbers that a graph may have."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"


class Tensor(msgspec.Struct):
    """An input or output of the graph."""

    name: str
    type: str
    columns: int | None  # None: one number or word a row


class Exported(msgspec.Struct):
    """The report of `fenchel export`."""

    model: str
    output: str
    bytes: int
    inputs: list[Tensor]
    outputs: list[Tensor]


def export(
    model: ModelPath,
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="A file named .onnx.", show_default=False)
    ],
    precision: Annotated[
        Precision | None,
        typer.Option(
            "--dtype",
            help="The type of numbers. (default float64; with text float32)",
            show_default=False,
        ),
    ] = None,
    json: Json = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> Code:
    """Write MODEL as an ONNX graph, with the preprocessing of its table.

    Each column of such a table is an input of the graph; in columns of text, "nan" is missing.
    Predictions are those of the model; a model with offsets predicts for an offset of 0.
    """  # fmt: skip
    terminal = Terminal(quiet=quiet, json=json, verbose=verbose)
    if output.suffix != ".onnx":
        raise UsageError(f"{output} is to be an ONNX graph: give it a name that ends in .onnx")
    check_writable(output)
    found = models.whole(model)
    from fenchel._system.files import replacing

    with terminal.warnings():
        graph = _graph(found, precision)
        content = graph.SerializeToString()
        with replacing(output) as file:
            file.write(content)
    inputs, outputs = ([_tensor(each) for each in part] for part in _ends(graph))
    report = Exported(str(model), str(output), len(content), inputs, outputs)
    if json:
        result(msgspec.json.encode(report).decode())
    elif not quiet:
        result(f"{output}: {_said(inputs)} -> {_said(outputs)}")
    return Code.OK


def _graph(found: object, precision: Precision | None) -> onnx.ModelProto:
    try:
        from fenchel.model.onnx import to_onnx
    except ImportError as error:
        raise UsageError(str(error)) from error
    return to_onnx(found, dtype=None if precision is None else precision.value)


def _ends(graph: onnx.ModelProto) -> tuple[list[onnx.ValueInfoProto], list[onnx.ValueInfoProto]]:
    return list(graph.graph.input), list(graph.graph.output)


def _tensor(value: onnx.ValueInfoProto) -> Tensor:
    from onnx import TensorProto

    kind = value.type.tensor_type
    names = {"DOUBLE": "float64", "FLOAT": "float32", "INT64": "int64", "STRING": "text"}
    name = names[TensorProto.DataType.Name(kind.elem_type)]
    sizes = [size.dim_value for size in kind.shape.dim]
    return Tensor(value.name, name, sizes[1] if len(sizes) > 1 else None)


def _said(tensors: list[Tensor]) -> str:
    """Names and types, of the first few."""
    shown = [f"{each.name} ({each.type})" for each in tensors[:8]]
    more = [f"{len(tensors) - 8} more"] if len(tensors) > 8 else []
    return ", ".join([*shown, *more])
