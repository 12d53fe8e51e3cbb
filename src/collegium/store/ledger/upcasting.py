"""Old events in today's form: a chain of functions for each type, one for each schema version."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from collegium.core import CorruptDataError

Upcaster = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Returns a payload's form one schema version later; pure, and a function of a module (pickles)."""


class Upcasters:
    """The upcasters by (type, schema version they start from)."""

    def __init__(self, steps: Mapping[tuple[str, int], Upcaster] = MappingProxyType({})) -> None:
        """Take the steps; raises ValueError if a type's versions have a gap."""
        self._steps = dict(steps)
        self._latest: dict[str, int] = {}
        for kind, version in sorted(self._steps):
            expected = self._latest.get(kind, version)
            if version != expected:
                raise ValueError(f"{kind}: no upcaster from schema version {expected}")
            self._latest[kind] = version + 1

    def upcast(
        self, kind: str, version: int, payload: dict[str, Any]
    ) -> tuple[int, dict[str, Any]]:
        """Return the newest schema version and the payload in that form.

        Raises:
            CorruptDataError: The event is of a version that this release does not know yet.
        """
        latest = self._latest.get(kind)
        if latest is not None and version > latest:
            raise CorruptDataError(
                f"{kind} of schema version {version}: this release knows up to {latest}; "
                "install the release that wrote it, or a newer one"
            )
        while step := self._steps.get((kind, version)):
            payload, version = step(payload), version + 1
        return version, payload
