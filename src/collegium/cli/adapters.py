"""`collegium adapters`."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from collegium.service.adapters import AdapterList


def adapters(
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """List the packaged adapters."""
    from collegium.service.adapters import packaged_adapters

    listed = packaged_adapters()
    if as_json:
        print(listed.model_dump_json(indent=1))
        return
    from rich.console import Console

    Console().print(_table(listed))


def _table(listed: "AdapterList") -> "Table":
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table("adapter", "trained on", "measured success", box=box.SIMPLE_HEAD, show_edge=False)
    for card in listed.adapters:
        success = ", ".join(f"{name} {share:.0%}" for name, share in card.benchmarks.items())
        table.add_row(Text(card.name), Text(card.data), Text(success or "not measured"))
    return table
