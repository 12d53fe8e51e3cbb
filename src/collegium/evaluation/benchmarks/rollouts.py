"""How much of the bare engine's speed the loop of many episodes keeps.

Our loop plays generated games, many episodes in flight on one engine; every request is noted. Then
a fresh engine (its prefix cache empty, as the first one's was) is stepped by nothing but a bare
loop (`llm.vllm_bare`), which gives it the very same requests, constraints included, game by game in
the same order and with as many games under way. Only answers that came while games took at least
90 % of the slots count, in both. The two take turns, as a machine's speed changes from one minute
to the next; rates are medians over the rounds.

Figures:
    engine_ratio: our loop's generated tokens a second over the bare engine's.
    prefix_hit_rate: share of the prompt tokens that came from the prefix cache.
    steps_per_s: agent steps a second.
"""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from statistics import median
from typing import NamedTuple, Protocol

from collegium.agents.loop import play
from collegium.core import Clock, SystemClock
from collegium.environments.household import Household
from collegium.evaluation.benchmarks.players import (
    LOOP,
    SLOTS,
    Player,
    alone,
    game_of,
)
from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.llm import Completion, Engine, Request
from collegium.llm.vllm_bare import BareAnswer, Wanted, run_bare

PLAYER = Player("generalist")
GAMES = 60
"""In a round."""
ROUNDS = 3
_FULL = 0.9
_TARGETS = {
    "engine_ratio": Target(min=0.85),
    "prefix_hit_rate": Target(min=0.7),
    "steps_per_s": Target(min=8),
}


class Timed(Protocol):
    """An answer, in our loop or in the bare one."""

    @property
    def seconds(self) -> float:
        """Monotonic time."""
        ...

    @property
    def tokens(self) -> int:
        """Tokens generated."""
        ...

    @property
    def under_way(self) -> int:
        """Games under way."""
        ...


class Answered(NamedTuple):
    """An answer to one game's request, and how many games were under way when it came."""

    game: int
    request: Request
    completion: Completion
    seconds: float
    under_way: int

    @property
    def tokens(self) -> int:
        """Tokens generated; 0 where only one choice was left and the engine was not asked."""
        return self.completion.usage.completion_tokens


class Log:
    """The answers to all games' requests, and how many games are under way."""

    def __init__(self, clock: Clock) -> None:
        """Start empty."""
        self.answers: list[Answered] = []
        self.under_way = 0
        self.clock = clock


class Watched:
    """The engine as one game sees it: each answer is noted."""

    def __init__(self, engine: Engine, game: int, log: Log) -> None:
        """Pass everything on to `engine`."""
        self.model = engine.model
        self._engine = engine
        self._game = game
        self._log = log

    async def complete(self, request: Request) -> Completion:
        """See `Engine.complete`."""
        completion = await self._engine.complete(request)
        log = self._log
        now = log.clock.monotonic()
        log.answers.append(Answered(self._game, request, completion, now, log.under_way))
        return completion

    async def close(self) -> None:
        """Leave the engine to the other games."""


class Round(NamedTuple):
    """The answers to one set of games' requests, by our loop and by the bare engine."""

    ours: list[Answered]
    bare: list[BareAnswer]

    @property
    def ratio(self) -> float:
        """Tokens a second, ours over the bare engine's."""
        return per_second(self.ours, tokens) / per_second(self.bare, tokens)


def run() -> BenchResult:
    """Measure in rounds; takes about four minutes on two cores."""
    rounds = [_round(number) for number in range(ROUNDS)]
    return BenchResult.judge("rollouts", figures(rounds), _TARGETS)


def _round(number: int) -> Round:
    games = range(number * GAMES, (number + 1) * GAMES)
    ours = alone(_play_games, games)
    return Round(ours, alone(run_bare, PLAYER.engine_config(), wanted(ours), SLOTS))


def _play_games(games: Iterable[int]) -> list[Answered]:
    return asyncio.run(play_all(games, PLAYER.engine_config().build(), SystemClock()))


def figures(rounds: Sequence[Round]) -> dict[str, int | float | None]:
    """Return the bench's figures."""
    usages = [one.completion.usage for played in rounds for one in played.ours]
    cached = sum(usage.cached_tokens for usage in usages)
    steps = median(per_second(played.ours, lambda one: 1) for played in rounds)
    return {
        "engine_ratio": round(median(played.ratio for played in rounds), 3),
        "prefix_hit_rate": round(cached / sum(usage.prompt_tokens for usage in usages), 3),
        "steps_per_s": round(steps, 1),
    }


def per_second(answers: Sequence[Timed], amount: Callable[[Timed], int]) -> float:
    """Return `amount` a second from the first to the last answer with nearly all slots taken."""
    full = [one for one in answers if one.under_way >= _FULL * SLOTS]
    return sum(map(amount, full[1:])) / (full[-1].seconds - full[0].seconds)


def tokens(answer: Timed) -> int:
    """Return the tokens generated for one answer."""
    return answer.tokens


def wanted(answers: Iterable[Answered]) -> list[list[Wanted]]:
    """Return what the bare engine is to do: each game's requests that reached the engine."""
    games: dict[int, list[Wanted]] = {}
    for one in answers:
        if one.tokens:
            games.setdefault(one.game, []).append(Wanted(one.request, one.tokens))
    return [games[game] for game in sorted(games)]


async def play_all(games: Iterable[int], engine: Engine, clock: Clock) -> list[Answered]:
    """Play generated games on `engine`, close it, and return the answers as they came."""
    log = Log(clock)
    slots = asyncio.Semaphore(SLOTS)
    try:
        await asyncio.gather(*(_play(number, engine, log, slots) for number in games))
    finally:
        await engine.close()
    return log.answers


async def _play(number: int, engine: Engine, log: Log, slots: asyncio.Semaphore) -> None:
    policy = PLAYER.policy_on(Watched(engine, number, log))
    game = game_of(number)
    async with slots:
        log.under_way += 1
        await play(Household(game), policy, PLAYER.unit_of(game), config=LOOP, clock=log.clock)
        log.under_way -= 1
