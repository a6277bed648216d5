"""What an owner and a solver say to each other: JSON of these types, and nothing that can be run.

Vectors are float64, little-endian, in base64.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fenchel.errors import InvalidData

Array = npt.NDArray[np.float64]

VERSION = 1
Session = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="Chosen at random.")]
Round = Annotated[int, Meta(ge=1, le=1 << 53, description="Larger than in the last query.")]
Label = float | str
Vector = Annotated[bytes, Meta(description="float64, little-endian.")]


class Shape(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an owner tells of its data."""

    version: int
    n_rows: int
    n_columns: int  # a last column of ones included, if it has an intercept
    loss: str
    options: dict[str, float]  # of the loss
    intercept: bool
    classes: tuple[Label, ...] | None  # what stands for -1 and for +1, of a loss of two classes
    feature_names: tuple[str, ...] | None
    index_base: int | None  # what the owner's file called the first column
    length: float  # the root of the rows' mean squared length
    fingerprint: str
    noise: float  # added to every number: 0, or bounds are not certified

    @property
    def n_features(self) -> int:
        """The columns without the ones."""
        return self.n_columns - self.intercept


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The risk is asked for at w."""

    session: Session
    round: Round
    w: Vector


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sum of the rows' losses at w, and a subgradient of it."""

    round: int
    n_rows: int
    value: float
    subgradient: Vector


class Refusal(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Why there is no answer."""

    error: str


def packed(vector: Array) -> bytes:
    """A vector as bytes."""
    return np.ascontiguousarray(vector, dtype="<f8").tobytes()


def unpacked(name: str, content: bytes, n: int) -> Array:
    """A vector of n finite numbers from bytes."""
    if len(content) != 8 * n:
        raise InvalidData(f"{name} must hold {n} numbers, {8 * n} bytes; it has {len(content)}")
    vector = np.frombuffer(content, "<f8").astype(np.float64)
    if not np.isfinite(vector).all():
        raise InvalidData(f"{name} holds nan or inf")
    return vector


def description(n: int, largest: int) -> dict[str, Any]:
    """The service in OpenAPI's terms, for w of n numbers and bodies of at most `largest` bytes."""
    kinds = (Shape, Query, Answer, Refusal)
    template = "#/components/schemas/{name}"
    schemas = msgspec.json.schema_components(kinds, ref_template=template)[1]
    length, padding = -(-8 * n // 3) * 4, -8 * n % 3
    schemas["Query"]["properties"]["w"] |= {
        "minLength": length,
        "maxLength": length,
        "pattern": f"^[A-Za-z0-9+/]*={{{padding}}}$",
    }

    def content(kind: type[msgspec.Struct]) -> dict[str, Any]:
        return {"application/json": {"schema": {"$ref": template.format(name=kind.__name__)}}}

    def refused(why: str) -> dict[str, Any]:
        return {"description": why, "content": content(Refusal)}

    return {
        "openapi": "3.1.0",
        "info": {"title": "fenchel serve", "version": str(VERSION)},
        "components": {"schemas": schemas},
        "paths": {
            "/v1/shape": {
                "get": {
                    "operationId": "shape",
                    "responses": {"200": {"description": "The data.", "content": content(Shape)}},
                }
            },
            "/v1/evaluate": {
                "post": {
                    "operationId": "evaluate",
                    "description": f"A body of at most {largest} bytes.",
                    "requestBody": {"required": True, "content": content(Query)},
                    "responses": {
                        "200": {"description": "The risk at w.", "content": content(Answer)},
                        "400": refused("The query cannot be understood."),
                        "403": refused("The guard refuses this w."),
                        "409": refused("The round was asked before."),
                        "413": refused("The body is too large."),
                        "415": refused("The body is not JSON."),
                        "422": refused("w has the wrong length, or is not finite."),
                        "429": refused("There were as many queries as the owner allows."),
                    },
                }
            },
        },
    }
