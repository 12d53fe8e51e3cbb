"""The embedded PostgreSQL server: started at the first need, stopped when nobody needs it.

Layout of the data directory::

    postgres/data      the cluster, made on first use     postgres/log   the server's own log
    postgres/.s.PGSQL.5432   the only place it listens at
    start.lock         held while somebody starts or stops the server
    users.lock         held (shared) by each process that uses it, until it ends in whatever way
    keep               there after `collegium db up`: the server stays when the last user leaves

Only the owner of the data directory (and root) reaches the socket, so no password is needed. As
root, the server runs under an account of its own, which PostgreSQL demands.
"""

import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import sqlalchemy as sa

from collegium.core import ConfigError, UnavailableError
from collegium.store.embedded_files import (
    VERSION,
    check_directory,
    check_socket_path,
    check_version,
    explain_failure,
)
from collegium.store.postmaster import clear_locks, has_lock, running_pid, state
from collegium.store.programs import Programs

_PATIENCE_S = 60.0
_INITDB = (
    "--auth=trust",
    "--username=postgres",
    "--encoding=UTF8",
    "--locale-provider=builtin",
    "--locale=C.UTF-8",
)
# Without recycling, an old part of the write-ahead log is removed, and what was erased with it.
_SETTINGS = """
listen_addresses = ''
unix_socket_permissions = 0700
timezone = 'UTC'
wal_recycle = off
"""


class EmbeddedServer:
    """One server in one data directory; any number of processes may hold one of these."""

    def __init__(self, data_dir: Path) -> None:
        """Do nothing yet: `acquire` starts the server."""
        self.data_dir = data_dir.expanduser().absolute()
        self.folder = self.data_dir / "postgres"
        self.cluster = self.folder / "data"
        self.log = self.folder / "log"
        self._use: IO[bytes] | None = None

    @property
    def url(self) -> str:
        """Address for SQLAlchemy and psycopg."""
        address = sa.URL.create(
            "postgresql+psycopg", "postgres", database="postgres", query={"host": str(self.folder)}
        )
        return address.render_as_string()

    @property
    def keeps_running(self) -> bool:
        """Whether the server stays when the last user leaves."""
        return (self.data_dir / "keep").exists()

    def pid(self) -> int | None:
        """Return the process id of the running server, None when it is not running."""
        return running_pid(self.cluster)

    @property
    def was_killed(self) -> bool:
        """Whether the server ended without being stopped, and nobody has started it since."""
        return has_lock(self.cluster) and self.pid() is None

    def acquire(self, *, keep: bool = False) -> None:
        """Use the server until `release`, and start it if it is not running.

        Args:
            keep: Let it run on when the last user has left, until `stop`.

        Raises:
            ConfigError: The data directory cannot be used; the message says why and what to do.
            UnavailableError: The server does not start.
        """
        check_socket_path(self.folder)
        check_directory(self.data_dir)
        try:
            with self._locked():
                self._acquire(keep=keep)
        except OSError as error:
            raise ConfigError(
                f"the data directory {self.data_dir} cannot be used ({error}): set COLLEGIUM_DATA "
                "to another folder"
            ) from error

    def _acquire(self, *, keep: bool) -> None:
        use = self._use or (self.data_dir / "users.lock").open("ab")
        try:
            self._start()
            if keep:
                (self.data_dir / "keep").touch()
            fcntl.flock(use, fcntl.LOCK_SH)
        except BaseException:
            if use is not self._use:
                use.close()
            raise
        self._use = use

    def release(self) -> None:
        """End the use; stops the server if it was the last one and nobody said to keep it."""
        if self._use is None:
            return
        if not self.data_dir.exists():  # it was moved or removed
            self._use.close()
            self._use = None
            return
        with self._locked():
            self._use.close()
            self._use = None
            if not self.keeps_running and not self._is_used():
                self._stop()

    def stop(self) -> None:
        """Stop the server now; whoever still uses it gets UnavailableError."""
        check_directory(self.data_dir)
        with self._locked():
            (self.data_dir / "keep").unlink(missing_ok=True)
            self._stop()

    def _start(self) -> None:
        if self._is_ready():
            return
        programs = Programs.find(self.data_dir)
        self.folder.mkdir(mode=0o700, exist_ok=True)
        programs.own(self.folder)
        self._initialise(programs)
        clear_locks(self.cluster, self.folder)
        options = f"-k '{self.folder}'"
        logged = self.log.stat().st_size if self.log.exists() else 0
        start = ("-w", "-t", str(int(_PATIENCE_S)), "-D", str(self.cluster), "-l", str(self.log))
        done = programs.call("pg_ctl", *start, "-o", options, "start")
        if not done.ok:
            raise explain_failure(
                "does not start", self.data_dir, done.errors + self._log_after(logged)
            )

    def _is_ready(self) -> bool:
        """Wait for a server that is starting or stopping; return whether there is one then.

        Whoever began that may have been killed, and does not hold the lock any more.
        """
        deadline = time.monotonic() + _PATIENCE_S
        while self.pid() is not None:
            if (now := state(self.cluster)) == "ready":
                return True
            if time.monotonic() > deadline:
                raise UnavailableError(
                    f"the embedded server in {self.data_dir} is {now} for more than "
                    f"{_PATIENCE_S:.0f} s: its log, {self.log}, says why"
                )
            time.sleep(0.02)
        return False

    def _initialise(self, programs: Programs) -> None:
        """Make the cluster under another name, then rename it: a kill leaves no half of one."""
        if self.cluster.exists():
            check_version(self.cluster)
            return
        raw = self.folder / f"data.{VERSION}.new"
        shutil.rmtree(raw, ignore_errors=True)
        done = programs.call("initdb", *_INITDB, "-D", str(raw))
        if not done.ok:
            raise explain_failure("cannot be set up", self.data_dir, done.errors)
        with (raw / "postgresql.conf").open("a", encoding="utf-8") as conf:
            conf.write(_SETTINGS)
        raw.rename(self.cluster)

    def _stop(self) -> None:
        if self.pid() is None:
            return
        programs = Programs.find(self.data_dir)
        stop = ("-w", "-t", str(int(_PATIENCE_S)), "-m", "fast", "-D", str(self.cluster), "stop")
        done = programs.call("pg_ctl", *stop)
        if not done.ok:
            raise explain_failure("does not stop", self.data_dir, done.errors)

    def _is_used(self) -> bool:
        with (self.data_dir / "users.lock").open("ab") as users:
            try:
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
            return False

    def _log_after(self, place: int) -> str:
        """Return what the server wrote to its log behind `place`."""
        if not self.log.exists():
            return ""
        with self.log.open("rb") as log:
            log.seek(place)
            return "\n" + log.read().decode(errors="replace")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        path = self.data_dir / "start.lock"
        deadline = time.monotonic() + _PATIENCE_S
        with path.open("ab") as lock:
            while True:
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    self._give_up_after(deadline, path)
                    time.sleep(0.02)
            yield

    def _give_up_after(self, deadline: float, path: Path) -> None:
        if time.monotonic() < deadline:
            return
        raise UnavailableError(
            f"{path} has been locked for {_PATIENCE_S:.0f} s: another process is starting or "
            f"stopping the server in {self.data_dir} and does not come to an end. "
            f"Find it with `fuser {path}` (process {os.getpid()} is this one) and end it"
        )
