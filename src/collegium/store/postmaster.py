"""The lock files of a server: whose they are, and whether it still lives."""

from pathlib import Path

import psutil

from collegium.core import UnavailableError
from collegium.store.embedded_files import SOCKET

_FILE = "postmaster.pid"
_STATE_LINE = 7


def running_pid(cluster: Path) -> int | None:
    """Return the process id of the server that works in `cluster`, None if there is none."""
    try:
        pid = int((cluster / _FILE).read_text().split()[0])
        process = psutil.Process(pid)
        # A number that was given to another server since must not be taken for this one's.
        ours = process.name() == "postgres" and cluster.samefile(process.cwd())
    except (OSError, ValueError, IndexError, psutil.Error):
        return None
    return pid if ours else None


def has_lock(cluster: Path) -> bool:
    """Return whether a server that worked in `cluster` was not stopped, or still works."""
    return (cluster / _FILE).exists()


def state(cluster: Path) -> str:
    """Return what the running server says of itself: starting, ready or stopping."""
    try:
        return (cluster / _FILE).read_text().splitlines()[_STATE_LINE].strip()
    except (OSError, IndexError):
        return "starting"


def clear_locks(cluster: Path, folder: Path) -> None:
    """Remove the lock files of a server that has ended; refuse those of a living process.

    A number that was given to another process since (or that counts in another container) is for
    people to judge: two servers destroy a cluster.
    """
    for lock in (cluster / _FILE, folder / f"{SOCKET}.lock"):
        if lock.exists():
            _clear(lock, folder.parent)


def _clear(lock: Path, data_dir: Path) -> None:
    remedy = f"if no server, container or machine uses {data_dir}, then rm {lock}"
    try:
        pid = int(lock.read_text().split()[0])
    except (ValueError, IndexError):
        raise UnavailableError(f"{lock} holds no process id, as after a crash: {remedy}") from None
    try:
        process = psutil.Process(pid)
        name, status = process.name(), process.status()
    except psutil.NoSuchProcess:
        return  # PostgreSQL clears it itself
    if status != psutil.STATUS_ZOMBIE:
        raise UnavailableError(
            f"{lock} is left from a server with process id {pid}, which is now {name!r}: {remedy}"
        )
    # It has ended, but its parent has not asked how, so PostgreSQL would take it for alive.
    lock.unlink()
