"""Who plays what in the benchmarks that need a language model: packaged agents, made-up games."""

import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Final, NamedTuple, TypeVar

from collegium.agents.loop import LoopConfig
from collegium.agents.policies import GuidedPolicy
from collegium.agents.transcript import TranscriptFormat
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, Sampling
from collegium.environments.household import Game, load_game_text
from collegium.environments.household.generator import generate_game
from collegium.environments.household.goals import TaskType
from collegium.environments.household.short import HouseholdText
from collegium.llm import Engine, VllmConfig
from collegium.llm.adapters import find_adapter
from collegium.llm.models import DEFAULT_MODEL

R = TypeVar("R")

SLOTS: Final = 24
"""Episodes in flight on one engine."""
LOOP: Final = LoopConfig(avoid_repeats=True)


class Player(NamedTuple):
    """An agent with a packaged adapter, which decodes greedily."""

    adapter: str

    @property
    def agent(self) -> Agent:
        """The agent, by the name of its adapter."""
        return Agent(id=self.adapter, model=DEFAULT_MODEL, sampling=Sampling(max_tokens=24))

    def engine_config(self) -> VllmConfig:
        """Return the engine, which has the adapter merged into its weights."""
        os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")
        adapter = str(find_adapter(self.adapter))
        return VllmConfig(model=DEFAULT_MODEL, adapter=adapter, max_num_seqs=SLOTS)

    def policy_on(self, engine: Engine) -> GuidedPolicy:
        """Return the agent at work, which retrieves nothing by itself."""
        return GuidedPolicy(engine, self.agent, TranscriptFormat(HouseholdText()), seed=0)

    def unit_of(self, game: Game) -> EpisodeUnit:
        """Return the unit of the agent's attempt at a game."""
        task = game.task
        return EpisodeUnit(
            arm="bench",
            environment=task.environment,
            task_id=task.task_id,
            agent_id=self.adapter,
        )


def alone(work: Callable[..., R], *arguments: object) -> R:
    """Work in a new process: threads that an ended engine leaves would slow down the next one."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def game_of(number: int) -> Game:
    """Return a generated game; its kind is that of each sixth one."""
    kinds = list(TaskType)
    text = generate_game(number, kinds[number % len(kinds)])
    return load_game_text(text, f"bench/{number}", split="generated_test", source="generated")
