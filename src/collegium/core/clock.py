"""Time is passed in, never read from the module: a run can be replayed with a fixed clock."""

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time (UTC, aware) and a monotonic counter in seconds."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """Return the current time, timezone-aware, in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Return seconds that never run backwards."""
        return time.monotonic()


class FixedClock:
    """A clock that stands still until it is told to move."""

    def __init__(self, start: datetime) -> None:
        self._now = start
        self._monotonic = 0.0

    def now(self) -> datetime:
        """Return the time the clock stands at."""
        return self._now

    def monotonic(self) -> float:
        """Return the seconds advanced so far."""
        return self._monotonic

    def advance(self, seconds: float) -> None:
        """Move both faces of the clock forward by `seconds` (>= 0)."""
        self._monotonic += seconds
        self._now = datetime.fromtimestamp(self._now.timestamp() + seconds, UTC)
