"""Builds the shared memory D_P: pre-population, then partition by partition (MATM §4.1, App. I).

Each task of partition p is played once, without retrieval, by the agent that the allocation sigma
gives it; what succeeded enters the memory when the whole partition is done. Rows about partitions
are derived from the memory and the stored episodes, so a kill at any moment loses none.

`construct` is this flow; `label_utility` runs the same one and plays more in each partition.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Literal

from collegium.agents.allocation import allocate
from collegium.agents.policies import GuidedPolicy
from collegium.agents.protocol import Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, Episode, Record, Task
from collegium.evaluation import read_episodes
from collegium.evaluation.arms import NO_RETRIEVAL
from collegium.experience import (
    CONTROL,
    FUTURE,
    ExperienceMemory,
    Partition,
    grow_memory,
    partition_tasks,
)
from collegium.experience.construction import PlayPartition
from collegium.llm import Engine
from collegium.runtime.jobs.configs import BuildMemoryConfig, ConstructionConfig
from collegium.runtime.jobs.episodes import EpisodePlayer, JobContext, Planned
from collegium.runtime.jobs.formats import build_format
from collegium.runtime.jobs.games import open_games, select_tasks, spread
from collegium.runtime.jobs.memory import make_memory, store_growth
from collegium.runtime.jobs.pre_population import pre_populate
from collegium.store import RunDirectory

PARTITIONS = "partitions"
"""Table with what each partition brought."""


class PartitionRow(Record):
    """What one partition p >= 1 brought."""

    schema_version: Literal[2] = 2
    partition: int
    episodes: int
    """Baselines: each task once."""
    successes: int
    """Of the baselines."""
    futures: int
    """Branches of `label_utility` that were shown something."""
    future_successes: int
    controls: int
    """Branches of `label_utility` that were shown nothing; they are not contributed."""
    control_successes: int
    machinery_failures: int
    """Episodes of all three that the machinery ended; they are not contributed."""
    chunks: int
    """Chunks added to the index."""


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


async def build_memory(config: BuildMemoryConfig, context: JobContext) -> MemoryBuilt:
    """Build the memory in the run directory, or go on with it.

    Raises:
        NotFoundError: Games or recordings are not there.
        BudgetExceededError: The budget is spent; the run can be resumed.
    """

    def baselines(memory: ExperienceMemory, player: EpisodePlayer) -> PlayPartition:
        return Baselines(config, player, context).play

    built = await construct(config, context, baselines)
    context.run.finish()
    return built


Playing = Callable[[ExperienceMemory, EpisodePlayer], PlayPartition]
"""Makes what plays the partitions, of the memory that grows by it and the player of the run."""


async def construct(
    config: ConstructionConfig, context: JobContext, playing: Playing
) -> MemoryBuilt:
    """Fill the memory in the run directory, partition by partition, or go on with it.

    The run is the caller's to finish.

    Raises:
        NotFoundError: Games or recordings are not there.
        BudgetExceededError: The budget is spent; the run can be resumed.
    """
    store = open_games(config.games, context.run)
    pool = select_tasks(config.games, store)
    memory = make_memory(config.setup, context.run)
    if not memory.sealed:
        context.progress.stage("pre-population")
        pre_populate(config, memory, store, pool, context)
    _note_growth(memory, context.run)
    tasks = spread(pool, config.tasks, config.seed)
    partitions = partition_tasks(tasks, config.partitions, config.seed) if config.partitions else []
    play = playing(memory, EpisodePlayer(config, store, context))
    async for _ in grow_memory(memory, partitions, play):
        _note_growth(memory, context.run)
    return _built(memory)


class Baselines:
    """Plays the baseline episodes of one partition after the other."""

    def __init__(
        self, config: ConstructionConfig, player: EpisodePlayer, context: JobContext
    ) -> None:
        """Play by `config`, with `player`."""
        self._config = config
        self._player = player
        self._context = context
        self._format = build_format(config)

    async def play(self, partition: Partition) -> Sequence[Episode]:
        """Play each task of the partition once, and return its episodes."""
        self._context.progress.stage(f"partition {partition.number} of {self._config.partitions}")
        planned = plan_partition(self._config, partition.number, partition.tasks, partition.start)
        await self._player.play(planned, self.policy)
        return self._player.episodes(planned)

    def policy(self, unit: EpisodeUnit, agent: Agent, engine: Engine) -> Policy:
        """Return an agent at work that never retrieves; guidance it is given stays in use."""
        return GuidedPolicy(engine, agent, self._format, seed=unit.seed)


def plan_partition(
    config: ConstructionConfig, number: int, tasks: Sequence[Task], start: int
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


def _note_growth(memory: ExperienceMemory, run: RunDirectory) -> None:
    """Store the rows of all sealed partitions, as far as there are none yet."""
    store_growth(memory.as_of(memory.sealed - 1), run)
    stored = run.keys(PARTITIONS)
    missing = [p for p in range(1, memory.sealed) if f"p{p}" not in stored]
    if missing:
        rows = _partition_rows(memory, list(read_episodes(run)), missing)
        run.append(PARTITIONS, [{"key": f"p{r.partition}", **r.model_dump()} for r in rows])


def _partition_rows(
    memory: ExperienceMemory, episodes: Sequence[Episode], partitions: Sequence[int]
) -> Iterator[PartitionRow]:
    chunks: Counter[int] = Counter()
    for row in memory.growth():
        chunks[row.partition] += row.chunks
    for number in partitions:
        mine = [episode for episode in episodes if episode.partition == number]
        played = Counter(episode.arm for episode in mine)
        won = Counter(episode.arm for episode in mine if episode.trajectory.success)
        yield PartitionRow(
            partition=number,
            episodes=played[NO_RETRIEVAL],
            successes=won[NO_RETRIEVAL],
            futures=played[FUTURE],
            future_successes=won[FUTURE],
            controls=played[CONTROL],
            control_successes=won[CONTROL],
            machinery_failures=sum(episode.stop_reason.is_machinery for episode in mine),
            chunks=chunks[number],
        )


def _built(memory: ExperienceMemory) -> MemoryBuilt:
    last = memory.sealed - 1
    return MemoryBuilt(
        partitions=last,
        trajectories=sum(row.trajectories for row in memory.growth()),
        chunks=memory.as_of(last).count(),
        chunks_by_partition=tuple(memory.as_of(p).count() for p in range(last + 1)),
    )
