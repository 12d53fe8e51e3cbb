"""Where a request brings its key."""

from starlette.requests import Request


def bearer(request: Request) -> str | None:
    """Return the key after `Authorization: Bearer`, if there is one."""
    kind, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if kind.lower() == "bearer" else None
