"""What the server's failures mean: errors of our tree, each with what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

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


class _Rule(NamedTuple):
    """What failures of some kind become."""

    error: type[CollegiumError]
    text: str
    """With `{server}` and the server's own `{message}`."""
    states: tuple[str, ...] = ()
    """SQLSTATE codes, or how they begin."""
    words: re.Pattern[str] | None = None
    """In the message: a connection that fails has no code."""


_RULES = (
    _Rule(ConflictError, "{message}", (KEY_REUSED, WRONG_VERSION)),
    _Rule(
        UnavailableError,
        "{server}: this transaction was overtaken by another; do it again",
        ("40001",),
    ),
    _Rule(
        UnavailableError,
        "{server}: this transaction and another waited for each other; do it again",
        ("40P01",),
    ),
    _Rule(
        UnavailableError,
        "{server}: its disk is full ({message}). Free space there and try again; nothing "
        "acknowledged is lost",
        ("53100",),
        re.compile("No space left"),
    ),
    _Rule(
        UnavailableError,
        "{server}: too many connections; close some, or raise its limit",
        ("53300",),
    ),
    _Rule(
        ConfigError,
        "{server} refuses the user or password: correct DATABASE_URL",
        ("28",),
        re.compile("authentication failed"),
    ),
    _Rule(
        ConfigError,
        "{server}: {message}; create it with `createdb`",
        ("3D000",),
        re.compile('database ".*" does not exist'),
    ),
    _Rule(ConfigError, "{server}: {message}; grant it to the user of DATABASE_URL", ("42501",)),
    _Rule(
        UnavailableError, "{server} is read-only ({message}): name the primary server", ("25006",)
    ),
    # What the migrations made, and somebody dropped.
    _Rule(
        CorruptDataError,
        "{server}: {message}; restore a backup",
        words=re.compile(r'(relation|schema|function) "?collegium\b.* does not exist'),
    ),
)


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
    for rule in _RULES:
        if state.startswith(rule.states) or (rule.words and rule.words.search(message)):
            return rule.error(rule.text.format(server=server, message=message))
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
