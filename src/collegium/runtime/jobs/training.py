"""One adapter: trained on its examples, saved with its card, at the end and at earlier points."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from pydantic import Field

from collegium.config import Config
from collegium.experience.curriculum import CurriculumConfig
from collegium.llm.adapters import write_card
from collegium.llm.finetune.configs import Progress, TrainingConfig
from collegium.llm.finetune.examples import Encoded
from collegium.llm.models import resolve_model

_SHOW_EVERY = 20
"""Optimiser steps between two lines of progress."""


class Shown(Protocol):
    """Where progress is told."""

    def stage(self, name: str) -> None:
        """Name what is being done now."""
        ...


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

    def is_finished(self, folder: Path) -> bool:
        """Return whether the adapter stands in `folder` with its card."""
        return (folder / self.name / "card.json").is_file()


class TrainingRoom(NamedTuple):
    """What the trainings of a run share."""

    model: str
    folder: Path
    about: dict[str, Any]
    """Further fields of the cards."""


def train_adapter(
    plan: AdapterPlan, examples: Sequence[Encoded], room: TrainingRoom, shown: Shown
) -> None:
    """Train the adapter of `plan` and save it under `room.folder` / its name."""
    import torch
    from transformers import AutoModelForCausalLM

    from collegium.llm.finetune.lora import save_adapter
    from collegium.llm.finetune.training import train

    model = AutoModelForCausalLM.from_pretrained(resolve_model(room.model), dtype=torch.bfloat16)
    last = Progress(step=0, steps=0, tokens=0, loss=0.0)

    def note(progress: Progress) -> None:
        nonlocal last
        last = progress
        if progress.step % _SHOW_EVERY == 0:
            shown.stage(
                f"{plan.name}: step {progress.step} of {progress.steps}, "
                f"{progress.tokens:,} tokens, loss {progress.loss:.3f}"
            )

    def save(name: str, layers: Any) -> None:
        rank, alpha = plan.training.rank, plan.training.alpha
        target = room.folder / name
        save_adapter(layers, target, base_model=room.model, rank=rank, alpha=alpha)
        write_card(target, **_about(plan, room, last))

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


def _about(plan: AdapterPlan, room: TrainingRoom, progress: Progress) -> dict[str, Any]:
    return {
        **room.about,
        "base_model": room.model,
        "data": "the text-only expert's episodes on official train games",
        "seed": plan.training.seed,
        "command": "python pipelines/train_agents.py configs/training/population.yaml",
        "curriculum": plan.curriculum.model_dump(mode="json"),
        "training": plan.training.model_dump(mode="json"),
        "tokens": progress.tokens,
        "final_loss": round(progress.loss, 4),
    }
