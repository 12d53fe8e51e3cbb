"""What a service does beside answering: it signs the ledger, and brings a killed database back.

Each replica does both. Signing takes a lock in the database, so one replica signs at a time and the
others find nothing left to sign. What fails is logged and tried again at the next turn.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import NamedTuple

import anyio
import structlog

from collegium.core import Clock, CollegiumError
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.ledger.checkpoints import Checkpointer
from collegium.store.ledger.signing import KeyFolder

_LOOK_EVERY_S = 1.0


class Chore(NamedTuple):
    """Something done again and again, on a worker thread."""

    name: str
    every_s: float
    """From the end of one turn to the next, and before the first."""
    act: Callable[[], object]


def chores_of(database: Database, clock: Clock, checkpoint_every_s: float | None) -> list[Chore]:
    """Return the chores over `database`; nothing is signed when `checkpoint_every_s` is None."""
    chores = []
    if database.settings.url is None:
        server = EmbeddedServer(database.settings.data_dir)
        chores.append(Chore("revive", _LOOK_EVERY_S, lambda: revive(server)))
    if checkpoint_every_s is not None:
        chores.append(Chore("sign", checkpoint_every_s, lambda: sign(database, clock)))
    return chores


@asynccontextmanager
async def doing(chores: Sequence[Chore]) -> AsyncIterator[None]:
    """Do the chores within the context; a turn that is under way at its end is finished."""
    async with anyio.create_task_group() as group:
        for chore in chores:
            group.start_soon(_do, chore)
        yield
        group.cancel_scope.cancel()


def sign(database: Database, clock: Clock) -> None:
    """Sign what is new in the ledger, if this is a place to sign it.

    The embedded database's key is made when it is first needed. That of a server's ledger is made
    by `collegium db checkpoint`, at a place its operator chose, and a replica without it leaves
    signing to those that have it.
    """
    if database.settings.url is not None and not KeyFolder(database.settings.keys).has_key:
        return
    done = Checkpointer(database, clock).run()
    if done and done.signed_now:
        structlog.get_logger().info("signed", checkpoint=done.number, position=done.position)


def revive(server: EmbeddedServer) -> None:
    """Start an embedded server that was killed; one that was stopped stays as it is."""
    if server.was_killed:
        structlog.get_logger().warning("the embedded server was killed; starting it")
        server.acquire()
        server.release()


async def _do(chore: Chore) -> None:
    alone = anyio.CapacityLimiter(1)
    log = structlog.get_logger().bind(chore=chore.name)
    while True:
        await anyio.sleep(chore.every_s)
        try:
            await anyio.to_thread.run_sync(chore.act, limiter=alone)
        except CollegiumError as error:
            log.warning("chore failed", code=error.code, reason=str(error))
        except Exception:
            log.exception("chore failed")
