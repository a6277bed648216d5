"""What an owner and a solver say to each other: JSON of these types, and nothing that can be run.

Vectors are float64, little-endian, in base64.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
import numpy as np
import numpy.typing as npt
from msgspec import Meta

from fenchel.errors import InvalidData

Array = npt.NDArray[np.float64]

VERSION = 2
MOST_OWNERS = 256  # who answer together under masks
Name = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="Drawn by the service.")]
Round = Annotated[int, Meta(ge=1, le=1 << 53, description="Larger than in the last query.")]
# A trial's gradient is told to those who descend only; one that is asked for may be refused.
Kind = Literal["value", "trial", "gradient"]
Label = float | str
Vector = Annotated[bytes, Meta(description="float64, little-endian.")]
Sealed = Annotated[
    bytes, Meta(description="float64, or with a roster integers modulo 2^128, little-endian.")
]


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
    length: float  # a bound of the root of the rows' mean squared length
    exact: bool  # or there is noise, and bounds are not certified
    nonce: Name  # of the service since it was started
    roster: str | None  # a digest of the keys of all who answer together, under masks
    n_owners: int  # who they are in number; 0 without masks

    @property
    def n_features(self) -> int:
        """The columns without the ones."""
        return self.n_columns - self.intercept


class Opening(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A session is asked for; `together` are the nonces of all who are asked."""

    together: tuple[Name, ...]  # at most `MOST_OWNERS`


class Opened(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The session's name."""

    session: Name


class Query(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The risk is asked for at w."""

    session: Name
    round: Round
    kind: Kind
    w: Vector


class Answer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sum of the rows' losses at w, and a subgradient of it or none."""

    round: int
    n_rows: int
    value: Sealed
    gradient: Sealed | None


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
    kinds = (Shape, Opening, Opened, Query, Answer, Refusal)
    schemas = msgspec.json.schema_components(kinds, ref_template=_TEMPLATE)[1]
    length, padding = -(-8 * n // 3) * 4, -8 * n % 3
    schemas["Query"]["properties"]["w"] |= {
        "minLength": length,
        "maxLength": length,
        "pattern": f"^[A-Za-z0-9+/]*={{{padding}}}$",
    }
    shape = {"200": {"description": "The data.", "content": _content(Shape)}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "fenchel serve", "version": str(VERSION)},
        "components": {"schemas": schemas},
        "paths": {
            "/v2/shape": {"get": {"operationId": "shape", "responses": shape}},
            "/v2/session": {
                "post": {
                    "operationId": "session",
                    "requestBody": {"required": True, "content": _content(Opening)},
                    "responses": {
                        "200": {"description": "A session.", "content": _content(Opened)},
                        **_refused("400 403 408 413 415"),
                    },
                }
            },
            "/v2/evaluate": {
                "post": {
                    "operationId": "evaluate",
                    "description": f"A body of at most {largest} bytes.",
                    "requestBody": {"required": True, "content": _content(Query)},
                    "responses": {
                        "200": {"description": "The risk at w.", "content": _content(Answer)},
                        **_refused(" ".join(_WHY)),
                    },
                }
            },
        },
    }


_TEMPLATE = "#/components/schemas/{name}"
_WHY = {
    "400": "The body cannot be understood.",
    "403": "The guard refuses this w, or masks are for other owners.",
    "408": "The body did not come in time.",
    "409": "The round was asked before.",
    "410": "There is no such session.",
    "413": "The body is too large.",
    "415": "The body is not JSON.",
    "422": "w has the wrong length, or is not finite.",
    "429": "There were as many queries as the owner allows.",
}


def _content(kind: type[msgspec.Struct]) -> dict[str, Any]:
    return {"application/json": {"schema": {"$ref": _TEMPLATE.format(name=kind.__name__)}}}


def _refused(statuses: str) -> dict[str, Any]:
    return {
        status: {"description": _WHY[status], "content": _content(Refusal)}
        for status in statuses.split()
    }
