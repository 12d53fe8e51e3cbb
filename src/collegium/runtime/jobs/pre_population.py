"""Fills D_0: the expert's episodes, and recorded episodes of real agents that win again here."""

from collections.abc import Sequence
from typing import Literal, NamedTuple

from collegium.core import Record, Task, Trajectory
from collegium.environments.household import GameStore
from collegium.experience import ExperienceMemory, Importer, expert_trajectories, read_recordings
from collegium.experience.replay import EXPLORER
from collegium.runtime.jobs.configs import (
    ConstructionConfig,
    ExplorerSource,
    PrePopulation,
    RecordingsSource,
)
from collegium.runtime.jobs.episodes import JobContext
from collegium.runtime.jobs.games import spread

SOURCES = "pre_population"
"""Table with what became of each source's episodes."""

_BATCH = 200
"""Trajectories that are indexed at once."""


class SourceRow(Record):
    """What became of the episodes of one source."""

    schema_version: Literal[1] = 1
    source: str
    outcomes: dict[str, int]
    """Outcome -> episodes."""


def pre_populate(
    config: ConstructionConfig,
    memory: ExperienceMemory,
    store: GameStore,
    pool: Sequence[Task],
    context: JobContext,
) -> None:
    """Contribute and seal D_0; batches make it go on after a kill, as embedding takes long."""
    for place, source in enumerate(config.pre_population):
        gathered = _gather(source, config, store, pool)
        for first in range(0, len(gathered.trajectories), _BATCH):
            context.progress.stage(
                f"{source.kind}: {first} of {len(gathered.trajectories)} indexed"
            )
            memory.contribute(gathered.trajectories[first : first + _BATCH], 0)
        rows = [SourceRow(source=name, outcomes=told) for name, told in gathered.outcomes.items()]
        context.run.append(
            SOURCES, [{"key": f"{place}/{row.source}", **row.model_dump()} for row in rows]
        )
    memory.seal(0)


class _Gathered(NamedTuple):
    trajectories: list[Trajectory]
    outcomes: dict[str, dict[str, int]]
    """Source -> what became of its episodes -> how many."""


def _gather(
    source: PrePopulation, config: ConstructionConfig, store: GameStore, pool: Sequence[Task]
) -> _Gathered:
    match source:
        case ExplorerSource():
            return _explore(source, config.loop.step_limit, store, pool)
        case RecordingsSource():
            recordings = read_recordings(source.file) if source.file else ()
            imported = Importer(store, source.split).load(recordings)
            return _Gathered(
                imported.trajectories,
                {
                    name: {str(outcome): count for outcome, count in counts.items()}
                    for name, counts in imported.outcomes.items()
                },
            )


def _explore(
    source: ExplorerSource, step_limit: int, store: GameStore, pool: Sequence[Task]
) -> _Gathered:
    tasks = spread(pool, source.tasks, source.seed)
    played = list(
        expert_trajectories(
            tasks, store, seed=source.seed, step_limit=step_limit, noise=source.noise
        )
    )
    won = sum(trajectory.success for trajectory in played)
    return _Gathered(played, {EXPLORER: {"won": won, "failed": len(played) - won}})
