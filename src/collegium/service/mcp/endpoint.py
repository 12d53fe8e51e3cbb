"""MCP over streamable HTTP, as one ASGI endpoint that only holders of a key reach.

It keeps no sessions, so that any replica may answer any request: there is nothing to end (DELETE)
and no stream of the server's own messages (GET), which would hold a place and stay empty. The
protocol's own checks of Host and Origin are off: they guard servers that trust whoever reaches
them, and here a key is needed.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from collegium.core import CollegiumError
from collegium.service.bearer import bearer
from collegium.service.mcp.server import Context, build_mcp_server
from collegium.service.operations import Caller, Door, Gateway, Registry


class McpEndpoint:
    """The endpoint; answers while `running`."""

    def __init__(self, registry: Registry, gateway: Gateway, body_bytes: int) -> None:
        """Offer `registry` behind `gateway`, for bodies up to `body_bytes`."""
        self._gateway = gateway
        self._sessions = StreamableHTTPSessionManager(
            build_mcp_server(registry, gateway, _caller, _request_id),
            stateless=True,
            json_response=True,
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            max_request_body_size=body_bytes,
        )

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Answer requests inside this context; once only."""
        async with self._sessions.run():
            yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse those without a key, count the others' messages and pass them on.

        Raises:
            UnauthenticatedError: There is no key, or not a good one.
            RateLimitedError: The key's calls or places are used up.
        """
        request = Request(scope)
        request.state.caller = await self._admit(request)
        with self._gateway.places.hold(request.state.caller.key_id):
            await self._sessions.handle_request(scope, receive, send)

    async def _admit(self, request: Request) -> Caller:
        try:
            return await self._gateway.admit(bearer(request))
        except CollegiumError as error:
            self._gateway.note_refused(Door.MCP, request.state.request_id, error)
            raise


async def _caller(context: Context) -> Caller:
    known: Caller = _request(context).state.caller
    return known


def _request_id(context: Context) -> str:
    known: str = _request(context).state.request_id
    return known


def _request(context: Context) -> Request:
    if context.request is None:
        raise TypeError("streamable HTTP gives each call its request")
    return context.request
