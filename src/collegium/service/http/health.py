"""Is it alive, can it work, which version: routes without a key, for whoever watches it."""

from collections.abc import Callable

import anyio
from fastapi import APIRouter

from collegium import __version__
from collegium.core import Record


class Health(Record):
    """The answer of the health routes."""

    status: str


class Version(Record):
    """Which software answers."""

    name: str = "collegium"
    version: str


def health_routes(check_ready: Callable[[], None]) -> APIRouter:
    """Return the routes `/healthz`, `/readyz` and `/version`.

    Args:
        check_ready: Raises UnavailableError, with the reason, while the service cannot work.
    """
    router = APIRouter(tags=["health"])
    alone = anyio.CapacityLimiter(1)  # whoever asks often takes one connection, not all

    @router.get("/healthz", summary="Alive: the process answers")
    async def healthz() -> Health:
        return Health(status="ok")

    @router.get("/readyz", summary="Ready: the database is there and up to date; else 503")
    async def readyz() -> Health:
        await anyio.to_thread.run_sync(check_ready, limiter=alone)
        return Health(status="ready")

    @router.get("/version", summary="Which software answers")
    async def version() -> Version:
        return Version(version=__version__)

    return router
