"""The owner's service as an ASGI application."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from fenchel.engines.messages import Opened, Opening, Query, Refusal, description
from fenchel.serve.bodies import body, decoded, reply
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
        return reply(200, owner.shape)

    async def session(request: Request) -> Response:
        return await replied(request, Opening, lambda *given: Opened(owner.open(*given)))

    async def evaluate(request: Request) -> Response:
        return await replied(request, Query, lambda *given: owner.answer(*given))

    async def replied(
        request: Request, kind: type[T], answer: Callable[[T, str], msgspec.Struct]
    ) -> Response:
        try:
            async with asyncio.timeout(seconds):
                content = await body(request, largest)
            given = decoded(content, kind)
            return reply(200, await run_in_threadpool(answer, given, _client(request)))
        except TimeoutError:
            refusal = Refusal(f"the body did not come within {seconds:g} s")
            return reply(408, refusal, {"connection": "close"})
        except Refused as error:
            return reply(error.status, Refusal(str(error)))

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
