"""Train adapters: one LoRA adapter each plan, imitating the expert, with and without guidance.

The expert's episodes on some train games are the memory that guidance is retrieved from; games set
aside by seed are neither trained on nor in that memory. An adapter that is finished in the run
directory is not trained again, and one that was interrupted goes on from its last save.
"""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from collegium.agents.transcript import TranscriptFormat
from collegium.config import Config
from collegium.core import Record
from collegium.embedding import CachedEmbedder, EmbedderConfig, MiniLMConfig, build_embedder
from collegium.environments.household import GameStore, Grammar
from collegium.environments.household.short import HouseholdText
from collegium.experience import ExperienceMemory, Snapshot
from collegium.experience.curriculum import CurriculumConfig, build_curriculum, set_aside
from collegium.experience.replay import expert_trajectories
from collegium.llm.finetune.training import Progress, TrainingConfig
from collegium.llm.models import resolve_model
from collegium.runtime.jobs.configs import GamesConfig
from collegium.runtime.jobs.games import local_folder, open_games, select_tasks
from collegium.store import RunDirectory

CARD = "card.json"


class AdapterPlan(Config):
    """One training run."""

    name: str
    """Name of the finished adapter."""
    curriculum: CurriculumConfig
    """What it learns from."""
    training: TrainingConfig = TrainingConfig()
    """How it learns."""
    earlier: dict[str, float] = Field(default_factory=dict)
    """Name -> share of the run in (0, 1) after which the adapter is saved under that name too."""


class TrainAgentsConfig(Config):
    """Configuration of `train_agents`."""

    pipeline: Literal["train_agents"] = "train_agents"
    model: str = "smollm2-135m-instruct"
    """A built-in name, a Hugging Face id, or a folder."""
    games: GamesConfig = GamesConfig(splits=("train",))
    """Train games."""
    aside: int = Field(default=240, ge=0)
    """Games set aside for measuring; neither trained on nor in the memory."""
    memory_episodes: int = Field(default=500, gt=0)
    """The expert's episodes that guidance is retrieved from while training."""
    embedder: EmbedderConfig = MiniLMConfig()
    """Embeds keys and queries."""
    adapters: tuple[AdapterPlan, ...] = Field(min_length=1)
    """The adapters, trained one after the other."""
    seed: int = 0
    """Chooses the games set aside."""


class TrainedAdapter(Record):
    """One line of the result."""

    name: str
    path: str
    tokens: int
    final_loss: float


class TrainedAgents(Record):
    """The result of the job."""

    adapters: tuple[TrainedAdapter, ...]


def train_agents(
    config: TrainAgentsConfig, run: RunDirectory, on_progress: Callable[[str, Progress], None]
) -> TrainedAgents:
    """Train every adapter that is not finished yet; returns all of them.

    Raises:
        NotFoundError: The games or the model are not there.
    """
    store = open_games(config.games, run)
    tasks, _ = set_aside(select_tasks(config.games, store), config.aside, config.seed)
    memory = _memory(config, run, store, tasks[: config.memory_episodes])
    folder = local_folder(run, "adapters")
    finished: list[TrainedAdapter] = []
    for plan in config.adapters:
        if not (folder / plan.name / CARD).exists():
            _train_one(config, plan, store, tasks, memory, folder, partial(on_progress, plan.name))
        finished.extend(_read_card(folder / name) for name in (*plan.earlier, plan.name))
    return TrainedAgents(adapters=tuple(finished))


def _memory(
    config: TrainAgentsConfig, run: RunDirectory, store: GameStore, tasks: list[Any]
) -> Snapshot:
    embedder = CachedEmbedder(build_embedder(config.embedder), local_folder(run, "vectors"))
    memory = ExperienceMemory(local_folder(run, "memory"), embedder, grammar=str(Grammar.CURRENT))
    if not memory.sealed:
        episodes = expert_trajectories(tasks, store, seed=config.seed, step_limit=30)
        memory.contribute(list(episodes), 0)
        memory.seal(0)
    return memory.as_of(0)


def _train_one(
    config: TrainAgentsConfig,
    plan: AdapterPlan,
    store: GameStore,
    tasks: list[Any],
    memory: Snapshot,
    folder: Path,
    on_progress: Callable[[Progress], None],
) -> None:
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from collegium.llm.finetune.lora import save_adapter
    from collegium.llm.finetune.training import train

    path = resolve_model(config.model)
    tokenizer = AutoTokenizer.from_pretrained(path)
    examples = build_curriculum(
        tasks,
        store,
        memory,
        str(Grammar.CURRENT),
        TranscriptFormat(HouseholdText()),
        lambda text: tokenizer(text, add_special_tokens=False).input_ids,
        plan.curriculum,
    )
    model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.bfloat16)
    seen: list[Progress] = []

    def note(progress: Progress) -> None:
        seen.append(progress)
        on_progress(progress)

    def save(name: str, layers: Any) -> None:
        rank, alpha = plan.training.rank, plan.training.alpha
        save_adapter(layers, folder / name, base_model=config.model, rank=rank, alpha=alpha)
        _write_card(folder / name, config, plan, seen[-1])

    names = {share: name for name, share in plan.earlier.items()}
    training = plan.training.model_copy(update={"checkpoints": tuple(names)})
    trained = train(
        model,
        examples,
        training,
        on_progress=note,
        on_checkpoint=lambda share, layers: save(names[share], layers),
    )
    save(plan.name, trained.layers)


def _write_card(
    folder: Path, config: TrainAgentsConfig, plan: AdapterPlan, progress: Progress
) -> None:
    card = {
        "schema_version": 1,
        "name": folder.name,
        "base_model": config.model,
        "data": "the text-only expert's episodes on official train games",
        "games_set_aside": config.aside,
        "curriculum": plan.curriculum.model_dump(mode="json"),
        "training": plan.training.model_dump(mode="json"),
        "tokens": progress.tokens,
        "final_loss": round(progress.loss, 4),
        "seed": config.seed,
        "benchmarks": {},
    }
    (folder / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")


def _read_card(folder: Path) -> TrainedAdapter:
    card = json.loads((folder / CARD).read_text(encoding="utf-8"))
    return TrainedAdapter(
        name=card["name"], path=str(folder), tokens=card["tokens"], final_loss=card["final_loss"]
    )
