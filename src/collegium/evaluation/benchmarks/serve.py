"""What calls cost: an application that does nothing, and beside it reading and contributing.

Both applications are served as people serve them, by `collegium serve` in processes of their own
with one replica each, the service over an embedded database of its own. One client asks them in
turns, one call at a time and 32 at once: the no-op application for nothing, the service for one
trajectory of 12 steps, and to take in trajectories that it does not have.

Figures, each of `noop`, `read` and `contribute`:
    _p50_ms: median call, one at a time.
    _alone_per_s: calls a second, one at a time.
    _per_s: calls a second with 32 at once.
    _ratio of each of these: over that of the no-op application.
"""

import asyncio
import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from collegium.core import SystemClock
from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.evaluation.benchmarks.served import Client, command, served

ROUNDS = 3
ALONE = 100
"""Calls one at a time, in a round."""
AT_ONCE = 32
TOGETHER = 400
"""Calls 32 at once, in a round."""
_WARM_UP = 20
_STEPS = 12
_TRAJECTORIES = "/v1/namespaces/bench/trajectories"
_MINT = (
    *("key", "mint", "--scope", "read", "--scope", "write"),
    *("--namespace", "bench", "--calls-per-minute", "1000000"),
)
_QUIET = ("-s", "service.verbosity=0")
_TARGETS = {"read_per_s_ratio": Target(min=0.5), "contribute_per_s_ratio": Target(min=0.5)}


class Asked(NamedTuple):
    """One kind of call, and what the rounds measured of it."""

    client: Client
    method: str
    path: str
    bodies: Iterator[bytes]
    alone_s: list[float]
    """Seconds of each call, one at a time."""
    per_s: list[float]
    """Calls a second with many at once, of each round."""

    async def round(self) -> None:
        """Measure once more."""
        warm_up, alone, together = (list(self._take(n)) for n in (_WARM_UP, ALONE, TOGETHER))
        await self.client.one_by_one(self.path, warm_up, self.method)
        self.alone_s.extend(await self.client.one_by_one(self.path, alone, self.method))
        self.per_s.append(await self.client.at_once(self.path, together, AT_ONCE, self.method))

    def _take(self, count: int) -> Iterator[bytes]:
        return islice(self.bodies, count)


def run() -> BenchResult:
    """Measure; takes about a minute on two free cores."""
    folder = Path(tempfile.mkdtemp(prefix="collegium-bench-"))
    # As root, the database's server runs under another account, which has to pass through.
    folder.chmod(0o711)
    try:
        return asyncio.run(_run(folder))
    finally:
        shutil.rmtree(folder)


async def _run(folder: Path) -> BenchResult:
    environment = {**os.environ, "COLLEGIUM_DATA": str(folder / "data")}
    environment.pop("DATABASE_URL", None)
    clock = SystemClock()
    with ExitStack() as stack:
        ours = stack.enter_context(served(environment, *_QUIET))
        noop = stack.enter_context(served(environment, "noop"))
        key = command(environment, *_MINT)["key"]
        async with Client(ours, key, clock) as service, Client(noop, key, clock) as idle:
            asked = await _kinds(service, idle)
            for _ in range(ROUNDS):
                for each in asked.values():
                    await each.round()
    return _judge(asked)


async def _kinds(service: Client, idle: Client) -> Mapping[str, Asked]:
    new = _contributions()
    there = json.loads(await service.post(_TRAJECTORIES, next(new)))["trajectory_id"]
    read = f"{_TRAJECTORIES}/{there}"
    return {
        "noop": Asked(idle, "GET", "/noop", _nothing(), [], []),
        "read": Asked(service, "GET", read, _nothing(), [], []),
        "contribute": Asked(service, "POST", _TRAJECTORIES, new, [], []),
    }


def _judge(asked: Mapping[str, Asked]) -> BenchResult:
    measured = {name: _figures(each) for name, each in asked.items()}
    noop = measured["noop"]
    figures: dict[str, int | float | None] = {
        f"{name}_{figure}_ratio": round(value / noop[figure], 3)
        for name, values in measured.items()
        if name != "noop"
        for figure, value in values.items()
    }
    for name, values in measured.items():
        figures |= {f"{name}_{figure}": round(value, 3) for figure, value in values.items()}
    return BenchResult.judge("serve", figures, _TARGETS)


def _figures(asked: Asked) -> dict[str, float]:
    return {
        "p50_ms": 1000 * statistics.median(asked.alone_s),
        "alone_per_s": len(asked.alone_s) / sum(asked.alone_s),
        "per_s": statistics.median(asked.per_s),
    }


def _nothing() -> Iterator[bytes]:
    while True:
        yield b""


def _contributions() -> Iterator[bytes]:
    """Yield trajectories, none like another."""
    number = 0
    while True:
        yield json.dumps({"trajectory": _trajectory(number)}).encode()
        number += 1


def _trajectory(number: int) -> dict[str, Any]:
    kind = {"environment": "bench", "task_type": "bench", "split": "train", "goal": "bench"}
    step = {"action": "go to shelf 1", "observation": "On the shelf 1, you see a mug 1."}
    return {
        "task": {**kind, "task_id": f"task/{number}"},
        "producer": "agent-0",
        "initial_observation": "You are in the middle of a room. You see a shelf 1.",
        "steps": [step] * _STEPS,
        "success": True,
        "score": 1.0,
        "versions": {"game_data": "bench", "grammar": "bench", "engine": "bench"},
    }
