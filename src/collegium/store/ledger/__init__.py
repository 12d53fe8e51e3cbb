"""The ledger: an append-only log of what services accepted, with chains that show tampering.

    with contextlib.closing(Database.open(settings)) as database:
        ledger = PostgresLedger(database)
        event = ledger.append(NewEvent(...))
        ledger.read(after=0)

Importing this package asks for no database driver; `store.ledger.postgres` does.
"""

from collegium.store.ledger.events import Event, NewEvent
from collegium.store.ledger.protocol import Ledger
from collegium.store.ledger.upcasting import Upcasters

__all__ = ["Event", "Ledger", "NewEvent", "Upcasters"]
