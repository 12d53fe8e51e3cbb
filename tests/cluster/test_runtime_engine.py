"""Real processes are hung and killed: requests fail as engine errors, engines come back."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from slow_engine import SlowConfig

from collegium.core import EngineError
from collegium.llm import EngineLostError, ReplayConfig, Request
from collegium.runtime import remote_engine
from collegium.runtime.cluster import ray_cluster
from collegium.runtime.processes import Process, kill_anywhere
from collegium.runtime.remote_engine import RemoteEngine, start_engine
from collegium.runtime.watch import WatchConfig

pytestmark = [pytest.mark.cluster, pytest.mark.filterwarnings("ignore")]

QUICK = WatchConfig(request_deadline_s=2.0, start_deadline_s=60.0, max_restarts=2)
PIDS = Request(prompt="pids")
SUPPORT = Path(__file__).resolve().parents[1] / "support"


@pytest.fixture(scope="module", autouse=True)
def _cluster() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(SUPPORT))  # for the actors, which unpickle SlowConfig
        with ray_cluster():
            yield


def run(work: Callable[[RemoteEngine], Coroutine[Any, Any, None]], **settings: Any) -> None:
    async def closed_after() -> None:
        engine = RemoteEngine(SlowConfig(**settings), QUICK)
        try:
            await work(engine)
        finally:
            await engine.close()

    asyncio.run(closed_after())


async def pids(engine: RemoteEngine) -> list[int]:
    return [int(pid) for pid in (await engine.complete(PIDS)).text.split()]


def gone(pid: int, within_s: float) -> bool:
    deadline = time.monotonic() + within_s
    while lives(pid):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


def lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_many_requests_share_one_process_apart_from_the_driver() -> None:
    async def work(engine: RemoteEngine) -> None:
        answers = await asyncio.gather(*(engine.complete(PIDS) for _ in range(50)))
        assert len({answer.text for answer in answers}) == 1
        assert str(os.getpid()) not in answers[0].text.split()
        assert engine.model == "slow"

    run(work)


def test_hung_engine_is_killed_with_its_children_and_replaced() -> None:
    async def work(engine: RemoteEngine) -> None:
        before = await pids(engine)
        requests = (Request(prompt="sleep 60"), Request(prompt="hang"), Request(prompt="sleep 60"))
        failures = await asyncio.gather(
            *(engine.complete(request) for request in requests), return_exceptions=True
        )
        assert all(isinstance(failure, EngineError) for failure in failures)
        assert all(gone(pid, 5) for pid in before)
        after = await pids(engine)
        assert not set(before) & set(after)

    run(work, child=True)


@pytest.mark.parametrize("prompt", ["die", "lost"])
def test_dead_engine_is_replaced(prompt: str) -> None:
    async def work(engine: RemoteEngine) -> None:
        before = await pids(engine)
        with pytest.raises(EngineLostError):
            await engine.complete(Request(prompt=prompt))
        assert gone(before[0], 5)
        assert await pids(engine) != before

    run(work)


def test_engine_killed_from_outside_is_replaced() -> None:
    async def work(engine: RemoteEngine) -> None:
        before = await pids(engine)
        in_flight = asyncio.create_task(engine.complete(Request(prompt="sleep 30")))
        await asyncio.sleep(0.5)
        os.kill(before[0], signal.SIGKILL)
        with pytest.raises(EngineLostError):
            await in_flight
        assert await pids(engine) != before

    run(work)


def test_failed_request_leaves_the_engine_alive() -> None:
    async def work(engine: RemoteEngine) -> None:
        before = await pids(engine)
        with pytest.raises(EngineError, match="asked to fail"):
            await engine.complete(Request(prompt="fail"))
        assert await pids(engine) == before

    run(work)


def test_engine_that_keeps_dying_is_given_up() -> None:
    async def work(engine: RemoteEngine) -> None:
        for _ in range(QUICK.max_restarts + 1):
            with pytest.raises(EngineLostError):
                await engine.complete(Request(prompt="die"))
        with pytest.raises(EngineError, match="died 3 times"):
            await engine.complete(PIDS)

    run(work)


def test_engine_that_does_not_start_says_why() -> None:
    async def work(engine: RemoteEngine) -> None:
        with pytest.raises(EngineError, match="asked not to start"):
            await engine.start()

    run(work, start="fail")


def test_start_that_hangs_is_killed() -> None:
    watch = QUICK.model_copy(update={"start_deadline_s": 8.0})

    async def work() -> None:
        with pytest.raises(EngineLostError, match="within 8 s"):
            await RemoteEngine(SlowConfig(start="hang"), watch).start()

    asyncio.run(work())
    mine = psutil.Process().children(recursive=True)  # others may run engines on this machine
    engines = [p.pid for p in mine if lives(p.pid) and "EngineActor" in p.name()]
    assert all(gone(pid, 5) for pid in engines)


def test_closed_engine_leaves_no_process_and_stays_closed() -> None:
    async def work(engine: RemoteEngine) -> None:
        before = await pids(engine)
        await engine.close()
        await engine.close()
        assert all(gone(pid, 5) for pid in before)
        with pytest.raises(EngineError, match="closed"):
            await engine.complete(PIDS)

    run(work, child=True)


def test_nothing_starts_beside_a_process_that_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    async def survived(_process: Process) -> bool:
        return False

    async def work(engine: RemoteEngine) -> None:
        before = await pids(engine)
        with monkeypatch.context() as patch:
            patch.setattr(remote_engine, "kill_anywhere", survived)
            with pytest.raises(EngineError, match=f"{before[0]} on node .* survived"):
                await engine.complete(Request(prompt="lost"))
        with pytest.raises(EngineError, match="survived"):
            await engine.complete(PIDS)

    run(work)


def test_a_process_on_a_machine_that_left_the_cluster_is_gone() -> None:
    lost = Process(os.getpid(), psutil.Process().create_time(), "a" * 56)
    assert asyncio.run(kill_anywhere(lost))


def test_an_actor_that_gets_no_place_is_given_up_and_left_nowhere() -> None:
    watch = QUICK.model_copy(update={"start_deadline_s": 3.0})
    engine = RemoteEngine(SlowConfig(gpus=1.0), watch)
    with pytest.raises(EngineLostError, match="within 3 s"):
        asyncio.run(engine.start())
    states = {actor["State"] for actor in ray._private.state.actors().values()}
    assert states <= {"ALIVE", "DEAD"}


def test_light_engine_stays_in_this_process(tmp_path: Path) -> None:
    (tmp_path / "r").write_text('{"schema_version": 1, "model": "m"}\n')
    engine = asyncio.run(start_engine(ReplayConfig(path=str(tmp_path / "r")), QUICK))
    assert type(engine).__name__ == "ReplayEngine"


DRIVER = """
import asyncio
from slow_engine import SlowConfig
from collegium.llm import Request
from collegium.runtime.cluster import ray_cluster
from collegium.runtime.remote_engine import RemoteEngine
from collegium.runtime.watch import WatchConfig

async def main():
    engine = RemoteEngine(SlowConfig(), WatchConfig())
    print((await engine.start()).pid, flush=True)
    await engine.complete(Request(prompt="{prompt}"))

if __name__ == "__main__":
    with ray_cluster():
        asyncio.run(main())
"""


@pytest.mark.parametrize("prompt", ["sleep 600", "hang"])
def test_killed_driver_takes_its_engine_and_its_cluster_down(prompt: str, tmp_path: Path) -> None:
    script = tmp_path / "driver.py"
    script.write_text(DRIVER.format(prompt=prompt))
    driver = subprocess.Popen(
        [sys.executable, str(script)],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SUPPORT)},
    )
    assert driver.stdout is not None
    with driver.stdout:
        engine = int(driver.stdout.readline())
    time.sleep(1.0)
    raylets = [
        c for c in psutil.Process(driver.pid).children(recursive=True) if "raylet" in c.name()
    ]
    assert raylets
    driver.kill()
    driver.wait()
    assert gone(engine, 5)
    assert all(gone(raylet.pid, 10) for raylet in raylets)
