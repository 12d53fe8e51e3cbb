"""Ray Serve's HTTP proxy made to answer as the service does.

The proxy calls `middlewares` when it starts, if the variable says so where Ray was started:
`collegium serve` sees to that on a cluster of its own; on another it is set before `ray start`.
"""

from starlette.middleware import Middleware

from collegium.service.http.edge import ProxyEdge
from collegium.service.http.request_ids import RequestIds

CALLBACK_VARIABLE = "RAY_SERVE_HTTP_PROXY_CALLBACK_IMPORT_PATH"
CALLBACK = f"{__name__}:middlewares"

_OF_SERVE = (
    b"x-request-timeout-seconds",
    b"x-request-disconnect-disabled",
    b"serve_multiplexed_model_id",
    b"x-session-id",
)
"""What Serve's routing obeys; a value that is not UTF-8 breaks its proxy besides."""


def middlewares() -> list[Middleware]:
    """Return what the proxy puts around itself, innermost first."""
    return [
        Middleware(ProxyEdge, left_out=_OF_SERVE),
        Middleware(RequestIds, echo=True),
    ]
