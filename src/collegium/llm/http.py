"""OpenAI-compatible servers as an engine: a pool of roots, retries, a rate limit.

Rate limits (429), server errors and time-outs are retried on the next root, after a wait that
doubles or that the server asks for; anything else fails at once. Choices are enforced by vLLM
servers. Others are not told of them: an answer that is a choice after stripping white space is that
choice, and any other is returned as it is, for the agent to have missed. Prompt such models for
JSON, or with the choices in words.
"""

import asyncio
import itertools
import os

import httpx
from pydantic import SecretStr

from collegium.core import ConfigError, EngineError
from collegium.llm._openai import Call, to_call, to_completion
from collegium.llm.configs import HttpConfig
from collegium.llm.protocol import Completion, PromptTooLongError, Request

_RETRIED = frozenset({408, 409, 429, 500, 502, 503, 504})
_SHOWN = 300
_TOO_LONG = ("context_length_exceeded", "maximum context length", "maximum model length")
"""How OpenAI and vLLM say that a prompt is too long; their answers have no code in common."""


class HttpEngine:
    """An `Engine` on one or more OpenAI-compatible servers."""

    def __init__(
        self, config: HttpConfig, transport: httpx.AsyncBaseTransport | None = None
    ) -> None:
        """Open the client; raises ConfigError if the key's variable is not set.

        Args:
            config: Servers, limits and retries.
            transport: Replaces the network, for tests.
        """
        self.model = config.model
        self._config = config
        self._roots = itertools.cycle(url.rstrip("/") for url in config.base_urls)
        self._slots = asyncio.Semaphore(config.concurrency)
        self._pace = _Pace(60.0 / config.requests_per_minute if config.requests_per_minute else 0.0)
        self._key = _key(config)
        self._client = httpx.AsyncClient(timeout=config.timeout_s, transport=transport)

    async def complete(self, request: Request) -> Completion:
        """Complete one request.

        Raises:
            EngineError: No server can.
            PromptTooLongError: The server's model cannot read so much.
        """
        call = to_call(request, self.model, self._config.dialect)
        completion = to_completion(await self._post(call))
        for choice in request.choices or ():
            if choice.strip() == completion.text.strip():
                return completion.model_copy(update={"text": choice, "finish_reason": "stop"})
        return completion

    async def close(self) -> None:
        """Close the connections; safe to call twice."""
        await self._client.aclose()

    async def _post(self, call: Call) -> bytes:
        failure = ""
        for attempt in range(self._config.retries + 1):
            url = f"{next(self._roots)}/{call.path}"
            wait = self._config.backoff_s * 2**attempt
            try:
                response = await self._send(url, call)
            except httpx.TransportError as error:
                failure = f"{url}: {type(error).__name__} {error}"
            else:
                if response.is_success:
                    return response.content
                failure = f"{url}: HTTP {response.status_code}: {response.text[:_SHOWN]}"
                if response.status_code not in _RETRIED:
                    raise _refusal(response, failure)
                wait = _retry_after(response, wait)
            if attempt < self._config.retries:
                await asyncio.sleep(wait)
        raise EngineError(f"no answer after {self._config.retries + 1} tries; last: {failure}")

    async def _send(self, url: str, call: Call) -> httpx.Response:
        headers = {"Authorization": f"Bearer {self._key.get_secret_value()}"} if self._key else None
        async with self._slots:
            await self._pace.wait()
            return await self._client.post(url, json=call.body, headers=headers)


class _Pace:
    """Lets callers through at least `interval_s` apart."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._next = 0.0

    async def wait(self) -> None:
        now = asyncio.get_running_loop().time()
        at = max(now, self._next)
        self._next = at + self._interval_s
        if at > now:
            await asyncio.sleep(at - now)


def _refusal(response: httpx.Response, failure: str) -> EngineError:
    if any(words in response.text for words in _TOO_LONG):
        return PromptTooLongError(f"the prompt is too long for the server's model: {failure}")
    return EngineError(f"the server refused the request: {failure}")


def _key(config: HttpConfig) -> SecretStr | None:
    if config.api_key_env is None:
        return None
    value = os.environ.get(config.api_key_env)
    if not value:
        raise ConfigError(
            f"environment variable {config.api_key_env} (`api_key_env`) is not set: export the key"
        )
    return SecretStr(value)


def _retry_after(response: httpx.Response, otherwise: float) -> float:
    try:
        return max(0.0, float(response.headers["Retry-After"]))
    except (KeyError, ValueError):
        return otherwise
