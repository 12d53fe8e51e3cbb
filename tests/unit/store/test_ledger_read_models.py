"""Read models on a real server: rows, memory and a fold from scratch are the same, bit for bit."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from collegium.core import CorruptDataError, InvalidInputError, canonical_json
from collegium.store.ledger import NewEvent, Upcasters
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.read_models import Mirror, Projector

AT = datetime(2026, 1, 2, tzinfo=UTC)


class Decayed:
    """A sum in which the order of floating-point operations shows."""

    name = "decayed/1"

    def wants(self, stream):
        return stream.startswith("entity/")

    def initial(self):
        return {"sum": 0.0, "n": 0}

    def fold(self, state, event):
        return {"sum": state["sum"] * 0.9 + event.payload["score"] / 3, "n": state["n"] + 1}


@pytest.fixture
def ledger(database):
    return PostgresLedger(database)


def new(key, score, stream="entity/a", **more):
    given = {"type": "rated", "payload": {"score": score}, "observed_at": AT} | more
    return NewEvent(stream=stream, idempotency_key=str(key), **given)


def test_a_row_is_folded_and_says_up_to_where(ledger):
    projector = Projector(ledger, Decayed())
    assert projector.view("entity/a") == ({"sum": 0.0, "n": 0}, 0, 0)
    ledger.append_batch([new(1, 0.3), new(2, 0.6), new(3, 0.1, stream="entity/b")])
    view = projector.view("entity/a")
    assert view == ({"sum": 0.3 / 3 * 0.9 + 0.6 / 3, "n": 2}, 2, 3)
    assert projector.view("entity/a") == view
    with pytest.raises(InvalidInputError, match="does not fold 'other'"):
        projector.view("other")


@given(st.lists(st.tuples(st.sampled_from("abc"), st.floats(-1e300, 1e300)), max_size=30))
@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_all_ways_give_the_same_bits(ledger, ratings):
    projector, mirror = Projector(ledger, Decayed()), Mirror(ledger, Decayed())
    start = ledger.position()
    for number, (entity, score) in enumerate(ratings):
        ledger.append(new(start + number, score, stream=f"entity/{entity}"))
        if number % 4 == 0:
            mirror.refresh()
            projector.view(f"entity/{entity}")
    ledger.append(new(start + len(ratings), 1.0, stream="nobody's"))
    assert projector.catch_up() == mirror.refresh() == ledger.position()
    assert projector.compare() == []
    for stream in mirror.streams():
        mine, theirs = mirror.view(stream), projector.view(stream)
        assert canonical_json(mine.state) == canonical_json(theirs.state)
        assert mine[1:] == theirs[1:]
    projector.rebuild()
    assert projector.compare() == []
    assert projector.progress() == ledger.position()


def test_a_row_that_differs_in_one_bit_is_found_and_rebuilt(ledger, database):
    projector = Projector(ledger, Decayed())
    ledger.append_batch([new(1, 0.3), new(2, 0.6, stream="entity/b")])
    projector.catch_up()
    with database.transaction() as connection:
        connection.exec_driver_sql(
            'update collegium.read_models set state = \'{"n":1,"sum":0.1}\' '
            "where stream = 'entity/a'"
        )
        connection.exec_driver_sql("delete from collegium.read_models where stream = 'entity/b'")
    difference, missing = projector.compare()
    assert difference == ("entity/a", '{"n":1,"sum":0.1}', '{"n":1,"sum":0.09999999999999999}')
    assert (missing.stream, missing.stored) == ("entity/b", None)
    projector.rebuild()
    assert projector.compare() == []


def test_threads_that_fold_one_row_fold_each_event_once(ledger):
    projector = Projector(ledger, Decayed())

    def work(number):
        ledger.append(new(number, 0.5))
        return projector.view("entity/a").state["n"]

    with ThreadPoolExecutor(4) as pool:
        counts = list(pool.map(work, range(24)))
    assert max(counts) == projector.view("entity/a").state["n"] == 24
    assert projector.compare() == []


def test_as_of_is_never_more_than_what_is_in(ledger):
    mirror = Mirror(ledger, Decayed())
    ledger.append(new(1, 0.5))
    assert (mirror.view("entity/a").as_of, mirror.refresh()) == (0, 1)
    ledger.append(new(2, 0.5))
    assert mirror.view("entity/a")[1:] == (1, 1)


def test_old_events_are_upcast_on_read(database):
    ledger = PostgresLedger(database)
    ledger.append(new(1, 0.5, payload={"stars": 4}))
    ledger.append(new(2, 0.5, payload={"score": 0.5}, schema_version=3))
    steps = {("rated", 1): _to_2, ("rated", 2): _to_3}
    upcasting = PostgresLedger(database, upcasters=Upcasters(steps))
    old, today = upcasting.read(0)
    assert (old.schema_version, old.payload) == (3, {"score": 0.8})
    assert (today.schema_version, today.payload) == (3, {"score": 0.5})
    assert upcasting.append(new(1, 0.5, payload={"stars": 4})) == old
    outdated = PostgresLedger(database, upcasters=Upcasters({("rated", 1): _to_2}))
    with pytest.raises(CorruptDataError, match="schema version 3: this release knows up to 2"):
        outdated.read(0)
    with pytest.raises(ValueError, match="no upcaster from schema version 2"):
        Upcasters({("rated", 1): _to_2, ("rated", 3): _to_3})


def _to_2(payload):
    return {"rating": payload["stars"] / 5}


def _to_3(payload):
    return {"score": payload["rating"]}


class Clearable(Decayed):
    """A state that can become empty."""

    name = "clearable/1"

    def fold(self, state, event):
        return {} if event.type == "cleared" else {"n": state.get("n", 100) + 1}


def test_an_empty_state_is_not_the_initial_one(ledger):
    ledger.append_batch([new(1, 0.1), new(2, 0.0, type="cleared"), new(3, 0.1)])
    projector, mirror = Projector(ledger, Clearable()), Mirror(ledger, Clearable())
    projector.catch_up()
    mirror.refresh()
    assert projector.view("entity/a").state == mirror.view("entity/a").state == {"n": 101}
    assert projector.compare() == []


class Overtaken(Projector):
    """Somebody else appends and folds while this one compares."""

    def progress(self):
        self.ledger.append(new("late", 0.5, stream="entity/late"))
        Projector(self.ledger, self.model).catch_up()
        return super().progress()


def test_what_is_folded_while_comparing_is_no_difference(ledger):
    ledger.append(new(1, 0.1))
    assert Overtaken(ledger, Decayed()).compare() == []
