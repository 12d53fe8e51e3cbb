"""From an operation to a route: path, query and body together are its input.

GET takes everything from path and query, POST the body's JSON object and the path. The key stands
in `Authorization: Bearer`, and `Idempotency-Key` makes a repeated write safe.
"""

import re
from typing import Any

from fastapi import APIRouter, Request, Response

from collegium.core import InvalidInputError
from collegium.service.bearer import bearer
from collegium.service.errors import MediaTypeError
from collegium.service.operations import Door, Gateway, Incoming, Operation, Registry, parse_json

_IDEMPOTENCY_KEY = re.compile(r"[\x21-\x7e]{1,128}")


def operation_routes(registry: Registry, gateway: Gateway) -> APIRouter:
    """Return one route for each operation."""
    router = APIRouter(redirect_slashes=False)
    for operation in registry:
        _add(router, operation, gateway)
    return router


def _add(router: APIRouter, operation: Operation[Any, Any], gateway: Gateway) -> None:
    async def endpoint(request: Request) -> Response:
        answer = await gateway.call(operation, _incoming(request, operation, gateway))
        return Response(answer.model_dump_json(), media_type="application/json")

    router.add_api_route(
        operation.path,
        endpoint,
        methods=[operation.method],
        name=operation.name,
        include_in_schema=False,
        response_model=None,
    )


def _incoming(request: Request, operation: Operation[Any, Any], gateway: Gateway) -> Incoming:
    async def read() -> dict[str, Any]:
        sent = await _body(request) if operation.method == "POST" else _query(request)
        if doubled := sent.keys() & request.path_params.keys():
            raise InvalidInputError(f"{', '.join(doubled)}: stands in the path, not here as well")
        return {**sent, **request.path_params}

    return Incoming(
        door=Door.HTTP,
        admit=lambda: gateway.admit(bearer(request)),
        request_id=request.state.request_id,
        namespace=request.path_params.get("namespace"),
        read=read,
        idempotency_key=_idempotency_key(request),
    )


async def _body(request: Request) -> dict[str, Any]:
    if request.query_params:
        raise InvalidInputError("a POST takes no query parameters; put them into the body")
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    body = await request.body()
    if not body:
        return {}
    if declared != "application/json":
        raise MediaTypeError(f"content type {declared[:64]!r}; send application/json")
    value = parse_json(body)
    if not isinstance(value, dict):
        raise InvalidInputError("the body is JSON, but not an object with the fields of the input")
    return value


def _query(request: Request) -> dict[str, Any]:
    pairs = request.query_params.multi_items()
    if len(pairs) != len(request.query_params.keys()):
        raise InvalidInputError("a query parameter stands there twice")
    return dict(pairs)


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("idempotency-key")
    if key is not None and not _IDEMPOTENCY_KEY.fullmatch(key):
        raise InvalidInputError("Idempotency-Key: 1 to 128 visible ASCII characters")
    return key
