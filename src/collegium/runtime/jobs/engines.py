"""Which engine serves which agent, and how many engines are alive at once.

On CPUs an engine serves one model with one adapter merged into it; on GPUs (`lora: true`) one model
with any adapter; a client of remote servers any model, so that one rate limit holds for all. Agents
are therefore played in groups, and an engine stays alive after its group until another needs its
place, so that a population that fits side by side is started once.
"""

import asyncio
import os
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import psutil

from collegium.core import Agent
from collegium.llm import Engine, EngineSettings, VllmConfig
from collegium.runtime.jobs.configs import PlayingConfig

_MOST_SIDE_BY_SIDE = 2
_ENGINE_BYTES = 4 << 30
"""Memory that an engine on a CPU is given room for."""

StartEngine = Callable[[EngineSettings], Awaitable[Engine]]
"""Starts an engine in the place where it is to live; `close` ends it there."""


def settings_for(engine: EngineSettings, agent: Agent) -> EngineSettings:
    """Return the configuration of the engine that serves `agent`."""
    match engine:
        case VllmConfig(lora=False):
            return engine.model_copy(update={"model": agent.model, "adapter": agent.adapter})
        case VllmConfig():
            return engine.model_copy(update={"model": agent.model})
        case _:
            return engine


def engines_needed(engine: EngineSettings, agents: Iterable[Agent]) -> list[EngineSettings]:
    """Return each engine that the agents need, once."""
    return list(dict.fromkeys(settings_for(engine, agent) for agent in agents))


def side_by_side(config: PlayingConfig) -> int:
    """Return how many engines may be alive at once: no more than the agents need."""
    needed = max(1, len(engines_needed(config.engine, config.agents)))
    return min(needed, _room(config)) if config.engine.own_process else needed


def _room(config: PlayingConfig) -> int:
    """Return how many engine processes there is room for, by this machine's cores and memory."""
    if config.execution.engines_side_by_side is not None:
        return config.execution.engines_side_by_side
    if not isinstance(config.engine, VllmConfig) or config.engine.lora:
        return 1
    memory = psutil.virtual_memory().available // _ENGINE_BYTES
    return max(1, min(_MOST_SIDE_BY_SIDE, len(os.sched_getaffinity(0)), memory))


class EnginePool:
    """At most `capacity` engines, counted from before their start until after their end.

    An engine that is not leased stays alive until another needs its place; the one idle for longest
    goes first.
    """

    def __init__(self, start: StartEngine, capacity: int) -> None:
        """Start engines by `start` when they are asked for."""
        self._start = start
        self._capacity = capacity
        self._idle: dict[EngineSettings, Engine] = {}
        self._reserved = 0
        """Places of engines that are leased or being started."""
        self._places = asyncio.Semaphore(capacity)
        self._turns: defaultdict[EngineSettings, asyncio.Lock] = defaultdict(asyncio.Lock)
        self._making_room = asyncio.Lock()

    def warm_first(self, wanted: Iterable[EngineSettings]) -> list[EngineSettings]:
        """Return `wanted` with those first whose engine is alive and idle."""
        return sorted(wanted, key=lambda settings: settings not in self._idle)

    @asynccontextmanager
    async def lease(self, settings: EngineSettings) -> AsyncIterator[Engine]:
        """Give the engine of `settings` as soon as there is a place for it and nobody has it.

        Raises:
            EngineError: It could not be started.
        """
        async with self._turns[settings], self._places:
            engine = await self._take(settings)
            try:
                yield engine
            finally:
                self._idle[settings] = engine  # now the one used last
                self._reserved -= 1

    async def close(self) -> None:
        """End all engines; none may be leased any more."""
        while self._idle:
            _, engine = self._idle.popitem()
            await engine.close()

    async def _take(self, settings: EngineSettings) -> Engine:
        async with self._making_room:
            kept = self._idle.pop(settings, None)
            if kept is None:
                await self._make_room()
            self._reserved += 1
        if kept is not None:
            return kept
        try:
            return await self._start(settings)
        except BaseException:
            self._reserved -= 1
            raise

    async def _make_room(self) -> None:
        """End idle engines until a place is free; whoever calls holds one of `_places`."""
        while self._reserved + len(self._idle) >= self._capacity:
            longest_idle = next(iter(self._idle))
            await self._idle.pop(longest_idle).close()
