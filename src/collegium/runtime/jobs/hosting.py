"""Where the engines of a run live."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from collegium.llm import Engine, EngineSettings, HttpConfig
from collegium.runtime.jobs.configs import PlayingConfig
from collegium.runtime.jobs.engines import EnginePool, engines_needed


@asynccontextmanager
async def hosted_engines(config: PlayingConfig) -> AsyncIterator[EnginePool]:
    """Give the engines that `config` needs, and end them all."""
    capacity = config.execution.engines_side_by_side
    if isinstance(config.engine, HttpConfig):
        capacity = len(engines_needed(config.engine, config.agents))
    pool = EnginePool(_start, capacity)
    try:
        yield pool
    finally:
        await pool.close()


async def _start(settings: EngineSettings) -> Engine:
    return await asyncio.to_thread(settings.build)
