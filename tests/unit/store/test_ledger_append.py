"""Appending and reading on a real server: versions, positions, repeated keys, texts, batches."""

import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone

import pytest

from collegium.core import ConflictError, InvalidInputError, NotFoundError
from collegium.store.ledger import NewEvent
from collegium.store.ledger.postgres import ERASURES, PostgresLedger

AT = datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture
def ledger(database):
    return PostgresLedger(database)


def new(key, stream="entity/a", **more):
    given = {"type": "rating.recorded", "payload": {"score": 0.5}, "observed_at": AT} | more
    return NewEvent(stream=stream, idempotency_key=key, **given)


def test_versions_count_within_a_stream_and_positions_over_all(ledger):
    made = [ledger.append(new("1")), ledger.append(new("1", stream="b")), ledger.append(new("2"))]
    assert [(e.stream, e.version, e.position) for e in made] == [
        ("entity/a", 1, 1),
        ("b", 1, 2),
        ("entity/a", 2, 3),
    ]
    assert ledger.read(after=0) == made
    assert ledger.read(after=1, limit=1) == made[1:2]
    assert ledger.stream("entity/a", after_version=1) == made[2:]
    assert ledger.position() == 3


def test_an_event_comes_back_as_it_was_given(ledger):
    event = ledger.append(new("1", payload={"z": [1, 1.0, -0.0, None], "ä": "\u0000"}))
    assert event.payload == {"z": [1, 1.0, -0.0, None], "ä": "\u0000"}
    assert event.observed_at == AT
    assert event.id.version == 7
    assert [type(x) for x in event.payload["z"][:3]] == [int, float, float]


def test_a_repeated_key_gives_the_first_event_and_other_content_is_a_conflict(ledger):
    first = ledger.append(new("1"))
    later = new("1", observed_at=datetime.now(UTC))
    assert ledger.append(later) == first
    assert ledger.append(later, expected_version=0) == first
    with pytest.raises(ConflictError, match="key 1, with other content"):
        ledger.append(new("1", payload={"score": 1.0}))
    with pytest.raises(ConflictError):
        ledger.append(new("1", texts={"note": "hi"}))
    assert ledger.position() == 1


def test_a_wrong_expected_version_names_both(ledger):
    ledger.append(new("1"), expected_version=0)
    with pytest.raises(ConflictError, match="at version 1, not at the expected 0"):
        ledger.append(new("2"), expected_version=0)
    assert ledger.append(new("2"), expected_version=1).version == 2


def test_a_batch_is_appended_whole_or_not_at_all(ledger):
    ledger.append(new("1"))
    with pytest.raises(ConflictError):
        ledger.append_batch([new("2"), new("1", payload={})])
    assert ledger.position() == 1
    made = ledger.append_batch([new("2"), new("1"), new("2")])
    assert [e.position for e in made] == [2, 1, 2]
    assert ledger.append_batch([]) == []


def test_ledger_time_never_runs_backwards(database):
    from collegium.core import FixedClock

    clock = FixedClock(datetime(2026, 5, 1, tzinfo=UTC))
    ledger = PostgresLedger(database, clock)
    first = ledger.append(new("1"))
    back = PostgresLedger(database, FixedClock(datetime(2020, 1, 1, tzinfo=UTC)))
    assert back.append(new("2")).recorded_at == first.recorded_at


def test_texts_are_committed_to_and_can_be_erased(ledger):
    event = ledger.append(new("1", texts={"note": "met Ann", "place": "Rome"}))
    assert set(event.commitments) == {"note", "place"}
    assert ledger.texts(event.position) == {"note": "met Ann", "place": "Rome"}
    erasure = ledger.erase(event.position, ["note"])
    assert (erasure.stream, erasure.payload) == (ERASURES, {"fields": ["note"], "position": 1})
    assert ledger.texts(event.position) == {"note": None, "place": "Rome"}
    ledger.erase(event.position)
    assert ledger.texts(event.position) == {"note": None, "place": None}
    assert ledger.append(new("1", texts={"note": "met Ann", "place": "Rome"})) == event
    with pytest.raises(NotFoundError, match="no text name; it has: note, place"):
        ledger.erase(event.position, ["name"])


def test_equal_texts_have_different_commitments(ledger):
    made = ledger.append_batch([new("1", texts={"n": "x"}), new("2", texts={"n": "x"})])
    assert made[0].commitments != made[1].commitments


@pytest.mark.parametrize(
    "bad",
    [
        {"payload": {"x": float("nan")}},
        {"payload": {"x": {1: 2}}},
        {"payload": {"x": b"bytes"}},
        {"payload": {"x": "\ud800"}},
        {"payload": {"x": "a" * (1 << 20)}},
    ],
)
def test_what_has_no_canonical_form_is_refused(ledger, bad):
    with pytest.raises(InvalidInputError, match="payload"):
        ledger.append(new("1", **bad))
    assert ledger.position() == 0


@pytest.mark.parametrize(
    "bad",
    [
        {"stream": ""},
        {"stream": "a\0"},
        {"stream": "ä" * 300},
        {"observed_at": datetime(2026, 1, 1)},  # noqa: DTZ001
        {"observed_at": datetime.max.replace(tzinfo=timezone(-timedelta(hours=1)))},
        {"observed_at": datetime(1000, 1, 1, tzinfo=timezone(timedelta(hours=1)))},
        {"texts": {"n": "a\0"}},
        {"texts": {"No": "a"}},
    ],
)
def test_what_cannot_be_stored_is_refused(bad):
    with pytest.raises(ValueError, match="validation error"):
        new("1", **bad)


def test_limits_are_refused_rather_than_cut(ledger):
    with pytest.raises(InvalidInputError, match="limit 0"):
        ledger.read(0, limit=0)
    with pytest.raises(InvalidInputError, match="1001 events"):
        ledger.append_batch([new(str(i)) for i in range(1001)])


def test_what_is_too_much_at_once_is_refused_before_it_is_sent(ledger):
    with pytest.raises(InvalidInputError, match="characters at once"):
        ledger.append(new("1", texts={"n": "x" * (1 << 25)}))
    with pytest.raises(InvalidInputError, match="append fewer events"):
        ledger.append_batch([new(str(i), payload={"x": "a" * 1_000_000}) for i in range(40)])


@pytest.mark.parametrize(
    "ask",
    [
        lambda ledger: ledger.append(new("1"), expected_version=2**70),
        lambda ledger: ledger.read(2**70),
        lambda ledger: ledger.texts(2**70),
        lambda ledger: ledger.stream("a\0"),
    ],
)
def test_what_the_server_cannot_take_is_bad_input(ledger, ask):
    with pytest.raises(InvalidInputError):
        ask(ledger)


def test_any_number_of_texts_can_be_erased_at_once(ledger):
    fields = [f"field_{i:02d}_{'x' * 40}" for i in range(20)]
    event = ledger.append(new("1", texts=dict.fromkeys(fields, "met Ann")))
    ledger.erase(event.position)
    assert set(ledger.texts(event.position).values()) == {None}


def test_a_ledger_pickles_as_settings(ledger):
    ledger.append(new("1"))
    other = pickle.loads(pickle.dumps(ledger))
    assert other.position() == 1
    other.database.close()


def test_appending_never_scans_a_table(ledger, database):
    """A session keeps the plans it made while the tables were small."""
    for number in range(300):
        ledger.append(new(str(number), stream=f"entity/{number % 7}"))
    ledger.append_batch([new(str(number), stream=f"entity/{number}") for number in range(300)])
    with database.autocommit() as connection:
        connection.exec_driver_sql("select pg_stat_force_next_flush()")
        scans = connection.exec_driver_sql(
            "select relname, seq_scan from pg_stat_user_tables where relname in ('events', 'texts')"
        )
        assert all(count < 20 for _, count in scans)


def at_once(times, do):
    """Do it that often at the same time; return what came back, errors included."""

    def tried(number):
        try:
            return do(number)
        except ConflictError as error:
            return error

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(tried, range(times)))


def test_of_those_who_expect_the_same_version_one_wins(ledger):
    found = at_once(8, lambda n: ledger.append(new(str(n)), expected_version=0))
    [won] = [one for one in found if not isinstance(one, ConflictError)]
    assert (won.version, ledger.position()) == (1, 1)


def test_the_same_act_at_once_is_done_once(ledger):
    found = at_once(8, lambda _: ledger.append(new("act", texts={"n": "x"})))
    assert {one.id for one in found} == {ledger.read(0)[0].id}
    found = at_once(8, lambda n: ledger.append(new("other", payload={"n": n})))
    assert sum(isinstance(one, ConflictError) for one in found) == 7
    assert ledger.position() == 2
