"""The application as ASGI: health routes, the operations' routes, MCP, the OpenAPI document."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext

from fastapi import FastAPI
from starlette.routing import Route

from collegium import __version__
from collegium.service.http.failures import answer_failures
from collegium.service.http.health import health_routes
from collegium.service.http.limits import Limits, RequestLimits
from collegium.service.http.openapi import document
from collegium.service.http.request_ids import RequestIds
from collegium.service.http.routes import operation_routes
from collegium.service.mcp import McpEndpoint
from collegium.service.operations import Gateway, Registry


def build_http_app(
    registry: Registry,
    gateway: Gateway,
    check_ready: Callable[[], None],
    limits: Limits,
    *,
    beside: Callable[[], AbstractAsyncContextManager[None]] = nullcontext,
    echo_request_ids: bool = True,
) -> FastAPI:
    """Return the application; its lifespan runs the MCP sessions and what goes on beside.

    Args:
        registry: What is offered.
        gateway: The way to it.
        check_ready: Raises UnavailableError while the service cannot work.
        limits: What a request may weigh.
        beside: Makes a context to live in.
        echo_request_ids: Whether answers name the request's id, or a proxy before us does that.
    """
    mcp = McpEndpoint(registry, gateway, limits.body_bytes)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with mcp.running(), beside():
            yield

    app = FastAPI(
        title="collegium",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        redirect_slashes=False,
    )
    app.include_router(health_routes(check_ready))
    described = document(app, registry)
    app.include_router(operation_routes(registry, gateway))
    app.router.routes.append(Route("/mcp", mcp, methods=["POST"]))

    @app.get("/openapi.json", include_in_schema=False)
    async def openapi() -> dict[str, object]:
        return described

    answer_failures(app)
    app.add_middleware(RequestLimits, limits=limits)
    app.add_middleware(RequestIds, echo=echo_request_ids)
    return app
