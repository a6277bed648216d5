"""The owner's service as an ASGI application."""

from __future__ import annotations

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from fenchel.engines.messages import Answer, Query, Refusal, description
from fenchel.serve.owner import Owner, Refused

_ROOM = 4096  # bytes of a query beside w


def application(owner: Owner) -> Starlette:
    """Answers /v1/shape, /v1/evaluate and /openapi.json; everything else is not found."""
    largest = _ROOM + 4 * (8 * owner.risk.n_parameters + 2) // 3
    about = msgspec.json.encode(description(owner.risk.n_parameters, largest))

    async def openapi(request: Request) -> Response:
        return Response(about, media_type="application/json")

    async def shape(request: Request) -> Response:
        return _json(200, owner.shape)

    async def evaluate(request: Request) -> Response:
        client = request.client.host if request.client else "unknown"
        try:
            query = _query(await _body(request, largest))
            return _json(200, await run_in_threadpool(owner.answer, query, client))
        except Refused as error:
            return _json(error.status, Refusal(str(error)))

    return Starlette(
        routes=[
            Route("/openapi.json", openapi),
            Route("/v1/shape", shape),
            Route("/v1/evaluate", evaluate, methods=["POST"]),
        ]
    )


async def _body(request: Request, largest: int) -> bytes:
    """All of the body; a larger one is refused before it is read."""
    kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
    if kind != "application/json":
        raise Refused(415, "the body must be application/json")
    parts, size = [], 0
    try:
        async for part in request.stream():
            size += len(part)
            if size > largest:
                raise Refused(413, f"the body has more than {largest} bytes")
            parts.append(part)
    except ClientDisconnect as error:
        raise Refused(400, "the client went away") from error
    return b"".join(parts)


def _query(body: bytes) -> Query:
    try:
        return msgspec.json.decode(body, type=Query)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(400, f"the query cannot be understood: {error}") from error


def _json(status: int, content: Answer | Refusal | msgspec.Struct) -> Response:
    return Response(msgspec.json.encode(content), status, media_type="application/json")
