"""Ids that tie an answer to its log lines: the caller's own if well formed, else a new one.

`X-Request-Id` comes back with every answer, and whoever stands behind gets it as well; where Ray
Serve's proxy stands before us, its edge does that (see `service.http.edge`).
`X-Run-Id` names the run on whose behalf an agent calls; it goes into the log lines only.
"""

import re

import structlog
from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from collegium.service.request_ids import new_request_id

_FORM = re.compile(r"[A-Za-z0-9._-]{1,64}")


class RequestIds:
    """ASGI middleware: puts `request_id` into state and headers of the request, log and answer."""

    def __init__(self, app: ASGIApp, echo: bool) -> None:
        """Name the requests to `app`; `echo`: put the ids into answers."""
        self._app = app
        self._echo = echo

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Name the request, then pass it on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = MutableHeaders(scope=scope)
        request_id = _well_formed(headers.get("x-request-id")) or new_request_id()
        headers["x-request-id"] = request_id
        run_id = _well_formed(headers.get("x-run-id"))
        scope.setdefault("state", {})["request_id"] = request_id

        async def named(message: Message) -> None:
            if self._echo and message["type"] == "http.response.start":
                MutableHeaders(scope=message)["x-request-id"] = request_id
            await send(message)

        known = {"request_id": request_id, **({"run_id": run_id} if run_id else {})}
        with structlog.contextvars.bound_contextvars(**known):
            await self._app(scope, receive, named)


def _well_formed(text: str | None) -> str | None:
    return text if text and _FORM.fullmatch(text) else None
