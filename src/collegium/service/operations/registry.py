"""All operations of an application, by name."""

from collections.abc import Iterable, Iterator
from typing import Any

from collegium.core import NotFoundError
from collegium.service.operations.operation import Operation


class Registry:
    """The operations in the order they were given; names and routes are unique."""

    def __init__(self, operations: Iterable[Operation[Any, Any]]) -> None:
        """Take the operations; raises ValueError if two share a name or a route."""
        self._by_name: dict[str, Operation[Any, Any]] = {}
        routes: set[tuple[str, str]] = set()
        for operation in operations:
            route = (operation.method, operation.path)
            if operation.name in self._by_name or route in routes:
                raise ValueError(f"two operations are {operation.name} or {' '.join(route)}")
            self._by_name[operation.name] = operation
            routes.add(route)

    def __iter__(self) -> Iterator[Operation[Any, Any]]:
        return iter(self._by_name.values())

    def __getitem__(self, name: str) -> Operation[Any, Any]:
        """Return one; raises NotFoundError, which names those known."""
        if name not in self._by_name:
            known = ", ".join(sorted(self._by_name))
            raise NotFoundError(f"no operation {name[:64]!r}; known: {known}")
        return self._by_name[name]
