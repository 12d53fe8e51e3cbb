"""The command line of a pipeline: configuration in, run directory and tables out.

`python pipelines/NAME.py CONFIG [-s a.b=c] [--run DIR] [--dry-run] [--json]`; CONFIG is a YAML
file, or a run directory that is to be resumed. Progress goes to standard error, results to standard
output. Exit codes are those of the error tree; 130 after Ctrl-C.
"""

import asyncio
import json
import signal
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

import typer
import yaml
from rich.console import Console

from collegium.config import digest, dump_yaml, load, load_texts
from collegium.core import CollegiumError, Record, SystemClock
from collegium.runtime.jobs.configs import JobConfig
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.store import RunDirectory

C = TypeVar("C", bound=JobConfig)
R = TypeVar("R", bound=Record)

_CONFIG = "config.yaml"
_LOOSE = "loose.yaml"
"""Settings of the last attempt that are no part of the run's identity."""
_INTERRUPTED = 130

_ConfigArgument = Annotated[
    str, typer.Argument(metavar="CONFIG", help="YAML file, or a run directory to resume")
]
_Overrides = Annotated[
    list[str] | None, typer.Option("-s", "--set", metavar="A.B=C", help="override a value")
]
_RunOption = Annotated[str | None, typer.Option(metavar="DIR", help="run directory")]
_DryRun = Annotated[
    bool, typer.Option("--dry-run", help="print configuration and estimate, start nothing")
]
_AsJson = Annotated[bool, typer.Option("--json", help="print one JSON object")]


@dataclass(frozen=True)
class Job(Generic[C, R]):
    """A pipeline: its configuration, its function, and how both are shown."""

    name: str
    config: type[C]
    run: Callable[[C, RunDirectory, ConsoleProgress], Awaitable[R]]
    """Does the work in an opened run directory, or goes on with it."""
    estimate: Callable[[C], Record]
    """Tells what the run will take."""
    show: Callable[[R, Console], None]
    """Prints the result."""


@dataclass(frozen=True)
class Order:
    """What the user asked for."""

    source: str
    overrides: tuple[str, ...] = ()
    run: str | None = None
    dry_run: bool = False
    as_json: bool = False


def run_pipeline(job: Job[C, R]) -> None:
    """Read the command line, run `job`, and exit."""

    def command(
        config: _ConfigArgument,
        overrides: _Overrides = None,
        run: _RunOption = None,
        dry_run: _DryRun = False,
        as_json: _AsJson = False,
    ) -> None:
        order = Order(config, tuple(overrides or ()), run, dry_run, as_json)
        raise typer.Exit(carry_out(job, order))

    command.__doc__ = sys.modules["__main__"].__doc__
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command()(command)
    app()


def carry_out(job: Job[C, R], order: Order) -> int:
    """Run `job` as ordered and return the exit code; errors of the tree are printed, not raised."""
    out, err = Console(), Console(stderr=True)
    try:
        config = read_config(job.config, order)
        if order.dry_run:
            _print_plan(config, job.estimate(config), order)
            return 0
        run = RunDirectory(order.run or _default_run(job.name, config, order))
        return _run(job, config, run, order, out, err)
    except CollegiumError as error:
        if order.as_json:
            print(json.dumps({"error": {"code": error.code, "message": str(error)}}))
        err.print(f"error: {error}", style="red", markup=False, highlight=False)
        return error.exit_code


def read_config(model: type[C], order: Order) -> C:
    """Return the resolved configuration; a run directory gives that which it was made with."""
    source = RunDirectory(order.source)
    if not source.exists(_CONFIG):
        return load(model, [order.source], order.overrides).resolved()
    names = [name for name in (_CONFIG, _LOOSE) if source.exists(name)]
    texts = {f"{source.path}/{name}": source.read_text(name) for name in names}
    return load_texts(model, texts, order.overrides).resolved()


def _default_run(name: str, config: JobConfig, order: Order) -> str:
    resumes = RunDirectory(order.source).exists(_CONFIG)
    return order.source if resumes else f"runs/{name}-{digest(config)}"


def _run(
    job: Job[C, R], config: C, run: RunDirectory, order: Order, out: Console, err: Console
) -> int:
    run.open(config)
    run.write_text(_LOOSE, yaml.safe_dump(config.loose(), sort_keys=False))
    progress = ConsoleProgress(err, SystemClock())
    err.print(f"{job.name} → {run.path}", markup=False, highlight=False)

    async def work() -> R:
        _stop_on_termination()
        return await job.run(config, run, progress)

    try:
        with progress.shown():
            result = asyncio.run(work())
    except (KeyboardInterrupt, asyncio.CancelledError):
        _tell_how_to_resume(job.name, run, progress, err)
        return _INTERRUPTED
    if order.as_json:
        print(result.model_dump_json())
    else:
        job.show(result, out)
        out.print(f"run directory: {run.path}", markup=False, highlight=False)
    return 0


def _stop_on_termination() -> None:
    """Let SIGTERM, by which clusters stop jobs, end the run as cleanly as Ctrl-C does."""
    task = asyncio.current_task()
    if task is not None:
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)


def _tell_how_to_resume(
    name: str, run: RunDirectory, progress: ConsoleProgress, err: Console
) -> None:
    tally = progress.tally
    stored = f"{tally.stored} of {tally.total} episodes are stored. " if tally.total else ""
    err.print(
        f"stopped. {stored}Go on with: python pipelines/{name}.py {run.path}",
        markup=False,
        highlight=False,
    )


def _print_plan(config: JobConfig, estimate: Record, order: Order) -> None:
    plan: dict[str, Any] = {"estimate": estimate.model_dump(mode="json")}
    if order.as_json:
        print(json.dumps({"config": config.model_dump(mode="json"), **plan}))
    else:
        print(dump_yaml(config))
        print(yaml.safe_dump(plan, sort_keys=False, width=96), end="")
