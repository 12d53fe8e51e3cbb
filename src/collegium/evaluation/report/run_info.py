"""What a run directory says about itself: name, configuration, versions, machine, time."""

from collections.abc import Iterator
from typing import Any, NamedTuple

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
    """Of the newest attempt."""


def read_run_info(run: RunDirectory) -> RunInfo:
    """Return the run's description; raises NotFoundError or CorruptDataError naming the file."""
    attempts = run.attempts()
    versions = attempts[-1].versions if attempts else {}
    return RunInfo(
        name=run.path.rsplit("/", 1)[-1],
        digest=run.read_text("digest.txt").strip(),
        config=run.read_text("config.yaml"),
        started=attempts[0].started.isoformat(sep=" ", timespec="seconds") if attempts else "",
        attempts=len(attempts),
        seconds=run.active_seconds(),
        machine=versions.get("machine", ""),
        versions=tuple(_flat(versions)),
    )


def _flat(versions: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the names with versions, the packages' last; the machine has a line of its own."""
    for name, version in versions.items():
        if isinstance(version, str) and version and name != "machine":
            yield name, version
    yield from sorted(versions.get("packages", {}).items())
