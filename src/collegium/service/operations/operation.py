"""What a use-case is: names, types, the scope it asks for, and the function that does it.

A handler is synchronous (the store is) and runs on a worker thread, or it is a coroutine function
that blocks nobody and runs on the event loop. Inputs whose use-case lies in a namespace have a
field `namespace`, and the route carries it in its path, so that a key can be held to its namespaces
before the body is read.
"""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum
from inspect import iscoroutinefunction
from typing import Annotated, Any, Generic, Literal, NamedTuple, Self, TypeVar

from pydantic import BaseModel, ConfigDict, StringConstraints, ValidationError

from collegium.core import CollegiumError
from collegium.service.errors import explain
from collegium.service.operations.guard import check_json

NAMESPACE = r"^[a-z0-9][a-z0-9._-]{0,63}$"
Namespace = Annotated[str, StringConstraints(pattern=NAMESPACE)]
_NAME = re.compile(r"^[a-z][a-z0-9_]{0,63}$")


class Scope(StrEnum):
    """What a key allows. Each is granted by itself; admin allows all."""

    READ = "read"
    WRITE = "write"
    ADMIN = "admin"


class Input(BaseModel):
    """Base of all inputs: frozen, and unknown fields are an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    @classmethod
    def parse(cls, arguments: dict[str, Any]) -> Self:
        """Return the input; raises InvalidInputError, which names places but repeats no values."""
        check_json(arguments)
        try:
            return cls.model_validate(arguments)
        except ValidationError as error:
            raise explain(error) from None


class NamespacedInput(Input):
    """Base of the inputs of use-cases that lie in a namespace."""

    namespace: Namespace
    """Whose data: small letters, digits, `.`, `_` and `-`, at most 64 in all."""


class Caller(NamedTuple):
    """Who calls, as their key says."""

    key_id: str
    scopes: frozenset[Scope]
    namespaces: frozenset[str] | None
    """None: all."""
    calls_per_minute: int

    def has(self, scope: Scope) -> bool:
        """Return whether the key allows `scope`."""
        return scope in self.scopes or Scope.ADMIN in self.scopes

    def reaches(self, namespace: str) -> bool:
        """Return whether the key is good for `namespace`."""
        return self.namespaces is None or namespace in self.namespaces


class Call(NamedTuple):
    """What a handler may know of the call beside its input."""

    caller: Caller
    request_id: str


In = TypeVar("In", bound=Input)
Out = TypeVar("Out", bound=BaseModel)


@dataclass(frozen=True)
class Operation(Generic[In, Out]):
    """One use-case; raises ValueError where the parts do not fit together."""

    name: str
    """Name of the MCP tool and of the OpenAPI operation."""
    summary: str
    scope: Scope
    method: Literal["GET", "POST"]
    path: str
    """Route; each `{field}` is a field of the input."""
    input: type[In]
    output: type[Out]
    handler: Callable[[Call, In], Out] | Callable[[Call, In], Awaitable[Out]]
    example: In
    errors: tuple[type[CollegiumError], ...] = ()
    """What it may answer beside the errors that every operation shares."""
    secret: bool = False
    """Whether the answer holds a secret; such operations are not offered to models."""
    takes_idempotency_key: bool = False
    """Whether a repeated call has no further effect, so that `Idempotency-Key` makes sense."""

    def __post_init__(self) -> None:
        """Check the definition."""
        fields = set(self.input.model_fields)
        if not _NAME.match(self.name):
            raise ValueError(f"{self.name!r} is no name for an operation")
        if unknown := set(self.path_fields) - fields:
            raise ValueError(f"{self.name}: {self.path} has {unknown}, the input has {fields}")
        if not isinstance(self.scope, Scope):
            raise ValueError(f"{self.name}: scope is {self.scope!r}, not one of {list(Scope)}")
        if ("namespace" in fields) != ("namespace" in self.path_fields):
            raise ValueError(f"{self.name}: a namespace stands in path and input, or in neither")
        if self.is_coroutine and self.takes_idempotency_key:
            raise ValueError(f"{self.name}: noting an Idempotency-Key would block the event loop")

    @property
    def is_coroutine(self) -> bool:
        """Whether the handler runs on the event loop."""
        return iscoroutinefunction(self.handler)

    @property
    def path_fields(self) -> tuple[str, ...]:
        """Fields of the input that stand in the path."""
        return tuple(re.findall(r"{(\w+)}", self.path))
