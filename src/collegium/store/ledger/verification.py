"""Verifying a whole ledger: chains, checkpoints, anchor, head and personal texts.

Everything is computed here, from bytes that the database hands over in one snapshot; nothing that
the database says about itself is believed. What is signed by a checkpoint is vouched for; what
came after the newest one is only consistent, as whoever can write to the database could also have
written it differently.
"""

from collections.abc import Iterator
from contextlib import closing

import sqlalchemy as sa

from collegium.core import Clock, CorruptDataError, SystemClock
from collegium.store import schema
from collegium.store.database import Database
from collegium.store.ledger.chain_of_checkpoints import CheckedCheckpoints
from collegium.store.ledger.checkpoints import Checkpoint
from collegium.store.ledger.findings import MAX_FINDINGS, Finding, FindingKind, Verification
from collegium.store.ledger.judging import Judge
from collegium.store.ledger.scan import END, Head, Scan, all_rows
from collegium.store.ledger.signing import KeyFolder
from collegium.store.ledger.text_audit import audit_texts


class Verifier:
    """Verifies one ledger from its first event on."""

    def __init__(self, database: Database, clock: Clock | None = None) -> None:
        """Check signatures with the key in the folder that the database's settings name."""
        self._database = database
        self._clock = clock or SystemClock()
        self._keys = KeyFolder(database.settings.keys)

    def run(self) -> Verification:
        """Return what is wrong, and from which event to which the ledger is proven.

        Raises:
            UnavailableError: The database does not answer.
            ConfigError: The key may be read by others.
            CorruptDataError: The key is damaged, or tables are not as they were made.
        """
        started = self._clock.monotonic()
        with self._database.connection() as connection:
            connection.execution_options(isolation_level="REPEATABLE READ")
            verified = _Pass(connection, self._keys)
            verified.run()
        return verified.report(self._clock.monotonic() - started)


class _Pass:
    def __init__(self, connection: sa.Connection, keys: KeyFolder) -> None:
        self._connection = connection
        self._findings: list[Finding] = []
        self._scan = Scan()
        self._matched: Checkpoint | None = None
        self._unmatched = 0
        head = connection.execute(sa.select(schema.ledger.c.id, schema.ledger.c.position)).first()
        if head is None:
            raise CorruptDataError(
                "the row that says where the ledger stands is gone: nothing can be vouched for; "
                "restore a backup"
            )
        self._ledger, self._head = head.id, head.position
        self._checkpoints = CheckedCheckpoints(connection, keys, self._ledger)

    def run(self) -> None:
        self._findings += self._checkpoints.findings
        self._scan_all()
        self._findings += Judge(self._connection, self._scan).findings()
        self._findings += self._of_head()
        self._findings += audit_texts(self._connection)

    def _scan_all(self) -> None:
        with closing(all_rows(self._connection)) as rows:
            signed = self._scan_to_each_checkpoint(rows)
        if self._scan.position < self._head and signed <= self._scan.position:
            self._findings.append(self._behind_head())

    def _scan_to_each_checkpoint(self, rows: Iterator[memoryview]) -> int:
        """Scan, comparing at each checkpoint; return the position of the last one reached."""
        signed = 0
        for checkpoint in self._checkpoints.valid:
            reached = self._scan.feed(rows, checkpoint.position)
            differing = list(self._differing(checkpoint))
            # What is known of single events of a stream says more than that its head is another.
            known = {suspect.stream for suspect in self._scan.suspects}
            self._findings += (f for f in differing if f.stream not in known)
            if not reached:
                self._findings.append(self._cut_off(checkpoint))
                return signed
            if differing:
                self._unmatched = checkpoint.position
            else:
                self._matched = checkpoint
            signed = checkpoint.position
        self._scan.feed(rows, END)
        return signed

    def _differing(self, checkpoint: Checkpoint) -> Iterator[Finding]:
        """Yield a finding for each stream that is not where the checkpoint says."""
        for stream, signed in checkpoint.heads.items():
            found = Head(*self._scan.heads.get(stream.encode(), (0, b"")))
            if found == signed:
                continue
            shorter = found.version < signed.version
            what = (
                f"ends at version {found.version}"
                if shorter
                else f"has another version {found.version}"
            )
            yield Finding(
                kind=FindingKind.TRUNCATED if shorter else FindingKind.REWRITTEN,
                detail=f"{stream} {what}; checkpoint {checkpoint.number}, at position "
                f"{checkpoint.position}, was signed over version {signed.version}",
                position=(self._matched.position if self._matched else 0) + 1,
                last_position=checkpoint.position,
                stream=stream,
                version=signed.version,
            )

    def _cut_off(self, checkpoint: Checkpoint) -> Finding:
        end = self._scan.position
        return Finding(
            kind=FindingKind.TRUNCATED,
            detail=f"events {end + 1} … {checkpoint.position} are cut off: checkpoint "
            f"{checkpoint.number} was signed over them",
            position=end + 1,
            last_position=checkpoint.position,
        )

    def _behind_head(self) -> Finding:
        end = self._scan.position
        return Finding(
            kind=FindingKind.TRUNCATED,
            detail=f"events {end + 1} … {self._head} are cut off: the ledger's head was there",
            position=end + 1,
            last_position=self._head,
        )

    def _of_head(self) -> Iterator[Finding]:
        if self._head < self._scan.position:
            yield Finding(
                kind=FindingKind.HEAD,
                detail=f"the ledger's head is at {self._head}, its last event at "
                f"{self._scan.position}",
            )

    def report(self, seconds: float) -> Verification:
        first, last = self._vouched()
        newest = self._checkpoints.newest
        return Verification(
            ledger=str(self._ledger),
            events=self._scan.counted,
            position=self._scan.position,
            checkpoint=newest.number if newest else None,
            vouched_from=first,
            vouched_to=last,
            findings=tuple(self._findings[:MAX_FINDINGS]),
            found=len(self._findings) + self._scan.dropped,
            notes=tuple(self._notes(last)),
            seconds=round(seconds, 3),
        )

    def _vouched(self) -> tuple[int | None, int | None]:
        """Return the span from behind the last doubt to the newest checkpoint that holds.

        Behind it, each event is linked to the next of its stream by the hashes as stored, up to a
        head that was signed; so each is what was signed. A checkpoint names the streams that moved
        since the one before, so what one that does not hold covers stays in doubt.
        """
        if self._matched is None or self._scan.dropped:
            return None, None
        last = self._matched.position
        doubts = (self._unmatched, *self._scan.doubts)
        first = max((doubt for doubt in doubts if doubt <= last), default=0) + 1
        return (first, last) if first <= last else (None, None)

    def _notes(self, vouched_to: int | None) -> Iterator[str]:
        yield from self._checkpoints.notes
        end = self._scan.position
        signed = vouched_to or 0
        if end > signed:
            yield (
                f"events {signed + 1} … {end} are in unbroken chains, but no checkpoint covers "
                "them: `collegium db checkpoint`"
                if not self._findings
                else f"events {signed + 1} … {end} are covered by no checkpoint that holds"
            )
