"""What a ledger promises.

- An append is acknowledged when it would survive a crash, and not before.
- Events of a stream are numbered from 1 (`version`), events of the ledger from 1 (`position`),
  both without gaps. Positions follow commits: a reader who has seen position n will never meet a
  smaller one later, so polling `read(after=n)` misses nothing.
- The idempotency key names an act within its stream: appending it again gives back the first
  event and stores nothing; with another type, payload or texts it is a conflict. Times are no part
  of the comparison, as a retry comes later, nor are texts erased since.
- Nothing is changed or removed, but personal texts may be erased.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import UUID

from collegium.store.ledger.events import Event, NewEvent

MAX_BATCH = 1000
"""Events of one append, and of one page when reading."""


class Ledger(Protocol):
    """See the module for what all of them promise."""

    def append(self, event: NewEvent, expected_version: int | None = None) -> Event:
        """Append one event.

        Args:
            event: What happened.
            expected_version: Version the stream must be at (0: it must be new); None: any.

        Raises:
            ConflictError: The stream is at another version (both are named), or the idempotency
                key was used for other content.
            UnavailableError: The database does not answer; appending again is safe.
        """
        ...

    def append_batch(self, events: Sequence[NewEvent]) -> list[Event]:
        """Append up to MAX_BATCH events, all or none; returns them in the order given."""
        ...

    def read(self, after: int, limit: int = MAX_BATCH, streams: str = "") -> list[Event]:
        """Return up to `limit` events with a position above `after`, by position.

        Only those of streams whose name begins with `streams`.
        """
        ...

    def stream(self, name: str, after_version: int = 0, limit: int = MAX_BATCH) -> list[Event]:
        """Return up to `limit` events of a stream with a version above `after_version`."""
        ...

    def find(self, stream: str, idempotency_key: str) -> Event | None:
        """Return the event of a stream that has this key, None if there is none."""
        ...

    def version(self, stream: str, as_of: int) -> int:
        """Return the version that a stream had when the ledger was at position `as_of`."""
        ...

    def position(self) -> int:
        """Return the position of the newest event, 0 when there is none."""
        ...

    def identity(self) -> UUID:
        """Return the id that this ledger has had since it was made, also in its backups."""
        ...

    def texts(self, position: int) -> Mapping[str, str | None]:
        """Return the personal texts of an event by field name; None stands for an erased one."""
        ...

    def erase(self, position: int, fields: Sequence[str] | None = None) -> Event:
        """Erase personal texts of an event (None: all) with their salts, and record that.

        Raises:
            NotFoundError: There is no such event, or it has no such text.
        """
        ...
