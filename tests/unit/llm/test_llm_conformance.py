"""Every engine that needs no model keeps the protocol's promises."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx
import llm_conformance as suite
import pytest

from collegium.llm import Engine, HttpConfig, Request
from collegium.llm.http import HttpEngine
from collegium.llm.replay import RecordingEngine, ReplayEngine
from collegium.llm.scripted import ScriptedEngine


def script(request: Request) -> str:
    if request.json_schema is not None:
        return '{"action": "look"}'
    return request.choices[-1] if request.choices else "I look around."


def scripted(_folder: Path) -> Engine:
    return ScriptedEngine(script)


def recording(folder: Path) -> Engine:
    return RecordingEngine(ScriptedEngine(script), folder / "recording.jsonl")


def replay(folder: Path) -> Engine:
    recorder = recording(folder)

    async def record() -> None:
        for request in suite.ALL:
            await recorder.complete(request)

    asyncio.run(record())
    return ReplayEngine(folder / "recording.jsonl")


def vllm_server(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    constraint = body.get("structured_outputs", {})
    if "choice" in constraint:
        text = constraint["choice"][-1]
    else:
        text = '{"action": "look"}' if "json" in constraint else "I look around."
    return _answer(request, text)


def openai_server(request: httpx.Request) -> httpx.Response:
    body = json.loads(request.content)
    if "response_format" in body:
        return _answer(request, '{"action": "look"}')
    return _answer(request, " look\n")


def _answer(request: httpx.Request, text: str) -> httpx.Response:
    chat = request.url.path == "/v1/chat/completions"
    said = {"message": {"role": "assistant", "content": text}} if chat else {"text": text}
    usage = {
        "prompt_tokens": 11,
        "completion_tokens": 3,
        "prompt_tokens_details": {"cached_tokens": 4},
    }
    return httpx.Response(200, json={"choices": [said | {"finish_reason": "stop"}], "usage": usage})


def http_vllm(_folder: Path) -> Engine:
    config = HttpConfig(model="m", base_urls=("http://server/v1",), dialect="vllm")
    return HttpEngine(config, transport=httpx.MockTransport(vllm_server))


def http_openai(_folder: Path) -> Engine:
    config = HttpConfig(model="m", base_urls=("http://server/v1/",))
    return HttpEngine(config, transport=httpx.MockTransport(openai_server))


@pytest.mark.parametrize("make", [scripted, recording, replay, http_vllm, http_openai])
@pytest.mark.parametrize("check", suite.CHECKS)
def test_engine_conforms(
    make: Callable[[Path], Engine], check: Callable[[Engine], Awaitable[None]], tmp_path: Path
) -> None:
    engine = make(tmp_path)

    async def run() -> None:
        await check(engine)
        await engine.close()

    asyncio.run(run())
