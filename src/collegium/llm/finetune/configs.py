"""How an adapter is trained, and how far a training is; imports no torch."""

from typing import Literal, NamedTuple

from pydantic import Field

from collegium.config import Config


class TrainingConfig(Config):
    """How an adapter is trained."""

    rank: int = Field(default=8, gt=0)
    """Rank of the LoRA matrices."""
    alpha: float = Field(default=16.0, gt=0)
    """LoRA scale: the addition is multiplied by alpha / rank."""
    learning_rate: float = Field(default=1e-3, gt=0)
    """Peak of the schedule: linear warm-up, then linear decay to a tenth."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps that warm up."""
    batch_tokens: int = Field(default=2400, gt=0)
    """Most tokens of a batch, padding included."""
    epochs: int = Field(default=1, gt=0)
    """Passes over the examples, each newly shuffled."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """Where it is trained; `auto` takes the GPU where there is one."""
    threads: int | None = Field(default=None, gt=0)
    """Torch threads; None leaves torch's own choice."""
    seed: int = 0
    """Seed of the first weights and of the order of the batches."""


class Progress(NamedTuple):
    """Where a training stands after a step."""

    step: int
    steps: int
    tokens: int
    loss: float
