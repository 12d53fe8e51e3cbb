"""What branching saves: futures played from a copy of the state against futures from a reset.

Some baselines are played and branched, each point into futures with guidance and a control. All
branches are then played, three times over: with the same agent, prompts and greedy decoding, each
time on a new engine that has just played the baselines, as in `label_utility`; only the branches
are timed.

* `forked`: as `label_utility` plays them. Each baseline is walked along once, the environment is
  copied at the point, and all branches are in flight together.
* `batched`: each branch starts at a reset, and the agent is asked again for every step up to the
  point (the roll-in); all branches are in flight together.
* `alone`: the same, one branch at a time.

The three take turns in rounds of other games, as a machine's speed changes from one minute to the
next; ratios are medians over the rounds.

Figures:
    cost_ratio: seconds of `alone` over those of `forked`.
    batched_replay_ratio: seconds of `batched` over those of `forked`.
    mismatches: branches whose score or number of steps is not the same in all three.
    branches: branches compared.
    step_s: seconds a measured step of a branch, after its point, takes in `forked`.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import median
from typing import NamedTuple

from collegium.agents.loop import Opening, play
from collegium.agents.protocol import Decision, HeldGuidance, Policy, View
from collegium.core import Chunk, Clock, Episode, Guidance, SystemClock
from collegium.environments import Environment
from collegium.environments.household import Game, Household
from collegium.environments.household.explorer import Explorer
from collegium.evaluation.benchmarks.players import (
    LOOP,
    SLOTS,
    Player,
    alone,
    game_of,
)
from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.experience import BranchingConfig, choose_steps, chunk_trajectory, open_points
from collegium.experience.replay import EXPLORER, play_out
from collegium.llm import Engine

PLAYER = Player("no_heat_cool")
GAMES = 6
"""In a round: one of each kind."""
ROUNDS = 2
_BRANCHING = BranchingConfig()
_TEACHERS = 6000
"""From this number on, games are those that guidance is taken from."""
_TARGETS = {
    "cost_ratio": Target(min=5),
    "batched_replay_ratio": Target(min=1.5),
    "mismatches": Target(max=0),
}


class Branched(NamedTuple):
    """A baseline, its branching points, and what is shown at each of them."""

    game: int
    baseline: Episode
    steps: tuple[int, ...]
    shown: tuple[Guidance | None, ...]
    """A branch each; None is the control."""

    @property
    def before(self) -> int:
        """Steps up to the points, over all branches."""
        return sum(self.steps) * len(self.shown)


class Outcome(NamedTuple):
    """What became of a branch."""

    score: float
    steps: int


class Played(NamedTuple):
    """All branches of a round, played in one way; outcomes stand in the same order in each."""

    seconds: float
    outcomes: list[Outcome]
    before: int
    """Steps up to the points; `outcomes` count them too."""

    @property
    def steps(self) -> int:
        """Steps after the points."""
        return sum(outcome.steps for outcome in self.outcomes) - self.before


class Round(NamedTuple):
    """The same branches, played in the three ways."""

    forked: Played
    batched: Played
    alone: Played

    @property
    def mismatches(self) -> int:
        """Branches whose outcomes differ."""
        ways = zip(self.forked.outcomes, self.batched.outcomes, self.alone.outcomes, strict=True)
        return sum(len(set(outcomes)) > 1 for outcomes in ways)


class Branch(NamedTuple):
    """A branch about to be played."""

    game: int
    enter: Callable[[], tuple[Environment, Opening | None]]
    roll_in: HeldGuidance | None = None
    """What is shown on the way, once its time has come."""


def run() -> BenchResult:
    """Measure in rounds; takes about eight minutes on two cores."""
    return BenchResult.judge("branching", figures([_round(n) for n in range(ROUNDS)]), _TARGETS)


def _round(number: int) -> Round:
    games = range(number * GAMES, (number + 1) * GAMES)
    return Round(
        forked=alone(_measure, forked, games, SLOTS),
        batched=alone(_measure, from_reset, games, SLOTS),
        alone=alone(_measure, from_reset, games, 1),
    )


def figures(rounds: Sequence[Round]) -> dict[str, int | float | None]:
    """Return the bench's figures."""
    seconds = sum(one.forked.seconds for one in rounds)
    cost = median(one.alone.seconds / one.forked.seconds for one in rounds)
    batched = median(one.batched.seconds / one.forked.seconds for one in rounds)
    return {
        "cost_ratio": round(cost, 2),
        "batched_replay_ratio": round(batched, 2),
        "mismatches": sum(one.mismatches for one in rounds),
        "branches": sum(len(one.forked.outcomes) for one in rounds),
        "step_s": round(seconds / sum(one.forked.steps for one in rounds), 4),
    }


async def _branch(number: int, engine: Engine, clock: Clock) -> Branched:
    game = game_of(number)
    unit = PLAYER.unit_of(game)
    baseline = await play(Household(game), PLAYER.policy_on(engine), unit, config=LOOP, clock=clock)
    steps = choose_steps(baseline.trajectory, _BRANCHING, partition=0)
    return Branched(number, baseline, tuple(steps), (*_guidance(number), None))


def _guidance(number: int) -> list[Guidance]:
    """Return as many pieces as there are ranks, from the expert's play of a game of this kind."""
    environment = Household(game_of(_TEACHERS + number))
    first = environment.reset().observation
    expert = Explorer(environment.task.goal, first, 0, 0.0)
    trajectory = play_out(
        environment, lambda turn: expert.act(turn.observation, turn.admissible), EXPLORER
    )
    chunks = chunk_trajectory(trajectory)
    places = range(len(_BRANCHING.ranks))
    return [_shown(chunks[place * len(chunks) // len(places)], place + 1) for place in places]


def _shown(chunk: Chunk, rank: int) -> Guidance:
    return Guidance(chunk=chunk, rank=rank, retrieval_score=0.0)


Way = Callable[[Sequence[Branched]], Iterator[Branch]]


def forked(branched: Sequence[Branched]) -> Iterator[Branch]:
    """Start every branch from a copy of the environment, which is walked along once."""
    for one in branched:
        new = partial(Household, game_of(one.game))
        for point in open_points(one.baseline, one.steps, new, "fork"):
            yield from (Branch(one.game, partial(point.enter, guidance)) for guidance in one.shown)


def from_reset(branched: Sequence[Branched]) -> Iterator[Branch]:
    """Start every branch at a reset."""
    for one in branched:
        game = game_of(one.game)
        for step in one.steps:
            for guidance in one.shown:
                held = HeldGuidance(guidance, since=step) if guidance else None
                yield Branch(one.game, partial(_reset, game), held)


def _reset(game: Game) -> tuple[Environment, None]:
    return Household(game), None


def _measure(way: Way, games: range, slots: int) -> Played:
    return asyncio.run(measure(way, games, slots, PLAYER.engine_config().build(), SystemClock()))


async def measure(way: Way, games: range, slots: int, engine: Engine, clock: Clock) -> Played:
    """Play the baselines of `games` on `engine`, then all branches, and close it.

    Args:
        way: How branches start.
        games: Numbers of the games.
        slots: Branches in flight at most.
        engine: A new one.
        clock: Measures the branches.
    """
    free = asyncio.Semaphore(slots)
    try:
        branched = await asyncio.gather(*(_branch(game, engine, clock) for game in games))
        start = clock.monotonic()
        episodes = await asyncio.gather(*(_play(one, engine, free, clock) for one in way(branched)))
        seconds = clock.monotonic() - start
    finally:
        await engine.close()
    outcomes = [_outcome(episode) for episode in episodes]
    return Played(seconds, outcomes, sum(one.before for one in branched))


async def _play(one: Branch, engine: Engine, free: asyncio.Semaphore, clock: Clock) -> Episode:
    unit = PLAYER.unit_of(game_of(one.game))
    async with free:
        environment, opening = one.enter()
        policy = _RollIn(PLAYER.policy_on(engine), one.roll_in)
        return await play(environment, policy, unit, config=LOOP, clock=clock, opening=opening)


def _outcome(episode: Episode) -> Outcome:
    return Outcome(episode.trajectory.score, len(episode.trajectory.steps))


class _RollIn:
    """The agent, which is shown the guidance when it comes to its step."""

    def __init__(self, agent: Policy, held: HeldGuidance | None) -> None:
        self._agent = agent
        self._held = held

    async def act(self, view: View) -> Decision:
        arrived = self._held is not None and self._held.since == len(view.steps)
        return await self._agent.act(view._replace(held=self._held) if arrived else view)
