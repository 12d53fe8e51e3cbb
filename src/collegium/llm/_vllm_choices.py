"""vLLM's side of constrained choice: masks logits by each request's trie.

vLLM loads this module by name when an engine starts; nothing else imports it, since it imports
torch and vLLM. A request brings its choices in `SamplingParams.extra_args[EXTRA_ARG]`.
"""

from typing import TypedDict

import torch
from vllm import SamplingParams
from vllm.config import VllmConfig
from vllm.v1.sample.logits_processor import BatchUpdate, LogitsProcessor
from vllm.v1.sample.logits_processor.builtin import process_dict_updates

from collegium.llm.choices import ChoiceCursor, TokenIds

EXTRA_ARG = "collegium_choices"


class ChoiceArgs(TypedDict):
    """What a request says: each choice's tokens, and the tokens that end a choice."""

    paths: list[TokenIds]
    terminals: list[int]


class _Constraint:
    """One request's place in its trie; reads the output list that vLLM keeps appending to."""

    def __init__(self, args: ChoiceArgs, output: list[int]) -> None:
        self._cursor = ChoiceCursor(args["paths"])
        self._terminals = tuple(args["terminals"])
        self._output = output
        self._read = 0

    def allowed(self) -> tuple[int, ...]:
        """Return the tokens that may come next; none means that anything goes."""
        self._cursor.advance(self._output[self._read :])
        self._read = len(self._output)
        tokens, may_end = self._cursor.options
        return (*tokens, *self._terminals) if may_end else tokens


def _constraint(
    params: SamplingParams, _prompt: list[int] | None, output: list[int]
) -> _Constraint | None:
    args = (params.extra_args or {}).get(EXTRA_ARG)
    return None if args is None else _Constraint(args, output)


class ChoiceLogitsProcessor(LogitsProcessor):  # type: ignore[misc]
    """Sets every logit outside a request's choices to minus infinity."""

    def __init__(self, vllm_config: VllmConfig, device: torch.device, is_pin_memory: bool) -> None:
        self._device = device
        self._constraints: dict[int, _Constraint] = {}

    def is_argmax_invariant(self) -> bool:
        """Say that masking changes which token is the likeliest."""
        return False

    def update_state(self, batch_update: BatchUpdate | None) -> None:
        """Follow requests as they enter, leave and change places in the batch."""
        process_dict_updates(self._constraints, batch_update, _constraint)

    def apply(self, logits: torch.Tensor) -> torch.Tensor:
        """Mask `logits` of shape (requests, vocabulary) in place."""
        rows: list[int] = []
        tokens: list[int] = []
        for row, constraint in self._constraints.items():
            allowed = constraint.allowed()
            rows.extend([row] * len(allowed))
            tokens.extend(allowed)
        if not rows:
            return logits
        at = (self._indices(rows), self._indices(tokens))
        kept = logits[at]
        logits[self._indices(sorted(set(rows)))] = -torch.inf
        logits[at] = kept
        return logits

    def _indices(self, values: list[int]) -> torch.Tensor:
        return torch.tensor(values, dtype=torch.long, device=self._device)
