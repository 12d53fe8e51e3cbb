"""Databases to be thrown away, all on one embedded server that starts once a test session."""

import shutil
import signal
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg

from collegium.store.embedded import EmbeddedServer
from collegium.store.settings import DatabaseSettings


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """Give a folder with a short path that the server's account may enter (pytest's may not be)."""
    folder = Path(tempfile.mkdtemp(prefix="collegium-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


@contextmanager
def scratch_server() -> Iterator[EmbeddedServer]:
    """Start a server in a folder of its own; it and the folder are gone afterwards."""
    with scratch_folder() as folder:
        server = EmbeddedServer(folder)
        server.acquire()
        _make_fast(server)
        try:
            yield server
        finally:
            _kill(server)
            server.release()


def _make_fast(server: EmbeddedServer) -> None:
    """Do without waiting for the disk: what is stored here need not survive the machine."""
    with psycopg.connect(host=server.folder, user="postgres", autocommit=True) as connection:
        connection.execute("alter system set fsync = off")
        connection.execute("alter system set synchronous_commit = off")
        connection.execute("select pg_reload_conf()")


def _kill(server: EmbeddedServer) -> None:
    """End the server at once: saving what is thrown away takes long."""
    pid = server.pid()
    if pid is not None:
        process = psutil.Process(pid)
        process.send_signal(signal.SIGQUIT)
        process.wait(30)


def fresh_database(server: EmbeddedServer, keys: Path) -> DatabaseSettings:
    """Empty the server's database of whatever the last test left, and return its settings."""
    with psycopg.connect(host=server.folder, user="postgres", autocommit=True) as connection:
        # A test that failed may have left connections that hold locks.
        connection.execute(
            "select pg_terminate_backend(pid) from pg_stat_activity "
            "where application_name = 'collegium'"
        )
        connection.execute("drop schema if exists collegium, collegium_replaced cascade")
    url = f"postgresql://postgres@/postgres?host={server.folder}"
    return DatabaseSettings(url=url, data_dir=server.data_dir, key_dir=keys)
