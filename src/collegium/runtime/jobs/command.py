"""A pipeline from configuration to printed result: what `collegium run` and `pipelines/` execute.

The source is a YAML file, or a run directory that is to be resumed. Progress goes to standard
error, results to standard output. Errors are the caller's to tell.
"""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import yaml
from rich.console import Console

from collegium.config import digest, dump_yaml, load, load_texts
from collegium.core import Record, SystemClock
from collegium.runtime.jobs.configs import JobConfig
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.store import RunDirectory

C = TypeVar("C", bound=JobConfig)
R = TypeVar("R", bound=Record)

_CONFIG = "config.yaml"
_EXECUTION = "execution.yaml"
"""Settings of the last attempt that are no part of the run's identity."""
_INTERRUPTED = 130


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
class RunOptions:
    """What the user asked for."""

    source: str
    overrides: tuple[str, ...] = ()
    run: str | None = None
    dry_run: bool = False
    as_json: bool = False


def execute(job: Job[C, R], options: RunOptions) -> int:
    """Run `job`, print its result, and return the exit code: 0, or 130 after an interrupt.

    Raises:
        CollegiumError: The configuration is wrong, or the run failed.
    """
    out, err = Console(), Console(stderr=True)
    config = read_config(job.config, options)
    if options.dry_run:
        _print_plan(config, job.estimate(config), options)
        return 0
    run = RunDirectory(options.run or _default_run(job.name, config, options))
    return _run(job, config, run, options, out, err)


def read_config(model: type[C], options: RunOptions) -> C:
    """Return the resolved configuration; a run directory gives that which it was made with."""
    source = RunDirectory(options.source)
    if not source.exists(_CONFIG):
        return load(model, [options.source], options.overrides).resolved()
    names = [name for name in (_CONFIG, _EXECUTION) if source.exists(name)]
    texts = {f"{source.path}/{name}": source.read_text(name) for name in names}
    return load_texts(model, texts, options.overrides).resolved()


def _default_run(name: str, config: JobConfig, options: RunOptions) -> str:
    resumes = RunDirectory(options.source).exists(_CONFIG)
    return options.source if resumes else f"runs/{name}-{digest(config)}"


def _run(
    job: Job[C, R], config: C, run: RunDirectory, options: RunOptions, out: Console, err: Console
) -> int:
    run.open(config)
    run.write_text(_EXECUTION, yaml.safe_dump(config.undigested(), sort_keys=False))
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
    if options.as_json:
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


def _print_plan(config: JobConfig, estimate: Record, options: RunOptions) -> None:
    plan: dict[str, Any] = {"estimate": estimate.model_dump(mode="json")}
    if options.as_json:
        print(json.dumps({"config": config.model_dump(mode="json"), **plan}))
    else:
        print(dump_yaml(config))
        print(yaml.safe_dump(plan, sort_keys=False, width=96), end="")
