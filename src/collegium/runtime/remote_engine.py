"""The driver's side of an engine in an actor: deadlines, kills, restarts.

A request that gets no answer before its deadline means that the engine hangs. Its process and all
children are killed by process id, wherever they run, and only when they are gone may a fresh engine
take its place, on the next request. Each request that was in flight fails with EngineError: its row
says `engine_error`.
"""

import asyncio
from contextlib import suppress
from typing import Any, NamedTuple

import ray
from ray.exceptions import RayError, RayTaskError

from collegium.core import CollegiumError, EngineError
from collegium.llm import Completion, Engine, EngineLostError, EngineSettings, Request
from collegium.runtime.engine_actor import EngineActor
from collegium.runtime.processes import Process, kill_anywhere
from collegium.runtime.watch import WatchConfig

_EXIT_DEADLINE_S = 5.0
"""Time that an engine has to leave Ray before it is killed."""


class _Running(NamedTuple):
    actor: Any
    process: Process


class RemoteEngine:
    """An `Engine` whose weights live in a Ray actor; belongs to one event loop."""

    def __init__(self, settings: EngineSettings, watch: WatchConfig, side_by_side: int = 1) -> None:
        """Describe the engine; `start`, or else the first request, starts it.

        Args:
            settings: Which engine.
            watch: When it is given up.
            side_by_side: Engines that share its machine's cores, itself included.
        """
        self.model: str = getattr(settings, "model", settings.kind)
        self._settings = settings
        self._watch = watch
        self._side_by_side = side_by_side
        self._running: _Running | None = None
        self._changing = asyncio.Lock()
        self._starts_left = watch.max_restarts + 1
        self._refusal = ""
        """Why no engine may be started any more."""

    async def start(self) -> Process:
        """Start the engine unless it runs, and return its process.

        Raises:
            EngineError: It did not start, has died too often, or was closed.
            CollegiumError: Its settings cannot work, for example a model that is not there.
        """
        return (await self._ready()).process

    async def complete(self, request: Request) -> Completion:
        """Complete one request; raises EngineError when the engine fails, hangs or dies."""
        running = await self._ready()
        answer = running.actor.complete.remote(request)
        try:
            completion: Completion = await _answered(answer, self._watch.request_deadline_s)
        except EngineLostError:
            await self._discard(running)
            raise
        except asyncio.CancelledError:
            ray.cancel(answer)
            raise
        return completion

    async def close(self) -> None:
        """End the engine; raises EngineError if its process survives even a kill."""
        async with self._changing:
            self._refusal = self._refusal or "the engine was closed"
            running, self._running = self._running, None
            if running is not None:
                with suppress(EngineError):  # that it ended is its answer
                    await _answered(running.actor.exit.remote(), _EXIT_DEADLINE_S)
                await self._kill(running)

    async def _ready(self) -> _Running:
        async with self._changing:
            if self._running is None:
                if self._refusal:
                    raise EngineError(self._refusal)
                if self._starts_left == 0:
                    raise EngineError(
                        f"the engine died {self._watch.max_restarts + 1} times "
                        "(`execution.max_restarts`): see the first failure, then resume the run"
                    )
                self._starts_left -= 1
                self._running = await self._start()
            return self._running

    async def _start(self) -> _Running:
        actor_class = ray.remote(num_cpus=0, num_gpus=self._settings.gpus_reserved)(EngineActor)
        actor = actor_class.remote(self._settings, self._side_by_side)
        try:
            process = await _answered(actor.process.remote(), self._watch.start_deadline_s)
        except BaseException:
            ray.kill(actor)
            raise
        running = _Running(actor, process)
        try:
            await _answered(actor.start.remote(), self._watch.start_deadline_s)
        except BaseException:
            await self._kill(running)
            raise
        return running

    async def _discard(self, running: _Running) -> None:
        """Kill `running`, once, however many of its requests fail together."""
        async with self._changing:
            if self._running is running:
                self._running = None
                await self._kill(running)

    async def _kill(self, running: _Running) -> None:
        gone = await kill_anywhere(running.process)
        ray.kill(running.actor)
        if not gone:
            process = running.process
            self._refusal = (
                f"the engine's process {process.pid} on node {process.node} survived SIGKILL: end "
                "it by hand, then resume the run"
            )
            raise EngineError(self._refusal)


async def start_engine(
    settings: EngineSettings, watch: WatchConfig, side_by_side: int = 1
) -> Engine:
    """Start an engine where it is to live: in an actor, or, if it is light, in this process.

    Raises:
        CollegiumError: It could not be started.
    """
    if not settings.own_process:
        return await asyncio.to_thread(settings.build)
    engine = RemoteEngine(settings, watch, side_by_side)
    await engine.start()
    return engine


async def _answered(answer: Any, deadline_s: float) -> Any:
    """Return what an actor answers.

    Raises:
        EngineLostError: The actor died, or does not answer within the deadline.
        CollegiumError: What the actor raised.
    """
    try:
        async with asyncio.timeout(deadline_s):
            return await answer
    except TimeoutError:
        raise EngineLostError(f"the engine gave no answer within {deadline_s:g} s") from None
    except RayTaskError as error:
        if isinstance(error.cause, CollegiumError):
            raise error.cause from None
        raise EngineError(f"the engine failed: {error.cause!r}") from error
    except RayError as error:
        raise EngineLostError(f"the engine's process died: {error}") from None
