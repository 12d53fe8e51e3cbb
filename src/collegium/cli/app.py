"""The commands by name, and the options that all of them share."""

from typing import Annotated

import typer

from collegium.cli import adapters, bench, data, db, doctor, key, report, run, serve, sharing
from collegium.cli.exit_codes import epilog

app = typer.Typer(
    help="Populations of LLM agents share what they learned.",
    epilog=epilog(),
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.command()(doctor.doctor)
app.command()(run.run)
app.command()(bench.bench)
app.command()(adapters.adapters)
app.command()(sharing.push)
app.command()(sharing.pull)
app.command()(serve.serve)
app.add_typer(key.app, name="key")
app.add_typer(report.app, name="report")
app.add_typer(data.app, name="data")
app.add_typer(db.app, name="db")


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    verbose: Annotated[
        int, typer.Option("-v", "--verbose", count=True, help="log more; twice: everything")
    ] = 0,
    version: Annotated[bool, typer.Option("--version", help="print the version")] = False,
) -> None:
    """Set up logging."""
    if version:
        from collegium import __version__

        print(__version__)
        raise typer.Exit
    if context.invoked_subcommand is None:
        print(context.get_help())
        raise typer.Exit
    from collegium.service.logs import configure_logs

    configure_logs(verbose)
