"""`collegium report`."""

from typing import Annotated

import typer


def report(
    run: Annotated[str, typer.Argument(help="run directory of evaluate_agents")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
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
