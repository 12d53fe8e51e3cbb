"""An engine kind that waits, hangs or dies on demand: for tests that kill processes.

The prompt says what happens: `sleep S`, `hang` (the process stops and no signal but SIGKILL ends
it), `die` (the process ends at once), `fail` (the request fails, the engine lives), `lost` (the
engine says that it is gone). Anything else is answered with the ids of process and child.
"""

import asyncio
import os
import signal
import subprocess
import sys
from typing import ClassVar, Literal

from collegium.core import EngineError, Usage
from collegium.llm import Completion, Engine, EngineLostError, EngineSettings, Request


class SlowEngine:
    def __init__(self, child: bool) -> None:
        self.model = "slow"
        sleeping = [sys.executable, "-c", "import time; time.sleep(600)"]
        self.child = subprocess.Popen(sleeping) if child else None

    async def complete(self, request: Request) -> Completion:
        word, _, rest = str(request.prompt).partition(" ")
        match word:
            case "sleep":
                await asyncio.sleep(float(rest))
            case "hang":
                os.kill(os.getpid(), signal.SIGSTOP)
            case "die":
                os._exit(1)
            case "fail":
                raise EngineError("asked to fail")
            case "lost":
                raise EngineLostError("asked to be lost")
        pids = f"{os.getpid()} {self.child.pid if self.child else 0}"
        return Completion(text=pids, finish_reason="stop", usage=Usage(calls=1))

    async def close(self) -> None:
        pass


class SlowConfig(EngineSettings):
    own_process: ClassVar[bool] = True

    kind: Literal["slow"] = "slow"
    child: bool = False
    gpus: float = 0.0
    start: Literal["fine", "hang", "fail"] = "fine"

    @property
    def gpus_reserved(self) -> float:
        return self.gpus

    def _start(self) -> Engine:
        if self.start == "hang":
            os.kill(os.getpid(), signal.SIGSTOP)
        if self.start == "fail":
            raise EngineError("asked not to start")
        return SlowEngine(self.child)
