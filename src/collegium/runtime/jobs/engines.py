"""Which engine serves which agent, and how many engines are alive at once.

On CPUs an engine serves one model with one adapter merged into it; on GPUs (`lora: true`) one model
with any adapter; a client of remote servers one model. Agents are therefore played in groups, and
an engine stays alive after its group until another needs its place, so that a population that fits
side by side is started once.
"""

import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager

import psutil

from collegium.core import Agent
from collegium.llm import Engine, EngineSettings, HttpConfig, VllmConfig
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
        case VllmConfig() | HttpConfig():
            return engine.model_copy(update={"model": agent.model})
        case _:
            return engine


def engines_needed(engine: EngineSettings, agents: Iterable[Agent]) -> list[EngineSettings]:
    """Return each engine that the agents need, once."""
    return list(dict.fromkeys(settings_for(engine, agent) for agent in agents))


def side_by_side(config: PlayingConfig) -> int:
    """Return how many engines may be alive at once on this machine."""
    if not config.engine.own_process:
        return max(1, len(engines_needed(config.engine, config.agents)))
    if config.execution.engines_side_by_side is not None:
        return config.execution.engines_side_by_side
    if not isinstance(config.engine, VllmConfig) or config.engine.lora:
        return 1
    memory = psutil.virtual_memory().available // _ENGINE_BYTES
    return max(1, min(_MOST_SIDE_BY_SIDE, len(os.sched_getaffinity(0)), memory))


class EnginePool:
    """At most `capacity` engines; the one idle for longest makes room for another."""

    def __init__(self, start: StartEngine, capacity: int) -> None:
        """Start engines by `start` when they are asked for."""
        self.capacity = capacity
        self._start = start
        self._alive: dict[EngineSettings, Engine] = {}
        self._busy: set[EngineSettings] = set()

    def warm_first(self, wanted: Iterable[EngineSettings]) -> list[EngineSettings]:
        """Return `wanted` with those first whose engine is alive."""
        return sorted(wanted, key=lambda settings: settings not in self._alive)

    @asynccontextmanager
    async def lease(self, settings: EngineSettings) -> AsyncIterator[Engine]:
        """Give the engine of `settings`, to be used by one group at a time.

        No more than `capacity` leases may be held at once.

        Raises:
            EngineError: It could not be started.
        """
        self._busy.add(settings)
        try:
            if settings not in self._alive:
                await self._make_room()
                self._alive[settings] = await self._start(settings)
            yield self._alive[settings]
        finally:
            self._busy.discard(settings)
            if engine := self._alive.pop(settings, None):
                self._alive[settings] = engine  # now the one used last

    async def close(self) -> None:
        """End all engines."""
        while self._alive:
            _, engine = self._alive.popitem()
            await engine.close()

    async def _make_room(self) -> None:
        idle = [settings for settings in self._alive if settings not in self._busy]
        for settings in idle[: max(0, len(self._alive) - self.capacity + 1)]:
            await self._alive.pop(settings).close()
