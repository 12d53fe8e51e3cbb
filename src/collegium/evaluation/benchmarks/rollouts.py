"""How much of the bare engine's speed the loop of many episodes keeps.

First our loop plays generated games, many episodes in flight on one engine; every request is
noted. Then a fresh engine (its prefix cache empty, as the first one's was) is given the very same
requests, constraints included, in the same order and with as many in flight, and nothing else to
do. Only answers that came while at least 90 % of the slots were taken count, in both.

Figures:
    engine_ratio: our loop's generated tokens a second over the bare engine's.
    prefix_hit_rate: share of the prompt tokens that came from the prefix cache.
    steps_per_s: agent steps a second.
"""

import asyncio
import os
from collections.abc import Awaitable, Callable, Sequence
from typing import NamedTuple

from collegium.agents.loop import LoopConfig, play
from collegium.agents.policies import GuidedPolicy
from collegium.agents.transcript import TranscriptFormat
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, Clock, Sampling, SystemClock
from collegium.environments.household import Game, Household, load_game_text
from collegium.environments.household.generator import generate_game
from collegium.environments.household.goals import TaskType
from collegium.environments.household.short import HouseholdText
from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.llm import Completion, Engine, Request, VllmConfig
from collegium.llm.adapters import find_adapter
from collegium.llm.models import DEFAULT_MODEL

SLOTS = 24
GAMES = 60
ADAPTER = "generalist"
_FULL = 0.9
_TARGETS = {
    "engine_ratio": Target(min=0.85),
    "prefix_hit_rate": Target(min=0.7),
    "steps_per_s": Target(min=8),
}


class Answered(NamedTuple):
    """A request, when its answer came, and how many others were on their way then."""

    request: Request
    completion: Completion
    started: float
    seconds: float
    in_flight: int


class Watched:
    """An engine whose requests are noted."""

    def __init__(self, engine: Engine, clock: Clock) -> None:
        """Pass everything on to `engine`."""
        self.model = engine.model
        self.log: list[Answered] = []
        self._engine = engine
        self._clock = clock
        self._in_flight = 0

    async def complete(self, request: Request) -> Completion:
        """See `Engine.complete`."""
        started = self._clock.monotonic()
        self._in_flight += 1
        try:
            completion = await self._engine.complete(request)
        finally:
            self._in_flight -= 1
        now = self._clock.monotonic()
        self.log.append(Answered(request, completion, started, now, self._in_flight + 1))
        return completion

    async def close(self) -> None:
        """See `Engine.close`."""
        await self._engine.close()


def run() -> BenchResult:
    """Measure on two engines, one after the other; takes about two minutes on two cores."""
    return asyncio.run(_measure(_config().build, SystemClock()))


async def _measure(build: Callable[[], Engine], clock: Clock) -> BenchResult:
    games = [_game(number) for number in range(GAMES)]
    ours = await _with_engine(build, clock, lambda engine: _play_all(engine, games, clock))
    wanted = [one.request for one in sorted(ours, key=lambda one: one.started)]
    bare = await _with_engine(build, clock, lambda engine: _ask_all(engine, wanted))
    prompt = sum(one.completion.usage.prompt_tokens for one in ours)
    cached = sum(one.completion.usage.cached_tokens for one in ours)
    figures: dict[str, int | float | None] = {
        "engine_ratio": round(rate(ours, tokens) / rate(bare, tokens), 3),
        "prefix_hit_rate": round(cached / prompt, 3),
        "steps_per_s": round(rate(ours, lambda one: 1), 1),
    }
    return BenchResult.judge("rollouts", figures, _TARGETS)


def rate(answers: Sequence[Answered], amount: Callable[[Answered], int]) -> float:
    """Return `amount` a second over the time in which nearly all slots were taken."""
    full = [one for one in answers if one.in_flight >= _FULL * SLOTS]
    return sum(map(amount, full[1:])) / (full[-1].seconds - full[0].seconds)


def tokens(one: Answered) -> int:
    """Return the tokens generated for one request."""
    return one.completion.usage.completion_tokens


def _config() -> VllmConfig:
    os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
    return VllmConfig(model=DEFAULT_MODEL, adapter=str(find_adapter(ADAPTER)), max_num_seqs=SLOTS)


def _game(number: int) -> Game:
    kinds = list(TaskType)
    text = generate_game(number, kinds[number % len(kinds)])
    return load_game_text(text, f"bench/{number}", split="generated_test", source="generated")


async def _with_engine(
    build: Callable[[], Engine], clock: Clock, work: Callable[[Watched], Awaitable[None]]
) -> list[Answered]:
    engine = Watched(await asyncio.to_thread(build), clock)
    try:
        await work(engine)
    finally:
        await engine.close()
    return engine.log


async def _play_all(engine: Watched, games: Sequence[Game], clock: Clock) -> None:
    agent = Agent(id=ADAPTER, model=DEFAULT_MODEL, sampling=Sampling(max_tokens=24))
    policy = GuidedPolicy(engine, agent, TranscriptFormat(HouseholdText()), seed=0)
    slots = asyncio.Semaphore(SLOTS)

    async def one(game: Game) -> None:
        unit = EpisodeUnit(
            arm="bench", environment="household", task_id=game.task.task_id, agent_id=agent.id
        )
        async with slots:
            config = LoopConfig(avoid_repeats=True)
            await play(Household(game), policy, unit, config=config, clock=clock)

    await asyncio.gather(*map(one, games))


async def _ask_all(engine: Watched, requests: Sequence[Request]) -> None:
    slots = asyncio.Semaphore(SLOTS)

    async def one(request: Request) -> None:
        async with slots:
            await engine.complete(request)

    await asyncio.gather(*map(one, requests))
