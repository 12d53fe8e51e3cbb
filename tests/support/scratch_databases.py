"""Databases to be thrown away, all on one embedded server that starts once a test session."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

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
        try:
            yield server
        finally:
            server.release()


def fresh_database(server: EmbeddedServer, name: str, keys: Path) -> DatabaseSettings:
    """Make an empty database on the server, and return its settings."""
    with psycopg.connect(host=server.folder, user="postgres", autocommit=True) as connection:
        connection.execute(f'create database "{name}"')
    url = f"postgresql://postgres@/{name}?host={server.folder}"
    return DatabaseSettings(url=url, data_dir=server.data_dir, key_dir=keys)
