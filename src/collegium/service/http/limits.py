"""What a request may weigh: refused before it is read whole, also when it comes in chunks."""

from typing import NamedTuple

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collegium.core import CollegiumError
from collegium.service.errors import HeadersTooLargeError, TooLargeError
from collegium.service.http.failures import failure


class Limits(NamedTuple):
    """Upper bounds of one request."""

    body_bytes: int = 1 << 20
    header_bytes: int = 16 << 10
    """All names and values together."""
    headers: int = 64


class RequestLimits:
    """ASGI middleware; a body that grows too large raises TooLargeError in whoever reads it."""

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
        read = 0

        async def counting() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            self._check_size(read)
            return message

        await self._app(scope, counting, send)

    def _check_headers(self, headers: list[tuple[bytes, bytes]]) -> None:
        size = sum(len(name) + len(value) for name, value in headers)
        if len(headers) > self._limits.headers or size > self._limits.header_bytes:
            raise HeadersTooLargeError(
                f"{len(headers)} headers of {size} bytes; at most {self._limits.headers} "
                f"of {self._limits.header_bytes} bytes are taken"
            )
        declared = dict(headers).get(b"content-length", b"0")
        if declared.isdigit():
            self._check_size(int(declared[:20]))

    def _check_size(self, size: int) -> None:
        if size > self._limits.body_bytes:
            raise TooLargeError(
                f"the body is larger than {self._limits.body_bytes} bytes; send less at a time"
            )
