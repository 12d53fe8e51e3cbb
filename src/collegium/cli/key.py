"""`collegium key`: who may call a service. Works on the database itself, so it needs no key."""

import contextlib
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from collegium.service.keys import KeyService
    from collegium.service.keys.use_cases import KeyPage, MintedKey
    from collegium.service.operations import Call
    from collegium.store.settings import DatabaseSettings

app = typer.Typer(help="Keys: who may call a service.")

Json = Annotated[bool, typer.Option("--json", help="print one JSON object")]
KeyId = Annotated[str, typer.Argument(help="the 12 digits after clg_", metavar="KEY_ID")]


@app.command()
def mint(
    scope: Annotated[list[str], typer.Option(help="read, write or admin; give it again for more")],
    namespace: Annotated[
        list[str] | None, typer.Option(help="what it is good for; give it again for more")
    ] = None,
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", help="good for every namespace")
    ] = False,
    label: Annotated[str, typer.Option(help="who holds it")] = "",
    calls_per_minute: Annotated[int, typer.Option(help="how often it may be used")] = 600,
    expires_in_days: Annotated[float | None, typer.Option(help="when it ends")] = None,
    as_json: Json = False,
) -> None:
    """Make a key and show it, this once."""
    settings = _settings()
    from collegium.core import InvalidInputError
    from collegium.service.keys.use_cases import MintInput

    if all_namespaces == bool(namespace):
        raise InvalidInputError("give --namespace NAME (once or more), or --all-namespaces")
    given = {
        "scopes": scope,
        "namespaces": namespace or None,
        "label": label,
        "calls_per_minute": calls_per_minute,
        "expires_in_days": expires_in_days,
    }
    with _keys(settings) as (keys, call):
        _show_minted(keys.mint(call, MintInput.parse(given)), as_json)


@app.command("list")
def list_keys(
    after: Annotated[str | None, typer.Option(help="go on after this key")] = None,
    limit: Annotated[int, typer.Option(help="keys on a page")] = 50,
    as_json: Json = False,
) -> None:
    """List the keys, without their secrets."""
    settings = _settings()
    from collegium.service.keys.use_cases import ListKeysInput

    with _keys(settings) as (keys, call):
        page = keys.page(call, ListKeysInput.parse({"after": after, "limit": limit}))
    if as_json:
        print(page.model_dump_json(indent=1))
        return
    from rich.console import Console

    Console().print(_table(page))
    more = f"; more with --after {page.next}" if page.next else ""
    print(f"{len(page.items)} of {page.total} keys{more}")


@app.command()
def rotate(
    key_id: KeyId,
    grace_s: Annotated[float, typer.Option(help="seconds for which the old secret stays good")] = 0,
    as_json: Json = False,
) -> None:
    """Give a key a new secret and show it, this once."""
    settings = _settings()
    from collegium.service.keys.use_cases import RotateInput

    with _keys(settings) as (keys, call):
        given = RotateInput.parse({"key_id": key_id, "grace_s": grace_s})
        _show_minted(keys.rotate(call, given), as_json)


@app.command()
def revoke(key_id: KeyId, as_json: Json = False) -> None:
    """End a key for good; services refuse it within a minute."""
    settings = _settings()
    from collegium.service.keys.use_cases import RevokeInput

    with _keys(settings) as (keys, call):
        info = keys.revoke(call, RevokeInput.parse({"key_id": key_id}))
    print(info.model_dump_json(indent=1) if as_json else f"{info.key_id} is revoked")


def _settings() -> "DatabaseSettings":
    """Return where the database is, and first of all say so if its packages are missing."""
    from collegium.store.settings import DatabaseSettings

    return DatabaseSettings.from_environment()


@contextlib.contextmanager
def _keys(settings: "DatabaseSettings") -> "Iterator[tuple[KeyService, Call]]":
    from collegium.service.keys.use_cases import OPERATOR, operator_keys
    from collegium.service.operations import Call

    with operator_keys(settings) as keys:
        yield keys, Call(OPERATOR, "command line")


def _show_minted(minted: "MintedKey", as_json: bool) -> None:
    if as_json:
        print(minted.model_dump_json(indent=1))
        return
    print(minted.key)
    print("keep it: it cannot be shown again", file=sys.stderr)


def _table(page: "KeyPage") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    columns = ("key", "label", "scopes", "namespaces", "calls/min", "state")
    table = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False)
    for key in page.items:
        state = "revoked" if key.revoked_at else "good"
        if not key.revoked_at and key.expires_at:
            state = f"until {key.expires_at:%Y-%m-%d %H:%M}"
        names = "all" if key.namespaces is None else ", ".join(key.namespaces)
        cells = (key.key_id, key.label, ", ".join(key.scopes), names)
        table.add_row(*map(Text, (*cells, str(key.calls_per_minute), state)))
    return table
