"""The training loop: batches of trees, AdamW on the LoRA weights, checkpoints by tokens seen.

Loss is the mean cross-entropy over the target tokens of a batch; the output layer is applied to
those tokens only. Deterministic on one device under one seed and thread count.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from collegium.core import generator
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
    on_progress: Callable[[Progress], None],
    on_checkpoint: Callable[[float, dict[str, LoraLinear]], None],
) -> Trained:
    """Train a fresh adapter on `model` and return it; the model's own weights stay as they are.

    Args:
        model: A causal language model in the dtype to compute in (bfloat16).
        examples: Encoded trees; the order does not matter.
        config: See `TrainingConfig`.
        on_progress: Called after each step.
        on_checkpoint: Called when a share in `config.checkpoints` is reached.
    """
    if config.threads:
        torch.set_num_threads(config.threads)
    use_matmul_attention(model)
    layers = add_lora(model, config.rank, config.alpha, config.seed)
    model.train()
    plan = [batch for epoch in range(config.epochs) for batch in batches(examples, config, epoch)]
    weights = [w for layer in layers.values() for w in (layer.lora_a, layer.lora_b)]
    optimizer = torch.optim.AdamW(weights, lr=config.learning_rate, weight_decay=0.0)
    due = sorted(config.checkpoints)
    tokens, losses = 0, []
    for step, batch in enumerate(plan, 1):
        _set_rate(optimizer, config, step, len(plan))
        loss = _loss(model, [examples[i] for i in batch])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(weights, 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        tokens += sum(len(examples[i]) for i in batch)
        losses.append(float(loss.detach()))
        on_progress(Progress(step, len(plan), tokens, losses[-1]))
        while due and step >= due[0] * len(plan):
            on_checkpoint(due.pop(0), layers)
    return Trained(layers, tokens, losses)


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


def _loss(model: Any, batch: Sequence[Encoded]) -> Tensor:
    device = model.device
    width = max(map(len, batch))
    tokens = np.zeros((len(batch), width), np.int64)
    positions = np.zeros((len(batch), width), np.int64)
    visible = np.zeros((len(batch), width, width), bool)
    visible[:, :, 0] = True  # Padding must see something, or its softmax is NaN.
    rows, sources, wanted = [], [], []
    for row, tree in enumerate(batch):
        n = len(tree)
        tokens[row, :n], positions[row, :n] = tree.tokens, tree.positions
        visible[row, :n, :n] = tree.visible()
        rows.append(np.full(len(tree.targets), row))
        sources.append(tree.targets[:, 0])
        wanted.append(tree.tokens[tree.targets[:, 1]])
    mask = torch.zeros(len(batch), 1, width, width, dtype=model.dtype)
    mask.masked_fill_(~torch.from_numpy(visible)[:, None], torch.finfo(model.dtype).min)
    states = model.model(
        input_ids=torch.from_numpy(tokens).to(device),
        position_ids=torch.from_numpy(positions).to(device),
        attention_mask=mask.to(device),
        use_cache=False,
    ).last_hidden_state
    picked = states[np.concatenate(rows), np.concatenate(sources)]
    logits = model.lm_head(picked).float()
    target = torch.from_numpy(np.concatenate(wanted)).to(device)
    return torch.nn.functional.cross_entropy(logits, target)


def _set_rate(
    optimizer: torch.optim.Optimizer, config: TrainingConfig, step: int, steps: int
) -> None:
    warm = max(1, math.ceil(config.warmup * steps))
    share = step / warm if step <= warm else 1 - 0.9 * (step - warm) / max(1, steps - warm)
    for group in optimizer.param_groups:
        group["lr"] = config.learning_rate * share
