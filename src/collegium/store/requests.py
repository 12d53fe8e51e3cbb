"""What was asked under which `Idempotency-Key`, for a week: a key stands for one request only."""

from datetime import timedelta

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from collegium.core import Clock, ConflictError
from collegium.store import schema
from collegium.store.database import Database

KEPT = timedelta(days=7)
_REQUESTS = schema.requests.c


class RequestDigests:
    """Digests of requests by owner and `Idempotency-Key`."""

    def __init__(self, database: Database, clock: Clock) -> None:
        """Keep them in `database`."""
        self._database = database
        self._clock = clock

    def claim(self, owner: str, key: str, digest: str) -> None:
        """Note that `owner` asked this under `key`.

        Raises:
            ConflictError: The owner asked something else under it within a week.
            UnavailableError: The database is away.
        """
        now = self._clock.now()
        new = insert(schema.requests).values(
            owner=owner, idempotency_key=key, digest=digest, claimed_at=now
        )
        # An equal request takes the key again; so does any, once a week has passed.
        free = sa.or_(_REQUESTS.digest == new.excluded.digest, _REQUESTS.claimed_at < now - KEPT)
        statement = new.on_conflict_do_update(
            constraint=schema.requests.primary_key,
            set_={"digest": new.excluded.digest, "claimed_at": now},
            where=free,
        )
        with self._database.autocommit() as connection:
            taken = connection.scalar(statement.returning(_REQUESTS.digest))
        if taken is None:
            raise ConflictError(
                "this Idempotency-Key was used for another request; use a new one for a new request"
            )

    def forget_old(self) -> int:
        """Drop those older than a week; return how many they were."""
        old = sa.delete(schema.requests).where(_REQUESTS.claimed_at < self._clock.now() - KEPT)
        with self._database.autocommit() as connection:
            return connection.execute(old).rowcount
