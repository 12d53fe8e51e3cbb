"""What an owner of the database or of the key folder may try: each is named, nothing crashes."""

import time

import pytest
from signed_ledgers import ALL, REHASH, SIGNED, named, new

from collegium.core import CorruptDataError
from collegium.store.ledger import judging
from collegium.store.ledger.checkpoints import Checkpointer
from collegium.store.ledger.findings import FindingKind as Kind
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.signing import KeyFolder
from collegium.store.ledger.verification import Verifier

COPIED = (
    "insert into collegium.events select {position}, 1, gen_random_uuid(), observed_at, "
    "recorded_at, schema_version, 'forged', type, 'k', payload, commitments, hash "
    "from collegium.events where position = 7"
)
FREE = (
    "alter table collegium.events drop constraint events_pkey",
    "alter table collegium.events drop constraint events_stream_version",
    "alter table collegium.events drop constraint events_stream_idempotency_key",
)


@pytest.mark.parametrize("position", [0, -1, -(2**63)])
def test_an_event_below_the_first_is_found(ledger, tamper, position):
    verification = tamper(COPIED.format(position=position))
    assert len(ledger.stream("forged")) == 1
    assert named(verification) == [(Kind.ALTERED, position)]
    assert "below the first one" in verification.findings[0].detail


def test_an_event_where_another_one_stands_is_found(ledger, tamper):
    verification = tamper(*FREE, COPIED.format(position=7))
    assert set(named(verification)) == {(Kind.ALTERED, 7)}
    assert verification.vouched_from > 7


@pytest.mark.parametrize(
    "column",
    ["version", "id", "observed_at", "schema_version", "stream", "payload", "commitments", "hash"],
)
def test_a_column_that_was_emptied_is_named(ledger, tamper, column):
    verification = tamper(
        f"alter table collegium.events alter {column} drop not null",
        f"update collegium.events set {column} = null where position = 7",
    )
    assert (Kind.ALTERED, 7) in named(verification)
    assert "a column is empty" in " ".join(f.detail for f in verification.findings)
    assert verification.vouched_from > 7


def test_a_position_that_was_emptied_is_named(ledger, tamper):
    verification = tamper(
        *FREE,
        "alter table collegium.events alter position drop not null",
        "update collegium.events set position = null where position = 7",
    )
    assert {(Kind.MISSING, 7), (Kind.ALTERED, 0)} <= set(named(verification))


@pytest.mark.parametrize("rehashed", [(), (REHASH,)])
def test_a_stream_that_was_renamed_is_not_what_was_signed(ledger, tamper, rehashed):
    verification = tamper(
        "update collegium.events set stream = 'other' where stream = 's1'", *rehashed
    )
    assert (Kind.TRUNCATED, "s1") in [(f.kind, f.stream) for f in verification.findings]
    assert verification.vouched_to is None


@pytest.mark.parametrize("junk", ["x", "[1]", "5", "null"])
def test_commitments_that_are_none(ledger, tamper, junk):
    assert named(
        tamper(f"update collegium.events set commitments = '{junk}' where position = 7")
    ) == [(Kind.ALTERED, 7)]


@pytest.mark.parametrize("junk", ["x", "{}", '{"position":1,"fields":5}', "[]"])
def test_an_erasure_that_is_none_was_altered(ledger, tamper, junk):
    event = ledger.append(new(31, texts={"note": "met Ann"}))
    erasure = ledger.erase(event.position)
    verification = tamper(
        f"update collegium.events set payload = '{junk}' where position = {erasure.position}"
    )
    assert named(verification) == [(Kind.ALTERED, erasure.position), (Kind.TEXT, event.position)]


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        ("insert into collegium.texts values (999, 'note', 'salt', 'x')", "is of no event"),
        ("insert into collegium.texts values (7, 'note', 'salt', 'x')", "never committed to"),
        ("update collegium.texts set salt = null", "is there in part"),
        ("update collegium.texts set text = null", "is there in part"),
    ],
)
def test_texts_that_belong_to_nothing(ledger, tamper, change, wrong):
    ledger.append(new(31, texts={"note": "met Ann"}))
    verification = tamper(change)
    assert [f.kind for f in verification.findings] == [Kind.TEXT]
    assert wrong in verification.findings[0].detail


@pytest.mark.parametrize("change", ["number = 7", "position = 1"])
def test_a_checkpoint_in_the_row_of_another_is_named(ledger, tamper, change):
    verification = tamper(f"update collegium.checkpoints set {change} where number = 2")
    assert [f.kind for f in verification.findings] == [Kind.CHECKPOINT]
    assert "checkpoint 2 stands in the row of" in verification.findings[0].detail
    assert verification.vouched_to == 12


def test_all_checkpoints_deleted_are_known_from_the_anchor(ledger, tamper):
    verification = tamper("delete from collegium.checkpoints")
    assert named(verification) == [(Kind.OLDER_COPY, 1)]
    assert verification.vouched_to is None


def test_without_its_head_nothing_is_vouched_for(ledger, tamper):
    with pytest.raises(CorruptDataError, match="row that says where the ledger stands is gone"):
        tamper("delete from collegium.ledger")


@pytest.mark.parametrize(
    "change",
    [
        "drop table collegium.texts",
        "drop table collegium.checkpoints",
        "drop table collegium.events cascade",
        "alter table collegium.events drop column type",
        "drop schema collegium cascade",
    ],
)
def test_tables_that_were_dropped_are_named(ledger, tamper, change):
    with pytest.raises(CorruptDataError, match="restore a backup"):
        tamper(change)


def test_without_its_anchor_an_older_copy_would_pass(ledger, database):
    keys = KeyFolder(database.settings.keys)
    keys.anchor_file.unlink()
    verification = Verifier(database).run()
    assert [f.kind for f in verification.findings] == [Kind.CHECKPOINT]
    assert "an older copy would pass" in verification.findings[0].detail
    assert verification.vouched_to == SIGNED
    Checkpointer(database).run()
    assert Verifier(database).run().ok


def test_a_process_killed_before_it_kept_its_anchor_is_made_up_for(database, monkeypatch):
    PostgresLedger(database).append(new(1))
    with monkeypatch.context() as patched:
        patched.setattr(KeyFolder, "set_anchor", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            Checkpointer(database).run()
    info = Checkpointer(database).run()
    assert (info.number, info.signed_now) == (1, False)
    assert Verifier(database).run().ok


@pytest.mark.parametrize(
    "content", ["x", '{"document":"x","signature":""}', '{"document":"{}","signature":""}']
)
def test_a_damaged_anchor_is_named(ledger, database, content):
    KeyFolder(database.settings.keys).anchor_file.write_text(content)
    assert [f.kind for f in Verifier(database).run().findings] == [Kind.CHECKPOINT]
    with pytest.raises(CorruptDataError, match=r"anchor\.json"):
        Checkpointer(database).run()


def test_another_key_is_named_and_does_not_sign(ledger, database):
    keys = KeyFolder(database.settings.keys)
    keys.key_file.unlink()
    keys.key(create=True)
    verification = Verifier(database).run()
    assert "checkpoint 1 is not signed with the key" in verification.findings[0].detail
    assert verification.vouched_to is None
    with pytest.raises(CorruptDataError, match="checkpoint 2 is not signed with the key"):
        Checkpointer(database).run()


@pytest.mark.parametrize(
    "change",
    [
        "update collegium.events set payload = '{}'",
        "update collegium.events set hash = sha256(hash)",
        "update collegium.events set position = position + 100000",
    ],
)
def test_many_altered_events_are_judged_in_time(database, tamper, monkeypatch, change):
    monkeypatch.setattr(judging, "_MAX_TRIES", 20_000)
    ledger = PostgresLedger(database)
    ledger.append_batch([new(i).model_copy(update={"stream": "s"}) for i in range(1, 1001)])
    started = time.monotonic()
    verification = tamper(change)
    assert time.monotonic() - started < 20
    assert verification.found >= ALL
