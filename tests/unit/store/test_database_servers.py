"""Servers and databases as they are found elsewhere, set up by somebody who did not think of us."""

import subprocess
from datetime import UTC, datetime

import psycopg
import pytest

from collegium.core import ConfigError, UnavailableError
from collegium.store.backups import back_up
from collegium.store.database import Database
from collegium.store.ledger import NewEvent
from collegium.store.ledger.postgres import PostgresLedger
from collegium.store.ledger.verification import Verifier
from collegium.store.settings import DatabaseSettings
from collegium.store.status import look


@pytest.fixture
def admin(postgres):
    """A connection that may do everything."""
    with psycopg.connect(host=postgres.folder, user="postgres", autocommit=True) as connection:
        yield connection


def settings_of(postgres, tmp_path, name, user="postgres", more=""):
    url = f"postgresql://{user}@/{name}?host={postgres.folder}{more}"
    return DatabaseSettings(url=url, data_dir=tmp_path)


def test_the_last_second_is_read_in_every_time_zone(database, admin):
    admin.execute("alter database postgres set timezone = 'Asia/Tokyo'")
    try:
        database.engine.dispose()
        ledger = PostgresLedger(database)
        last = datetime.max.replace(tzinfo=UTC)
        given = {"type": "t", "payload": {}, "observed_at": last, "idempotency_key": "1"}
        assert ledger.append(NewEvent(stream="s", **given)).observed_at == last
        assert Verifier(database).run().ok
    finally:
        admin.execute("alter database postgres reset timezone")


def test_options_of_the_address_are_kept(postgres, tmp_path):
    more = "&options=-c%20work_mem%3D1234kB"
    database = Database.connect(settings_of(postgres, tmp_path, "postgres", more=more))
    with database.connection() as connection:
        assert connection.exec_driver_sql("show work_mem").scalar() == "1234kB"
        assert connection.exec_driver_sql("show timezone").scalar() == "UTC"
    database.close()


@pytest.fixture
def elsewhere(admin):
    """Databases that do not suit, and a user who may nothing."""
    admin.execute("create role nobody login")
    admin.execute("create database plain")
    admin.execute("create database latin encoding 'LATIN1' locale 'C' template template0")
    yield
    admin.execute("drop database latin")
    admin.execute("drop database plain")
    admin.execute("drop role nobody")


@pytest.mark.parametrize(
    ("name", "user", "more", "error", "message"),
    [
        ("latin", "postgres", "", ConfigError, "holds text as LATIN1: make a database with"),
        ("plain", "nobody", "", ConfigError, "permission denied for database plain; grant it"),
        (
            "plain",
            "postgres",
            "&options=-c%20default_transaction_read_only%3Don",
            UnavailableError,
            "is read-only .*: name the primary server",
        ),
    ],
)
def test_a_database_that_does_not_suit(
    elsewhere, postgres, tmp_path, name, user, more, error, message
):
    with pytest.raises(error, match=message):
        Database.open(settings_of(postgres, tmp_path, name, user, more))


def test_a_password_is_neither_shown_nor_given_to_a_command(
    postgres, database, tmp_path, monkeypatch
):
    settings = settings_of(postgres, tmp_path, "postgres", more="&password=topsecret")
    assert "topsecret" not in look(settings).model_dump_json()
    calls = []
    run = subprocess.run

    def spied(command, **given):
        calls.append((command, given["env"].get("PGPASSWORD")))
        return run(command, **given)

    monkeypatch.setattr(subprocess, "run", spied)
    opened = Database.open(settings)
    back_up(opened, tmp_path / "backup")
    opened.close()
    assert [password for _, password in calls] == ["topsecret"]
    assert "topsecret" not in str([command for command, _ in calls])
