"""Counting calls: a protocol that the runtime fulfils with Ray's metrics, so that none is here."""

from typing import Protocol


class Recorder(Protocol):
    """Takes note of each call once it is answered."""

    def called(self, operation: str, door: str, code: str, seconds: float) -> None:
        """Note one call; `code` is `ok`, that of the error, or `cancelled`."""
        ...


class _NoMetrics:
    def called(self, operation: str, door: str, code: str, seconds: float) -> None:
        """Note nothing."""


NO_METRICS: Recorder = _NoMetrics()
"""For tests and for single calls over stdio."""
