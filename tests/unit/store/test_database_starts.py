"""Starting the embedded server where others start it, are killed, or left something behind."""

import shutil
import subprocess
import sys
import time

import pytest
from scratch_databases import scratch_folder

from collegium.core import ConfigError, UnavailableError
from collegium.store.backups import back_up
from collegium.store.database import Database
from collegium.store.embedded import EmbeddedServer
from collegium.store.ledger.verification import Verifier
from collegium.store.settings import DatabaseSettings

OPEN = (
    "import sys; from pathlib import Path; from collegium.store.database import Database; "
    "from collegium.store.settings import DatabaseSettings; "
    "Database.open(DatabaseSettings(data_dir=Path(sys.argv[1]))).close(); print('opened')"
)


@pytest.fixture
def folder():
    with scratch_folder() as made:
        yield made
        EmbeddedServer(made).stop()


def opening(folder):
    command = [sys.executable, "-c", OPEN, str(folder)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_processes_that_start_it_at_once_all_get_it(folder):
    processes = [opening(folder) for _ in range(3)]
    for process in processes:
        out, errors = process.communicate(timeout=120)
        assert (process.returncode, out) == (0, "opened\n"), errors


# In the tier of kills: on a busy machine the killed start's own postgres may outlive it for a
# moment, and is then refused as a stranger with that process id.
@pytest.mark.cluster
@pytest.mark.parametrize("at", ["postgres/data.18.new", "postgres/data", "postgres/.s.PGSQL.5432"])
def test_a_start_that_is_killed_does_no_harm(folder, at):
    """Killed while the cluster is made, while the server starts, and while tables are made."""
    process = opening(folder)
    deadline = time.monotonic() + 60
    while not (folder / at).exists():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    process.kill()
    process.communicate()
    database = Database.open(DatabaseSettings(data_dir=folder))
    assert Verifier(database).run().ok
    database.close()


@pytest.mark.parametrize("name", ["a b", "a+b", "a%41b", "a&b=c#d", "ü"])
def test_any_path_will_do(folder, tmp_path, name):
    database = Database.open(DatabaseSettings(data_dir=folder / name))
    assert back_up(database, tmp_path / "backup").position == 0
    database.close()
    assert EmbeddedServer(folder / name).pid() is None


@pytest.mark.parametrize("name", ["it's", 'a"b', "a,b", "$(touch here)", "a`b", "a\\b"])
def test_paths_that_a_shell_would_read_otherwise(tmp_path, name):
    with pytest.raises(ConfigError, match="does not take a path with"):
        EmbeddedServer(tmp_path / name).acquire()


def test_the_number_of_another_server_is_not_taken_for_its_own(folder, postgres):
    server = EmbeddedServer(folder)
    server.acquire()
    server.release()
    (server.cluster / "postmaster.pid").write_text(f"{postgres.pid()}\n")
    assert server.pid() is None
    with pytest.raises(UnavailableError, match="which is now 'postgres'"):
        server.acquire()
    server.stop()
    assert postgres.pid() is not None
    (server.cluster / "postmaster.pid").unlink()


@pytest.mark.parametrize("content", ["", "junk\n"])
def test_a_lock_file_without_a_number_is_named(folder, content):
    server = EmbeddedServer(folder)
    server.acquire()
    server.release()
    lock = server.cluster / "postmaster.pid"
    lock.write_text(content)
    with pytest.raises(UnavailableError, match=f"holds no process id.*rm {lock}"):
        server.acquire()
    lock.unlink()


def test_a_server_that_nobody_buried_is_started_again(folder):
    server = EmbeddedServer(folder)
    server.acquire()
    server.release()
    shutil.copy("/bin/true", folder / "postgres" / "postgres")
    with subprocess.Popen([folder / "postgres" / "postgres"]) as ended:
        time.sleep(0.2)
        for lock in (server.cluster / "postmaster.pid", server.folder / ".s.PGSQL.5432.lock"):
            lock.write_text(f"{ended.pid}\n")
        server.acquire()
        assert server.pid() not in (None, ended.pid)
        server.release()


def test_a_moved_folder_is_found_again_running_or_not(folder):
    server = EmbeddedServer(folder / "here")
    server.acquire(keep=True)
    pid = server.pid()
    server.data_dir.rename(folder / "there")
    server.release()
    moved = EmbeddedServer(folder / "there")
    assert moved.pid() == pid
    Database.open(DatabaseSettings(data_dir=folder / "there")).close()
    moved.stop()
    Database.open(DatabaseSettings(data_dir=folder / "there")).close()
    assert moved.pid() is None


def test_a_start_that_fails_does_not_say_keep(folder):
    server = EmbeddedServer(folder)
    (folder / "postgres").write_text("no folder")
    with pytest.raises(ConfigError, match=r"cannot be used.*COLLEGIUM_DATA"):
        server.acquire(keep=True)
    assert not server.keeps_running
