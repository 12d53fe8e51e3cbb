"""Pipelines as real processes, to be killed at a chosen moment and counted afterwards."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from collegium.store import RunDirectory

ROOT = Path(__file__).resolve().parents[2]
CI = ROOT / "configs" / "ci"
_PATIENCE_S = 120.0


@contextmanager
def started(pipeline: str, config: Path | str, *options: str, run: Path) -> Iterator[psutil.Popen]:
    """Start a pipeline's shell; whatever is left of it afterwards is killed.

    What it prints goes to a file, as a pipe would stay open as long as any of its children.
    """
    path = os.pathsep.join([str(ROOT / "tests" / "support"), os.environ.get("PYTHONPATH", "")])
    shell = str(ROOT / "pipelines" / f"{pipeline}.py")
    with _printed(run).open("wb") as out:
        process = psutil.Popen(
            [sys.executable, shell, str(config), "--run", str(run), *options],
            cwd=ROOT,
            env=os.environ | {"PYTHONPATH": path},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
    try:
        yield process
    finally:
        for member in [*family(process), process]:
            if member.is_running():
                member.kill()
        process.wait(30)


def ended(process: psutil.Popen, run: Path) -> str:
    """Wait until the pipeline ends, in whatever way; return what it printed."""
    process.wait(_PATIENCE_S)
    return _printed(run).read_text(encoding="utf-8")


def finished(process: psutil.Popen, run: Path) -> str:
    """Wait until the pipeline ends well; return what it printed."""
    printed = ended(process, run)
    assert process.returncode == 0, printed
    return printed


def wait_for(condition: Callable[[], object], process: psutil.Popen | None = None) -> None:
    """Wait until `condition` holds, while `process` runs."""
    deadline = time.monotonic() + _PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        if process is not None and process.poll() is not None:
            raise AssertionError("it ended too early")
        time.sleep(0.05)


def rows(run: Path, table: str = "episodes") -> list[dict[str, object]]:
    """Return all rows ever written to a table, repeated ones too."""
    folder = run / "rows" / table
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    complete = [file for file in files if file.suffix == ".jsonl"]
    return [json.loads(line) for file in complete for line in file.read_text().splitlines()]


def counted_once(run: Path, table: str = "episodes") -> list[dict[str, object]]:
    """Return the rows of a table after checking that none was written twice."""
    written = rows(run, table)
    assert [row["key"] for row in RunDirectory(str(run)).rows(table)] == [r["key"] for r in written]
    return written


def engines(process: psutil.Popen) -> list[psutil.Process]:
    """Return the engine processes of a running pipeline."""
    return [child for child in family(process) if "EngineActor" in _title(child)]


def family(process: psutil.Popen) -> list[psutil.Process]:
    """Return all processes below a running pipeline."""
    try:
        found: list[psutil.Process] = process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []
    return found


def gone(processes: list[psutil.Process]) -> bool:
    """Whether all of them have ended."""
    return not any(_lives(process) for process in processes)


def _lives(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _title(process: psutil.Process) -> str:
    try:
        return " ".join(process.cmdline())
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return ""


def _printed(run: Path) -> Path:
    return run.with_name(f"{run.name}.printed")
