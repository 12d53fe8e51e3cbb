"""Trains adapters that imitate the expert with and without guidance, and measures them.

The expert's episodes on some train games are the memory that guidance is retrieved from; games set
aside by seed are neither trained on nor in that memory, and measure the adapters afterwards. An
adapter that is finished in the run directory is not trained again; one that was interrupted is
trained anew, with the same result.
"""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from collegium.agents.policies import GuidedPolicy
from collegium.agents.transcript import TranscriptFormat
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, Episode, Record, Sampling, SystemClock, Task
from collegium.embedding import CachedEmbedder, EmbedderConfig, MiniLMConfig, build_embedder
from collegium.environments.household import GameStore, Grammar
from collegium.environments.household.short import HouseholdText
from collegium.experience import ExperienceMemory, Snapshot, expert_trajectories
from collegium.experience.curriculum import build_curriculum, set_aside
from collegium.llm import EngineConfig, VllmConfig
from collegium.llm.adapters import AdapterCard, read_card, write_card
from collegium.llm.models import DEFAULT_MODEL, resolve_model
from collegium.runtime.jobs.configs import (
    NO_RETRIEVAL,
    ExecutionConfig,
    GamesConfig,
    JobConfig,
    PlayingConfig,
)
from collegium.runtime.jobs.episodes import Desk, EpisodePlayer, Planned
from collegium.runtime.jobs.formats import build_format
from collegium.runtime.jobs.games import local_folder, open_games, select_tasks, spread
from collegium.runtime.jobs.hosting import hosted_engines
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.runtime.jobs.training import AdapterPlan, Shown, TrainingRoom, train_adapter
from collegium.store import RunDirectory

_EXPERT_STEPS = 30


class TrainAgentsConfig(JobConfig):
    """Configuration of `train_agents`."""

    pipeline: Literal["train_agents"] = "train_agents"
    model: str = DEFAULT_MODEL
    """A built-in name, a Hugging Face id, or a folder."""
    games: GamesConfig = GamesConfig(splits=("train",))
    """Train games."""
    aside: int = Field(default=240, ge=0)
    """Games set aside for measuring; neither trained on nor in the memory."""
    measured: int = Field(default=48, ge=0)
    """Of these, so many are played by each adapter, without guidance; 0 measures nothing."""
    memory_episodes: int = Field(default=500, gt=0)
    """The expert's episodes that guidance is retrieved from while training."""
    embedder: EmbedderConfig = MiniLMConfig()
    """Embeds keys and queries."""
    adapters: tuple[AdapterPlan, ...] = Field(min_length=1)
    """The adapters, trained one after the other."""
    engine: EngineConfig = VllmConfig()
    """Plays the games set aside."""
    seed: int = 0
    """Chooses the games set aside."""
    execution: ExecutionConfig = Field(default=ExecutionConfig(), exclude=True)
    """How the measuring is carried out; left out of the run's digest."""


class TrainedAgents(Record):
    """The result of the job: the adapters' cards."""

    adapters: tuple[AdapterCard, ...]


class _Workshop(NamedTuple):
    config: TrainAgentsConfig
    run: RunDirectory
    store: GameStore
    train: list[Task]
    aside: list[Task]

    @property
    def folder(self) -> Path:
        return local_folder(self.run, "adapters")

    @property
    def names(self) -> list[str]:
        return [n for plan in self.config.adapters for n in (*plan.earlier, plan.name)]


async def train_agents(
    config: TrainAgentsConfig, run: RunDirectory, progress: ConsoleProgress
) -> TrainedAgents:
    """Train and measure every adapter that is not finished yet; return the cards of all.

    Raises:
        NotFoundError: The games or the model are not there.
    """
    store = open_games(config.games, run)
    train, aside = set_aside(select_tasks(config.games, store), config.aside, config.seed)
    shop = _Workshop(config, run, store, train, aside)
    await asyncio.to_thread(_train_all, shop, progress)
    if config.measured:
        await _measure_all(shop, progress)
    run.finish()
    return TrainedAgents(adapters=tuple(read_card(shop.folder / name) for name in shop.names))


def _train_all(shop: _Workshop, progress: Shown) -> None:
    plans = [plan for plan in shop.config.adapters if not plan.is_finished(shop.folder)]
    if not plans:
        return
    progress.stage("memory for training")
    memory = _memory(shop)
    room = TrainingRoom(
        model=shop.config.model,
        folder=shop.folder,
        about={"games_set_aside": len(shop.aside)},
    )
    for plan in plans:
        progress.stage(f"examples for {plan.name}")
        examples = build_curriculum(
            shop.train,
            shop.store,
            memory,
            Grammar.CURRENT,
            TranscriptFormat(HouseholdText()),
            _tokenizer(shop.config.model),
            plan.curriculum,
        )
        train_adapter(plan, examples, room, progress)


def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(resolve_model(model))
    return lambda text: tokenizer(text, add_special_tokens=False).input_ids


def _memory(shop: _Workshop) -> Snapshot:
    config = shop.config
    embedder = CachedEmbedder(build_embedder(config.embedder), local_folder(shop.run, "vectors"))
    memory = ExperienceMemory(local_folder(shop.run, "memory"), embedder, grammar=Grammar.CURRENT)
    if not memory.sealed:
        tasks = shop.train[: config.memory_episodes]
        episodes = expert_trajectories(
            tasks, shop.store, seed=config.seed, step_limit=_EXPERT_STEPS
        )
        memory.contribute(list(episodes), 0)
        memory.seal(0)
    return memory.as_of(0)


async def _measure_all(shop: _Workshop, progress: ConsoleProgress) -> None:
    """Let each adapter play the same games set aside, and write what it solved into its card."""
    config = shop.config
    agents = tuple(
        Agent(id=n, model=config.model, adapter=str(shop.folder / n), sampling=Sampling())
        for n in shop.names
    )
    playing = PlayingConfig(agents=agents, engine=config.engine, execution=config.execution)
    tasks = spread(shop.aside, config.measured, config.seed)
    planned = [
        Planned(
            EpisodeUnit(
                arm=NO_RETRIEVAL,
                environment=task.environment,
                task_id=task.task_id,
                agent_id=agent.id,
            ),
            task,
        )
        for agent in agents
        for task in tasks
    ]
    progress.stage("measuring")
    async with hosted_engines(playing) as engines:
        player = EpisodePlayer(
            playing, shop.store, Desk(shop.run, engines, progress, SystemClock())
        )
        await player.play(
            planned,
            lambda unit, agent, engine: GuidedPolicy(
                engine, agent, build_format(playing), seed=unit.seed
            ),
        )
    _note_benchmarks(shop.folder, player.episodes(planned))


def _note_benchmarks(folder: Path, episodes: Sequence[Episode]) -> None:
    solved: dict[tuple[str, str], list[bool]] = defaultdict(list)
    for episode in episodes:
        trajectory = episode.trajectory
        if not episode.stop_reason.is_machinery:
            for scope in ("all", trajectory.task.task_type):
                solved[trajectory.producer, scope].append(trajectory.success)
    for name in {producer for producer, _ in solved}:
        scores = {s: sum(won) / len(won) for (who, s), won in sorted(solved.items()) if who == name}
        card = read_card(folder / name)
        about = card.model_dump(exclude={"files", "benchmarks"})
        write_card(folder / name, **about, benchmarks=scores)
