"""A scripted engine that knows the walkthroughs: it plays real games without a language model.

It reads the compact transcript like a model would: the opening says which game it is, the number of
answers which step. A share of the games, by content, is played badly; guidance makes it smaller.
"""

import asyncio
import hashlib
from pathlib import Path
from typing import Literal

from collegium.agents.protocol import View
from collegium.agents.transcript import TranscriptFormat
from collegium.core import EngineError, Usage
from collegium.environments.household import GameStore, Household
from collegium.environments.household.short import HouseholdText
from collegium.llm import Completion, Engine, EngineSettings, Request


class WalkthroughSettings(EngineSettings):
    """Plays the games under `games` by their walkthroughs."""

    kind: Literal["walkthrough"] = "walkthrough"
    games: str
    splits: tuple[str, ...]
    delay_s: float = 0.0
    """Time a call takes."""
    skill: float = 0.5
    """Share of the games that are solved without guidance."""
    breaks_on: str = ""
    """A goal at which the engine fails."""
    adapter: str | None = None

    def build(self) -> Engine:
        return WalkthroughEngine(self)


class WalkthroughEngine:
    model = "walkthrough"

    def __init__(self, settings: WalkthroughSettings) -> None:
        self._settings = settings
        store = GameStore(Path(settings.games))
        text = TranscriptFormat(HouseholdText())
        self._plans: dict[str, tuple[str, ...]] = {}
        for split in settings.splits:
            for task in store.tasks(split):
                game = store.load(task)
                first = Household(game).reset()
                view = View(game.task, first.observation, (), first.observation, (), 1)
                self._plans[text.opening(view)] = game.walkthrough

    async def complete(self, request: Request) -> Completion:
        assert isinstance(request.prompt, str)
        assert request.choices
        if self._settings.breaks_on and self._settings.breaks_on in request.prompt:
            raise EngineError("told to break")
        await asyncio.sleep(self._settings.delay_s)
        lines = request.prompt.splitlines()
        opening = "\n".join(lines[:2]) + "\n"
        step = sum(line.startswith("= ") for line in lines)
        plan = self._plans[opening]
        skill = self._settings.skill + 0.3 * lines[-1].startswith("# ")
        wants = plan[step] if step < len(plan) else ""
        luck = int(hashlib.sha256(opening.encode()).hexdigest()[:4], 16) / 0xFFFF
        solves = luck < skill and wants in request.choices
        text = wants if solves else request.choices[step % len(request.choices)]
        usage = Usage(calls=1, prompt_tokens=len(lines) * 10, completion_tokens=4)
        return Completion(text=text, finish_reason="stop", usage=usage)

    async def close(self) -> None:
        pass
