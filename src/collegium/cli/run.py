"""`collegium run`: the pipelines by name, for those who have no checkout with `pipelines/`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from collegium.runtime.jobs.command import Job


def run(
    pipeline: Annotated[str, typer.Argument(help="build_memory, evaluate_agents, …")],
    config: Annotated[str, typer.Argument(help="YAML file, or a run directory to resume")],
    overrides: Annotated[
        list[str] | None, typer.Option("-s", "--set", help="override one setting: a.b=c")
    ] = None,
    directory: Annotated[str | None, typer.Option("--run", help="run directory")] = None,
    dry_run: Annotated[
        bool, typer.Option(help="print configuration and estimate, start nothing")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print one JSON object")] = False,
) -> None:
    """Run a pipeline, or resume it from its run directory."""
    from collegium.runtime.jobs.command import RunOptions, execute

    options = RunOptions(config, tuple(overrides or ()), directory, dry_run, as_json)
    raise typer.Exit(execute(_find(pipeline), options))


def _find(name: str) -> "Job[Any, Any]":
    from collegium.core import NotFoundError
    from collegium.runtime.jobs import pipelines
    from collegium.runtime.jobs.command import Job

    jobs = {job.name: job for job in vars(pipelines).values() if isinstance(job, Job)}
    if name not in jobs:
        raise NotFoundError(f"no pipeline {name!r}; known: {', '.join(sorted(jobs))}")
    return jobs[name]
