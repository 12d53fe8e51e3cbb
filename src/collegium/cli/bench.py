"""`collegium bench`."""

from typing import Annotated

import typer

from collegium.cli.exit_codes import ExitCode
from collegium.service.benchmarks import Benchmark, run_benchmark


def bench(
    name: Annotated[Benchmark, typer.Argument(help="what to measure")],
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Measure speed and exactness against targets.

    Exit code 1 if one is missed.
    """
    result = run_benchmark(name)
    if as_json:
        print(result.model_dump_json(indent=1))
    else:
        from rich.console import Console

        from collegium.evaluation.benchmarks import show

        show(result, Console())
    raise typer.Exit(ExitCode.OK if result.meets else ExitCode.VERDICT)
