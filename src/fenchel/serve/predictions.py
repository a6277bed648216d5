"""A model's predictions over HTTP, as an ASGI application.

    GET  /health         that it is there
    GET  /v1/model       what the model is, and what it takes
    POST /v1/predict     rows to predictions: {"rows": [[0.5, 1.0], ...]}
    GET  /openapi.json   the schema of all that

A row is a list of numbers, one for each column, or an object from the names of columns to numbers;
where columns have no names, from their indices, as svmlight counts them, and those left out are 0.
Of a model of a table with text, dates or gaps a row is an object with the values of its columns.
Bodies are limited in bytes, rows and time; what cannot be understood is refused with a status of
4xx and {"error": ...}, which says where.
"""

from __future__ import annotations

import asyncio
import copy
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import sparse
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

import fenchel
from fenchel.data.row_objects import Value, features_of
from fenchel.engines.messages import Refusal
from fenchel.errors import FenchelError
from fenchel.features.encoding import encoded
from fenchel.model.answers import answer, has_chances, plain
from fenchel.serve.bodies import Refused, body, decoded, reply
from fenchel.settings import positive, whole

Row = list[float] | dict[str, float]


class PredictRows(msgspec.Struct, forbid_unknown_fields=True):
    """What is asked."""

    rows: list[Row]
    scores: bool = False
    probabilities: bool | None = None  # by default where the model has them
    offset: list[float] | None = None  # added to the scores of a model with a log link


class TableRows(msgspec.Struct, forbid_unknown_fields=True):
    """What is asked of a model of a table with text, dates or gaps."""

    rows: list[dict[str, Value]]
    scores: bool = False
    probabilities: bool | None = None
    offset: list[float] | None = None


class Predictions(msgspec.Struct):
    """What is answered."""

    predictions: list[Any]
    classes: list[Any] | None
    probabilities: list[list[float]] | None
    scores: list[Any] | None


class ModelFacts(msgspec.Struct):
    """What the model is."""

    version: str
    estimator: str
    loss: str
    features: int
    feature_names: list[str] | None
    columns: dict[str, str] | None  # of a table: whether each holds number, text or date
    index_base: int | None
    classes: list[Any] | None
    targets: list[str] | None
    probabilities: bool
    gap: float | None
    max_rows: int
    max_bytes: int


@dataclass(frozen=True)
class Bounds:
    """How much is answered at once, and in how many seconds."""

    max_rows: int = 10_000
    max_bytes: int = 16 << 20
    seconds: float = 30.0

    def __post_init__(self) -> None:
        whole("max_rows", self.max_rows, least=1)
        whole("max_bytes", self.max_bytes, least=64)
        positive("timeout", self.seconds)


class Served:
    """A model that answers queries."""

    def __init__(self, model: Any, loss: str, bounds: Bounds):
        self.model, self.bounds = copy.copy(model), bounds
        names = vars(self.model).pop("feature_names_in_", None)  # rows come in their order
        self.names = None if names is None else [str(name) for name in names]
        self.base = getattr(model, "index_base_", 0)
        self.encoder = getattr(model, "encoder_", None)  # of the columns of a table
        self.kind: type[PredictRows | TableRows] = (
            PredictRows if self.encoder is None else TableRows
        )
        self.about = self._about(loss)

    def _about(self, loss: str) -> ModelFacts:
        model = self.model
        classes = getattr(model, "classes_", None)
        targets = getattr(model, "target_names_", None)
        gap = float(model.gap_)
        return ModelFacts(
            version=fenchel.__version__,
            estimator=type(model).__name__,
            loss=loss,
            features=int(model.n_features_in_),
            feature_names=self.names if self.encoder is None else None,
            columns=None
            if self.encoder is None
            else {column.name: column.kind for column in model.table_.columns},
            index_base=getattr(model, "index_base_", None),
            classes=None if classes is None else [plain(each) for each in classes.tolist()],
            targets=None if targets is None else [str(name) for name in targets],
            probabilities=has_chances(model),
            gap=gap if math.isfinite(gap) else None,
            max_rows=self.bounds.max_rows,
            max_bytes=self.bounds.max_bytes,
        )

    def predictions(self, query: PredictRows | TableRows) -> Predictions:
        """The answer, or a refusal that says which row is at fault."""
        if len(query.rows) > self.bounds.max_rows:
            raise Refused(413, f"{len(query.rows)} rows; at most {self.bounds.max_rows} at a time")
        if query.probabilities and not has_chances(self.model):
            raise Refused(422, "the model has no probabilities: its loss gives scores alone")
        chances = query.probabilities is not False
        if not query.rows:
            return Predictions([], self.about.classes, [] if chances else None, None)
        try:
            X, added = self._matrix(query.rows), self._added(query)
            said = answer(self.model, X, scores=query.scores, probabilities=chances, **added)
        except FenchelError as error:
            raise Refused(422, str(error)) from error
        return Predictions(
            said.listed(),
            self.about.classes,
            None if said.probabilities is None else said.probabilities.tolist(),
            None if said.scores is None else said.scores.tolist(),
        )

    def _added(self, query: PredictRows | TableRows) -> dict[str, Any]:
        if query.offset is None:
            return {}
        if not self.model._takes_offset:
            raise Refused(422, f"a {self.about.estimator} has no offsets")
        if len(query.offset) != len(query.rows):
            raise Refused(422, f"{len(query.offset)} offsets for {len(query.rows)} rows")
        return {"offset": np.array(query.offset)}

    def _matrix(self, rows: Sequence[Any]) -> Any:
        """All rows as one matrix, sparse where they are objects without names."""
        if self.encoder is not None:
            return encoded(self.encoder, features_of(rows, self.model.table_))
        first = rows[0]
        for i, row in enumerate(rows):
            if isinstance(row, dict) is not isinstance(first, dict):
                raise Refused(422, f"row {i} is of another kind than row 0: lists or objects, one")
        if not isinstance(first, dict):
            return self._lists(rows)
        return self._sparse(rows) if self.names is None else self._named(rows)

    def _lists(self, rows: Sequence[Any]) -> npt.NDArray[np.float64]:
        n = self.about.features
        for i, row in enumerate(rows):
            if len(row) != n:
                raise Refused(422, f"row {i} has {len(row)} numbers; the model takes {n}")
        return np.array(rows, dtype=np.float64)

    def _named(self, rows: Sequence[Any]) -> npt.NDArray[np.float64]:
        names = self.names or []
        known = set(names)
        for i, row in enumerate(rows):
            lacking = next((name for name in names if name not in row), None)
            if lacking is not None:
                raise Refused(422, f"row {i} lacks column {lacking!r}")
            strange = next((name for name in row if name not in known), None)
            if strange is not None:
                raise Refused(422, f"row {i} has a column {strange!r} that the model does not know")
        return np.array([[row[name] for name in names] for row in rows], dtype=np.float64)

    def _sparse(self, rows: Sequence[Any]) -> sparse.csr_array:
        values, columns, ends = [], [], [0]
        for i, row in enumerate(rows):
            for key, value in row.items():
                columns.append(self._place(i, key))
                values.append(value)
            ends.append(len(values))
        shape = len(rows), self.about.features
        found = sparse.csr_array((np.array(values, dtype=float), columns, ends), shape=shape)
        found.sort_indices()
        return found

    def _place(self, i: int, key: str) -> int:
        last = self.about.features - 1 + self.base
        number = int(key) if key.isascii() and key.isdigit() and len(key) < 20 else -1
        if str(number) != key or not self.base <= number <= last:
            raise Refused(
                422, f"row {i}: {key!r} is no index; the model has those from {self.base} to {last}"
            )
        return number - self.base


Reply = Callable[[Request], Awaitable[Response]]


def application(model: Any, loss: str, bounds: Bounds | None = None) -> Starlette:
    """Answers what `description` says; everything else is refused in JSON too."""
    limits = bounds or Bounds()
    served = Served(model, loss, limits)
    about = msgspec.json.encode(description(served.about, served.kind))

    async def openapi(request: Request) -> Response:
        return Response(about, media_type="application/json")

    async def health(request: Request) -> Response:
        return reply(200, {"status": "ok", "version": fenchel.__version__})

    async def model_(request: Request) -> Response:
        return reply(200, served.about)

    async def predict(request: Request) -> Response:
        try:
            async with asyncio.timeout(limits.seconds):
                content = await body(request, limits.max_bytes)
        except TimeoutError:
            late = Refusal(f"the body did not come within {limits.seconds:g} s")
            return reply(408, late, {"connection": "close"})
        try:
            query = decoded(content, served.kind)
            async with asyncio.timeout(limits.seconds):
                return reply(200, await run_in_threadpool(served.predictions, query))
        except TimeoutError:
            return reply(503, Refusal(f"no answer within {limits.seconds:g} s; send fewer rows"))

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, Refused)
        return reply(error.status, Refusal(str(error)))

    async def unknown(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = Refusal(f"{error.detail}: {request.method} {request.url.path}")
        return reply(error.status_code, said, dict(error.headers or {}))

    return Starlette(
        routes=[
            Route("/openapi.json", openapi),
            Route("/health", health),
            Route("/v1/model", model_),
            Route("/v1/predict", predict, methods=["POST"]),
        ],
        exception_handlers={Refused: refused, HTTPException: unknown},
    )


def description(about: ModelFacts, kind: type[PredictRows | TableRows]) -> dict[str, Any]:
    """OpenAPI 3.1 of the service of a model."""
    (query, found, refusal, model), parts = msgspec.json.schema_components(
        (kind, Predictions, Refusal, ModelFacts), ref_template="#/components/schemas/{name}"
    )

    def said(what: str, schema: Any) -> dict[str, Any]:
        return {"description": what, "content": {"application/json": {"schema": schema}}}

    refusals = {
        "400": "the body is no JSON of this form",
        "408": "the body did not come in time",
        "413": "too many rows or bytes",
        "415": "the body is not application/json",
        "422": "the rows do not fit the model",
        "503": "the answer took too long",
    }
    status = {"type": "object", "properties": {"status": {"const": "ok"}, "version": {}}}
    return {
        "openapi": "3.1.0",
        "info": {"title": f"{about.estimator} of fenchel", "version": about.version},
        "paths": {
            "/health": {"get": {"responses": {"200": said("It is there.", status)}}},
            "/v1/model": {"get": {"responses": {"200": said("What the model is.", model)}}},
            "/v1/predict": {
                "post": {
                    "requestBody": {
                        "required": True,
                        "content": {"application/json": {"schema": query}},
                    },
                    "responses": {
                        "200": said("The predictions.", found),
                        **{code: said(why, refusal) for code, why in refusals.items()},
                    },
                }
            },
        },
        "components": {"schemas": parts},
    }
