"""Applications in processes of their own, as people start them, and a client that times calls."""

import asyncio
import json
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from types import TracebackType
from typing import Any, Self

import httpx

from collegium.core import Clock, UnavailableError

_COLLEGIUM = (sys.executable, "-c", "import sys; from collegium.cli import main; sys.exit(main())")
_ENDS_WITHIN_S = 60.0
_ANSWERS_WITHIN_S = 60.0


def command(environment: Mapping[str, str], *arguments: str) -> dict[str, Any]:
    """Run `collegium` with `--json` and return what it prints.

    Raises:
        UnavailableError: It failed.
    """
    done = subprocess.run(
        [*_COLLEGIUM, *arguments, "--json"],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise UnavailableError(f"`collegium {' '.join(arguments)}` failed: {done.stderr[-2000:]}")
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


@contextmanager
def served(environment: Mapping[str, str], *arguments: str) -> Iterator[str]:
    """Run `collegium serve` with `arguments` for the context; gives the address.

    Raises:
        UnavailableError: It does not start.
    """
    started = [*_COLLEGIUM, "serve", *arguments, "--json", "--port", str(_free_port())]
    with tempfile.TemporaryFile("w+") as log:
        process = subprocess.Popen(
            started, env=environment, stdout=subprocess.PIPE, stderr=log, text=True
        )
        try:
            yield _address(process, log, arguments)
        finally:
            process.terminate()
            try:
                process.communicate(timeout=_ENDS_WITHIN_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()


class Client:
    """One key's calls to one address."""

    def __init__(self, address: str, key: str, clock: Clock) -> None:
        """Call `address` with `key`."""
        self._clock = clock
        self._http = httpx.AsyncClient(
            base_url=address,
            headers={"authorization": f"Bearer {key}", "content-type": "application/json"},
            timeout=_ANSWERS_WITHIN_S,
            trust_env=False,
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._http.aclose()

    async def post(self, path: str, body: bytes) -> bytes:
        """Return the answer; raises UnavailableError if it is none."""
        return await self._call("POST", path, body)

    async def one_by_one(
        self, path: str, bodies: Sequence[bytes], method: str = "POST"
    ) -> list[float]:
        """Return the seconds that each call took."""
        seconds = []
        for body in bodies:
            started = self._clock.monotonic()
            await self._call(method, path, body)
            seconds.append(self._clock.monotonic() - started)
        return seconds

    async def at_once(
        self, path: str, bodies: Sequence[bytes], callers: int, method: str = "POST"
    ) -> float:
        """Return the calls a second of that many callers, who share `bodies`."""
        left = iter(bodies)

        async def call() -> None:
            for body in left:
                await self._call(method, path, body)

        started = self._clock.monotonic()
        await asyncio.gather(*(call() for _ in range(callers)))
        return len(bodies) / (self._clock.monotonic() - started)

    async def _call(self, method: str, path: str, body: bytes) -> bytes:
        answer = await self._http.request(method, path, content=body)
        if answer.status_code != HTTPStatus.OK:
            raise UnavailableError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.content


def _address(process: "subprocess.Popen[str]", log: Any, arguments: Sequence[str]) -> str:
    line = process.stdout.readline() if process.stdout else ""
    printed = json.loads(line) if line else {}
    if "address" not in printed:
        process.wait()
        log.seek(0)
        raise UnavailableError(
            f"`collegium serve {' '.join(arguments)}` did not start: "
            f"{printed.get('error', {}).get('message') or log.read()[-2000:]}"
        )
    address: str = printed["address"]
    return address


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
