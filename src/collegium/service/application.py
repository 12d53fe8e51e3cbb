"""The application put together: one database, its use-cases, and the gateway before them."""

import secrets
from typing import TYPE_CHECKING

import anyio

from collegium.core import Clock, SystemClock, UnavailableError
from collegium.service.background import Chore, chores_of, doing
from collegium.service.keys import CallLimiter, KeyRing, KeyService, Places, key_operations
from collegium.service.operations import NO_METRICS, Gateway, Recorder, Registry
from collegium.service.trajectories import TrajectoryService, trajectory_operations
from collegium.store.database import Database
from collegium.store.keys import KeyStore
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.migrations.revisions import applied_revision, latest_revision
from collegium.store.requests import RequestDigests

if TYPE_CHECKING:
    from fastapi import FastAPI

    from collegium.service.http.limits import Limits
    from collegium.service.retrieval import RetrievalSettings

# The engine lends 15 connections at most: the rest is for keys, readiness and what goes on beside.
_HANDLERS_AT_ONCE = 10
_FORGET_EVERY_S = 3600.0


class ServiceApplication:
    """Use-cases behind a gateway, over an open database that the caller closes."""

    def __init__(
        self,
        database: Database,
        *,
        clock: Clock | None = None,
        recorder: Recorder = NO_METRICS,
        replicas: int = 1,
        retrieval: "RetrievalSettings | None" = None,
        indexes: bool = True,
        checkpoint_every_s: float | None = None,
        places_of_a_key: int = 50,
    ) -> None:
        """Put the parts together.

        Args:
            database: Stays the caller's to close, after the application.
            clock: The machine's when None.
            recorder: Takes note of calls.
            replicas: How many applications share each key's rate.
            retrieval: Offer retrieval as well, made of this.
            indexes: Fill its index here, and not in a process of its own.
            checkpoint_every_s: Sign the ledger this often while the HTTP application lives; None:
                leave that to `collegium db checkpoint`.
            places_of_a_key: Requests of one key that may be arriving at once.
        """
        self._database = database
        clock = clock or SystemClock()
        ledger = PostgresLedger(database, clock)
        store = KeyStore(database)
        digests = RequestDigests(database, clock)
        digests.forget_old()
        forget = Chore("forget", _FORGET_EVERY_S, digests.forget_old)
        self._chores = [*chores_of(database, clock, checkpoint_every_s), forget]
        self.keys = KeyService(store, clock, secrets.token_bytes)
        trajectories = TrajectoryService(ledger, clock)
        self._retrieval = None
        self._indexing = None
        if retrieval:
            # Its packages are heavy, and the service without retrieval does not need them.
            from collegium.service.retrieval import Indexing, Retrieval

            self._retrieval = Retrieval(retrieval, ledger, clock)
            self._indexing = Indexing(retrieval, ledger) if indexes else None
        self.registry = Registry(
            [
                *trajectory_operations(trajectories),
                *(self._retrieval.operations() if self._retrieval else ()),
                *key_operations(self.keys),
            ]
        )
        self.gateway = Gateway(
            keys=KeyRing(store, clock),
            limiter=CallLimiter(clock, replicas),
            places=Places(places_of_a_key),
            digests=digests,
            recorder=recorder,
            clock=clock,
            threads=anyio.CapacityLimiter(_HANDLERS_AT_ONCE),
        )

    def http_app(self, limits: "Limits", *, echo_request_ids: bool = True) -> "FastAPI":
        """Return the application as ASGI, MCP included; see `service.http.app.build_http_app`."""
        from collegium.service.http.app import build_http_app

        return build_http_app(
            self.registry,
            self.gateway,
            self.check_ready,
            limits,
            beside=lambda: doing(self._chores),
            echo_request_ids=echo_request_ids,
        )

    def serve_stdio(self, key: str) -> None:
        """Serve MCP to the program at the other end of standard input and output, with its key."""
        from collegium.service.mcp import serve_stdio

        anyio.run(serve_stdio, self.registry, self.gateway, key)

    def check_ready(self) -> None:
        """Raise UnavailableError unless all that is offered can be used.

        The database is there, its schema is today's, and the index has caught up once.
        """
        with self._database.autocommit() as connection:
            applied = applied_revision(connection)
        if applied != latest_revision():
            raise UnavailableError(
                f"the database has schema {applied}, this is {latest_revision()}: "
                "run `collegium db upgrade`"
            )
        if self._retrieval:
            self._retrieval.check_ready()

    def close(self) -> None:
        """End what works in the background."""
        if self._indexing:
            self._indexing.stop()
