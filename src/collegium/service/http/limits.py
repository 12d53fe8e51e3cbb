"""What a request may weigh and how long it may take to arrive: refused before it is read whole.

A body that comes in chunks is counted while it is read. One that trickles would otherwise hold one
of the few places for requests as long as its sender likes.
"""

from typing import NamedTuple

import anyio
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collegium.core import CollegiumError
from collegium.service.errors import HeadersTooLargeError, TooLargeError, TooSlowError
from collegium.service.http.failures import failure


class Limits(NamedTuple):
    """Upper bounds of one request."""

    body_bytes: int = 1 << 20
    header_bytes: int = 16 << 10
    """All names and values together."""
    headers: int = 64
    body_seconds: float = 10.0
    """From the first question for the body to its end."""


class RequestLimits:
    """ASGI middleware; raises TooLargeError or TooSlowError in whoever reads the body."""

    def __init__(self, app: ASGIApp, limits: Limits) -> None:
        """Hold the requests to `app` to `limits`."""
        self._app = app
        self._limits = limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the headers, and count the body while it is read."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_headers(scope["headers"])
        except CollegiumError as error:
            await failure(error, scope["state"]["request_id"])(scope, receive, send)
            return
        await self._app(scope, _Body(receive, self._limits).receive, send)

    def _check_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        size = sum(len(name) + len(value) for name, value in headers)
        if len(headers) > self._limits.headers or size > self._limits.header_bytes:
            raise HeadersTooLargeError(
                f"{len(headers)} headers of {size} bytes; at most {self._limits.headers} "
                f"of {self._limits.header_bytes} bytes are taken"
            )
        declared = dict(headers).get(b"content-length", b"0")
        if declared.isdigit():
            _check_size(int(declared[:20]), self._limits)


class _Body:
    """The body of one request while it is read."""

    def __init__(self, receive: Receive, limits: Limits) -> None:
        self._receive = receive
        self._limits = limits
        self._deadline = 0.0
        self._read = 0
        self._whole = False

    async def receive(self) -> Message:
        if self._whole:  # whoever still asks waits for the client to hang up
            return await self._receive()
        message = await self._next()
        self._whole = not message.get("more_body", False)
        self._read += len(message.get("body", b""))
        _check_size(self._read, self._limits)
        return message

    async def _next(self) -> Message:
        seconds = self._limits.body_seconds
        self._deadline = self._deadline or anyio.current_time() + seconds
        with anyio.CancelScope(deadline=self._deadline):
            return await self._receive()
        raise TooSlowError(f"the body did not arrive within {seconds:g} s; send it faster, or less")


def _check_size(size: int, limits: Limits) -> None:
    if size > limits.body_bytes:
        raise TooLargeError(
            f"the body is larger than {limits.body_bytes} bytes; send less at a time"
        )
