"""A scripted engine that knows the walkthroughs: it plays real games without a language model.

It reads the compact transcript like a model would: the opening says which game it is, the actions
how far it got. A share of the games, by content, is played well; in the others it dawdles, from
which it can go on at any time. Guidance for such a goal makes that share larger, any other smaller.
The folder `scripted_engines-0.dist-info` beside this file registers it as the engine kind
`walkthrough` wherever `tests/support` is on the path, in the processes of engines too.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import ClassVar, Literal

from collegium.agents.protocol import View
from collegium.agents.transcript import TranscriptFormat
from collegium.core import EngineError, InvalidInputError, Usage
from collegium.environments.household import Game, GameStore, Household
from collegium.environments.household.generator import SPLITS, write_games
from collegium.environments.household.goals import parse_goal
from collegium.environments.household.short import HouseholdText
from collegium.llm import Completion, Engine, EngineSettings, Request

IDLE = ("look", "inventory", "help", "examine")
"""Commands that change nothing."""


class WalkthroughSettings(EngineSettings):
    """Plays generated games by their walkthroughs."""

    own_process: ClassVar[bool] = True

    kind: Literal["walkthrough"] = "walkthrough"
    count: int
    """Games a split, as in `games.generated`."""
    seed: int
    """Seed of the generator."""
    skill: float = 0.5
    """Share of the games that are played well without guidance."""
    guided: float = 0.4
    """What guidance adds to that share, or takes from it if it is for another kind of goal."""
    delay_s: float = 0.0
    """Time a call takes."""
    breaks: bool = False
    """Whether every call fails."""

    def _start(self) -> Engine:
        with tempfile.TemporaryDirectory() as folder:
            write_games(Path(folder), self.count, self.seed)
            store = GameStore(Path(folder))
            games = [store.load(task) for split in SPLITS for task in store.tasks(split)]
        return WalkthroughEngine(self, games)


class WalkthroughEngine:
    model = "walkthrough"

    def __init__(self, settings: WalkthroughSettings, games: list[Game]) -> None:
        self._settings = settings
        self._plans = {_opening(game): game.walkthrough for game in games}
        self.closed = False

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(self._settings.delay_s)
        if self._settings.breaks:
            raise EngineError("told to break")
        if request.choices is None:  # a planner asks whether to retrieve
            return _completion("Keep the guidance.", 100)
        assert isinstance(request.prompt, str)
        text = self._answer(request.prompt, request.choices)
        return _completion(text, 10 * request.prompt.count("\n"))

    async def close(self) -> None:
        self.closed = True

    def _answer(self, prompt: str, choices: tuple[str, ...]) -> str:
        lines = prompt.splitlines()
        opening = "\n".join(lines[:2]) + "\n"
        actions = [line for line, answer in pairwise(lines) if answer.startswith("= ")]
        plan = self._plans[opening]
        step = _done(plan, actions)
        plays_well = _luck(opening) < self._settings.skill + self._settings.guided * _use(lines)
        if plays_well and step < len(plan) and plan[step] in choices:
            return plan[step]
        idle = [choice for choice in choices if choice.startswith(IDLE)] or list(choices)
        return idle[len(actions) % len(idle)]


def _done(plan: Sequence[str], actions: Sequence[str]) -> int:
    """Steps of the plan that were taken."""
    step = 0
    for action in actions:
        step += step < len(plan) and action == plan[step]
    return step


def _use(lines: Sequence[str]) -> int:
    """1 for guidance that suits the task, -1 for any other, 0 for none."""
    guidance = lines[-1].removeprefix("# ")
    if guidance == lines[-1]:
        return 0
    try:
        told = parse_goal(guidance.rsplit(": ", 1)[0] + ".")
    except InvalidInputError:
        return -1
    return 1 if told == parse_goal(lines[0].removeprefix("task: ")) else -1


def _completion(text: str, prompt_tokens: int) -> Completion:
    usage = Usage(calls=1, prompt_tokens=prompt_tokens, completion_tokens=len(text.split()))
    return Completion(text=text, finish_reason="stop", usage=usage)


def _opening(game: Game) -> str:
    first = Household(game).reset().observation
    view = View(game.task, first, (), first, (), 1)
    return TranscriptFormat(HouseholdText()).opening(view)


def _luck(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:4], 16) / 0xFFFF
