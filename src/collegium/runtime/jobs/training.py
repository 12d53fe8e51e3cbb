"""One adapter: trained on its examples, saved with its card, at the end and at earlier points."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Protocol

from pydantic import Field, field_validator

from collegium.config import Config
from collegium.experience.curriculum import CurriculumConfig
from collegium.llm.adapters import write_card
from collegium.llm.finetune.configs import Progress, TrainingConfig
from collegium.llm.finetune.examples import Encoded
from collegium.llm.models import resolve_model

if TYPE_CHECKING:
    from collegium.llm.finetune.lora import LoraLinear

_SHOW_EVERY = 20
"""Optimiser steps between two lines of progress."""

AdapterName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$")]
"""Also the name of the adapter's folder."""
Share = Annotated[float, Field(gt=0, lt=1)]


class StageProgress(Protocol):
    """Where progress is told."""

    def stage(self, name: str) -> None:
        """Name what is being done now."""
        ...


class AdapterPlan(Config):
    """One training run."""

    name: AdapterName
    """Name of the finished adapter."""
    curriculum: CurriculumConfig
    """What it learns from."""
    training: TrainingConfig = TrainingConfig()
    """How it learns."""
    earlier: dict[AdapterName, Share] = Field(default_factory=dict)
    """Name -> share of the run, in (0, 1), after which the adapter is saved under that name too."""

    @field_validator("earlier")
    @classmethod
    def _shares_differ(cls, earlier: dict[str, float]) -> dict[str, float]:
        if len(set(earlier.values())) < len(earlier):
            raise ValueError("two earlier adapters are due at one share, and would be the same")
        return earlier

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all adapters that the training leaves, the finished one last."""
        return (*self.earlier, self.name)

    def is_finished(self, folder: Path) -> bool:
        """Return whether the adapter stands in `folder` with its card."""
        return (folder / self.name / "card.json").is_file()


class TrainingSetup(NamedTuple):
    """What the trainings of a run share."""

    model: str
    folder: Path
    about: dict[str, Any]
    """Fields of the cards: where the examples come from and what made the adapters."""


def train_adapter(
    plan: AdapterPlan, examples: Sequence[Encoded], setup: TrainingSetup, progress: StageProgress
) -> None:
    """Train the adapter of `plan` and save it under `setup.folder` / its name."""
    import torch
    from transformers import AutoModelForCausalLM

    from collegium.llm.finetune.training import train

    model = AutoModelForCausalLM.from_pretrained(resolve_model(setup.model), dtype=torch.bfloat16)
    keeper = _Keeper(plan, setup, progress)
    trained = train(
        model,
        examples,
        plan.training,
        checkpoints=plan.earlier,
        on_progress=keeper.note,
        on_checkpoint=keeper.save,
    )
    keeper.save(plan.name, trained.layers)


class _Keeper:
    """Tells how a training goes, and saves what it has learned."""

    def __init__(self, plan: AdapterPlan, setup: TrainingSetup, progress: StageProgress) -> None:
        self._plan = plan
        self._setup = setup
        self._shown = progress
        self._last = Progress(step=0, steps=0, tokens=0, loss=0.0)

    def note(self, progress: Progress) -> None:
        """Remember where the training stands, and show it now and then."""
        self._last = progress
        if progress.step % _SHOW_EVERY == 0:
            self._shown.stage(
                f"{self._plan.name}: step {progress.step} of {progress.steps}, "
                f"{progress.tokens:,} tokens, loss {progress.loss:.3f}"
            )

    def save(self, name: str, layers: "dict[str, LoraLinear]") -> None:
        """Write the adapter as it is now, its card last."""
        from collegium.llm.finetune.lora import save_adapter

        model, training = self._setup.model, self._plan.training
        target = self._setup.folder / name
        save_adapter(layers, target, base_model=model, rank=training.rank, alpha=training.alpha)
        write_card(target, **self._about())

    def _about(self) -> dict[str, Any]:
        return {
            **self._setup.about,
            "base_model": self._setup.model,
            "seed": self._plan.training.seed,
            "curriculum": self._plan.curriculum.model_dump(mode="json"),
            "training": self._plan.training.model_dump(mode="json"),
            "tokens": self._last.tokens,
            "final_loss": round(self._last.loss, 4),
        }
