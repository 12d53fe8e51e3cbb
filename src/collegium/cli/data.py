"""`collegium data`: bringing data sets into place."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Bring data sets into place.")


@app.callback()
def _group() -> None:
    """Keep `household` a command of its own, although it is the only one so far."""


@app.command()
def household(
    source: Annotated[Path, typer.Option("--from", help="folder with the archives games_*.tar.xz")],
    target: Annotated[
        Path | None, typer.Option("--to", help="where the games go; ALFWORLD_DATA by default")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Unpack ALFWorld's games."""
    from collegium.service.games import unpack_household

    unpacked = unpack_household(source, target)
    if as_json:
        print(unpacked.model_dump_json())
        return
    print(f"{unpacked.games} games unpacked")
    print(f"export ALFWORLD_DATA={unpacked.root}")
