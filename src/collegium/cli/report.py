"""`collegium report`: what a run showed, here, as a page, in the ledger, and in MLflow.

`collegium report RUN` is short for `collegium report build RUN`.
"""

import json
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

_DEFAULT = "build"

_AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]


class _ShortForBuild(TyperGroup):
    """Takes what is no command for a run directory."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or args[0] not in {*self.commands, "--help"}:
            args = [_DEFAULT, *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_ShortForBuild,
    help="Evaluate a run and write its HTML report; RUN alone is short for `build RUN`.",
)


@app.command()
def build(
    run: Annotated[str, typer.Argument(help="run directory of evaluate_agents")],
    as_json: _AsJson = False,
) -> None:
    """Evaluate a run and write its HTML report.

    Tables appear here; report.html and summary.json in the run directory.
    """
    from collegium.evaluation.report import build

    summary = build(run)
    if as_json:
        print(summary.model_dump_json(indent=1))
        return
    from rich.console import Console

    from collegium.evaluation.rendering import show_summary

    console = Console()
    show_summary(summary, console)
    console.print(f"\n{run.rstrip('/')}/report.html", markup=False, highlight=False, soft_wrap=True)


@app.command()
def gate(
    runs: Annotated[list[str], typer.Argument(help="run directories of evaluate_agents")],
    models: Annotated[
        str | None, typer.Option(help="folder of the models; by default where they came from")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Judge the trained rankers of runs and write the verdicts into their cards.

    Only a ranker that passes may answer consumers.
    """
    from pathlib import Path

    from collegium.core import InvalidInputError
    from collegium.evaluation.gate import judge_models, write_verdicts
    from collegium.store import RunDirectory

    judged = judge_models([RunDirectory(run) for run in runs])
    if not judged:
        raise InvalidInputError(
            f"{', '.join(runs)}: no trained ranker beside the arm `retrieval`; evaluate with "
            "`rankers` and the names of its models in `arms`"
        )
    write_verdicts(judged, Path(models) if models else None)
    if as_json:
        print(json.dumps({"models": [one.model_dump(mode="json") for one in judged]}, indent=1))
        return
    from rich.console import Console

    from collegium.evaluation.rendering import to_rich
    from collegium.evaluation.tables import gate_table

    Console().print(to_rich(gate_table(judged)))


@app.command()
def publish(
    run: Annotated[str, typer.Argument(help="directory of a finished run")],
    as_json: _AsJson = False,
) -> None:
    """Write a finished run's digest to the ledger and sign it; its files are checked first."""
    from collegium.store.settings import DatabaseSettings

    # First of all, as this says which extra is missing before anything of it is imported.
    settings = DatabaseSettings.from_environment()
    from collegium.service.database import DatabaseService

    published = DatabaseService(settings).publish(run)
    if as_json:
        print(published.model_dump_json(indent=1))
        return
    print(f"run {published.digest} is event {published.position} of the ledger")


@app.command()
def mlflow(
    run: Annotated[str, typer.Argument(help="directory of a finished run")],
    to: Annotated[
        str | None, typer.Option(help="tracking server; MLFLOW_TRACKING_URI by default")
    ] = None,
    experiment: Annotated[
        str | None, typer.Option(help="MLflow experiment; by default the pipeline's name")
    ] = None,
    as_json: _AsJson = False,
) -> None:
    """Show a finished run in MLflow: configuration, metrics, tables and report."""
    from collegium.runtime.tracking import track_run

    tracked = track_run(run, to, experiment)
    if as_json:
        print(tracked.model_dump_json(indent=1))
        return
    print(f"MLflow at {tracked.tracking_uri}: {tracked.experiment}, run {tracked.run_id}")
