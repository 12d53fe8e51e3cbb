"""Personal texts against their commitments in the chain, and against the record of erasures."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import sqlalchemy as sa

from collegium.store import schema
from collegium.store.ledger.erasures import recorded_erasures
from collegium.store.ledger.findings import Finding, FindingKind
from collegium.store.ledger.postgres import commitment

_BLOCK = 1000
_Texts = dict[str, tuple[bytes | None, str | None]]


def audit_texts(connection: sa.Connection) -> Iterator[Finding]:
    """Yield a finding for each text that is altered, missing, unerased, or of no event."""
    erased = recorded_erasures(connection).fields
    yield from _of_no_event(connection)
    for event, texts in _events(connection):
        committed = _committed(event.commitments)
        gone = erased.get(event.position, frozenset())
        for field in sorted(committed.keys() | texts.keys()):
            wrong = _wrong(committed.get(field), texts.get(field), erased=field in gone)
            if wrong:
                yield Finding(
                    kind=FindingKind.TEXT,
                    detail=f"text {field!r} of event {event.position} {wrong}",
                    position=event.position,
                    stream=event.stream,
                    version=event.version,
                )


def _of_no_event(connection: sa.Connection) -> Iterator[Finding]:
    events, texts = schema.events.c, schema.texts.c
    owned = sa.exists().where(events.position == texts.position)
    query = sa.select(texts.position, texts.field).where(~owned).order_by(texts.position)
    for row in connection.execute(query):
        yield Finding(
            kind=FindingKind.TEXT,
            detail=f"text {row.field!r} is of no event: there is none at {row.position}",
            position=row.position,
        )


def _committed(text: str) -> Mapping[str, str]:
    """Return an event's commitments; none where they were altered to something else."""
    try:
        committed = json.loads(text)
    except ValueError:
        return {}
    return committed if isinstance(committed, dict) else {}


def _wrong(
    committed: str | None, text: tuple[bytes | None, str | None] | None, *, erased: bool
) -> str:
    if committed is None:
        return "was never committed to"
    if text is None:
        return "is missing with its row"
    salt, words = text
    if salt is None and words is None:
        return "" if erased else "is gone, but no erasure is recorded"
    if salt is None or words is None:
        return "is there in part"
    if erased:
        return "is there again, although it was erased: erase it again"
    return "" if commitment(bytes(salt), words) == committed else "was altered"


def _events(connection: sa.Connection) -> Iterator[tuple[Any, _Texts]]:
    """Yield each event that has texts, or should have, with them."""
    events, texts = schema.events.c, schema.texts.c
    has = sa.exists().where(texts.position == events.position)
    query = (
        sa.select(events.position, events.stream, events.version, events.commitments)
        .where(sa.or_(events.commitments != "{}", has))
        .order_by(events.position)
        .execution_options(yield_per=_BLOCK)
    )
    for block in connection.execute(query).partitions():
        positions = [event.position for event in block]
        found: dict[int, _Texts] = {}
        for row in connection.execute(sa.select(schema.texts).where(texts.position.in_(positions))):
            found.setdefault(row.position, {})[row.field] = (row.salt, row.text)
        for event in block:
            yield event, found.get(event.position, {})
