"""Requests in vLLM's own terms: token ids, sampling parameters, the trie of choices."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from collegium.core import InvalidInputError
from collegium.llm._vllm_loop import Job
from collegium.llm.adapters import find_adapter
from collegium.llm.choices import ChoiceCursor, ChoiceEncoder
from collegium.llm.configs import VllmConfig
from collegium.llm.protocol import Message, PromptTooLongError, Request


class RequestEncoder:
    """Turns requests into jobs for one engine; what it tokenised before it remembers."""

    def __init__(self, config: VllmConfig, checkpoint: Path) -> None:
        """Read the tokenizer of `checkpoint`."""
        from transformers import AutoTokenizer

        self._config = config
        self._tokenizer: Any = AutoTokenizer.from_pretrained(checkpoint)
        self._choices = ChoiceEncoder(self._encode_plain)
        self._single_token = lru_cache(1024)(self._one_token)
        self._loras: dict[str, Any] = {}

    def encode(self, request: Request) -> Job:
        """Return the job for `request`; its cursor stands at the start of the choices.

        Raises:
            PromptTooLongError: The prompt leaves no room within the model's length.
            InvalidInputError: vLLM does not allow these parameters, or not this adapter.
        """
        lora = self._lora(request)
        if request.choices is None:
            return Job(self._prompt_ids(request.prompt, room=1), self._params(request), lora)
        paths = self._choices.paths(request.choices)
        ids = self._prompt_ids(request.prompt, room=max(map(len, paths)) + 1)
        return Job(ids, self._choice_params(request, paths), lora, ChoiceCursor(paths))

    def _prompt_ids(self, prompt: str | tuple[Message, ...], room: int) -> list[int]:
        """Return the prompt's tokens; raises PromptTooLongError unless `room` more fit in."""
        ids = self._tokenized(prompt)
        if len(ids) + room > self._config.max_model_len:
            raise PromptTooLongError(
                f"a prompt of {len(ids)} tokens leaves no room for {room} more within "
                f"`max_model_len` {self._config.max_model_len}: shorten it, or raise the limit"
            )
        return ids

    def _tokenized(self, prompt: str | tuple[Message, ...]) -> list[int]:
        if isinstance(prompt, str):
            ids: list[int] = self._tokenizer(prompt)["input_ids"]
            return ids
        messages = [message.model_dump() for message in prompt]
        text = self._tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, tokenize=False
        )
        return self._encode_plain(text)

    def _encode_plain(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer(text, add_special_tokens=False)["input_ids"]
        return ids

    def _one_token(self, text: str) -> int | None:
        ids = self._encode_plain(text)
        return ids[0] if len(ids) == 1 else None

    def _params(self, request: Request) -> Any:
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        schema = request.json_schema
        return _sampling(
            request,
            max_tokens=request.sampling.max_tokens,
            stop=list(request.stop),
            structured_outputs=None if schema is None else StructuredOutputsParams(json=schema),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _choice_params(self, request: Request, paths: Sequence[tuple[int, ...]]) -> Any:
        from vllm.sampling_params import RequestOutputKind

        from collegium.llm._vllm_choices import EXTRA_ARG, ChoiceArgs

        stops = (self._single_token(stop) for stop in request.stop)
        ends = {self._tokenizer.eos_token_id, *stops} - {None}
        return _sampling(
            request,
            max_tokens=max(map(len, paths)) + 1,
            stop_token_ids=sorted(ends),
            detokenize=False,
            output_kind=RequestOutputKind.CUMULATIVE,
            extra_args={EXTRA_ARG: ChoiceArgs(paths=list(paths), terminals=sorted(ends))},
        )

    def _lora(self, request: Request) -> Any:
        name = request.adapter
        if name is None or name == self._config.adapter:
            return None
        if not self._config.lora:
            raise InvalidInputError(
                f"this engine serves adapter {self._config.adapter!r}, not {name!r}: start one "
                "with `adapter` set to it, or with `lora: true`"
            )
        if name not in self._loras:
            from vllm.lora.request import LoRARequest

            self._loras[name] = LoRARequest(name, len(self._loras) + 1, str(find_adapter(name)))
        return self._loras[name]


def _sampling(request: Request, **constraint: Any) -> Any:
    """Return vLLM's parameters; raises InvalidInputError for what vLLM does not allow."""
    from vllm import SamplingParams

    try:
        return SamplingParams(
            temperature=request.sampling.temperature,
            top_p=request.sampling.top_p,
            seed=request.seed,
            **constraint,
        )
    except ValueError as error:
        raise InvalidInputError(f"vLLM refuses the request: {error}") from None
