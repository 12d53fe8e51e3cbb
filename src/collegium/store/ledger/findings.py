"""What verification can find, and its report."""

from enum import StrEnum

from pydantic import computed_field

from collegium.core import Record

MAX_FINDINGS = 100
"""Findings listed; of more, only the number is told."""


class FindingKind(StrEnum):
    """What happened to the ledger."""

    ALTERED = "altered"
    """An event is not what was appended."""
    MISSING = "missing"
    """An event was taken out."""
    REORDERED = "reordered"
    """An event stands at another place than it was appended at."""
    TRUNCATED = "truncated"
    """The end was cut off."""
    REWRITTEN = "rewritten"
    """Chains are unbroken, but not those that were signed."""
    OLDER_COPY = "older_copy"
    """The whole database is older than the newest checkpoint that was signed."""
    CHECKPOINT = "checkpoint"
    """A checkpoint is altered, missing or not signed by the key."""
    HEAD = "head"
    """The row that says where the ledger stands is wrong."""
    TEXT = "text"
    """A personal text is altered, missing, or there although it was erased."""


class Finding(Record):
    """One thing that is wrong."""

    kind: FindingKind
    detail: str
    position: int | None = None
    """The event, or the first one, that it concerns."""
    last_position: int | None = None
    """The last one, where it concerns several."""
    stream: str | None = None
    version: int | None = None


class Verification(Record):
    """What can be said of a ledger."""

    ledger: str
    """Its id."""
    events: int
    position: int
    """Of the newest event."""
    checkpoint: int | None
    """Number of the newest checkpoint that the database holds."""
    vouched_from: int | None
    """First and last position of the events that are proven to be as they were signed."""
    vouched_to: int | None
    findings: tuple[Finding, ...]
    found: int
    """Number of findings; more than are listed if there are very many."""
    notes: tuple[str, ...]
    """What limits the verdict, though nothing is wrong."""
    seconds: float

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ok(self) -> bool:
        """Whether nothing is wrong."""
        return self.found == 0
