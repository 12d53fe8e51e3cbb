"""Where the engines of a run live: models in Ray actors, clients of servers in the driver."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from collegium.llm import Engine, EngineSettings, HttpConfig, ReplayConfig, VllmConfig
from collegium.runtime.jobs.configs import ExecutionConfig, PlayingConfig
from collegium.runtime.jobs.engines import EnginePool, StartEngine, engines_needed


@asynccontextmanager
async def hosted_engines(config: PlayingConfig) -> AsyncIterator[EnginePool]:
    """Give the engines that `config` needs; all of them end with the context.

    Raises:
        EngineError: Ray could not be started.
    """
    async with AsyncExitStack() as stack:
        if isinstance(config.engine, HttpConfig | ReplayConfig):
            capacity = len(engines_needed(config.engine, config.agents))
            pool = EnginePool(_start_here, capacity)
        else:
            from collegium.runtime.cluster import ClusterConfig, ray_cluster

            address = config.execution.ray_address
            stack.enter_context(ray_cluster(ClusterConfig(address=address)))
            start = _remote_start(config.execution)
            pool = EnginePool(start, config.execution.engines_side_by_side)
        stack.push_async_callback(pool.close)
        yield pool


async def _start_here(settings: EngineSettings) -> Engine:
    return await asyncio.to_thread(settings.build)


def _remote_start(execution: ExecutionConfig) -> StartEngine:
    from collegium.runtime.remote_engine import RemoteEngine, WatchConfig

    watch = WatchConfig(
        start_deadline_s=execution.start_deadline_s,
        request_deadline_s=execution.request_deadline_s,
    )

    async def start(settings: EngineSettings) -> Engine:
        engine = RemoteEngine(_with_share(settings, execution.engines_side_by_side), watch)
        await engine.start()
        return engine

    return start


def _with_share(settings: EngineSettings, side_by_side: int) -> EngineSettings:
    """Give an engine its part of the cores, so that engines side by side leave each other room."""
    if not isinstance(settings, VllmConfig) or settings.threads is not None or side_by_side == 1:
        return settings
    cores = len(os.sched_getaffinity(0))
    return settings.model_copy(update={"threads": max(1, cores // side_by_side)})
