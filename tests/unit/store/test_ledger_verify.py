"""Tampering with a real database, in every way, and what verification says of it."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from signed_ledgers import ALL, FRAME, REHASH, SIGNED, named, new

from collegium.core import ConfigError, CorruptDataError
from collegium.store.ledger import checkpoints
from collegium.store.ledger.checkpoints import Checkpointer
from collegium.store.ledger.findings import FindingKind as Kind
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.verification import Verifier


def test_an_untouched_ledger_is_vouched_for_up_to_its_checkpoint(ledger, database):
    verification = Verifier(database).run()
    assert verification.ok
    assert (verification.vouched_from, verification.vouched_to) == (1, SIGNED)
    assert (verification.events, verification.checkpoint) == (ALL, 2)
    assert "events 25 … 30 are in unbroken chains, but no checkpoint" in verification.notes[0]
    assert Checkpointer(database).run().position == ALL
    assert not Checkpointer(database).run().signed_now
    verification = Verifier(database).run()
    assert (verification.vouched_to, verification.notes) == (ALL, ())


def test_an_empty_ledger_is_fine(database):
    assert Checkpointer(database).run() is None
    verification = Verifier(database).run()
    assert verification.ok
    assert verification.vouched_to is None


def test_many_events_are_signed_in_several_checkpoints(database, monkeypatch):
    monkeypatch.setattr(checkpoints, "MAX_EVENTS", 8)
    PostgresLedger(database).append_batch([new(i) for i in range(1, 21)])
    info = Checkpointer(database).run()
    assert (info.number, info.position, info.signed_now) == (3, 20, True)
    assert Verifier(database).run().vouched_to == 20


@pytest.mark.parametrize(
    "change",
    [
        "payload = '{\"n\":8}'",
        "observed_at = observed_at + interval '1 microsecond'",
        "recorded_at = recorded_at - interval '1 microsecond'",
        "id = gen_random_uuid()",
        "type = 'T'",
        "schema_version = 2",
        "idempotency_key = 'x'",
        'commitments = \'{"a":""}\'',
        "hash = sha256('x')",
    ],
)
def test_a_changed_column_is_named_and_nothing_else(ledger, tamper, change):
    verification = tamper(f"update collegium.events set {change} where position = 7")
    found = [f for f in named(verification) if f[0] is not Kind.TEXT]
    assert found == [(Kind.ALTERED, 7)]
    # Behind a wrong hash, the next event of the stream (10) has no proven predecessor.
    first = 11 if change.startswith("hash") else 8
    assert (verification.vouched_from, verification.vouched_to) == (first, SIGNED)


def test_a_change_hidden_behind_another_is_named_too(ledger, tamper):
    verification = tamper(
        # Event 10 is changed and hashed anew behind 7, which keeps the hash that 13 follows.
        "update collegium.events set hash = (select hash from collegium.events "
        "where position = 10) where position = 7",
        "update collegium.events set payload = '{\"n\":0}' where position = 10",
        "update collegium.events e set hash = sha256((select hash from collegium.events "
        f"where position = 7) || {FRAME}) where position = 10",
    )
    assert set(named(verification)) == {(Kind.ALTERED, 7), (Kind.ALTERED, 10)}
    assert verification.vouched_from == 14


def test_the_last_hash_of_a_stream_is_no_exception(ledger, tamper):
    verification = tamper("update collegium.events set hash = sha256('x') where position = 30")
    assert (Kind.ALTERED, 30) in named(verification)
    assert verification.vouched_to == SIGNED


def test_a_deleted_row_is_missing(ledger, tamper):
    verification = tamper("delete from collegium.events where position = 7")
    assert named(verification) == [(Kind.MISSING, 10), (Kind.MISSING, 7)]
    assert "version 3 of s1 is missing" in verification.findings[0].detail
    assert (verification.vouched_from, verification.vouched_to) == (11, SIGNED)


def test_a_row_deleted_where_a_checkpoint_was_signed(ledger, tamper):
    verification = tamper(f"delete from collegium.events where position = {SIGNED}")
    assert (Kind.MISSING, SIGNED) in named(verification)
    assert verification.vouched_to == 12


def test_events_that_changed_places_are_reordered(ledger, tamper):
    verification = tamper(
        "update collegium.events set position = 1000 where position = 7",
        "update collegium.events set position = 7 where position = 8",
        "update collegium.events set position = 8 where position = 1000",
    )
    assert sorted(named(verification)) == [(Kind.REORDERED, 7), (Kind.REORDERED, 8)]
    assert "event 8, version 3 of s1, was moved: it was appended at position 7" in [
        f.detail for f in verification.findings
    ]
    assert verification.vouched_from == 9


def test_events_that_changed_places_within_a_stream_are_reordered(ledger, tamper):
    verification = tamper(
        "update collegium.events set position = 1000, version = 1000 where position = 7",
        "update collegium.events set position = 7, version = 3 where position = 10",
        "update collegium.events set position = 10, version = 4 where position = 1000",
    )
    assert sorted(named(verification)) == [(Kind.REORDERED, 7), (Kind.REORDERED, 10)]


def test_a_cut_tail_is_truncated(ledger, tamper):
    verification = tamper("delete from collegium.events where position > 27")
    assert (Kind.TRUNCATED, 28) in named(verification)
    assert verification.vouched_to == SIGNED


def test_a_tail_cut_below_the_checkpoint_with_all_heads_corrected(ledger, tamper):
    verification = tamper("delete from collegium.events where position > 20", REHASH)
    assert (Kind.TRUNCATED, 21) in named(verification)
    assert {f.stream for f in verification.findings if f.stream} == {"s0", "s1", "s2"}
    assert verification.vouched_to == 12


def test_a_tail_cut_with_its_checkpoint_is_known_from_the_anchor(ledger, tamper):
    verification = tamper(
        "delete from collegium.events where position > 12",
        "delete from collegium.checkpoints where number > 1",
        REHASH,
    )
    assert named(verification) == [(Kind.OLDER_COPY, 13)]
    assert "events 13 … 24 may be lost" in verification.findings[0].detail
    assert (verification.vouched_from, verification.vouched_to) == (1, 12)


def test_an_older_copy_that_was_written_on_is_not_signed_again(ledger, tamper, database):
    tamper(
        "delete from collegium.events where position > 12",
        "delete from collegium.checkpoints where number > 1",
        REHASH,
    )
    ledger.append(new(99))
    with pytest.raises(CorruptDataError, match="does not hold checkpoint 2"):
        Checkpointer(database).run()


def test_history_written_anew_with_proper_chains_is_not_what_was_signed(ledger, tamper):
    verification = tamper(
        "update collegium.events set payload = '{\"n\":0}' where position = 7", REHASH
    )
    found = verification.findings
    assert {(f.kind, f.stream, f.version) for f in found} == {
        (Kind.REWRITTEN, "s1", 4),
        (Kind.REWRITTEN, "s1", 8),
    }
    assert verification.vouched_to is None


def test_a_stream_written_anew_that_did_not_move_since_stays_in_doubt(ledger, tamper, database):
    quiet = ledger.append(new(31).model_copy(update={"stream": "quiet"}))
    Checkpointer(database).run()
    ledger.append(new(32))
    Checkpointer(database).run()
    verification = tamper(
        "update collegium.events set payload = '{\"n\":0}' where stream = 'quiet'", REHASH
    )
    assert [(f.kind, f.stream) for f in verification.findings] == [(Kind.REWRITTEN, "quiet")]
    assert (verification.vouched_from, verification.vouched_to) == (quiet.position + 1, 32)


def test_a_tampered_ledger_is_not_signed(ledger, tamper, database):
    tamper("update collegium.events set payload = '{}' where position = 28")
    with pytest.raises(CorruptDataError, match=r"events 25 … 30 do not verify"):
        Checkpointer(database).run()


@pytest.mark.parametrize(
    "change",
    [
        "update collegium.checkpoints set document = replace(document, ':24', ':23') "
        "where number = 2",
        "update collegium.checkpoints set signature = decode(repeat('00', 64), 'hex') "
        "where number = 2",
        "delete from collegium.checkpoints where number = 1",
    ],
)
def test_a_tampered_checkpoint_proves_nothing(ledger, tamper, change):
    verification = tamper(change)
    assert Kind.CHECKPOINT in {f.kind for f in verification.findings}
    assert verification.vouched_to != SIGNED


def test_a_wrong_head_is_named(ledger, tamper):
    verification = tamper("update collegium.ledger set position = 9")
    assert [f.kind for f in verification.findings] == [Kind.HEAD]
    assert verification.vouched_to == SIGNED


def test_without_the_key_nothing_is_vouched_for(ledger, database):
    keys = database.settings.keys
    (keys / "ledger.key").rename(keys / "elsewhere")
    verification = Verifier(database).run()
    assert verification.vouched_to is None
    assert [f.kind for f in verification.findings] == [Kind.CHECKPOINT]
    assert "2 checkpoints cannot be checked" in verification.findings[0].detail
    (keys / "elsewhere").rename(keys / "ledger.key")
    (keys / "ledger.key").chmod(0o644)
    with pytest.raises(ConfigError, match="chmod 600"):
        Verifier(database).run()


def test_the_key_is_for_the_owner_only(ledger, database):
    keys = database.settings.keys
    assert (keys / "ledger.key").stat().st_mode & 0o777 == 0o600
    assert (keys / "anchor.json").stat().st_mode & 0o777 == 0o600
    assert keys.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ("update collegium.texts set text = 'met Bob'", "was altered"),
        ("update collegium.texts set salt = null, text = null", "no erasure is recorded"),
        ("delete from collegium.texts", "is missing with its row"),
        ("update collegium.texts set field = 'other'", "was never committed to"),
    ],
)
def test_texts_are_held_to_their_commitments(database, tamper, change, wrong):
    PostgresLedger(database).append(new(1, texts={"note": "met Ann"}))
    assert Verifier(database).run().ok
    verification = tamper(change)
    assert wrong in " ".join(f.detail for f in verification.findings if f.kind is Kind.TEXT)


def test_an_erased_text_leaves_the_chain_valid_and_may_not_come_back(database, tamper):
    ledger = PostgresLedger(database)
    event = ledger.append(new(1, texts={"note": "met Ann"}))
    ledger.erase(event.position)
    Checkpointer(database).run()
    verification = Verifier(database).run()
    assert verification.ok
    assert verification.vouched_to == 2
    verification = tamper("update collegium.texts set text = 'met Ann', salt = 'x'")
    assert "there again, although it was erased" in verification.findings[0].detail


def test_the_python_and_the_server_hash_alike(database):
    """The canonical bytes of the migration's function are those that COPY sends."""
    ledger = PostgresLedger(database)
    ledger.append(new(1, payload={"é": "\u2028\\ \U0001f600", "x": [1e-7, -0.0]}))
    ledger.append(new(4, observed_at=datetime(1066, 10, 14, 9, 0, 0, 1, tzinfo=UTC)))
    ledger.append(new(7, observed_at=datetime.max.replace(tzinfo=UTC)))
    assert Verifier(database).run().ok


@given(st.integers(1, ALL), st.integers(0, 10**6), st.sampled_from(["payload", "hash"]))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_any_changed_byte_is_found_where_it_is(ledger, database, position, where, column):
    with database.connection() as connection:
        value = f"{column}::bytea" if column == "payload" else column
        changed = (
            f"set_byte({value}, {where} % octet_length({column}), "
            f"get_byte({value}, {where} % octet_length({column})) # 1)"
        )
        if column == "payload":
            changed = f"convert_from({changed}, 'UTF8')"
        connection.execute(
            sa.text(f"update collegium.events set {column} = {changed} where position = {position}")
        )
        connection.commit()
        verification = Verifier(database).run()
        undone = f"update collegium.events set {column} = {changed} where position = {position}"
        connection.execute(sa.text(undone))
        connection.commit()
    assert (Kind.ALTERED, position) in named(verification)
    assert Verifier(database).run().ok
