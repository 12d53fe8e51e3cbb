"""Read models: what a stream amounts to, folded from its events.

A model is a pure fold; its state is JSON. Three ways to have it, all from the same function:
`Projector` keeps a row for each stream in the database, folded under that row's lock, so that two
writers never fold the same event twice; `Mirror` keeps the states in memory and follows the ledger
by position; and `Projector.compare` folds everything from scratch and compares bit for bit.

Whatever is served says `as_of`: all events up to that position are in it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert

from collegium.core import InvalidInputError
from collegium.store import schema
from collegium.store.ledger.canonical import canonical_payload, read_payload
from collegium.store.ledger.events import Event
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.protocol import Ledger

State = dict[str, Any]
"""JSON; two states are the same when their canonical texts are."""


class ReadModel(Protocol):
    """A pure fold over the events of each stream that it wants."""

    @property
    def name(self) -> str:
        """Names the model's rows; another fold needs another name (`score/2`)."""
        ...

    def wants(self, stream: str) -> bool:
        """Return whether the model folds this stream."""
        ...

    def initial(self) -> State:
        """Return the state of a stream without events."""
        ...

    def fold(self, state: State, event: Event) -> State:
        """Return the state after `event`; changes nothing else, and depends on nothing else."""
        ...


class View(NamedTuple):
    """A stream's state, and up to where it holds."""

    state: State
    version: int
    """Events of the stream that are in it."""
    as_of: int
    """Position of the ledger up to which nothing is left out."""


class Difference(NamedTuple):
    """A stream whose stored state is not what its events amount to."""

    stream: str
    stored: str | None
    """Canonical texts; None where there is no row."""
    folded: str | None


M = TypeVar("M", bound=ReadModel)


class Projector(Generic[M]):
    """Keeps the rows of a model up to date; pickles as settings."""

    def __init__(self, ledger: PostgresLedger, model: M) -> None:
        """Fold the events of `ledger`."""
        self.ledger = ledger
        self.model = model

    def view(self, stream: str) -> View:
        """Fold what is new in one stream, under the lock of its row, and return its state."""
        if not self.model.wants(stream):
            raise InvalidInputError(f"read model {self.model.name} does not fold {stream!r}")
        # Read first: events that come later may or may not be in the state.
        as_of = self.ledger.position()
        with self.ledger.database.transaction() as connection:
            version, state = self._locked(connection, stream)
            events = list(self._new(connection, stream, version))
            for event in events:
                version, state = event.version, self.model.fold(state, event)
            if events:
                self._store(connection, stream, version, state)
        return View(state, version, as_of)

    def catch_up(self) -> int:
        """Fold what is new in all streams of the model; returns the position reached."""
        position = self.progress()
        while events := self.ledger.read(position):
            for stream in sorted({e.stream for e in events if self.model.wants(e.stream)}):
                self.view(stream)
            position = events[-1].position
            self._reach(position)
        return position

    def progress(self) -> int:
        """Return the position up to which all rows of the model are folded."""
        table = schema.read_model_progress
        query = sa.select(table.c.position).where(table.c.model == self.model.name)
        with self.ledger.database.autocommit() as connection:
            return int(connection.scalar(query) or 0)

    def rebuild(self) -> int:
        """Throw all rows away and fold everything again, in one transaction.

        Returns:
            The position reached.
        """
        with self.ledger.database.transaction() as connection:
            self._lock_all(connection)
            folded, position = fold_all(self.ledger, self.model)
            connection.execute(sa.delete(schema.read_models).where(self._mine()))
            for stream, (version, state) in folded.items():
                self._store(connection, stream, version, state)
            self._set_progress(connection, position)
        return position

    def compare(self) -> list[Difference]:
        """Fold everything from scratch and return where the rows differ, in any bit.

        Rows are compared at the version they are folded to.
        """
        progress = self.progress()  # before the rows, which may be added to meanwhile
        table = schema.read_models.c
        query = sa.select(table.stream, table.version, table.state).where(self._mine())
        with self.ledger.database.autocommit() as connection:
            rows = {r.stream: (r.version, r.state) for r in connection.execute(query)}
        versions = {stream: version for stream, (version, _) in rows.items()}
        folded = _fold_to(self.ledger, self.model, versions, progress)
        found = []
        for stream in sorted(rows.keys() | folded.keys()):
            stored = rows[stream][1] if stream in rows else None
            proper = canonical_payload(folded[stream]) if stream in folded else None
            if stored != proper:
                found.append(Difference(stream, stored, proper))
        return found

    def _new(self, connection: sa.Connection, stream: str, after: int) -> Iterator[Event]:
        while events := self.ledger.stream_in(connection, stream, after):
            yield from events
            after = events[-1].version

    def _mine(self) -> sa.ColumnElement[bool]:
        return schema.read_models.c.model == self.model.name

    def _locked(self, connection: sa.Connection, stream: str) -> tuple[int, State]:
        table = schema.read_models
        fresh = self._row(stream, 0, self.model.initial())
        connection.execute(insert(table).values(fresh).on_conflict_do_nothing())
        query = sa.select(table.c.version, table.c.state).where(
            self._mine(), table.c.stream == stream
        )
        row = connection.execute(query.with_for_update()).one()
        return row.version, read_payload(row.state)

    def _store(self, connection: sa.Connection, stream: str, version: int, state: State) -> None:
        values = self._row(stream, version, state)
        statement = insert(schema.read_models).values(values)
        changed = {"version": values["version"], "state": values["state"]}
        keys = [schema.read_models.c.model, schema.read_models.c.stream]
        connection.execute(statement.on_conflict_do_update(index_elements=keys, set_=changed))

    def _row(self, stream: str, version: int, state: State) -> dict[str, Any]:
        text = canonical_payload(state)
        return {"model": self.model.name, "stream": stream, "version": version, "state": text}

    def _lock_all(self, connection: sa.Connection) -> None:
        """Keep folders out until the transaction ends, also of rows that are not there yet."""
        connection.execute(sa.text("lock table collegium.read_models in share row exclusive mode"))

    def _reach(self, position: int) -> None:
        with self.ledger.database.transaction() as connection:
            self._set_progress(connection, position)

    def _set_progress(self, connection: sa.Connection, position: int) -> None:
        table = schema.read_model_progress
        values = {"model": self.model.name, "position": position}
        statement = insert(table).values(values)
        farther = sa.func.greatest(table.c.position, position)
        connection.execute(
            statement.on_conflict_do_update(
                index_elements=[table.c.model], set_={"position": farther}
            )
        )


class Mirror(Generic[M]):
    """A model's states in memory, for a process that serves them; starts empty."""

    def __init__(self, ledger: Ledger, model: M) -> None:
        """Follow `ledger`."""
        self._ledger = ledger
        self._model = model
        self._states: dict[str, tuple[int, State]] = {}
        self.as_of = 0
        """All events up to this position are in the states."""

    def refresh(self) -> int:
        """Fold what is new; returns `as_of`. Not for two threads at once."""
        while events := self._ledger.read(self.as_of):
            _fold_in(self._model, self._states, events)
            self.as_of = events[-1].position
        return self.as_of

    def view(self, stream: str) -> View:
        """Return a stream's state as of the last refresh."""
        version, state = self._states.get(stream) or (0, self._model.initial())
        return View(state, version, self.as_of)

    def streams(self) -> list[str]:
        """Return the streams that have a state, sorted."""
        return sorted(self._states)


def fold_all(ledger: Ledger, model: ReadModel) -> tuple[Mapping[str, tuple[int, State]], int]:
    """Return version and state of each stream, folded from scratch, and the position reached."""
    mirror = Mirror(ledger, model)
    position = mirror.refresh()
    return {s: (mirror.view(s).version, mirror.view(s).state) for s in mirror.streams()}, position


def _fold_in(
    model: ReadModel, states: dict[str, tuple[int, State]], events: Sequence[Event]
) -> None:
    for event in events:
        if model.wants(event.stream):
            _, state = states.get(event.stream) or (0, model.initial())
            states[event.stream] = event.version, model.fold(state, event)


def _fold_to(
    ledger: Ledger, model: ReadModel, versions: Mapping[str, int], progress: int
) -> dict[str, State]:
    """Return the states that rows at these versions should have, and those that have none."""
    states = {stream: model.initial() for stream in versions}
    position = 0
    while events := ledger.read(position):
        position = events[-1].position
        for event in events:
            stream, missing = event.stream, event.stream not in versions
            if not model.wants(stream) or (missing and event.position > progress):
                continue
            if missing or event.version <= versions[stream]:
                before = states[stream] if stream in states else model.initial()
                states[stream] = model.fold(before, event)
    return states
