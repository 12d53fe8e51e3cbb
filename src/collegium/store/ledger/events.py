"""What is appended and what is read. See `store.ledger.protocol` for what a ledger promises."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import AfterValidator, AwareDatetime, Field, StringConstraints, field_validator

from collegium.core import Record

_MAX_NAME = 512
_MIN_YEAR = 1000


def _storable(text: str) -> str:
    """Refuse what PostgreSQL cannot store."""
    if "\0" in text:
        raise ValueError("the zero character cannot be stored")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(f"no UTF-8: {error.reason}") from None
    return text


def _short(name: str) -> str:
    """Refuse what is too long for an index."""
    size = len(_storable(name).encode())
    if size > _MAX_NAME:
        raise ValueError(f"{size} bytes, at most {_MAX_NAME}")
    return name


_Name = Annotated[str, StringConstraints(min_length=1), AfterValidator(_short)]
_Field = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_.]{0,62}$")]
_Text = Annotated[str, AfterValidator(_storable)]


class NewEvent(Record):
    """An event that somebody wants to append."""

    stream: _Name
    """An entity, a namespace, an aggregator state: what is ordered and locked together."""
    type: _Name
    """What happened: noun and participle, `trajectory.contributed`."""
    schema_version: int = Field(default=1, ge=1, le=2**31 - 1)
    """Version of the payload's form within the type."""
    payload: Mapping[str, Any]
    """JSON; see `store.ledger.canonical` for its one form."""
    observed_at: AwareDatetime
    """When it happened, as the one who tells it says; the ledger adds its own time."""
    idempotency_key: _Name
    """Names this act within the stream: appended again, it is not done again."""
    texts: Mapping[_Field, _Text] = Field(default_factory=dict)
    """Personal texts by field name; they can be erased and the chain stays valid."""

    @field_validator("observed_at")
    @classmethod
    def _four_digits(cls, value: datetime) -> datetime:
        try:
            year = value.astimezone(UTC).year
        except OverflowError:
            raise ValueError("out of range in UTC") from None
        if year < _MIN_YEAR:
            raise ValueError(f"year {year}: expected one of four digits")
        return value


class Event(NamedTuple):
    """An event as stored, its payload in the newest form that the reader knows."""

    id: UUID
    """Version 7: sorts by the time it was made."""
    position: int
    """Place in the whole ledger, from 1, without gaps, in the order of commits."""
    stream: str
    version: int
    """Place in its stream, from 1, without gaps."""
    type: str
    schema_version: int
    payload: dict[str, Any]
    observed_at: datetime
    recorded_at: datetime
    """Ledger time; never runs backwards along positions."""
    idempotency_key: str
    commitments: dict[str, str]
    """Salted SHA-256 (hex) of each personal text by field name; `Ledger.texts` has the texts."""
    hash: bytes
    """SHA-256 of the hash before it in the stream and this event's canonical bytes."""
