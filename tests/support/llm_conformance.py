"""What every engine must do; each check is a coroutine on an engine."""

import asyncio
import json

from collegium.core import Sampling
from collegium.llm import Completion, Engine, Message, Request

SCHEMA = {
    "type": "object",
    "properties": {"action": {"type": "string", "enum": ["look", "inventory"]}},
    "required": ["action"],
    "additionalProperties": False,
}
CHAT = (
    Message(role="system", content="You play a game in a house."),
    Message(role="user", content="What do you do?"),
)
PLAIN = Request(prompt="You are in a kitchen.\n>", sampling=Sampling(max_tokens=8))
CHAT_REQUEST = Request(prompt=CHAT, sampling=Sampling(max_tokens=8))
CHOICE = Request(
    prompt="You are in a kitchen.\n>",
    choices=(" go to drawer 1", " go to drawer 12", " open fridge 1", " look"),
    stop=("\n",),
)
SAMPLED = CHOICE.model_copy(update={"sampling": Sampling(temperature=1.0), "seed": 7})
JSON = Request(prompt=CHAT, json_schema=SCHEMA, sampling=Sampling(max_tokens=40))
MANY = tuple(
    CHOICE.model_copy(update={"prompt": f"You are in room {i} of the house.\n>"}) for i in range(12)
)
ALL = (PLAIN, CHAT_REQUEST, CHOICE, SAMPLED, JSON, *MANY)


def _counted(completion: Completion) -> None:
    assert completion.usage.calls >= 1
    assert completion.usage.prompt_tokens > 0
    assert completion.usage.completion_tokens > 0
    assert completion.usage.cached_tokens <= completion.usage.prompt_tokens


async def text_and_usage(engine: Engine) -> None:
    for request in (PLAIN, CHAT_REQUEST):
        completion = await engine.complete(request)
        assert completion.text
        _counted(completion)
        assert completion.usage.completion_tokens <= request.sampling.max_tokens


async def choices_hold(engine: Engine) -> None:
    for request in (CHOICE, SAMPLED):
        completion = await engine.complete(request)
        assert request.choices
        assert completion.text in request.choices
        assert completion.finish_reason == "stop"
        _counted(completion)


async def same_request_same_answer(engine: Engine) -> None:
    for request in (CHOICE, SAMPLED):
        first = await engine.complete(request)
        assert (await engine.complete(request)).text == first.text


async def json_follows_schema(engine: Engine) -> None:
    completion = await engine.complete(JSON)
    assert json.loads(completion.text)["action"] in ("look", "inventory")


async def many_at_once(engine: Engine) -> None:
    completions = await asyncio.gather(*(engine.complete(request) for request in MANY))
    assert len(completions) == len(MANY)
    for request, completion in zip(MANY, completions, strict=True):
        assert request.choices
        assert completion.text in request.choices


async def closes_twice(engine: Engine) -> None:
    await engine.close()
    await engine.close()


CHECKS = (
    text_and_usage,
    choices_hold,
    same_request_same_answer,
    json_follows_schema,
    many_at_once,
    closes_twice,
)
