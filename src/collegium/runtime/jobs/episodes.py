"""Plays the episodes of a run: many at once, each counted once, grouped by the engine they need.

An attempt that the machinery ends is made again and kept in `FAILED_ATTEMPTS`; the last one enters
the episodes with its machinery stop reason, where no success rate counts it. What was stored before
a kill is never played again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from functools import partial, reduce
from itertools import chain
from operator import add
from typing import Any, NamedTuple

from collegium.agents.loop import play, unplayed
from collegium.agents.protocol import Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, Clock, CorruptDataError, Episode, Task, Usage, Versions
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
from collegium.store import RunDirectory


class Planned(NamedTuple):
    """An episode to be played."""

    unit: EpisodeUnit
    task: Task


PolicyOf = Callable[[EpisodeUnit, Agent, Engine], Policy]
"""Makes the policy of one episode."""


class Desk(NamedTuple):
    """What a job works with, besides its configuration."""

    run: RunDirectory
    engines: EnginePool
    progress: Progress
    clock: Clock


class EpisodePlayer:
    """Plays what has no row yet, and stores each episode as soon as it ends."""

    def __init__(self, config: PlayingConfig, store: GameStore, desk: Desk) -> None:
        """Read from the run directory what is done and what it cost."""
        self._config = config
        self._store = store
        self._desk = desk
        self._agents = {agent.id: agent for agent in config.agents}
        self._slots = asyncio.Semaphore(config.execution.concurrency)
        self._start = len(desk.run.starts())
        self._done = desk.run.keys(EPISODES)
        self._budget = Budget(config.execution.budget, _spent(desk.run))

    async def play(self, planned: Sequence[Planned], policy_of: PolicyOf) -> None:
        """Play the episodes of language-model agents.

        Raises:
            BudgetExceededError: The budget is spent; what was in flight has no episode.
            EngineError: An engine could not be started.
        """
        groups: dict[EngineSettings, list[Planned]] = defaultdict(list)
        for one in self._open(planned):
            agent = self._agents[one.unit.agent_id]
            groups[settings_for(self._config.engine, agent)].append(one)
        engines = self._desk.engines

        async def play_group(settings: EngineSettings) -> None:
            async with engines.lease(settings) as engine:
                await self._play_group(groups[settings], engine, policy_of)

        await all_of(play_group(settings) for settings in engines.warm_first(groups))

    async def play_alone(
        self, planned: Sequence[Planned], policy_of: Callable[[EpisodeUnit], Policy]
    ) -> None:
        """Play the episodes of agents that need no engine."""
        for one in self._open(planned):
            await self._settle(partial(self._attempt, one, partial(policy_of, one.unit)))
            await asyncio.sleep(0)  # let a signal through

    def episodes(self, planned: Iterable[Planned]) -> list[Episode]:
        """Return the stored episodes of `planned`, in the order they ended."""
        keys = {one.unit.key for one in planned}
        rows = (row for row in self._desk.run.rows(EPISODES) if row["key"] in keys)
        return [Episode.model_validate(row) for row in rows]

    def _open(self, planned: Sequence[Planned]) -> list[Planned]:
        still_open = [one for one in planned if one.unit.key not in self._done]
        self._desk.progress.expect(len(planned), done=len(planned) - len(still_open))
        return still_open

    async def _play_group(
        self, group: Sequence[Planned], engine: Engine, policy_of: PolicyOf
    ) -> None:
        """Play a group; asking for a slot anew each time shares them among the engines alive."""
        waiting = iter(group)

        async def play_next() -> None:
            for one in waiting:
                async with self._slots:
                    await self._settle(partial(self._metered_attempt, one, engine, policy_of))

        at_most = min(len(group), self._config.execution.concurrency)
        await all_of(play_next() for _ in range(at_most))

    async def _settle(self, make_attempt: Callable[[], Awaitable[Episode]]) -> None:
        """Play until the agent, not the machinery, ends the episode, and store that one."""
        for attempt in range(1, self._config.execution.attempts + 1):
            episode = await make_attempt()
            if not episode.stop_reason.is_machinery:
                break
            if attempt < self._config.execution.attempts:
                key = f"{episode.key}/{self._start}.{attempt}"
                row = episode.model_copy(update={"key": key})
                self._desk.run.append(FAILED_ATTEMPTS, [row.model_dump(mode="json")])
        self._desk.run.append(EPISODES, [episode.model_dump(mode="json")])
        self._done.add(episode.key)
        self._desk.progress.advance(episode)

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
            game = self._store.load(one.task)
        except CorruptDataError as error:
            grammar = self._config.grammar
            versions = Versions(game_data="unreadable", grammar=grammar, engine=ENGINE)
            return unplayed(one.unit, one.task, versions, str(error))
        return await play(
            Household(game, self._config.grammar),
            make_policy(),
            one.unit,
            config=self._config.loop,
            clock=self._desk.clock,
        )

    def _store_unfinished(self, unit: EpisodeUnit, usage: Usage) -> None:
        lost = LostAttempt(arm=unit.arm, usage=usage)
        row = {"key": f"{unit.key}/{self._start}", **lost.model_dump(mode="json")}
        self._desk.run.append(UNFINISHED_ATTEMPTS, [row])


def _spent(run: RunDirectory) -> Usage:
    """Return what all attempts of all starts have spent so far."""
    episodes = (episode.usage for episode in read_episodes(run))
    lost = (attempt.usage for attempt in read_lost_attempts(run))
    return reduce(add, chain(episodes, lost), Usage())


async def all_of(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await everything; the first error cancels the rest, waits for it, and is raised as it is."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
