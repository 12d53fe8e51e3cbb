"""A scripted engine that knows the walkthroughs: it plays real games without a language model.

It reads the compact transcript like a model would: the opening says which game it is, the number of
answers which step. A share of the games, by content, is played badly; guidance makes it smaller.
The folder `scripted_engines-0.dist-info` beside this file registers it as the engine kind
`walkthrough` wherever `tests/support` is on the path, in the processes of engines too.
"""

import asyncio
import hashlib
import tempfile
from pathlib import Path
from typing import ClassVar, Literal

from collegium.agents.protocol import View
from collegium.agents.transcript import TranscriptFormat
from collegium.core import EngineError, Usage
from collegium.environments.household import Game, GameStore, Household
from collegium.environments.household.generator import SPLITS, write_games
from collegium.environments.household.short import HouseholdText
from collegium.llm import Completion, Engine, EngineSettings, Request


class WalkthroughSettings(EngineSettings):
    """Plays generated games by their walkthroughs."""

    own_process: ClassVar[bool] = True

    kind: Literal["walkthrough"] = "walkthrough"
    count: int
    """Games a split, as in `games.generated`."""
    seed: int
    """Seed of the generator."""
    skill: float = 0.5
    """Share of the games that are solved without guidance."""
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
        step = sum(line.startswith("= ") for line in lines)
        plan = self._plans[opening]
        skill = self._settings.skill + 0.3 * lines[-1].startswith("# ")
        solves = _luck(opening) < skill and step < len(plan) and plan[step] in choices
        return plan[step] if solves else choices[step % len(choices)]


def _completion(text: str, prompt_tokens: int) -> Completion:
    usage = Usage(calls=1, prompt_tokens=prompt_tokens, completion_tokens=len(text.split()))
    return Completion(text=text, finish_reason="stop", usage=usage)


def _opening(game: Game) -> str:
    first = Household(game).reset().observation
    view = View(game.task, first, (), first, (), 1)
    return TranscriptFormat(HouseholdText()).opening(view)


def _luck(text: str) -> float:
    return int(hashlib.sha256(text.encode()).hexdigest()[:4], 16) / 0xFFFF
