"""Which engine serves whom, and how many live at once."""

import asyncio

import pytest

from collegium.core import Agent, EngineError
from collegium.llm import HttpConfig, ReplayConfig, VllmConfig
from collegium.runtime.jobs.configs import BuildMemoryConfig
from collegium.runtime.jobs.engines import (
    EnginePool,
    engines_needed,
    settings_for,
    side_by_side,
)

PLAIN = Agent(id="plain", model="m")
TUNED = Agent(id="tuned", model="m", adapter="x")
OTHER = Agent(id="other", model="n", adapter="x")


class Recorder:
    """Starts engines that only know whether they were closed."""

    def __init__(self):
        self.log = []

    async def start(self, settings):
        await asyncio.sleep(0)
        self.log.append(("start", settings.adapter))
        return self._Engine(self.log, settings.adapter)

    class _Engine:
        def __init__(self, log, name):
            self._log, self._name = log, name

        async def close(self):
            self._log.append(("close", self._name))


def vllm(adapter):
    return VllmConfig(model="m", adapter=adapter)


def test_on_cpus_an_engine_serves_one_adapter_on_gpus_all():
    assert engines_needed(VllmConfig(), [PLAIN, TUNED, OTHER, TUNED]) == [
        VllmConfig(model="m"),
        VllmConfig(model="m", adapter="x"),
        VllmConfig(model="n", adapter="x"),
    ]
    lora = VllmConfig(lora=True)
    assert [e.model for e in engines_needed(lora, [PLAIN, TUNED, OTHER])] == ["m", "n"]
    remote = HttpConfig(model="each agent's own", base_urls=("http://host/v1",))
    assert engines_needed(remote, [PLAIN, TUNED, OTHER]) == [remote]
    replay = ReplayConfig(path="recording.jsonl")
    assert settings_for(replay, OTHER) == replay


def test_engines_side_by_side_by_default():
    def playing(engine, agents=(PLAIN, TUNED, OTHER), **execution):
        return BuildMemoryConfig(agents=agents, engine=engine, execution=execution)

    assert 1 <= side_by_side(playing(VllmConfig())) <= 2
    assert side_by_side(playing(VllmConfig(), engines_side_by_side=2)) == 2
    assert side_by_side(playing(VllmConfig(), engines_side_by_side=5)) == 3
    assert side_by_side(playing(VllmConfig(lora=True))) == 1
    assert side_by_side(playing(VllmConfig(), (PLAIN, PLAIN), engines_side_by_side=5)) == 1
    remote = HttpConfig(model="each agent's own", base_urls=("http://host/v1",))
    assert side_by_side(playing(remote)) == 1


def test_one_at_a_time_ends_the_idle_engine_first():
    recorder = Recorder()

    async def use():
        pool = EnginePool(recorder.start, 1)
        for adapter in ("a", "a", "b"):
            async with pool.lease(vllm(adapter)):
                pass
        assert pool.warm_first([vllm("a"), vllm("b")])[0] == vllm("b")
        await pool.close()

    asyncio.run(use())
    assert recorder.log == [("start", "a"), ("close", "a"), ("start", "b"), ("close", "b")]


def test_the_engine_idle_for_longest_makes_room():
    recorder = Recorder()

    async def use():
        pool = EnginePool(recorder.start, 2)
        for adapter in ("a", "b", "a", "c"):
            async with pool.lease(vllm(adapter)):
                pass
        await pool.close()

    asyncio.run(use())
    assert recorder.log[:4] == [("start", "a"), ("start", "b"), ("close", "b"), ("start", "c")]


def test_engines_in_use_are_left_alone():
    recorder = Recorder()

    async def use():
        pool = EnginePool(recorder.start, 2)
        async with pool.lease(vllm("a")), pool.lease(vllm("b")):
            pass
        async with pool.lease(vllm("b")), pool.lease(vllm("c")):
            pass
        await pool.close()

    asyncio.run(use())
    assert recorder.log.index(("close", "a")) < recorder.log.index(("start", "c"))
    assert ("close", "b") not in recorder.log[: recorder.log.index(("start", "c"))]


class Slow:
    """Engines that take their time to start and to end; knows how many lived at once."""

    def __init__(self):
        self.started = self.alive = self.most = 0

    async def start(self, settings):
        self.started += 1
        self.alive += 1
        self.most = max(self.most, self.alive)
        await asyncio.sleep(0.01 * (self.started % 3))
        return self

    async def close(self):
        await asyncio.sleep(0.01 * (self.started % 2))
        self.alive -= 1


@pytest.mark.parametrize("capacity", [1, 2, 3])
def test_no_more_engines_than_places_live_at_once(capacity):
    """Groups that end while another engine starts or ends neither exceed the places nor fail."""
    slow = Slow()

    async def use():
        pool = EnginePool(slow.start, capacity)

        async def group(adapter, seconds):
            async with pool.lease(vllm(adapter)) as engine:
                await asyncio.sleep(seconds)
                assert engine is slow

        for _ in range(2):
            await asyncio.gather(*(group(a, 0.002 * n) for n, a in enumerate("abcdefaab")))
        await pool.close()

    asyncio.run(use())
    assert slow.most == capacity
    assert slow.alive == 0


def test_an_engine_that_does_not_start_takes_no_place():
    async def refuse(_):
        raise EngineError("no")

    async def use():
        pool = EnginePool(refuse, 1)
        for _ in range(2):
            with pytest.raises(EngineError):
                async with pool.lease(vllm("a")):
                    pass

    asyncio.run(use())
