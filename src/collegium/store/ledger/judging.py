"""What happened to the events that a scan found suspect: altered, reordered, or robbed of one.

An event is judged by its predecessor as stored, wherever that lies by now: where the hash fits,
only its neighbours were touched. If it fits at another place, the event was moved; else altered.
Looking for that place is given up after so many tries; what is left then is called altered.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import sqlalchemy as sa

from collegium.store import schema
from collegium.store.ledger.findings import Finding, FindingKind
from collegium.store.ledger.scan import ZERO, Scan, Suspect

_MAX_PLACES = 200
"""Places tried for an event that may have been moved."""
_MAX_TRIES = 500_000
"""Hashes computed to find out where events were moved from, in all."""


class _Previous(NamedTuple):
    """The event before another in its stream, as stored."""

    position: int
    hash: bytes


class _Place(NamedTuple):
    """Where an event is thinkable, and the hash of what stands there now."""

    position: int
    stream: str
    version: int
    hash: bytes


class Judge:
    """Gives the findings of one scan."""

    def __init__(self, connection: sa.Connection, scan: Scan) -> None:
        """Judge what `scan` noted; predecessors are looked up over `connection`."""
        self._connection = connection
        self._scan = scan
        self._true: dict[tuple[str, int], bytes] = {}
        self._stored: dict[tuple[str, int], _Previous | None] = {}
        self._hashes: dict[str, list[bytes]] = {}
        for suspect in scan.suspects:
            self._hashes.setdefault(suspect.stream, []).append(suspect.hash)
        self._tries = _MAX_TRIES

    def findings(self) -> Iterator[Finding]:
        """Yield a finding for each event that is missing or not as appended."""
        wrong, doubted = [], []
        for suspect in sorted(self._scan.suspects, key=lambda s: (s.stream, s.version)):
            previous = self._previous(suspect.stream, suspect.version)
            if previous is not None and self._follows(suspect, previous.hash):
                if previous.position > suspect.position:
                    yield _reordered(suspect, f"it stands before version {suspect.version - 1}")
            elif self._follows_another(suspect):
                doubted.append((suspect.stream, suspect.version - 1, previous))
            else:
                wrong.append(suspect)
        yield from self._of_wrong(wrong)
        named = {(suspect.stream, suspect.version) for suspect in wrong}
        for stream, version, previous in doubted:
            if previous is not None and (stream, version) not in named:
                yield _altered(stream, version, previous.position)
        yield from (_missing(*gap) for gap in self._scan.gaps)
        yield from map(_stray, self._scan.strays)
        yield from map(_broken, self._scan.broken)

    def _follows(self, suspect: Suspect, previous: bytes) -> bool:
        """Return whether the event's bytes have its hash; if just the hash before is wrong, too."""
        proper = suspect.hash_after(previous)
        self._true[suspect.stream, suspect.version] = proper
        if proper == suspect.hash:
            return True
        true = self._true.get((suspect.stream, suspect.version - 1))
        return true is not None and suspect.hash_after(true) == suspect.hash

    def _follows_another(self, suspect: Suspect) -> bool:
        """Return whether it follows an event of its stream that now stands elsewhere.

        Then it is as it was, and whatever stands before it now is not.
        """
        return any(self._fits(suspect, hash_) for hash_ in self._hashes[suspect.stream])

    def _fits(self, suspect: Suspect, previous: bytes, position: int = 0, version: int = 0) -> bool:
        """Return whether its hash is right after `previous`; False when there are no tries left."""
        self._tries -= 1
        return self._tries > 0 and suspect.hash_after(previous, position, version) == suspect.hash

    def _of_wrong(self, wrong: Sequence[Suspect]) -> Iterator[Finding]:
        places = [_Place(s.position, s.stream, s.version, s.hash) for s in wrong]
        places += [_Place(p, "", 0, b"") for first, last in self._scan.gaps for p in (first, last)]
        for suspect in wrong:
            place = self._proper_place(suspect, places[:_MAX_PLACES])
            if place is not None:
                yield _reordered(suspect, f"it was appended at position {place.position}")
            elif self._previous(suspect.stream, suspect.version) is None:
                yield _bereft(suspect)
            else:
                yield _altered(suspect.stream, suspect.version, suspect.position)

    def _proper_place(self, suspect: Suspect, places: Sequence[_Place]) -> _Place | None:
        """Return the place at which the event would have its hash, if it is one of `places`."""
        before = {place.hash for place in places if place.stream == suspect.stream}
        for place in places:
            at = place.version if place.stream == suspect.stream else 0
            for version in {suspect.version, at or suspect.version}:
                if (place.position, version) == (suspect.position, suspect.version):
                    continue
                previous = self._previous(suspect.stream, version)
                hashes = before | ({previous.hash} if previous else set())
                if any(self._fits(suspect, hash_, place.position, version) for hash_ in hashes):
                    return place
            if self._tries <= 0:
                break
        return None

    def _previous(self, stream: str, version: int) -> _Previous | None:
        """Return what is stored before `version` of the stream, None if nothing is."""
        if version == 1:
            return _Previous(0, ZERO)
        if (stream, version) not in self._stored:
            self._stored[stream, version] = self._look_up(stream, version - 1)
        return self._stored[stream, version]

    def _look_up(self, stream: str, version: int) -> _Previous | None:
        columns = schema.events.c
        query = sa.select(columns.position, columns.hash).where(
            columns.stream == stream, columns.version == version
        )
        row = self._connection.execute(query).first()
        # What was emptied follows from nothing, and nothing from it.
        return None if row is None else _Previous(row.position or 0, bytes(row.hash or b""))


def _altered(stream: str, version: int, position: int) -> Finding:
    return Finding(
        kind=FindingKind.ALTERED,
        detail=f"event {position}, version {version} of {stream}, is not what was appended",
        position=position,
        stream=stream,
        version=version,
    )


def _reordered(suspect: Suspect, where: str) -> Finding:
    return Finding(
        kind=FindingKind.REORDERED,
        detail=f"event {suspect.position}, version {suspect.version} of {suspect.stream}, was "
        f"moved: {where}",
        position=suspect.position,
        stream=suspect.stream,
        version=suspect.version,
    )


def _bereft(suspect: Suspect) -> Finding:
    return Finding(
        kind=FindingKind.MISSING,
        detail=f"version {suspect.version - 1} of {suspect.stream} is missing; without it, the "
        f"event after it, at position {suspect.position}, cannot be checked",
        position=suspect.position,
        stream=suspect.stream,
        version=suspect.version - 1,
    )


def _stray(position: int) -> Finding:
    where = "where another one stands" if position > 0 else "below the first one"
    return Finding(
        kind=FindingKind.ALTERED,
        detail=f"an event was put at position {position}, {where}",
        position=position,
    )


def _broken(position: int) -> Finding:
    which = f"event {position}" if position else "an event without a position"
    return Finding(
        kind=FindingKind.ALTERED,
        detail=f"{which} is not what was appended: a column is empty, or of another size",
        position=position,
    )


def _missing(first: int, last: int) -> Finding:
    span = f"event {first} is" if first == last else f"events {first} … {last} are"
    return Finding(
        kind=FindingKind.MISSING,
        detail=f"{span} missing",
        position=first,
        last_position=last,
    )
