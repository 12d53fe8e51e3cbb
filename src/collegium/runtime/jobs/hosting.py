"""Where the engines of a run live: in Ray actors, or in the driver where they are only clients."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager

from collegium.llm import Engine, EngineSettings
from collegium.runtime.jobs.configs import ExecutionConfig, PlayingConfig
from collegium.runtime.jobs.engines import EnginePool, side_by_side


@asynccontextmanager
async def hosted_engines(config: PlayingConfig) -> AsyncIterator[EnginePool]:
    """Give the engines that `config` needs; all of them end with the context."""
    from collegium.runtime.remote_engine import start_engine

    capacity = side_by_side(config)

    async def start(settings: EngineSettings) -> Engine:
        return await start_engine(settings, config.execution, capacity)

    async with AsyncExitStack() as stack:
        if config.engine.own_process:
            stack.enter_context(running_ray(config.execution))
        pool = EnginePool(start, capacity)
        stack.push_async_callback(pool.close)
        yield pool


@contextmanager
def running_ray(execution: ExecutionConfig) -> Iterator[None]:
    """Run Ray where the configuration says, or here; to be entered in the main thread."""
    from collegium.runtime.cluster import ray_cluster

    submitted = "auto" if "RAY_ADDRESS" in os.environ else None  # by `ray job submit`
    with ray_cluster(execution.ray_address or submitted):
        yield
