"""`collegium db`: the database of ledger and keys. DATABASE_URL or COLLEGIUM_DATA say which."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from collegium.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from collegium.core import Record
    from collegium.service.database import DatabaseService
    from collegium.store.ledger.findings import Verification
    from collegium.store.status import DatabaseStatus

app = typer.Typer(help="The database of ledger and keys: embedded, or the one of DATABASE_URL.")

Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
BackupFile = Annotated[
    Path, typer.Argument(help="the backup; its card lies beside it", metavar="FILE")
]


@app.command()
def up(as_json: Json = False) -> None:
    """Start the embedded server, which then stays, and make or upgrade the tables."""
    _show_status(_database().start(), as_json)


@app.command()
def down(as_json: Json = False) -> None:
    """Stop the embedded server."""
    _show_status(_database().stop(), as_json)


@app.command()
def upgrade(as_json: Json = False) -> None:
    """Bring the tables to this release; make a backup first."""
    done = _database().upgrade()
    _show(done, as_json, f"schema {done.before or 'none'} → {done.after}")


@app.command()
def status(as_json: Json = False) -> None:
    """Say how the database is; starts nothing."""
    _show_status(_database().status(), as_json)


@app.command()
def checkpoint(as_json: Json = False) -> None:
    """Verify the events that are new and sign them."""
    info = _database().checkpoint()
    if info is None:
        print("null" if as_json else "the ledger is empty: nothing to sign")
        return
    what = "signed" if info.signed_now else "nothing new since"
    _show(info, as_json, f"{what} checkpoint {info.number} over events 1 … {info.position}")


@app.command()
def verify(as_json: Json = False) -> None:
    """Verify the whole ledger against its chains, the signed checkpoints and the anchor.

    Names each event that was altered, removed, moved or cut off, and says for which events it can
    vouch. Exit code 1 if anything is wrong.
    """
    verification = _database().verify()
    if as_json:
        print(verification.model_dump_json(indent=1))
    else:
        _show_verification(verification)
    raise typer.Exit(ExitCode.OK if verification.ok else ExitCode.VERDICT)


@app.command()
def backup(file: BackupFile, as_json: Json = False) -> None:
    """Write the whole database to a file, as it is at one moment; the signing key is not in it."""
    card = _database().back_up(file)
    _show(card, as_json, f"{file}: {card.bytes:,} bytes, {card.position} events")


@app.command()
def restore(
    file: BackupFile,
    accept_older: Annotated[
        bool, typer.Option("--accept-older", help="take the older state for the true one from now")
    ] = False,
    as_json: Json = False,
) -> None:
    """Put a backup in the place of the database.

    Verification will say that newer events are lost, unless --accept-older. Over a database with
    the same ledger, texts erased since the backup are erased again and keys stay as they are now.
    """
    done = _database().restore(file, accept_older=accept_older)
    text = f"{done.backup.position} events are back, {done.lost} newer ones are gone"
    _show(done, as_json, f"{text}; {done.erased_again} texts were erased again")
    if done.keys_kept is None and not as_json:
        print(
            "the keys are those of the backup, also any revoked or rotated since: see `collegium "
            "key list`, and `collegium key revoke KEY_ID` those that are to be good no longer",
            file=sys.stderr,
        )


@app.command()
def scrub(as_json: Json = False) -> None:
    """Remove what was deleted from the server's files as well; writers wait meanwhile."""
    done = _database().scrub()
    kind = "physically gone" if done.physical else "gone from the tables' files"
    _show(done, as_json, f"what was deleted is {kind}; out of reach: {done.outside}")


def _database() -> "DatabaseService":
    from collegium.store.settings import DatabaseSettings

    # First of all, as this says which extra is missing before anything of it is imported.
    settings = DatabaseSettings.from_environment()
    from collegium.service.database import DatabaseService

    return DatabaseService(settings)


def _show(record: "Record", as_json: bool, text: str) -> None:
    print(record.model_dump_json(indent=1) if as_json else text)


def _show_status(status: "DatabaseStatus", as_json: bool) -> None:
    if as_json:
        print(status.model_dump_json(indent=1))
        return
    state = "is running" if status.running else "is not running"
    print(f"{status.server} {state}")
    if not status.running:
        return
    print(f"PostgreSQL {status.version}; psql '{status.address}'")
    print(f"schema {status.schema_revision or 'none'}, this release needs {status.latest_revision}")
    if status.position is not None:
        signed = f"checkpoint {status.checkpoint}" if status.checkpoint else "no checkpoint"
        print(f"{status.position} events, {signed}, {status.unsigned_events} unsigned")


def _show_verification(verification: "Verification") -> None:
    for finding in verification.findings:
        print(f"{finding.kind.value}: {finding.detail}")
    if verification.found > len(verification.findings):
        print(f"… and {verification.found - len(verification.findings)} more")
    for note in verification.notes:
        print(f"note: {note}")
    if verification.vouched_to is None:
        print(f"{verification.events} events; none is vouched for")
        return
    span = f"{verification.vouched_from} … {verification.vouched_to}"
    print(f"{verification.events} events; vouched for: {span}")
