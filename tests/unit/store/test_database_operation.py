"""Backing up, restoring, scrubbing, migrating: what operators do, on real servers."""

import contextlib
import hashlib
import json
import secrets
from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from scratch_databases import scratch_folder

from collegium.core import (
    ConfigError,
    CorruptDataError,
    NotFoundError,
    SystemClock,
    UnavailableError,
)
from collegium.service.database import DatabaseService
from collegium.service.keys import KeyService
from collegium.service.keys.use_cases import OPERATOR, MintInput, RevokeInput, RotateInput
from collegium.service.operations import Call, Scope
from collegium.store import database as database_module
from collegium.store import embedded, programs, schema
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.keys import KeyStore
from collegium.store.ledger import NewEvent
from collegium.store.ledger.findings import FindingKind
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.migrations.revisions import latest_revision, upgrade
from collegium.store.settings import DatabaseSettings

AT = datetime(2026, 1, 2, tzinfo=UTC)


def new(number, **more):
    given = {"type": "t", "payload": {"n": number}, "observed_at": AT} | more
    return NewEvent(stream="s", idempotency_key=str(number), **given)


@pytest.fixture
def service(database):
    return DatabaseService(database.settings)


def test_a_restored_older_copy_is_named_and_can_be_accepted(service, database, tmp_path):
    ledger = PostgresLedger(database)
    ledger.append_batch([new(1), new(2)])
    service.checkpoint()
    card = service.back_up(tmp_path / "old")
    assert (card.position, card.checkpoint) == (2, 1)
    ledger.append(new(3))
    service.checkpoint()
    assert service.verify().ok

    done = service.restore(tmp_path / "old", accept_older=False)
    assert (done.lost, done.older_accepted) == (1, False)
    verification = service.verify()
    assert [f.kind for f in verification.findings] == [FindingKind.OLDER_COPY]
    assert "events 3 … 3 may be lost" in verification.findings[0].detail
    assert (verification.vouched_from, verification.vouched_to) == (1, 2)
    ledger.append(new(4))
    with pytest.raises(CorruptDataError, match="does not hold checkpoint 2"):
        service.checkpoint()

    service.restore(tmp_path / "old", accept_older=True)
    assert service.verify().ok
    assert len(list(database.settings.keys.glob("anchor-*.json"))) == 1
    ledger.append(new(5))
    assert service.checkpoint().number == 2
    assert service.verify().vouched_to == 3


def test_what_was_erased_since_the_backup_is_erased_again(service, database, tmp_path):
    ledger = PostgresLedger(database)
    event = ledger.append(new(1, texts={"note": "met Ann", "place": "Rome"}))
    service.back_up(tmp_path / "old")
    ledger.erase(event.position, ["note"])
    done = service.restore(tmp_path / "old", accept_older=True)
    assert done.erased_again == 1
    assert ledger.texts(event.position) == {"note": None, "place": "Rome"}
    assert service.verify().ok


def mint(database, label):
    keys = KeyService(KeyStore(database), SystemClock(), secrets.token_bytes)
    given = MintInput(label=label, scopes=frozenset({Scope.READ}), namespaces=None)
    return keys, keys.mint(Call(OPERATOR, "test"), given)


def test_keys_are_no_history_restoring_brings_none_back(service, database, tmp_path):
    keys, revoked = mint(database, "revoked")
    _, rotated = mint(database, "rotated")
    service.back_up(tmp_path / "old")
    call = Call(OPERATOR, "test")
    keys.revoke(call, RevokeInput(key_id=revoked.info.key_id))
    keys.rotate(call, RotateInput(key_id=rotated.info.key_id))
    mint(database, "new")
    before = KeyStore(database).everything()
    assert service.restore(tmp_path / "old", accept_older=True).keys_kept == 3
    assert KeyStore(database).everything() == before
    assert {row.label for row in before} == {"revoked", "rotated", "new"}


def test_keys_come_with_the_backup_where_there_are_none(service, database, tmp_path):
    mint(database, "old")
    service.back_up(tmp_path / "backup")
    with scratch_folder() as folder:
        settings = DatabaseSettings(data_dir=folder, key_dir=database.settings.keys)
        with contextlib.closing(Database.open(settings)) as other:
            mint(other, "of another ledger")
            done = DatabaseService(settings).restore(tmp_path / "backup", accept_older=True)
            assert done.keys_kept is None
            assert [row.label for row in KeyStore(other).everything()] == ["old"]


def test_a_backup_goes_to_another_machine(service, database, tmp_path):
    PostgresLedger(database).append(new(1, payload={"é": 0.1}))
    service.checkpoint()
    service.back_up(tmp_path / "backup")
    with scratch_folder() as folder:
        there = DatabaseService(DatabaseSettings(data_dir=folder, key_dir=database.settings.keys))
        there.restore(tmp_path / "backup", accept_older=False)
        verification = there.verify()
        assert verification.ok
        assert verification.vouched_to == 1
        assert not there.status().running


def test_a_damaged_backup_changes_nothing(service, database, tmp_path):
    ledger = PostgresLedger(database)
    ledger.append(new(1))
    file = tmp_path / "backup"
    service.back_up(file)
    with pytest.raises(ConfigError, match="is there already"):
        service.back_up(file)
    with pytest.raises(NotFoundError, match="no backup"):
        service.restore(tmp_path / "other", accept_older=False)
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(CorruptDataError, match="SHA-256"):
        service.restore(file, accept_older=False)
    card_file = tmp_path / "backup.json"
    card = json.loads(card_file.read_text())
    file.write_bytes(b"no dump")
    card_file.write_text(json.dumps(card | {"sha256": hashlib.sha256(b"no dump").hexdigest()}))
    with pytest.raises(UnavailableError, match="pg_restore failed"):
        service.restore(file, accept_older=False)
    card |= {"sha256": hashlib.sha256(b"no dump").hexdigest(), "schema_revision": "9999"}
    card_file.write_text(json.dumps(card))
    with pytest.raises(ConfigError, match="this release knows"):
        service.restore(file, accept_older=False)
    assert ledger.position() == 1


def test_an_erased_text_is_gone_from_every_file_after_scrubbing():
    secret = "the-patient-is-Ann-4711"
    with scratch_folder() as folder:
        settings = DatabaseSettings(data_dir=folder)
        service = DatabaseService(settings)
        service.start()
        database = Database.open(settings)
        ledger = PostgresLedger(database)
        event = ledger.append(new(1, texts={"note": secret}))
        assert holding(folder, secret)
        ledger.erase(event.position)
        assert holding(folder, secret)
        done = service.scrub()
        assert done.physical
        assert "texts" in done.tables
        database.close()
        assert holding(folder, secret) == []
        assert service.verify().ok
        service.stop()


def holding(folder, text):
    """Return the files that hold the text."""
    files = [f for f in folder.rglob("*") if f.is_file()]
    return [str(f) for f in files if text.encode() in f.read_bytes()]


def test_the_migrations_lead_to_the_tables_of_the_schema(database):
    with database.connection() as connection:
        options = {
            "include_schemas": True,
            "include_name": lambda name, kind, _: kind != "schema" or name == schema.SCHEMA,
            "version_table_schema": schema.SCHEMA,
            "compare_server_default": True,
        }
        context = MigrationContext.configure(connection, opts=options)
        assert compare_metadata(context, schema.metadata) == []


def test_an_outdated_schema_is_named_and_upgraded(database_settings):
    database = Database.connect(database_settings)
    with database.transaction() as connection:
        upgrade(connection, "0001")
    with pytest.raises(ConfigError, match=r"has schema 0001, .*collegium db upgrade"):
        Database.open(database_settings)
    done = DatabaseService(database_settings).upgrade()
    assert (done.before, done.after) == ("0001", latest_revision())
    Database.open(database_settings).close()
    database.close()


def test_a_server_of_somebody_elses_may_be_older(monkeypatch, tmp_path):
    """PostgreSQL 16, which comes with the embedded one, reached by an address."""
    monkeypatch.setattr(programs, "VERSION", 16)
    monkeypatch.setattr(embedded, "VERSION", 16)
    monkeypatch.setattr(embedded, "_INITDB", ("--auth=trust", "--username=postgres"))
    with scratch_folder() as folder:
        server = EmbeddedServer(folder)
        server.acquire()
        monkeypatch.undo()
        url = f"postgres://postgres@/postgres?host={server.folder}"
        settings = DatabaseSettings(url=url, data_dir=folder / "none", key_dir=tmp_path)
        service = DatabaseService(settings)
        assert service.start().version.startswith("16")
        database = Database.open(settings)
        PostgresLedger(database).append(new(1, texts={"a": "b"}))
        service.checkpoint()
        service.back_up(tmp_path / "backup")
        service.restore(tmp_path / "backup", accept_older=False)
        assert service.verify().vouched_to == 1
        assert not service.scrub().physical
        monkeypatch.setattr(database_module, "MIN_VERSION", 17)
        with pytest.raises(ConfigError, match="is PostgreSQL 16: at least 17 is needed"):
            Database.open(settings)
        database.close()
        server.release()


@pytest.mark.parametrize(
    ("url", "error", "message"),
    [
        ("nonsense", ConfigError, "DATABASE_URL is no address"),
        ("mysql://a/b", ConfigError, "expected postgresql"),
        ("postgresql://u:secret@127.0.0.1:1/db", UnavailableError, "Is it running"),
    ],
)
def test_a_wrong_address(tmp_path, url, error, message):
    with pytest.raises(error, match=message) as caught:
        Database.open(DatabaseSettings(url=url, data_dir=tmp_path))
    assert "secret" not in str(caught.value)


def test_the_environment_says_which_database(tmp_path):
    given = {"DATABASE_URL": "postgresql://u:secret@db/x", "COLLEGIUM_KEYS": str(tmp_path)}
    settings = DatabaseSettings.from_environment(given)
    assert settings.keys == tmp_path
    assert "secret" not in repr(settings) + settings.server_name()
    assert DatabaseSettings.from_environment({"COLLEGIUM_DATA": "/data"}).keys.parts[1] == "data"
    assert DatabaseSettings.from_environment({"DATABASE_URL": ""}).url is None


def test_a_database_that_is_not_there(postgres, tmp_path):
    url = f"postgresql://postgres@/nowhere?host={postgres.folder}"
    with pytest.raises(ConfigError, match="createdb"):
        Database.open(DatabaseSettings(url=url, data_dir=tmp_path))


def test_a_statement_that_is_wrong_is_a_bug_and_not_explained_away(database):
    with pytest.raises(sa.exc.ProgrammingError), database.connection() as connection:
        connection.exec_driver_sql("select nonsense")
