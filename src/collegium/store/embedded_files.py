"""What can be wrong with the embedded server's files, and what to do about each."""

from pathlib import Path

from collegium.core import CollegiumError, ConfigError, UnavailableError

VERSION = 18
"""Major version of the embedded server."""
SOCKET = ".s.PGSQL.5432"
"""File name of the server's socket."""
_MAX_SOCKET_PATH = 107
"""Bytes that the kernel takes for the path of a socket, without the closing zero."""
_MISUNDERSTOOD = frozenset("'\"`$\\,\n")
"""`pg_ctl` hands paths to a shell, and a comma stands between two hosts."""


def check_socket_path(folder: Path) -> None:
    """Refuse a path too long for a socket, or that PostgreSQL's programs would misunderstand."""
    if found := sorted(_MISUNDERSTOOD & set(str(folder))):
        raise ConfigError(
            f"{folder}: PostgreSQL does not take a path with {' '.join(map(repr, found))}; set "
            "COLLEGIUM_DATA to another"
        )
    excess = len(bytes(folder / SOCKET)) - _MAX_SOCKET_PATH
    if excess > 0:
        raise ConfigError(
            f"{folder / SOCKET}: {excess} bytes too long for a socket (at most "
            f"{_MAX_SOCKET_PATH}); set COLLEGIUM_DATA to a shorter path"
        )


def check_directory(data_dir: Path) -> None:
    """Make the data directory if it is not there, and refuse one that cannot be written."""
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
        (data_dir / "start.lock").touch()
    except OSError as error:
        raise ConfigError(
            f"the data directory {data_dir} cannot be written ({error.strerror}): set "
            "COLLEGIUM_DATA to a folder of your own, or have this one given to you (chown)"
        ) from None


def check_version(cluster: Path) -> None:
    """Refuse a cluster made by another major version of PostgreSQL."""
    try:
        found = (cluster / "PG_VERSION").read_text().strip()
    except OSError as error:
        raise ConfigError(
            f"{cluster} is no PostgreSQL cluster ({error.strerror}: PG_VERSION): move it away; "
            "`collegium db up` makes a new one, `collegium db restore` fills it from a backup"
        ) from None
    if found != str(VERSION):
        raise ConfigError(
            f"{cluster} was made by PostgreSQL {found}, the embedded server is {VERSION}: with "
            "the release that made it, run `collegium db backup FILE`; then move the folder "
            "away and run `collegium db restore FILE` with this one"
        )


def explain_failure(what: str, data_dir: Path, output: str) -> CollegiumError:
    """Return the error for a server that `what` ("does not start"), from what was printed."""
    subject = f"the embedded server in {data_dir} {what}"
    if "No space left on device" in output or "Disk quota exceeded" in output:
        return UnavailableError(
            f"{subject}: the disk is full. Free space there (`df -h {data_dir}`) and try again; "
            "nothing acknowledged is lost"
        )
    if "Permission denied" in output:
        return ConfigError(f"{subject}: permission denied. {_last_line(output)}")
    log = data_dir / "postgres" / "log"
    return UnavailableError(f"{subject}: {_last_line(output)} (more in {log})")


def _last_line(output: str) -> str:
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    telling = [line for line in lines if any(mark in line for mark in ("FATAL", "PANIC", "error:"))]
    return (telling or lines or ["it printed nothing"])[-1]
