"""Configurations of engines: data that builds the engine it describes.

`EngineConfig` is the type for a field in a larger configuration. Its `kind` (by default `vllm`)
chooses the class; a package registers more kinds under the entry-point group `collegium.engines`,
each a subclass of `EngineSettings`. Nothing heavy is imported before `build`.
"""

import os
from abc import ABC, abstractmethod
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BeforeValidator,
    Field,
    GetJsonSchemaHandler,
    SerializeAsAny,
    TypeAdapter,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from collegium.config import Config
from collegium.core import content_id
from collegium.llm.models import DEFAULT_MODEL
from collegium.llm.protocol import Engine

_GROUP = "collegium.engines"


class EngineSettings(Config, ABC):
    """Base of all engine configurations."""

    own_process: ClassVar[bool] = False
    """Whether the engine is heavy enough to live in a process of its own."""

    kind: str
    """Which engine this is."""
    record: str | None = None
    """Folder in which every engine writes down what it answers, so that the kind `replay` can give
    the same answers again; null records nothing."""

    @property
    def gpus_reserved(self) -> float:
        """GPUs, or the fraction of one, that the engine's process needs for itself."""
        return 0.0

    def sharing(self, engines: int) -> Self:
        """Return the settings of one of `engines` that share the cores of this machine."""
        return self

    def build(self) -> Engine:
        """Start the engine; may take long, and belongs in the process that will own it."""
        engine = self._start()
        if self.record is None:
            return engine
        from collegium.llm.replay import RecordingEngine

        file = Path(self.record).expanduser() / f"{content_id(self)}.jsonl"
        return RecordingEngine(engine, file)

    @abstractmethod
    def _start(self) -> Engine:
        """Start the engine itself."""


class VllmConfig(EngineSettings):
    """A vLLM engine inside this process."""

    own_process: ClassVar[bool] = True

    kind: Literal["vllm"] = "vllm"
    model: str = DEFAULT_MODEL
    """Built-in name, folder or Hugging Face id."""
    adapter: str | None = None
    """LoRA adapter (name or path) merged into the weights before the start: the way for CPUs."""
    lora: bool = False
    """Serve the adapter each request names: the way for GPUs."""
    max_loras: int = Field(default=8, gt=0)
    """Adapters that may share one batch (with `lora`)."""
    max_lora_rank: int = Field(default=16, gt=0)
    """Largest rank among the adapters (with `lora`)."""
    dtype: str = "bfloat16"
    """Type of weights and activations."""
    max_model_len: int = Field(default=4096, gt=0)
    """Longest prompt with its completion, in tokens."""
    max_num_seqs: int = Field(default=32, gt=0)
    """Requests decoded together; the others wait."""
    max_batched_tokens: int = Field(default=4096, gt=0)
    """Tokens, prefilled and decoded, in one forward pass."""
    kv_cache_gb: float | None = Field(default=1.0, gt=0)
    """Memory of the key-value cache; None on GPUs leaves it to `gpu_memory_utilization`."""
    gpu_memory_utilization: float = Field(default=0.9, gt=0, le=1)
    """Share of each GPU's memory that the engine may use (without `kv_cache_gb`)."""
    tensor_parallel_size: int = Field(default=1, gt=0)
    """GPUs over which each layer is split."""
    gpus: float = Field(default=0.0, ge=0)
    """GPUs the engine's process reserves, 0 on CPUs: `tensor_parallel_size`, or a fraction of one
    that engines share."""
    prefix_caching: bool = True
    """Keep the cache of prompts' beginnings for later prompts that begin the same."""
    block_size: int = Field(default=32, gt=0)
    """Tokens in one block of the cache. A prompt's last, unfinished block is prefilled again:
    with vLLM's choice for CPUs, 128, that was the greater part of an agent's step."""
    enforce_eager: bool = True
    """Skip compilation: starts sooner, decodes slower on GPUs."""
    threads: int | None = Field(default=None, gt=0)
    """OpenMP threads on a CPU; None uses all cores this process may run on."""
    seed: int = 0
    """Seed for requests that bring none."""

    @property
    def gpus_reserved(self) -> float:
        """GPUs, or the fraction of one, that the engine's process needs for itself."""
        return self.gpus

    def sharing(self, engines: int) -> Self:
        """Return the settings with an equal part of the cores, unless `threads` says otherwise."""
        if self.threads is not None or engines == 1:
            return self
        cores = len(os.sched_getaffinity(0))
        return self.model_copy(update={"threads": max(1, cores // engines)})

    def _start(self) -> Engine:
        """Start vLLM in this process."""
        from collegium.llm.vllm import VllmEngine

        return VllmEngine(self)


class HttpConfig(EngineSettings):
    """OpenAI-compatible servers, used as one pool."""

    kind: Literal["http"] = "http"
    model: str
    """Model of requests that name none, as the servers know it; agents name their own."""
    base_urls: tuple[str, ...] = Field(min_length=1)
    """Roots of the servers' API, such as `http://host:8000/v1`; requests go round."""
    dialect: Literal["openai", "vllm"] = "openai"
    """Whether the servers understand vLLM's `structured_outputs`; the others are only checked."""
    api_key_env: str | None = None
    """Environment variable that holds the bearer token; the token itself is never configured."""
    concurrency: int = Field(default=32, gt=0)
    """Requests in flight at once, over all servers."""
    requests_per_minute: float | None = Field(default=None, gt=0)
    """Rate limit over all servers."""
    timeout_s: float = Field(default=120.0, gt=0)
    """Longest wait for one answer."""
    retries: int = Field(default=4, ge=0)
    """Further tries after a rate limit, a server error or a time-out, on the next server."""
    backoff_s: float = Field(default=1.0, ge=0)
    """Wait before the first retry; doubles with each, and a server's Retry-After beats it."""

    def _start(self) -> Engine:
        """Open the client; no request is sent yet."""
        from collegium.llm.http import HttpEngine

        return HttpEngine(self)


class ReplayConfig(EngineSettings):
    """Recorded completions."""

    kind: Literal["replay"] = "replay"
    path: str
    """Folder that an earlier run's `record` named, or one file of it."""

    def _start(self) -> Engine:
        """Read the recording."""
        from collegium.llm.replay import ReplayEngine

        return ReplayEngine(self.path)


_BUILT_IN: dict[str, type[EngineSettings]] = {
    "vllm": VllmConfig,
    "http": HttpConfig,
    "replay": ReplayConfig,
}


def engine_kinds() -> tuple[str, ...]:
    """Return all known kinds: the built-in ones and those of installed plug-ins."""
    return tuple(sorted({*_BUILT_IN, *(point.name for point in entry_points(group=_GROUP))}))


def _settings_class(kind: object) -> type[EngineSettings]:
    if isinstance(kind, str) and kind in _BUILT_IN:
        return _BUILT_IN[kind]
    for point in entry_points(group=_GROUP):
        if point.name == kind:
            loaded: type[EngineSettings] = point.load()
            return loaded
    raise PydanticCustomError(
        "engine_kind",
        "unknown engine kind {kind}; known kinds: {known}",
        {"kind": repr(kind), "known": ", ".join(engine_kinds())},
    )


def _parse(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    return _settings_class(value.get("kind", "vllm")).model_validate(value)


class _BuiltInSchema:
    """Documents the field as the union of the built-in kinds."""

    def __get_pydantic_json_schema__(
        self, _schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        union: TypeAdapter[Any] = TypeAdapter(
            Annotated[VllmConfig | HttpConfig | ReplayConfig, Field(discriminator="kind")]
        )
        return handler(union.core_schema)


EngineConfig = Annotated[SerializeAsAny[EngineSettings], BeforeValidator(_parse), _BuiltInSchema()]
