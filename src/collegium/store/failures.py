"""What the server's failures mean: errors of our tree, each with what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import sqlalchemy as sa

from collegium.core import (
    CollegiumError,
    ConfigError,
    ConflictError,
    CorruptDataError,
    InvalidInputError,
    UnavailableError,
)
from collegium.store.settings import DatabaseSettings

KEY_REUSED = "CL001"
WRONG_VERSION = "CL002"
_CONFLICTS = (KEY_REUSED, WRONG_VERSION)
# A connection that fails has a message and no code.
_NO_DATABASE = re.compile(r'database ".*" does not exist')
# What the migrations made, and somebody dropped.
_GONE = re.compile(r'(relation|schema|function) "?collegium\b.* does not exist')
_TRY_AGAIN = {"40001": "was overtaken by another", "40P01": "and another waited for each other"}


@contextmanager
def explained(settings: DatabaseSettings) -> Iterator[None]:
    """Turn failures of the server within the block into errors of our tree."""
    try:
        yield
    except (sa.exc.DBAPIError, psycopg.Error) as error:
        cause = error.orig if isinstance(error, sa.exc.DBAPIError) else error
        ours = _explain(cause, settings)
        if ours is None:
            raise
        raise ours from error
    except sa.exc.TimeoutError as error:
        raise UnavailableError(f"{settings.server_name()}: no connection became free") from error


def _explain(error: BaseException | None, settings: DatabaseSettings) -> CollegiumError | None:
    """Return our error; None for a statement that is simply wrong, which is a bug."""
    state = getattr(error, "sqlstate", None) or ""
    server = settings.server_name()
    message = (str(error).strip() or "no reason").splitlines()[0]
    if state in _CONFLICTS:
        return ConflictError(message)
    if state in _TRY_AGAIN:
        return UnavailableError(f"{server}: this transaction {_TRY_AGAIN[state]}; do it again")
    if state == "53100" or "No space left" in message:
        return UnavailableError(
            f"{server}: its disk is full ({message}). Free space there and try again; nothing "
            "acknowledged is lost"
        )
    if state == "53300":
        return UnavailableError(f"{server}: too many connections; close some, or raise its limit")
    if state.startswith("28") or "authentication failed" in message:
        return ConfigError(f"{server} refuses the user or password: correct DATABASE_URL")
    if state == "3D000" or _NO_DATABASE.search(message):
        return ConfigError(f"{server}: {message}; create it with `createdb`")
    if state == "42501":
        return ConfigError(f"{server}: {message}; grant it to the user of DATABASE_URL")
    if state == "25006":
        return UnavailableError(f"{server} is read-only ({message}): name the primary server")
    if _GONE.search(message):
        return CorruptDataError(f"{server}: {message}; restore a backup")
    if isinstance(error, psycopg.DataError):
        return InvalidInputError(f"{server}: {message}")
    if _is_gone(error, state):
        return UnavailableError(f"{server} cannot be reached: {message}. {_remedy(settings)}")
    return None


def _is_gone(error: BaseException | None, state: str) -> bool:
    """Return whether there is no connection, or the server is about to close it."""
    if not state:
        return isinstance(error, psycopg.OperationalError)
    return state.startswith(("08", "57P"))


def _remedy(settings: DatabaseSettings) -> str:
    if settings.url is None:
        return f"Start it with `collegium db up`; its log is {settings.data_dir}/postgres/log"
    return "Is it running, and is DATABASE_URL right?"
