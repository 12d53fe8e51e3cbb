"""Whatever goes wrong on the way, the answer is the envelope."""

import math
from http import HTTPStatus

from fastapi import FastAPI, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match, Route

from collegium.core import CollegiumError, InvalidInputError, NotFoundError
from collegium.service.errors import (
    MethodNotAllowedError,
    UnexpectedError,
    envelope,
    status_of,
)


def answer_failures(app: FastAPI) -> None:
    """Make `app` answer each exception with the envelope."""
    app.add_exception_handler(CollegiumError, _tree)
    app.add_exception_handler(HTTPException, _routing)
    app.add_exception_handler(Exception, _unexpected)


def failure(error: CollegiumError, request_id: str) -> Response:
    """Return the answer to a call that failed."""
    told = envelope(error, request_id)
    headers = {}
    if told.error.retry_after_s is not None:
        headers["retry-after"] = str(max(1, math.ceil(told.error.retry_after_s)))
    if error.code == "unauthenticated":
        headers["www-authenticate"] = "Bearer"
    body = told.model_dump_json(exclude_none=True)
    return Response(body, status_of(error.code), headers, media_type="application/json")


async def _tree(request: Request, error: Exception) -> Response:
    if not isinstance(error, CollegiumError):
        raise error
    return failure(error, _request_id(request))


async def _routing(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    answer = failure(_translate(request, error), _request_id(request))
    answer.headers.update(error.headers or {})
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        answer.headers["allow"] = ", ".join(_methods(request))
    return answer


def _translate(request: Request, error: HTTPException) -> CollegiumError:
    route = f"{request.method} {request.url.path[:200]}"
    if error.status_code == HTTPStatus.NOT_FOUND:
        return NotFoundError(f"no route {route}; GET /openapi.json lists them")
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return MethodNotAllowedError(f"no {route}; GET /openapi.json lists the methods")
    return InvalidInputError(str(error.detail))


def _methods(request: Request) -> list[str]:
    """Return those that the path takes; the router itself names those of its first route only."""
    routes = [route for route in request.app.routes if isinstance(route, Route)]
    there = [route for route in routes if route.matches(request.scope)[0] is not Match.NONE]
    return sorted({method for route in there for method in route.methods or ()})


async def _unexpected(request: Request, error: Exception) -> Response:
    told = UnexpectedError("a fault of ours; the log has it under the request id")
    return failure(told, _request_id(request))


def _request_id(request: Request) -> str:
    known: str = request.scope.get("state", {}).get("request_id", "")
    return known
