"""Trains adapters that imitate the expert with and without guidance, and measures them.

The expert's episodes on some train games are the memory that guidance is retrieved from; games set
aside by seed are neither trained on nor in that memory, and measure the adapters afterwards. An
adapter that is finished in the run directory is not trained again; one that was interrupted is
trained anew, with the same result.
"""

import asyncio
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field, field_validator

from collegium.agents.transcript import TranscriptFormat
from collegium.config import digest
from collegium.core import Record, Task
from collegium.embedding import CachedEmbedder, EmbedderConfig, MiniLMConfig, build_embedder
from collegium.environments.household import GameStore, Grammar
from collegium.environments.household.short import HouseholdText
from collegium.experience import ExperienceMemory, RetrievalConfig, Snapshot, expert_trajectories
from collegium.experience.curriculum import Material, build_curriculum, set_aside
from collegium.llm import EngineConfig, VllmConfig
from collegium.llm.adapters import AdapterCard, read_card
from collegium.llm.models import DEFAULT_MODEL, resolve_model
from collegium.runtime.jobs.configs import ExecutionConfig, GamesConfig, JobConfig
from collegium.runtime.jobs.games import local_folder, open_games, select_tasks, spread
from collegium.runtime.jobs.measuring import MeasuringSetup, measure_adapters
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.runtime.jobs.training import AdapterPlan, StageProgress, TrainingSetup, train_adapter
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
    """Embeds keys and queries: best the one of the memory that the adapters will act with."""
    retrieval: RetrievalConfig = RetrievalConfig()
    """What a retrieval may return: best as when the adapters will act."""
    adapters: tuple[AdapterPlan, ...] = Field(min_length=1)
    """The adapters, trained one after the other."""
    engine: EngineConfig = VllmConfig()
    """Plays the games set aside."""
    seed: int = 0
    """Chooses the games set aside."""
    execution: ExecutionConfig = Field(default=ExecutionConfig(), exclude=True)
    """How the measuring is carried out; left out of the run's digest."""

    @field_validator("adapters")
    @classmethod
    def _names_differ(cls, adapters: tuple[AdapterPlan, ...]) -> tuple[AdapterPlan, ...]:
        names = [name for plan in adapters for name in plan.names]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"adapters of one name would overwrite each other: {twice}")
        return adapters


class TrainedAgents(Record):
    """The result of the job: the adapters' cards."""

    adapters: tuple[AdapterCard, ...]


class _TrainingContext(NamedTuple):
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
        return [name for plan in self.config.adapters for name in plan.names]


async def train_agents(
    config: TrainAgentsConfig, run: RunDirectory, progress: ConsoleProgress
) -> TrainedAgents:
    """Train and measure every adapter that is not finished yet; return the cards of all.

    Raises:
        NotFoundError: The games or the model are not there.
    """
    store = open_games(config.games, run)
    train, aside = set_aside(select_tasks(config.games, store), config.aside, config.seed)
    context = _TrainingContext(config, run, store, train, aside)
    await asyncio.to_thread(_train_all, context, progress)
    if config.measured:
        await measure_adapters(
            [context.folder / name for name in context.names],
            spread(aside, config.measured, config.seed),
            MeasuringSetup(config.model, config.engine, config.execution, store, run, progress),
        )
    run.finish()
    return TrainedAgents(adapters=tuple(read_card(context.folder / name) for name in context.names))


def _train_all(context: _TrainingContext, progress: StageProgress) -> None:
    plans = [plan for plan in context.config.adapters if not plan.is_finished(context.folder)]
    if not plans:
        return
    progress.stage("memory for training")
    material = Material(
        tasks=context.train,
        store=context.store,
        memory=_memory(context),
        retrieval=context.config.retrieval,
        grammar=Grammar.CURRENT,
        text=TranscriptFormat(HouseholdText()),
        tokenize=_tokenizer(context.config.model),
    )
    setup = TrainingSetup(context.config.model, context.folder, _provenance(context))
    for plan in plans:
        progress.stage(f"examples for {plan.name}")
        train_adapter(plan, build_curriculum(material, plan.curriculum), setup, progress)


def _provenance(context: _TrainingContext) -> dict[str, Any]:
    """Return what the cards say of data and run."""
    kinds = " and ".join(sorted({f"{task.source} {task.split}" for task in context.train}))
    return {
        "data": f"the text-only expert's episodes on {len(context.train)} {kinds} games",
        "games_set_aside": len(context.aside),
        "command": f"python pipelines/{context.config.pipeline}.py config.yaml",
        "config_digest": digest(context.config),
    }


def _tokenizer(model: str) -> Any:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(resolve_model(model))
    return lambda text: tokenizer(text, add_special_tokens=False).input_ids


def _memory(context: _TrainingContext) -> Snapshot:
    config = context.config
    embedder = CachedEmbedder(build_embedder(config.embedder), local_folder(context.run, "vectors"))
    memory = ExperienceMemory(
        local_folder(context.run, "memory"), embedder, grammar=Grammar.CURRENT
    )
    if not memory.sealed:
        tasks = context.train[: config.memory_episodes]
        episodes = expert_trajectories(
            tasks, context.store, seed=config.seed, step_limit=_EXPERT_STEPS
        )
        memory.contribute(list(episodes), 0)
        memory.seal(0)
    return memory.as_of(0)
