"""One envelope for every failure, whichever door: `{"error": {"code", "message", ...}}`.

The code is that of the error tree, which also gives the exit code of the command line; here stands
which HTTP status belongs to it. A code without one is a fault of ours: 500.
"""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from collegium.core import (
    CollegiumError,
    InvalidInputError,
    RateLimitedError,
    Record,
    UnavailableError,
)

STATUS: Mapping[str, int] = {
    "invalid_input": 422,
    "unauthenticated": 401,
    "forbidden": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "timeout": 408,
    "conflict": 409,
    "too_large": 413,
    "media_type": 415,
    "rate_limited": 429,
    "headers_too_large": 431,
    "unexpected": 500,
    "unavailable": 503,
}
"""HTTP status by error code."""

_MAX_PROBLEMS = 20
"""Problems that are named."""
_MAX_LISTED = 1000
"""Problems among which those are found."""


class MethodNotAllowedError(InvalidInputError):
    """The route is there, but not for this method."""

    code = "method_not_allowed"


class MediaTypeError(InvalidInputError):
    """The body is not declared as JSON."""

    code = "media_type"


class TooLargeError(InvalidInputError):
    """The body is larger than the service takes."""

    code = "too_large"


class TooSlowError(InvalidInputError):
    """The body did not arrive in the time that the service waits for one."""

    code = "timeout"


class HeadersTooLargeError(InvalidInputError):
    """There are more, or longer, headers than the service takes."""

    code = "headers_too_large"


class UnexpectedError(CollegiumError):
    """A fault of ours; the log has it under the request id."""

    code = "unexpected"
    exit_code = 70


class ErrorBody(Record):
    """What went wrong."""

    code: str
    """Stable name of the kind of failure."""
    message: str
    """What is wrong, where, and what to do."""
    request_id: str
    """The id that the log lines of this request carry."""
    retry_after_s: float | None = None
    """When the same call is welcome again, in seconds."""


class ErrorEnvelope(Record):
    """The answer to every call that failed."""

    error: ErrorBody


def envelope(error: CollegiumError, request_id: str) -> ErrorEnvelope:
    """Return what the caller is told."""
    retryable = isinstance(error, RateLimitedError | UnavailableError)
    wait = round(error.retry_after_s, 3) if retryable else None  # type: ignore[attr-defined]
    body = ErrorBody(code=error.code, message=str(error), request_id=request_id, retry_after_s=wait)
    return ErrorEnvelope(error=body)


def status_of(code: str) -> int:
    """Return the HTTP status of an error code."""
    return STATUS.get(code, STATUS["unexpected"])


def explain(error: ValidationError) -> InvalidInputError:
    """Return places and problems, without the caller's values: logs and answers stay clean."""
    if error.error_count() > _MAX_LISTED:  # listing them takes longer than finding them
        return InvalidInputError(f"{error.error_count()} things are wrong, too many to name one")
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    lines = [f"{_place(problem['loc'])}: {problem['msg']}" for problem in problems[:_MAX_PROBLEMS]]
    if len(problems) > _MAX_PROBLEMS:
        lines.append(f"and {len(problems) - _MAX_PROBLEMS} more")
    return InvalidInputError("; ".join(lines))


def _place(location: tuple[Any, ...]) -> str:
    return ".".join(str(part)[:64] for part in location) or "(top)"
