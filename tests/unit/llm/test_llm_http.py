"""The HTTP client retries what is worth it, spreads load, keeps the pace and hides the key."""

import asyncio
import json
from collections.abc import Callable

import httpx
import pytest

from collegium.core import ConfigError, EngineError, InvalidInputError
from collegium.llm import Completion, HttpConfig, PromptTooLongError, Request
from collegium.llm.http import HttpEngine

Handler = Callable[[httpx.Request], httpx.Response]
REQUEST = Request(prompt="hello")
FINE = {"choices": [{"text": "yes", "finish_reason": "stop"}]}


def complete(
    handler: Handler, request: Request = REQUEST, times: int = 1, **settings: object
) -> list[Completion]:
    defaults = {"model": "m", "base_urls": ("http://one/v1", "http://two/v1"), "backoff_s": 0.0}
    config = HttpConfig.model_validate(defaults | settings)

    async def run() -> list[Completion]:
        engine = HttpEngine(config, transport=httpx.MockTransport(handler))
        try:
            return await asyncio.gather(*(engine.complete(request) for _ in range(times)))
        finally:
            await engine.close()

    return asyncio.run(run())


@pytest.mark.parametrize("status", [429, 500, 503])
def test_busy_server_is_asked_again_at_the_next_root(status: int) -> None:
    hosts: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        hosts.append(request.url.host)
        return httpx.Response(status) if len(hosts) == 1 else httpx.Response(200, json=FINE)

    assert complete(handler)[0].text == "yes"
    assert hosts == ["one", "two"]


def test_timeout_is_retried_and_named_when_it_lasts() -> None:
    def handler(request: httpx.Request) -> httpx.Response:
        raise httpx.ReadTimeout("too slow", request=request)

    with pytest.raises(EngineError, match=r"3 tries.*ReadTimeout"):
        complete(handler, retries=2)


def test_refusal_is_final_and_quotes_the_server() -> None:
    calls: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(request.url.path)
        return httpx.Response(400, text="context too long")

    with pytest.raises(EngineError, match="context too long"):
        complete(handler)
    assert calls == ["/v1/completions"]


def test_server_says_how_long_to_wait() -> None:
    answers = iter([httpx.Response(429, headers={"Retry-After": "0"}), None])

    def handler(_request: httpx.Request) -> httpx.Response:
        return next(answers) or httpx.Response(200, json=FINE)

    assert complete(handler, backoff_s=3600.0)[0].text == "yes"


@pytest.mark.parametrize(("said", "text"), [(" look \n", "look"), ("I look.", "I look.")])
def test_a_missed_choice_is_returned_with_its_cost_for_the_agent_to_answer_for(
    said: str, text: str
) -> None:
    calls: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(request.url.path)
        choice = {"text": said, "finish_reason": "stop"}
        return httpx.Response(200, json={"choices": [choice], "usage": {"prompt_tokens": 5}})

    completion = complete(handler, Request(prompt="?", choices=("look", "wait")))[0]
    assert completion.text == text
    assert completion.usage.prompt_tokens == 5
    assert len(calls) == completion.usage.calls == 1


@pytest.mark.parametrize(
    "error",
    [
        {"message": "too many tokens", "code": "context_length_exceeded"},
        {"message": "This model's maximum context length is 4096 tokens. However, ..."},
        {"message": "The decoder prompt is longer than the maximum model length of 4096."},
    ],
)
def test_a_prompt_too_long_is_told_apart_and_not_sent_again(error: dict[str, str]) -> None:
    calls: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        calls.append(request.url.path)
        return httpx.Response(400, json={"error": error})

    with pytest.raises(PromptTooLongError, match=error["message"][:20]):
        complete(handler)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"choices": []},
        {"error": "?"},
        {"choices": [{"text": None, "finish_reason": "stop"}]},
        {"choices": [{"text": "", "finish_reason": "content_filter"}]},
    ],
)
def test_malformed_answer_is_an_engine_error(answer: dict[str, object]) -> None:
    with pytest.raises(EngineError, match="server"):
        complete(lambda _request: httpx.Response(200, json=answer))


def test_adapter_is_a_model_of_its_own() -> None:
    models: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        models.append(json.loads(request.content)["model"])
        return httpx.Response(200, json=FINE)

    complete(handler, Request(prompt="?", model="large", adapter="cook"))
    assert models == ["cook"]


def test_one_client_serves_the_model_that_each_request_names() -> None:
    models: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        models.append(json.loads(request.content)["model"])
        return httpx.Response(200, json=FINE)

    complete(handler, Request(prompt="?", model="large"))
    complete(handler, Request(prompt="?"))
    assert models == ["large", "m"]


def test_schema_on_plain_text_needs_the_vllm_dialect() -> None:
    with pytest.raises(InvalidInputError, match="dialect: vllm"):
        complete(lambda _r: httpx.Response(200, json=FINE), Request(prompt="?", json_schema={}))


def test_concurrency_is_bounded() -> None:
    running = peak = 0

    async def handler(_request: httpx.Request) -> httpx.Response:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(0.01)
        running -= 1
        return httpx.Response(200, json=FINE)

    complete(handler, times=9, concurrency=3)  # type: ignore[arg-type]
    assert peak == 3


def test_requests_keep_their_distance() -> None:
    times: list[float] = []

    async def handler(_request: httpx.Request) -> httpx.Response:
        times.append(asyncio.get_running_loop().time())
        return httpx.Response(200, json=FINE)

    complete(handler, times=4, requests_per_minute=60 / 0.02)  # type: ignore[arg-type]
    assert times[-1] - times[0] >= 0.059


def test_key_comes_from_the_environment_and_shows_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", "s3cret")
    seen: list[str] = []

    def handler(request: httpx.Request) -> httpx.Response:
        seen.append(request.headers["Authorization"])
        return httpx.Response(401, text="no")

    with pytest.raises(EngineError) as error:
        complete(handler, api_key_env="TEST_KEY")
    assert seen == ["Bearer s3cret"]
    assert "s3cret" not in str(error.value)
    config = HttpConfig(model="m", base_urls=("http://one",), api_key_env="TEST_KEY")
    assert "s3cret" not in repr(vars(HttpEngine(config))) + config.model_dump_json()


def test_missing_key_names_the_variable() -> None:
    with pytest.raises(ConfigError, match="NO_SUCH_KEY"):
        HttpEngine(HttpConfig(model="m", base_urls=("http://one",), api_key_env="NO_SUCH_KEY"))
