"""Bodies of requests, limited and decoded, and replies in JSON."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from fenchel.serve.guard import Refused

__all__ = ["Refused", "body", "decoded", "reply"]

T = TypeVar("T", bound=msgspec.Struct)


async def body(request: Request, largest: int) -> bytes:
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


def decoded(content: bytes, kind: type[T]) -> T:
    """What the body says, if it is of that kind."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise Refused(400, f"the body cannot be understood: {error}") from error


def reply(status: int, content: Any, headers: dict[str, str] | None = None) -> Response:
    """A response in JSON."""
    return Response(msgspec.json.encode(content), status, headers, media_type="application/json")
