"""The OpenAI wire format: a request as a JSON body, an answer as a completion."""

from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from collegium.core import EngineError, InvalidInputError, Usage
from collegium.llm.protocol import Completion, Request

Dialect = Literal["openai", "vllm"]


class Call(NamedTuple):
    """Path below the server's root, and the body to post there."""

    path: str
    body: dict[str, Any]


def to_call(request: Request, model: str, dialect: Dialect) -> Call:
    """Return the call for `request`; an adapter is addressed as a model of its own.

    Args:
        request: What to complete.
        model: Model of requests that name none.
        dialect: Whose extensions the server knows.

    Raises:
        InvalidInputError: The request cannot be said in this dialect.
    """
    body: dict[str, Any] = {
        "model": request.adapter or request.model or model,
        "temperature": request.sampling.temperature,
        "top_p": request.sampling.top_p,
        "max_tokens": request.sampling.max_tokens,
    }
    if request.seed is not None:
        body["seed"] = request.seed
    if request.stop:
        body["stop"] = list(request.stop)
    body |= _constraint(request, dialect)
    if isinstance(request.prompt, str):
        return Call("completions", body | {"prompt": request.prompt})
    messages = [message.model_dump() for message in request.prompt]
    return Call("chat/completions", body | {"messages": messages})


def _constraint(request: Request, dialect: Dialect) -> dict[str, Any]:
    if dialect == "vllm":
        if request.choices is not None:
            return {"structured_outputs": {"choice": list(request.choices)}}
        if request.json_schema is not None:
            return {"structured_outputs": {"json": request.json_schema}}
    elif request.json_schema is not None:
        if isinstance(request.prompt, str):
            raise InvalidInputError(
                "a JSON schema needs a chat prompt on OpenAI servers: give messages, or set "
                "`dialect: vllm` if the server is vLLM"
            )
        schema = {"name": "answer", "schema": request.json_schema}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    return {}


class _Wire(BaseModel):
    model_config = ConfigDict(extra="ignore")


class _Message(_Wire):
    content: str | None = None


class _Choice(_Wire):
    text: str | None = None
    message: _Message = _Message()
    finish_reason: str | None = None


class _Details(_Wire):
    cached_tokens: int | None = None


class _Usage(_Wire):
    prompt_tokens: int = 0
    completion_tokens: int = 0
    prompt_tokens_details: _Details | None = None


class _Answer(_Wire):
    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage = _Usage()


def to_completion(answer: bytes) -> Completion:
    """Return the completion in a server's answer.

    Raises:
        EngineError: The answer is not in this format, holds no text, or was cut off by a filter.
    """
    try:
        parsed = _Answer.model_validate_json(answer)
    except ValidationError as error:
        raise EngineError(f"the server's answer is not a completion: {error}") from None
    choice = parsed.choices[0]
    text = choice.text if choice.text is not None else choice.message.content
    if text is None or choice.finish_reason not in ("stop", "length"):
        raise EngineError(f"the server gave no text (finish reason {choice.finish_reason!r})")
    reason: Literal["stop", "length"] = "stop" if choice.finish_reason == "stop" else "length"
    return Completion(text=text, finish_reason=reason, usage=_usage(parsed.usage))


def _usage(usage: _Usage) -> Usage:
    details = usage.prompt_tokens_details
    return Usage(
        calls=1,
        prompt_tokens=usage.prompt_tokens,
        cached_tokens=(details.cached_tokens or 0) if details else 0,
        completion_tokens=usage.completion_tokens,
    )
