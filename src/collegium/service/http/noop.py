"""The application that does nothing: what any call costs, whatever it asks for."""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route


def noop_app() -> Starlette:
    """Return it: GET and POST `/noop` read the body and answer `{"status": "ok"}`."""
    return Starlette(routes=[Route("/noop", _noop, methods=["GET", "POST"])])


async def _noop(request: Request) -> Response:
    await request.body()
    return JSONResponse({"status": "ok"})
