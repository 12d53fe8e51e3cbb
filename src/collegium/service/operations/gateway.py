"""The one way to a handler, for every door: who calls, how often, may they, what, and how it went.

The order is fixed: key, rate, scope, namespace, and only then the input is read. Each call leaves
one log line and one count, whatever became of it. Secrets and inputs are not logged.
"""

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol, cast

import anyio
import structlog
from pydantic import BaseModel

from collegium.core import (
    Clock,
    CollegiumError,
    ForbiddenError,
    InvalidInputError,
    RateLimitedError,
    content_id,
)
from collegium.service.errors import UnexpectedError
from collegium.service.operations.metrics import Recorder
from collegium.service.operations.operation import Call, Caller, Input, Operation

_UNKNOWN = "unknown"
_HUNG_UP = "cancelled"
"""What is noted of a call that nobody waited for."""
Reader = Callable[[], Awaitable[dict[str, Any]]]


class Door(StrEnum):
    """How a call came in."""

    HTTP = "http"
    MCP = "mcp"


@dataclass(frozen=True)
class Incoming:
    """A call as it arrives, nothing of it believed yet."""

    door: Door
    admit: Callable[[], Awaitable[Caller]]
    """Finds out who calls, with `Gateway.admit`."""
    request_id: str
    namespace: str | None
    """What the call says it is about, if the operation lies in a namespace."""
    read: Reader
    """Fetches the arguments; called only for those who may."""
    idempotency_key: str | None = None


class Keys(Protocol):
    """Finds out who calls."""

    async def identify(self, token: str | None) -> Caller:
        """Return the caller; raises UnauthenticatedError or UnavailableError."""
        ...


class Limiter(Protocol):
    """Counts calls by key."""

    def take(self, key_id: str, calls_per_minute: int) -> float:
        """Take one call; return 0, or the seconds until one is free."""
        ...


class Places(Protocol):
    """Holds a key to its share of the requests that arrive at once."""

    def hold(self, key_id: str) -> AbstractContextManager[None]:
        """Hold a place within the context; raises RateLimitedError if the key has none left."""
        ...


class RequestDigests(Protocol):
    """Remembers what was asked under an `Idempotency-Key`."""

    def claim(self, owner: str, key: str, digest: str) -> None:
        """Note it; raises ConflictError if the owner used the key for another request."""
        ...


@dataclass(frozen=True)
class Gateway:
    """Lets calls through to their handlers."""

    keys: Keys
    limiter: Limiter
    places: Places
    digests: RequestDigests
    recorder: Recorder
    clock: Clock
    threads: anyio.CapacityLimiter
    """How many handlers may run at once: as many as there are database connections."""

    async def call(self, operation: Operation[Any, Any], incoming: Incoming) -> BaseModel:
        """Answer one call; raises errors of the tree only."""
        log = structlog.get_logger().bind(
            operation=operation.name,
            door=incoming.door.value,
            request_id=incoming.request_id,
            namespace=incoming.namespace,
        )
        started = self.clock.monotonic()
        code = _HUNG_UP
        try:
            caller = await incoming.admit()
            log = log.bind(key_id=caller.key_id)
            answer = await self._answer(caller, operation, incoming)
            code = "ok"
            return answer
        except CollegiumError as error:
            code = error.code
            log = log.bind(reason=str(error))
            raise
        except Exception as error:
            code = UnexpectedError.code
            log.exception("call failed")
            raise UnexpectedError("a fault of ours; the log has it under the request id") from error
        finally:
            seconds = self.clock.monotonic() - started
            self.recorder.called(operation.name, incoming.door.value, code, seconds)
            log.info("call", code=code, ms=round(1000 * seconds, 2))

    async def admit(self, token: str | None) -> Caller:
        """Return who calls, and count the call; raises UnauthenticatedError or RateLimitedError."""
        caller = await self.keys.identify(token)
        wait = self.limiter.take(caller.key_id, caller.calls_per_minute)
        if wait:
            error = RateLimitedError(
                f"more than {caller.calls_per_minute} calls a minute; the next in {wait:.1f} s"
            )
            error.retry_after_s = wait
            raise error
        return caller

    def note_refused(self, door: Door, request_id: str, error: CollegiumError) -> None:
        """Note a call that was turned away before it said what it wants."""
        self.recorder.called(_UNKNOWN, door.value, error.code, 0.0)
        structlog.get_logger().info(
            "refused",
            door=door.value,
            request_id=request_id,
            code=error.code,
            reason=str(error),
        )

    async def _answer(
        self, caller: Caller, operation: Operation[Any, Any], incoming: Incoming
    ) -> BaseModel:
        _authorise(caller, operation, incoming.namespace)
        if incoming.idempotency_key is not None and not operation.takes_idempotency_key:
            raise InvalidInputError(f"{operation.name} takes no Idempotency-Key; leave it out")
        with self.places.hold(caller.key_id):
            arguments = await incoming.read()
        call = Call(caller, incoming.request_id)
        if operation.is_coroutine:
            given: Input = operation.input.parse(arguments)
            return cast(BaseModel, await operation.handler(call, given))
        return await anyio.to_thread.run_sync(
            self._perform, operation, call, arguments, incoming.idempotency_key,
            limiter=self.threads,
        )  # fmt: skip

    def _perform(
        self,
        operation: Operation[Any, Any],
        call: Call,
        arguments: dict[str, Any],
        key: str | None,
    ) -> BaseModel:
        given: Input = operation.input.parse(arguments)
        if key is not None:
            digest = content_id([operation.name, given.model_dump(mode="json")])
            self.digests.claim(call.caller.key_id, key, digest)
        return cast(BaseModel, operation.handler(call, given))


def _authorise(caller: Caller, operation: Operation[Any, Any], namespace: str | None) -> None:
    if not caller.has(operation.scope):
        held = ", ".join(sorted(caller.scopes))
        raise ForbiddenError(
            f"{operation.name} needs the scope {operation.scope.value}; this key has {held}"
        )
    if "namespace" in operation.path_fields and not caller.reaches(namespace or ""):
        raise ForbiddenError("this key is not for that namespace; ask for one that is")
