"""Plays the episodes of a run as a resumable map, grouped by the engine they need.

An attempt that the machinery ends is made again and kept in `FAILED_ATTEMPTS`; the last one enters
the episodes with its machinery stop reason, where no success rate counts it. All that engines spent
counts towards the budget, whatever became of it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import NamedTuple

from collegium.agents.loop import Opening, play, unplayed
from collegium.agents.protocol import Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import (
    Agent,
    Clock,
    CorruptDataError,
    EnvironmentFailedError,
    Episode,
    Task,
    Usage,
    Versions,
)
from collegium.environments import Environment
from collegium.environments.household import ENGINE, GameStore, Household
from collegium.evaluation import (
    EPISODES,
    FAILED_ATTEMPTS,
    UNFINISHED_ATTEMPTS,
    LostAttempt,
    read_episodes,
    read_lost_attempts,
)
from collegium.llm import Budget, BudgetConfig, BudgetedEngine, Engine, EngineSettings, Prices
from collegium.runtime.jobs.configs import PlayingConfig
from collegium.runtime.jobs.engines import EnginePool, settings_for
from collegium.runtime.jobs.progress import Progress
from collegium.runtime.task_map import Results, TaskMap, all_of
from collegium.store import RunDirectory


class Planned(NamedTuple):
    """An episode to be played."""

    unit: EpisodeUnit
    task: Task
    enter: Callable[[], tuple[Environment, Opening]] | None = None
    """Gives an environment in the midst of the task, and how it got there; without it the episode
    starts at the beginning."""

    @property
    def key(self) -> str:
        """The unit's."""
        return self.unit.key


PolicyOf = Callable[[EpisodeUnit, Agent, Engine], Policy]
"""Makes the policy of one episode."""


class JobContext(NamedTuple):
    """What a job works with, besides its configuration."""

    run: RunDirectory
    engines: EnginePool
    progress: Progress
    clock: Clock


_RESULTS = Results[Episode](
    table=EPISODES,
    failures=FAILED_ATTEMPTS,
    to_row=lambda episode: episode.model_dump(mode="json"),
    is_failure=lambda episode: episode.stop_reason.is_machinery,
)


class EpisodePlayer:
    """Plays what has no row yet, and stores each episode as soon as it ends."""

    def __init__(self, config: PlayingConfig, store: GameStore, context: JobContext) -> None:
        """Read from the run directory what is done and what it cost."""
        self._config = config
        self._store = store
        self._context = context
        self._agents = {agent.id: agent for agent in config.agents}
        self._map = TaskMap[Planned, Episode](
            context.run,
            _RESULTS,
            context.progress,
            attempts=config.execution.attempts,
            concurrency=config.execution.concurrency,
        )
        self._budget = Budget(config.execution.budget, _spent(context.run))

    async def play(self, planned: Sequence[Planned], policy_of: PolicyOf) -> None:
        """Play the episodes of language-model agents.

        Raises:
            BudgetExceededError: The budget is spent; what was in flight has no episode.
            EngineError: An engine could not be started.
        """
        groups: dict[EngineSettings, list[Planned]] = defaultdict(list)
        for one in self._map.remaining(planned):
            agent = self._agents[one.unit.agent_id]
            groups[settings_for(self._config.engine, agent)].append(one)
        engines = self._context.engines

        async def play_group(settings: EngineSettings) -> None:
            async with engines.lease(settings) as engine:
                attempt = partial(self._metered_attempt, engine=engine, policy_of=policy_of)
                await self._map.run(groups[settings], attempt)

        await all_of(play_group(settings) for settings in engines.warm_first(groups))

    async def play_alone(
        self, planned: Sequence[Planned], policy_of: Callable[[EpisodeUnit], Policy]
    ) -> None:
        """Play the episodes of agents that need no engine."""
        await self._map.run(
            self._map.remaining(planned),
            lambda one: self._attempt(one, partial(policy_of, one.unit)),
        )

    def episodes(self, planned: Iterable[Planned]) -> list[Episode]:
        """Return the stored episodes of `planned`, in the order planned, whichever ended first."""
        keys = list(dict.fromkeys(one.key for one in planned))
        wanted = set(keys)
        rows = {row["key"]: row for row in self._context.run.rows(EPISODES) if row["key"] in wanted}
        return [Episode.model_validate(rows[key]) for key in keys if key in rows]

    def environment(self, task: Task) -> Environment:
        """Return the environment of `task`, reset; raises CorruptDataError if its file is bad."""
        return Household(self._store.load(task), self._config.grammar)

    async def _metered_attempt(self, one: Planned, engine: Engine, policy_of: PolicyOf) -> Episode:
        """Play once; all that was spent is counted, also where a step or the episode broke off."""
        agent = self._agents[one.unit.agent_id]
        meter = Budget(BudgetConfig())
        metered = BudgetedEngine(engine, meter, Prices.of(agent))
        budgeted = BudgetedEngine(metered, self._budget)
        try:
            episode = await self._attempt(one, partial(policy_of, one.unit, agent, budgeted))
        except BaseException:
            self._store_unfinished(one.unit, meter.spent)
            raise
        return episode.model_copy(update={"usage": meter.spent})

    async def _attempt(self, one: Planned, make_policy: Callable[[], Policy]) -> Episode:
        try:
            environment, opening = one.enter() if one.enter else (self.environment(one.task), None)
        except (CorruptDataError, EnvironmentFailedError) as error:
            grammar = self._config.grammar
            versions = Versions(game_data="unreadable", grammar=grammar, engine=ENGINE)
            return unplayed(one.unit, one.task, versions, str(error))
        return await play(
            environment,
            make_policy(),
            one.unit,
            config=self._config.loop,
            clock=self._context.clock,
            opening=opening,
        )

    def _store_unfinished(self, unit: EpisodeUnit, usage: Usage) -> None:
        lost = LostAttempt(arm=unit.arm, usage=usage)
        row = {"key": f"{unit.key}/{self._map.start}", **lost.model_dump(mode="json")}
        self._context.run.append(UNFINISHED_ATTEMPTS, [row])


def _spent(run: RunDirectory) -> Usage:
    """Return what all attempts of all starts have spent so far."""
    episodes = (episode.usage for episode in read_episodes(run))
    lost = (attempt.usage for attempt in read_lost_attempts(run))
    return reduce(add, chain(episodes, lost), Usage())
