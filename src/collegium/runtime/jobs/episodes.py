"""Plays the episodes of a run: many at once, each counted once, grouped by the engine they need.

An episode that the machinery ends is tried again; each such try is kept in `FAILURES`, and the last
one enters the episodes with its machinery stop reason, where no success rate counts it. What was
stored before a kill is never played again.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial, reduce
from operator import add
from typing import Any, NamedTuple

from collegium.agents.loop import play
from collegium.agents.protocol import Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, BudgetExceededError, Clock, Episode, Task, Usage
from collegium.environments.household import GameStore, Household
from collegium.evaluation import EPISODES
from collegium.llm import Budget, BudgetConfig, BudgetedEngine, Engine, EngineSettings, Prices
from collegium.runtime.jobs.configs import PlayingConfig
from collegium.runtime.jobs.engines import EnginePool, settings_for
from collegium.runtime.jobs.progress import Progress
from collegium.store import RunDirectory

FAILURES = "failed_attempts"
"""Table of the tries that the machinery ended and that were made again."""
UNFINISHED = "unfinished"
"""Table of what was spent on episodes in flight when the run was stopped; a kill leaves none."""


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
        self._attempt = len(desk.run.starts())
        self._done = desk.run.keys(EPISODES)
        tables = (EPISODES, FAILURES, UNFINISHED)
        usages = (row["usage"] for table in tables for row in desk.run.rows(table))
        spent = reduce(add, map(Usage.model_validate, usages), Usage())
        self._budget = Budget(config.execution.budget, spent)

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
            await self._settle(one, partial(policy_of, one.unit))
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
                await self._play_one(one, engine, policy_of)

        at_most = min(len(group), self._config.execution.concurrency)
        await all_of(play_next() for _ in range(at_most))

    async def _play_one(self, one: Planned, engine: Engine, policy_of: PolicyOf) -> None:
        agent = self._agents[one.unit.agent_id]
        meter = Budget(BudgetConfig())
        metered = BudgetedEngine(engine, meter, Prices.of(agent))
        policy = partial(policy_of, one.unit, agent, BudgetedEngine(metered, self._budget))
        async with self._slots:
            try:
                await self._settle(one, policy)
            except (asyncio.CancelledError, BudgetExceededError):
                usage = meter.spent.model_dump(mode="json")
                key = f"{one.unit.key}/{self._attempt}"
                self._desk.run.append(UNFINISHED, [{"key": key, "usage": usage}])
                raise

    async def _settle(self, one: Planned, make_policy: Callable[[], Policy]) -> None:
        """Play until the agent, not the machinery, ends the episode, and store that one."""
        for attempt in range(1, self._config.execution.attempts + 1):
            game = Household(self._store.load(one.task), self._config.grammar)
            episode = await play(
                game, make_policy(), one.unit, config=self._config.loop, clock=self._desk.clock
            )
            if not episode.stop_reason.is_machinery:
                break
            if attempt < self._config.execution.attempts:
                key = f"{episode.key}/{self._attempt}.{attempt}"
                row = episode.model_copy(update={"key": key})
                self._desk.run.append(FAILURES, [row.model_dump(mode="json")])
        self._desk.run.append(EPISODES, [episode.model_dump(mode="json")])
        self._done.add(episode.key)
        self._desk.progress.advance(episode)


async def all_of(work: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Await everything; the first error cancels the rest, waits for it, and is raised as it is."""
    tasks = [asyncio.ensure_future(one) for one in work]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
