"""Backups and restores that are cut short, and files that are not what they should be."""

import os
import secrets
import signal
import stat
import subprocess
import sys
import time
from datetime import UTC, datetime

import pytest

from collegium.core import ConfigError, CorruptDataError, SystemClock, UnavailableError
from collegium.service import database as service_module
from collegium.service.database import DatabaseService
from collegium.service.keys import KeyService
from collegium.service.keys.use_cases import OPERATOR, MintInput, RevokeInput
from collegium.service.operations import Call, Scope
from collegium.store import backups, scrubbing
from collegium.store.backups import back_up
from collegium.store.database import Database
from collegium.store.keys import KeyStore
from collegium.store.ledger import NewEvent
from collegium.store.ledger.postgres import PostgresLedger

AT = datetime(2026, 1, 2, tzinfo=UTC)


def new(number, **more):
    given = {"type": "t", "payload": {}, "observed_at": AT} | more
    return NewEvent(stream="s", idempotency_key=str(number), **given)


@pytest.fixture
def service(database):
    return DatabaseService(database.settings)


def test_a_backup_is_for_its_owner_only_and_appears_whole(database, tmp_path, monkeypatch):
    back_up(database, tmp_path / "backup")
    assert stat.S_IMODE((tmp_path / "backup").stat().st_mode) == 0o600
    monkeypatch.setattr(backups, "_card", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        back_up(database, tmp_path / "other")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["backup", "backup.json"]


@pytest.mark.parametrize("name", ["nowhere/backup", "file/backup"])
def test_where_a_backup_cannot_be_written(database, tmp_path, name):
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="cannot be written"):
        back_up(database, tmp_path / name)


def test_a_restore_leaves_no_text_beside_the_backup(service, database, tmp_path, monkeypatch):
    PostgresLedger(database).append(new(1, texts={"note": "met Ann"}))
    service.back_up(tmp_path / "backup")
    seen = []
    run = subprocess.run

    def spied(command, **given):
        done = run(command, **given)
        seen.append(sorted(file.name for file in tmp_path.iterdir()))
        return done

    monkeypatch.setattr(subprocess, "run", spied)
    service.restore(tmp_path / "backup", accept_older=False)
    assert seen == [["backup", "backup.json"]] * 2


def test_a_restore_that_is_cut_short_forgets_nothing(service, database, tmp_path, monkeypatch):
    """What was erased and revoked since the backup is known until it is done again."""
    ledger = PostgresLedger(database)
    event = ledger.append(new(1, texts={"note": "met Ann"}))
    keys = KeyService(KeyStore(database), SystemClock(), secrets.token_bytes)
    call = Call(OPERATOR, "test")
    given = MintInput(label="k", scopes=frozenset({Scope.READ}), namespaces=None)
    key = keys.mint(call, given).info
    service.back_up(tmp_path / "backup")
    ledger.erase(event.position)
    keys.revoke(call, RevokeInput(key_id=key.key_id))
    with monkeypatch.context() as patched:
        patched.setattr(service_module, "erase_again", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            service.restore(tmp_path / "backup", accept_older=False)
    with pytest.raises(ConfigError, match=r"run `collegium db restore FILE` again"):
        Database.open(database.settings)
    with pytest.raises(ConfigError, match=r"is being restored"):
        service.upgrade()
    done = service.restore(tmp_path / "backup", accept_older=True)
    assert (done.erased_again, done.keys_kept) == (1, 1)
    assert ledger.texts(event.position) == {"note": None}
    assert KeyStore(database).find(key.key_id).revoked_at is not None
    assert service.verify().ok


@pytest.mark.parametrize("program", ["pg_restore", "psql"])
def test_a_restore_that_is_killed_changes_nothing(database, tmp_path, program):
    ledger = PostgresLedger(database)
    ledger.append(new(1))
    DatabaseService(database.settings).back_up(tmp_path / "backup")
    ledger.append(new(2))
    code = f"""
import os, subprocess, sys
from pathlib import Path
from collegium.service.database import DatabaseService
from collegium.store import backups, scrubbing
from collegium.store.settings import DatabaseSettings
run = subprocess.run
def killed(command, **given):
    if command[0].endswith({program!r}):
        os.kill(os.getpid(), 9)
    return run(command, **given)
subprocess.run = killed
settings = DatabaseSettings(url=sys.argv[1], data_dir=sys.argv[2], key_dir=sys.argv[3])
DatabaseService(settings).restore(Path(sys.argv[4]), accept_older=False)
"""
    given = database.settings
    url = given.url.get_secret_value()
    arguments = [url, str(given.data_dir), str(given.key_dir), str(tmp_path / "backup")]
    done = subprocess.run([sys.executable, "-c", code, *arguments], check=False, timeout=120)
    assert done.returncode == -signal.SIGKILL
    assert ledger.position() == 2
    Database.open(given).close()


def test_a_client_that_is_killed_while_it_writes_changes_nothing(
    service, database, tmp_path, monkeypatch
):
    ledger = PostgresLedger(database)
    ledger.append_batch([new(i) for i in range(1, 500)])
    service.back_up(tmp_path / "backup")
    ledger.append(new(500))
    run = subprocess.run

    def killed(command, **given):
        if not command[0].endswith("psql"):
            return run(command, **given)
        script = given["stdin"].read()
        streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, **streams)
        process.stdin.write(script[: len(script) // 2])
        process.stdin.flush()
        time.sleep(0.3)
        os.kill(process.pid, signal.SIGKILL)
        _, errors = process.communicate()
        return subprocess.CompletedProcess(command, process.returncode, b"", errors)

    monkeypatch.setattr(subprocess, "run", killed)
    with pytest.raises(UnavailableError, match="psql failed"):
        service.restore(tmp_path / "backup", accept_older=False)
    assert ledger.position() == 500
    assert service.verify().ok


def test_scrubbing_waits_for_those_who_still_see_what_was_deleted(database, monkeypatch):
    monkeypatch.setattr(scrubbing, "_PATIENCE_S", 0.1)
    ledger = PostgresLedger(database)
    event = ledger.append(new(1, texts={"note": "met Ann"}))
    with database.connection() as other:
        other.execution_options(isolation_level="REPEATABLE READ")
        other.exec_driver_sql("select 1 from collegium.events").all()
        ledger.erase(event.position)
        with pytest.raises(UnavailableError, match=r"transaction open .* scrub again"):
            scrubbing.scrub(database)
    assert "texts" in scrubbing.scrub(database).tables


@pytest.mark.parametrize(
    "damage", ["delete from collegium.ledger", "drop table collegium.events cascade"]
)
def test_a_database_that_tells_nothing_any_more_is_not_replaced_unasked(
    service, database, tmp_path, damage
):
    PostgresLedger(database).append(new(1))
    service.back_up(tmp_path / "backup")
    with database.transaction() as connection:
        connection.exec_driver_sql(damage)
    with pytest.raises(CorruptDataError, match=r"cannot be known.*drop schema collegium cascade"):
        service.restore(tmp_path / "backup", accept_older=False)
    with database.transaction() as connection:
        connection.exec_driver_sql("drop schema collegium cascade")
    service.restore(tmp_path / "backup", accept_older=False)
    assert service.verify().ok
