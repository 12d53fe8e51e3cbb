"""Builds the shared memory D_P: pre-population, then partition by partition (MATM §4.1, App. I).

Each task of partition p is played once, without retrieval, by the agent that the allocation sigma
gives it; what succeeded enters the memory when the whole partition is done.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from collegium.agents.allocation import allocate
from collegium.agents.policies import GuidedPolicy
from collegium.agents.protocol import Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, Episode, Record, Task, Trajectory
from collegium.environments.household import GameStore
from collegium.experience import (
    ExperienceMemory,
    Importer,
    Partition,
    expert_trajectories,
    grow_memory,
    partition_tasks,
    read_recordings,
)
from collegium.experience.replay import EXPLORER
from collegium.llm import Engine
from collegium.runtime.jobs.configs import (
    NO_RETRIEVAL,
    BuildMemoryConfig,
    ExplorerSource,
    PrePopulation,
    RecordingsSource,
)
from collegium.runtime.jobs.episodes import Desk, EpisodePlayer, Planned
from collegium.runtime.jobs.formats import build_format
from collegium.runtime.jobs.games import open_games, select_tasks, spread
from collegium.runtime.jobs.memory import make_memory, store_growth

SOURCES = "pre_population"
"""Table with what became of each source's episodes."""
PARTITIONS = "partitions"
"""Table with what each partition brought."""

_BATCH = 200
"""Trajectories of the pre-population that are indexed at once."""


class MemoryBuilt(Record):
    """What `build_memory` left."""

    partitions: int
    """P."""
    trajectories: int
    """Stored ones, successful or not, the pre-population included."""
    chunks: int
    """Chunks in D_P."""
    chunks_by_partition: tuple[int, ...]
    """Chunks in D_0 .. D_P."""


async def build_memory(config: BuildMemoryConfig, desk: Desk) -> MemoryBuilt:
    """Build the memory in the run directory, or go on with it.

    Raises:
        NotFoundError: Games or recordings are not there.
        BudgetExceededError: The budget is spent; the run can be resumed.
    """
    store = open_games(config.games, desk.run)
    pool = select_tasks(config.games, store)
    memory = make_memory(config.setup, desk.run)
    if not memory.sealed:
        desk.progress.stage("pre-population")
        _pre_populate(config, memory, store, pool, desk)
    store_growth(memory.as_of(memory.sealed - 1), desk.run)
    tasks = spread(pool, config.tasks, config.seed)
    partitions = partition_tasks(tasks, config.partitions, config.seed) if config.partitions else []
    baselines = _Baselines(config, EpisodePlayer(config, store, desk), desk)
    async for grown in grow_memory(memory, partitions, baselines.play):
        desk.run.append(PARTITIONS, [{"key": f"p{grown.partition}", **grown._asdict()}])
        store_growth(memory.as_of(memory.sealed - 1), desk.run)
    desk.run.finish()
    return _built(memory)


class _Baselines:
    """Plays the baseline episodes of one partition after the other."""

    def __init__(self, config: BuildMemoryConfig, player: EpisodePlayer, desk: Desk) -> None:
        self._config = config
        self._player = player
        self._desk = desk
        self._format = build_format(config)

    async def play(self, partition: Partition) -> Sequence[Episode]:
        """Play each task of the partition once, and return its episodes."""
        self._desk.progress.stage(f"partition {partition.number} of {self._config.partitions}")
        planned = plan_partition(self._config, partition.number, partition.tasks, partition.start)
        await self._player.play(planned, self._policy)
        return self._player.episodes(planned)

    def _policy(self, unit: EpisodeUnit, agent: Agent, engine: Engine) -> Policy:
        return GuidedPolicy(engine, agent, self._format, seed=unit.seed)


def plan_partition(
    config: BuildMemoryConfig, number: int, tasks: Sequence[Task], start: int
) -> list[Planned]:
    """Return the baseline episodes of partition `number`, before which `start` tasks were given."""
    ids = [agent.id for agent in config.agents]
    allocation = allocate(tasks, ids, start=start, seed=config.agent_order_seed)
    return [
        Planned(
            EpisodeUnit(
                arm=NO_RETRIEVAL,
                environment=task.environment,
                task_id=task.task_id,
                agent_id=allocation[task.task_id],
                partition=number,
                seed=config.seed,
            ),
            task,
        )
        for task in tasks
    ]


def _pre_populate(
    config: BuildMemoryConfig,
    memory: ExperienceMemory,
    store: GameStore,
    pool: Sequence[Task],
    desk: Desk,
) -> None:
    """Contribute and seal D_0; batches make it go on after a kill, as embedding takes long."""
    for place, source in enumerate(config.pre_population):
        gathered = _gather(source, config, store, pool)
        for first in range(0, len(gathered.trajectories), _BATCH):
            desk.progress.stage(f"{source.kind}: {first} of {len(gathered.trajectories)} indexed")
            memory.contribute(gathered.trajectories[first : first + _BATCH], 0)
        rows = [
            {"key": f"{place}/{name}", "source": name, "outcomes": outcomes}
            for name, outcomes in gathered.outcomes.items()
        ]
        desk.run.append(SOURCES, rows)
    memory.seal(0)


class _Gathered(NamedTuple):
    trajectories: list[Trajectory]
    outcomes: dict[str, dict[str, int]]
    """Source -> what became of its episodes -> how many."""


def _gather(
    source: PrePopulation, config: BuildMemoryConfig, store: GameStore, pool: Sequence[Task]
) -> _Gathered:
    match source:
        case ExplorerSource():
            return _explore(source, config.loop.step_limit, store, pool)
        case RecordingsSource():
            imported = Importer(store, source.split).load(read_recordings(Path(source.path)))
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


def _built(memory: ExperienceMemory) -> MemoryBuilt:
    last = memory.sealed - 1
    return MemoryBuilt(
        partitions=last,
        trajectories=sum(row.trajectories for row in memory.growth()),
        chunks=memory.as_of(last).count(),
        chunks_by_partition=tuple(memory.as_of(p).count() for p in range(last + 1)),
    )
