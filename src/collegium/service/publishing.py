"""Publishing a run: the ledger gets its digest, so that nobody can change the run unseen later.

The run itself stays in its directory. Its digest is the SHA-256 of `manifest.json`, which holds the
SHA-256 of every file that the result rests on.
"""

import hashlib
from datetime import datetime
from uuid import UUID

from collegium.core import Clock, Record
from collegium.store import RunDirectory
from collegium.store.ledger import Ledger, NewEvent

STREAM = "runs"
PUBLISHED = "run.published"


class PublishedRun(Record):
    """A run as the ledger has it."""

    digest: str
    """SHA-256 of the run's `manifest.json`, in hex."""
    config_digest: str
    rows: dict[str, int]
    """Rows by table."""
    event_id: UUID
    position: int
    """Of the event in the ledger."""
    recorded_at: datetime
    """Ledger time; that of the first time if the run was published before."""


def publish_run(path: str, ledger: Ledger, clock: Clock) -> PublishedRun:
    """Append the digest of the run in `path` to the ledger; a second time changes nothing.

    Raises:
        NotFoundError: There is no run, it is not finished, or a file of it is gone.
        CorruptDataError: A file is not what the manifest says.
    """
    run = RunDirectory(path)
    manifest = run.manifest()
    for name in manifest.files:
        manifest.check(name, run.read_bytes(name), run.path)
    digest = hashlib.sha256(run.read_bytes("manifest.json")).hexdigest()
    config_digest = run.read_text("digest.txt").strip()
    event = NewEvent(
        stream=STREAM,
        type=PUBLISHED,
        payload={"digest": digest, "config_digest": config_digest, "rows": manifest.rows},
        observed_at=clock.now(),
        idempotency_key=digest,
    )
    stored = ledger.append(event)
    return PublishedRun(
        digest=digest,
        config_digest=config_digest,
        rows=manifest.rows,
        event_id=stored.id,
        position=stored.position,
        recorded_at=stored.recorded_at,
    )
