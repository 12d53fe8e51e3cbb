"""The memory in a `build_memory` run: how it is opened, and its growth as rows."""

from pathlib import Path
from typing import Any

from collegium.config import dump_yaml, load
from collegium.core import NotFoundError
from collegium.embedding import CachedEmbedder, build_embedder
from collegium.evaluation import GROWTH, GrowthRow, corpus_growth
from collegium.experience import ExperienceMemory, Snapshot
from collegium.runtime.jobs.configs import MemorySetup
from collegium.runtime.jobs.games import local_folder
from collegium.store import RunDirectory

_MEMORY = "memory"
_VECTORS = "vectors"
_SETUP = "memory.yaml"


def make_memory(setup: MemorySetup, run: RunDirectory) -> ExperienceMemory:
    """Make the memory of `run`, or open it to go on; a note says how others open it.

    Raises:
        ConfigError: The run directory is not on a disk.
    """
    run.write_text(_SETUP, dump_yaml(setup))
    return _open(setup, local_folder(run, _MEMORY).parent)


def built_memory(run: RunDirectory) -> ExperienceMemory:
    """Open the memory that an earlier `build_memory` left in `run`.

    Raises:
        NotFoundError: There is none, or none of its partitions is complete.
        ConfigError: The run directory is not on a disk.
    """
    folder = local_folder(run, _MEMORY).parent
    if not run.exists(_SETUP):
        raise NotFoundError(
            f"no memory at {run.path}: build it first, with pipelines/build_memory.py"
        )
    memory = _open(load(MemorySetup, [folder / _SETUP]), folder)
    if not memory.sealed:
        raise NotFoundError(
            f"the memory at {run.path} is not complete: go on with "
            f"pipelines/build_memory.py {run.path}"
        )
    return memory


def _open(setup: MemorySetup, run: Path) -> ExperienceMemory:
    embedder = CachedEmbedder(build_embedder(setup.embedder), run / _VECTORS)
    return ExperienceMemory(run / _MEMORY, embedder, grammar=setup.grammar, config=setup.memory)


def store_growth(snapshot: Snapshot, run: RunDirectory) -> None:
    """Store a growth row a partition 0 .. p, as far as there is none yet."""
    stored = run.keys(GROWTH)
    if new := [row for row in _growth_rows(snapshot) if row["key"] not in stored]:
        run.append(GROWTH, new)


def _growth_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """Return the rows; a partition that added nothing repeats the one before."""
    grown = {row.partition: row for row in corpus_growth(snapshot.chunks())}
    row = GrowthRow(partition=0, trajectories=0, chunks_by_producer={})
    rows = []
    for partition in range(snapshot.partition + 1):
        row = grown.get(partition, row).model_copy(update={"partition": partition})
        rows.append({"key": f"D_{partition}", **row.model_dump(mode="json")})
    return rows
