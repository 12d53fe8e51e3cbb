"""What runs in a Ray actor around an engine: a process of its own that dies with its parent."""

import ctypes
import signal

import ray

from collegium.llm import Completion, Engine, EngineSettings, Request
from collegium.runtime.processes import Process, kill_children, this_process

_PR_SET_PDEATHSIG = 1


class EngineActor:
    """Starts the engine that the settings describe, and completes requests on it."""

    def __init__(self, settings: EngineSettings, side_by_side: int) -> None:
        """Take the settings of an engine that shares its machine's cores with others."""
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        self._settings = settings
        self._side_by_side = side_by_side
        self._engine: Engine | None = None

    async def process(self) -> Process:
        """Say which process this is."""
        return this_process()

    async def start(self) -> None:
        """Start the engine."""
        self._engine = self._settings.sharing(self._side_by_side).build()

    async def complete(self, request: Request) -> Completion:
        """Complete one request."""
        assert self._engine is not None
        return await self._engine.complete(request)

    async def exit(self) -> None:
        """Leave Ray as it wants to be left; whoever calls kills the process then.

        The engine is not closed, as nothing in it is kept and its shutdown takes seconds or hangs.
        """
        kill_children()
        ray.actor.exit_actor()
