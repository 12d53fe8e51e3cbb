"""The training loop: batches of trees, AdamW on the LoRA weights, checkpoints by tokens seen.

Loss is the mean cross-entropy over the target tokens of a batch; the output layer is applied to
those tokens only. Deterministic on one device under one seed and thread count.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from collegium.core import ConfigError, generator
from collegium.llm.finetune.attention import use_matmul_attention
from collegium.llm.finetune.configs import Progress, TrainingConfig
from collegium.llm.finetune.examples import Encoded
from collegium.llm.finetune.lora import LoraLinear, add_lora

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class Trained(NamedTuple):
    """The result of a run."""

    layers: dict[str, LoraLinear]
    tokens: int
    losses: list[float]


def train(
    model: "PreTrainedModel",
    examples: Sequence[Encoded],
    config: TrainingConfig,
    *,
    checkpoints: Mapping[str, float],
    on_progress: Callable[[Progress], None],
    on_checkpoint: Callable[[str, dict[str, LoraLinear]], None],
) -> Trained:
    """Train a fresh adapter on `model` and return it; the model's own weights stay as they are.

    Args:
        model: A causal language model in the dtype to compute in (bfloat16); it is moved to the
            configured device.
        examples: Encoded trees; the order does not matter.
        config: See `TrainingConfig`.
        checkpoints: Name -> share of the run in (0, 1) after which it is due.
        on_progress: Called after each step.
        on_checkpoint: Called with the name of a checkpoint that is due, and the layers.

    Raises:
        ConfigError: The configured device is not there.
    """
    layers = _prepare(model, config)
    plan = [batch for epoch in range(config.epochs) for batch in batches(examples, config, epoch)]
    learner = _Learner(layers, config, len(plan))
    due = sorted((share * len(plan), name) for name, share in checkpoints.items())
    tokens, losses = 0, []
    for step, batch in enumerate(plan, 1):
        trees = [examples[i] for i in batch]
        losses.append(learner.learn(_loss(model, trees), step))
        tokens += sum(map(len, trees))
        on_progress(Progress(step, len(plan), tokens, losses[-1]))
        while due and step >= due[0][0]:
            on_checkpoint(due.pop(0)[1], layers)
    return Trained(layers, tokens, losses)


def _prepare(model: "PreTrainedModel", config: TrainingConfig) -> dict[str, LoraLinear]:
    """Move the model to its device and give it an untrained adapter."""
    if config.threads:
        torch.set_num_threads(config.threads)
    model.to(_device(config.device))
    use_matmul_attention(model)
    layers = add_lora(model, config.rank, config.alpha, config.seed)
    model.train()
    return layers


def _device(wanted: str) -> torch.device:
    there = torch.cuda.is_available()
    if wanted == "cuda" and not there:
        raise ConfigError(
            "training.device is cuda, and torch sees no GPU: use auto or cpu, or a CUDA build"
        )
    return torch.device("cuda" if there and wanted != "cpu" else "cpu")


class _Learner:
    """AdamW on the LoRA weights, with clipped gradients and the scheduled rate."""

    def __init__(
        self, layers: Mapping[str, LoraLinear], config: TrainingConfig, steps: int
    ) -> None:
        self._weights = [w for layer in layers.values() for w in (layer.lora_a, layer.lora_b)]
        self._optimizer = torch.optim.AdamW(
            self._weights, lr=config.learning_rate, weight_decay=0.0
        )
        self._config = config
        self._steps = steps

    def learn(self, loss: Tensor, step: int) -> float:
        """Make step number `step` (from 1) down the gradient of `loss`; return the loss."""
        for group in self._optimizer.param_groups:
            group["lr"] = _rate(self._config, step, self._steps)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self._weights, 1.0)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return float(loss.detach())


def batches(examples: Sequence[Encoded], config: TrainingConfig, epoch: int) -> Iterator[list[int]]:
    """Yield lists of example numbers: shuffled, then like lengths together to save padding."""
    rng = generator(config.seed, "batches", epoch)
    noise = rng.random(len(examples)) * 40
    by_length = sorted(range(len(examples)), key=lambda i: len(examples[i]) + noise[i])
    packed: list[list[int]] = [[]]
    for i in by_length:
        longest = max(len(examples[j]) for j in [*packed[-1], i])
        if packed[-1] and longest * (len(packed[-1]) + 1) > config.batch_tokens:
            packed.append([])
        packed[-1].append(i)
    for index in rng.permutation(len(packed)):
        yield packed[index]


class _Padded(NamedTuple):
    """A batch of B trees, padded to T tokens, and the M target tokens in it."""

    tokens: NDArray[np.int64]
    positions: NDArray[np.int64]
    visible: NDArray[np.bool_]
    """(B, T, T): may a token (row) see a token (column)?"""
    rows: NDArray[np.int64]
    sources: NDArray[np.int64]
    """Target m is predicted from the state at (rows[m], sources[m])."""
    wanted: NDArray[np.int64]


def _pad(batch: Sequence[Encoded]) -> _Padded:
    width = max(map(len, batch))
    tokens = np.zeros((len(batch), width), np.int64)
    positions = np.zeros((len(batch), width), np.int64)
    visible = np.zeros((len(batch), width, width), np.bool_)
    visible[:, :, 0] = True  # Padding must see something, or its softmax is NaN.
    for row, tree in enumerate(batch):
        n = len(tree)
        tokens[row, :n], positions[row, :n] = tree.tokens, tree.positions
        visible[row, :n, :n] = tree.visible()
    rows = np.repeat(np.arange(len(batch)), [len(tree.targets) for tree in batch])
    sources, wanted = np.concatenate([tree.targets for tree in batch]).T
    return _Padded(tokens, positions, visible, rows, sources, tokens[rows, wanted])


def _loss(model: Any, batch: Sequence[Encoded]) -> Tensor:
    padded, device = _pad(batch), model.device
    mask = torch.zeros(padded.visible.shape, dtype=model.dtype)[:, None]
    mask.masked_fill_(~torch.from_numpy(padded.visible)[:, None], torch.finfo(model.dtype).min)
    states = model.model(
        input_ids=torch.from_numpy(padded.tokens).to(device),
        position_ids=torch.from_numpy(padded.positions).to(device),
        attention_mask=mask.to(device),
        use_cache=False,
    ).last_hidden_state
    logits = model.lm_head(states[padded.rows, padded.sources]).float()
    return torch.nn.functional.cross_entropy(logits, torch.from_numpy(padded.wanted).to(device))


def _rate(config: TrainingConfig, step: int, steps: int) -> float:
    """Return the learning rate of a step: linear warm-up, then linear decay to a tenth."""
    warm = max(1, math.ceil(config.warmup * steps))
    share = step / warm if step <= warm else 1 - 0.9 * (step - warm) / max(1, steps - warm)
    return config.learning_rate * share
