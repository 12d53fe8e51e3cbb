"""`collegium doctor`."""

from typing import TYPE_CHECKING, Annotated

import typer

from collegium.cli.exit_codes import ExitCode

if TYPE_CHECKING:
    from rich.table import Table

    from collegium.service.doctor import Diagnosis

_COLOURS = {"ok": "green", "warn": "yellow", "fail": "red"}


def doctor(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Check that this machine can run the jobs.

    Packages, engine, model, adapters, game data, disk, memory, threads. Each red check comes with
    its remedy. Exit code 1 if any check is red.
    """
    from collegium.service.doctor import diagnose

    diagnosis = diagnose()
    if as_json:
        print(diagnosis.model_dump_json(indent=1))
    else:
        from rich.console import Console

        Console().print(_table(diagnosis))
    raise typer.Exit(ExitCode.OK if diagnosis.ok else ExitCode.VERDICT)


def _table(diagnosis: "Diagnosis") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    table.add_column("check", no_wrap=True)
    table.add_column("", no_wrap=True)
    table.add_column("found", overflow="fold")
    for check in diagnosis.checks:
        found = Text(check.detail)
        if check.remedy:
            found.append(f"\n→ {check.remedy}", style="bold")
        table.add_row(check.name, Text(check.status, style=_COLOURS[check.status]), found)
    return table
