"""The edge of a proxy that is not ours: no orders from strangers, and failures in our form.

Ray Serve's proxy obeys headers of its own, which are for what routes to it and not for callers; it
tells its failures in plain text, and says nothing at all when a replica dies. Here those headers
are left out and the failures become envelopes.
"""

from collections.abc import Collection

import structlog
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collegium.core import CollegiumError, NotFoundError, UnavailableError
from collegium.service.errors import UnexpectedError
from collegium.service.http.failures import failure

_BUSY = (
    "the service is not up, has more calls than it takes, or lost the process that was answering; "
    "make the call again: it may have had its effect, and an Idempotency-Key makes that safe"
)
_BUSY_STATUS = (408, 429, 500, 503)


class ProxyEdge:
    """ASGI middleware around the proxy's application."""

    def __init__(self, app: ASGIApp, left_out: Collection[bytes]) -> None:
        """Keep headers named in `left_out` (in small letters) from `app`."""
        self._app = app
        self._left_out = frozenset(left_out)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on; whatever the proxy itself says of a failure is said by us."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = [(n, v) for n, v in scope["headers"] if n.lower() not in self._left_out]
        answer = _Answer(send)
        try:
            await self._app({**scope, "headers": headers}, receive, answer)
        except Exception:
            if answer.started:
                raise
            structlog.get_logger().exception("proxy failed")
            answer.failed = UnexpectedError("a fault of ours; the log has it under the request id")
        if answer.failed is not None or not answer.started:
            request_id = scope["state"]["request_id"]
            await failure(answer.failed or UnavailableError(_BUSY), request_id)(
                scope, receive, send
            )


class _Answer:
    """Passes an answer through, unless it is the proxy's own word on a failure: that is kept."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.started = False
        self.failed: CollegiumError | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.failed = _failure_of(message)
        if self.failed is None:
            self.started = True
            await self._send(message)


def _failure_of(message: Message) -> CollegiumError | None:
    kind = dict(message.get("headers", ())).get(b"content-type", b"")
    if not kind.startswith(b"text/plain"):
        return None
    if message["status"] == 404:
        return NotFoundError("no application stands at this path; GET /openapi.json lists routes")
    return UnavailableError(_BUSY) if message["status"] in _BUSY_STATUS else None
