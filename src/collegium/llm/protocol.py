"""What an engine offers: completions, many at a time, with their cost.

`complete` may be awaited by many episodes at once; the engine batches them. A request that fails
raises `EngineError`; it never returns an empty text instead.
"""

from typing import Any, Literal, Protocol, Self

from pydantic import Field, model_validator

from collegium.core import EngineError, Record, Sampling, Usage


class EngineLostError(EngineError):
    """The engine itself is gone: it fails this request and would fail every later one."""


class PromptTooLongError(EngineError):
    """The prompt, with room for an answer, is longer than the model can read: no retry helps."""


class Message(Record):
    """One turn of a chat prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


class Request(Record):
    """One completion to make."""

    prompt: str | tuple[Message, ...]
    """Plain text is continued as it is; messages go through the model's chat template."""
    sampling: Sampling = Sampling()
    model: str | None = None
    """Model by name, for engines that serve several; others serve the one they have."""
    adapter: str | None = None
    """LoRA adapter by name or path, for engines that serve adapters per request."""
    seed: int | None = None
    stop: tuple[str, ...] = ()
    choices: tuple[str, ...] | None = None
    """If given, the text is exactly one of these; only a server that cannot be held to choices may
    answer otherwise, and such an answer is the agent's failure."""
    json_schema: dict[str, Any] | None = Field(default=None)
    """If given, the text is JSON that follows this schema."""

    @model_validator(mode="after")
    def _one_constraint(self) -> Self:
        if self.choices is not None and self.json_schema is not None:
            raise ValueError("a request has `choices` or `json_schema`, not both")
        if self.choices is not None and not self.choices:
            raise ValueError("`choices` needs at least one choice")
        return self


class Completion(Record):
    """The model's answer."""

    text: str
    finish_reason: Literal["stop", "length"]
    usage: Usage


class Engine(Protocol):
    """A language model that completes requests."""

    model: str

    async def complete(self, request: Request) -> Completion:
        """Complete one request; raises EngineError when the engine cannot."""
        ...

    async def close(self) -> None:
        """Release the engine's processes and memory; safe to call twice."""
        ...
