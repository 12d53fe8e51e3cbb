"""What a run directory says about itself: name, configuration, versions, machine, time."""

import json
from typing import NamedTuple

from collegium.core import CorruptDataError
from collegium.store import RunDirectory


class RunInfo(NamedTuple):
    """The header of a report."""

    name: str
    digest: str
    config: str
    """The resolved configuration as YAML, secrets masked."""
    started: str
    """First start, ISO 8601 to the second."""
    attempts: int
    seconds: float
    """Time at work, waits between attempts left out."""
    machine: str
    versions: tuple[tuple[str, str], ...]


def read_run_info(run: RunDirectory) -> RunInfo:
    """Return the run's description; raises NotFoundError or CorruptDataError naming the file."""
    try:
        versions = json.loads(run.read_text("versions.json"))
    except json.JSONDecodeError as error:
        raise CorruptDataError(f"{run.path}/versions.json: {error}; restore the file") from None
    starts = run.starts()
    packages = versions.get("packages", {})
    return RunInfo(
        name=run.path.rsplit("/", 1)[-1],
        digest=run.read_text("digest.txt").strip(),
        config=run.read_text("config.yaml"),
        started=starts[0].isoformat(sep=" ", timespec="seconds") if starts else "",
        attempts=len(starts),
        seconds=run.active_seconds(),
        machine=versions.get("machine", ""),
        versions=(
            ("collegium", versions.get("collegium", "")),
            ("python", versions.get("python", "")),
            *sorted(packages.items()),
        ),
    )
