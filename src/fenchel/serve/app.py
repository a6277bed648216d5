"""The owner's service as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from fenchel.engines.messages import Opened, Opening, Query, Refusal, description
from fenchel.serve.guard import Refused
from fenchel.serve.owner import Owner

_ROOM = 16384  # bytes of a query beside w, or of an opening

T = TypeVar("T", bound=msgspec.Struct)


def application(owner: Owner, seconds: float = 60.0) -> Starlette:
    """Answers what `description` says; everything else is not found.

    A body must be there after `seconds`.
    """
    largest = _ROOM + 4 * (8 * owner.risk.n_parameters + 2) // 3
    about = msgspec.json.encode(description(owner.risk.n_parameters, largest))

    async def openapi(request: Request) -> Response:
        return Response(about, media_type="application/json")

    async def shape(request: Request) -> Response:
        return _json(200, owner.shape)

    async def session(request: Request) -> Response:
        return await replied(request, Opening, lambda *given: Opened(owner.open(*given)))

    async def evaluate(request: Request) -> Response:
        return await replied(request, Query, lambda *given: owner.answer(*given))

    async def replied(
        request: Request, kind: type[T], reply: Callable[[T, str], msgspec.Struct]
    ) -> Response:
        try:
            async with asyncio.timeout(seconds):
                content = await _body(request, largest)
            given = _decoded(content, kind)
            return _json(200, await run_in_threadpool(reply, given, _client(request)))
        except TimeoutError:
            refusal = Refusal(f"the body did not come within {seconds:g} s")
            return _json(408, refusal, {"connection": "close"})
        except Refused as error:
            return _json(error.status, Refusal(str(error)))

    return Starlette(
        routes=[
            Route("/openapi.json", openapi),
            Route("/v2/shape", shape),
            Route("/v2/session", session, methods=["POST"]),
            Route("/v2/evaluate", evaluate, methods=["POST"]),
        ]
    )


def _client(request: Request) -> str:
    """Who asks: by the certificate, which the connection has looked at, or by the address."""
    named: str | None = getattr(request.state, "client", None)
    if named is not None:
        return named
    return request.client.host if request.client else "unknown"


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


def _decoded(body: bytes, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(400, f"the body cannot be understood: {error}") from error


def _json(status: int, content: msgspec.Struct, headers: dict[str, str] | None = None) -> Response:
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")
