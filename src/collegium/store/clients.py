"""PostgreSQL's own client programs, run on a database."""

import os
import subprocess
from typing import IO

from collegium.core import UnavailableError
from collegium.store.database import Database, client_address
from collegium.store.programs import packaged_programs


def run_client(
    database: Database,
    program: str,
    *arguments: str,
    given: IO[bytes] | None = None,
    out: IO[bytes] | None = None,
) -> None:
    """Run one of PostgreSQL's clients; the password never stands in a command.

    `pg_restore` writes SQL to `out` and needs no server; the others work on the database.
    """
    password = database.engine.url.password
    place = "--file=-" if program == "pg_restore" else f"--dbname={client_address(database)}"
    done = subprocess.run(
        [str(packaged_programs() / program), place, *arguments],
        env=os.environ | ({"PGPASSWORD": str(password)} if password else {}),
        stdin=given or subprocess.DEVNULL,
        stdout=out or subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        check=False,
    )
    if done.returncode:
        raise UnavailableError(
            f"{program} failed: {_reason(done)} ({database.settings.server_name()})"
        )


def _reason(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return the line that says why: the first error, else the last line."""
    lines = done.stderr.decode(errors="replace").strip().splitlines()
    errors = [line for line in lines if "error:" in line.lower()]
    return (errors[:1] or lines[-1:] or [f"exit code {done.returncode}"])[0]
