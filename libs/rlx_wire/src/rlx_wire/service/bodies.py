"""How much a caller may send: an ASGI layer that counts bodies as they stream in, packed and unpacked."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Final

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from rlx_base.errors import RequestError
from rlx_wire.service.problems import problem_response

__all__ = ["BodyLimit"]

_PIECE: Final = 1 << 20

# zlib's word for each content coding; HTTP's `deflate` is the zlib format (RFC 9110, 8.4.1.2).
_WINDOW: Final = {"gzip": 31, "x-gzip": 31, "deflate": 15}


class BodyLimit:
    """Ends a body with E431 where it grows over the limit of its route, and unpacks `gzip` and `deflate`.

    `limit_of` gives for method and path the limit and the name of the setting that raises it. The limit holds for what
    comes over the network and for what it unpacks to, piece by piece, so that a bomb of a few kilobytes stays small.
    Routes see the plain body. E442 for another coding, E419 for a body that is not in the coding it names.
    """

    def __init__(self, app: ASGIApp, limit_of: Callable[[str, str], tuple[int, str]]) -> None:
        self._app = app
        self._limit_of = limit_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        coding = headers.get("content-encoding", "identity").strip().lower() or "identity"
        if coding not in {*_WINDOW, "identity"}:
            await problem_response(RequestError("E442", coding=coding))(scope, receive, send)
            return
        limit, setting = self._limit_of(scope["method"], scope["path"])
        too_large = RequestError("E431", limit=f"{limit} bytes", setting=setting)
        declared = headers.get("content-length", "")
        if declared.isdecimal() and int(declared) > limit:
            await problem_response(too_large)(scope, receive, send)
            return
        counted = _counted(receive, limit, too_large)
        if coding == "identity":
            await self._app(scope, counted, send)
            return
        # Both describe what came over the network, which nobody behind this sees.
        kept = [(k, v) for k, v in scope["headers"] if k not in {b"content-encoding", b"content-length"}]
        await self._app({**scope, "headers": kept}, _Unpacked(counted, coding, limit, too_large), send)


def _counted(receive: Receive, limit: int, too_large: RequestError) -> Receive:
    received = 0

    async def counted() -> Message:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > limit:
            raise too_large
        return message

    return counted


class _Unpacked:
    """A `receive` that gives what the body unpacks to, in pieces of at most a mebibyte."""

    def __init__(self, receive: Receive, coding: str, limit: int, too_large: RequestError) -> None:
        self._receive = receive
        self._coding = coding
        self._left = limit
        self._too_large = too_large
        self._stream = zlib.decompressobj(_WINDOW[coding])
        self._packed = b""
        self._more = True
        self._ended = False

    async def __call__(self) -> Message:
        if self._ended:
            return await self._receive()
        while not self._packed and self._more:
            message = await self._receive()
            if message["type"] != "http.request":
                return message
            self._packed, self._more = message.get("body", b""), message.get("more_body", False)
        try:
            plain = self._stream.decompress(self._packed, _PIECE)
        except zlib.error as error:
            raise self._broken(str(error)) from None
        self._packed = self._stream.unconsumed_tail
        self._left -= len(plain)
        if self._left < 0:
            raise self._too_large
        if self._stream.unused_data:
            raise self._broken("something follows its end")
        if self._stream.eof and not self._more:
            self._ended = True
        elif not self._more and not self._packed and len(plain) < _PIECE:
            raise self._broken("it is cut short")
        return {"type": "http.request", "body": plain, "more_body": not self._ended}

    def _broken(self, why: str) -> RequestError:
        return RequestError("E419", what=f"its body is not {self._coding}: {why}")
