"""What runs in a Ray actor around an engine: a process of its own that dies with its parent."""

import ctypes
import signal

from collegium.llm import Completion, EngineSettings, Request
from collegium.runtime.processes import Process, this_process

_PR_SET_PDEATHSIG = 1


class EngineActor:
    """Starts the engine that the settings describe, and completes requests on it."""

    def __init__(self, settings: EngineSettings) -> None:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        self._settings = settings

    async def process(self) -> Process:
        """Say which process this is."""
        return this_process()

    async def start(self) -> None:
        """Start the engine."""
        self._engine = self._settings.build()

    async def complete(self, request: Request) -> Completion:
        """Complete one request."""
        return await self._engine.complete(request)
