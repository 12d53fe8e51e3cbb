"""Tables for terminals and for Markdown files; the cells are those of `tables`."""

from typing import TYPE_CHECKING

from collegium.evaluation.findings import findings
from collegium.evaluation.formats import Written
from collegium.evaluation.records import Summary
from collegium.evaluation.tables import Table, tables

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable


def show_summary(summary: Summary, console: "Console") -> None:
    """Print every table, then what the run showed in sentences."""
    for table in tables(summary):
        console.print(to_rich(table))
    for finding in findings(summary):
        console.print(f"• {finding}", markup=False, highlight=False)


def to_markdown(table: Table) -> str:
    """Return a GitHub-style table, with its title above and its note below."""
    head = [_escape(column.title) for column in table.columns]
    rule = ["---:" if column.numeric else ":---" for column in table.columns]
    body = [[_escape(_line(cell)) for cell in row] for row in table.rows]
    lines = ["| " + " | ".join(cells) + " |" for cells in (head, rule, *body)]
    note = [f"\n{table.note}"] if table.note else []
    return "\n".join([f"**{table.title}**\n", *lines, *note]) + "\n"


def to_rich(table: Table) -> "RichTable":
    """Return a table for `rich.print`, intervals on their own line; text is never markup."""
    from rich import box
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(
        title=table.title, caption=table.note or None, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0)
    )
    drawn.title_justify = drawn.caption_justify = "left"
    for place, column in enumerate(table.columns):
        drawn.add_column(
            Text(column.title), justify="right" if column.numeric else "left", no_wrap=place == 0
        )
    for row in table.rows:
        drawn.add_row(*(Text.assemble(cell.text, *_detail(cell)) for cell in row))
    return drawn


def _detail(cell: Written) -> list[tuple[str, str]]:
    return [("\n" + cell.detail, "dim")] if cell.detail else []


def _line(cell: Written) -> str:
    return f"{cell.text} ({cell.detail})" if cell.detail else cell.text


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
