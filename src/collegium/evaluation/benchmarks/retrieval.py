"""The retrieval endpoint beside the application that does nothing, and its search beside others.

Both applications are served as people serve them, by `collegium serve` in processes of their own,
each with one replica of one thread. 2,000 made-up episodes of 50 steps are contributed over HTTP
and indexed as 100,000 chunks of 768 dimensions (hashed words, whose embedding is a fraction of a
millisecond and counts as ours). Then one client asks both in turns, one call at a time and 32 at
once; of 20 candidates the answer holds five chunks, as by default. The searches are compared on the
service's own vectors, one thread each.

Figures:
    p50_excess_ms: median call, less the median call of the no-op application and twice the median
        of the bare numpy search.
    p99_ratio: the 99th percentile of calls over the median, one at a time.
    noop_ratio: calls a second with 32 at once, over those of the no-op application.
    p50_ms, p99_ms, calls_per_s, noop_p50_ms, noop_calls_per_s: what these are made of.
    numpy_p50_ms: distances to all vectors by one product, the 20 smallest of them.
    index_p50_ms, faiss_p50_ms, lancedb_p50_ms: the search of our index, of FAISS's flat index and
        of a LanceDB table without an index.
    contributed_per_s, chunks_indexed_per_s: how fast they came in.
"""

import asyncio
import json
import os
import shutil
import statistics
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from collegium.core import Clock, SystemClock, UnavailableError, generator
from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.evaluation.benchmarks.search import Searches, compare_searches
from collegium.evaluation.benchmarks.served import Client, command, served

CHUNKS = 100_000
DIMENSION = 768
K = 20
ROUNDS = 3
ALONE = 120
"""Calls one at a time, in a round."""
AT_ONCE = 32
TOGETHER = 640
"""Calls 32 at once, in a round."""
_STEPS = 50
_WRITERS = 4
_INDEXED_WITHIN_S = 600.0
_WORDS = 2000
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "LANCE_CPU_THREADS")
_TRAJECTORIES = "/v1/namespaces/bench/trajectories"
_RETRIEVE = "/v1/namespaces/bench/retrieve"
_NOOP = "/noop"
_MINT = (
    *("key", "mint", "--scope", "read", "--scope", "write"),
    *("--namespace", "bench", "--calls-per-minute", "1000000"),
)
_SERVED = (
    *("retrieval", "-s", f"service.retrieval.embedder={{kind: hash, dimension: {DIMENSION}}}"),
    *("-s", f"service.retrieval.candidates={K}", "-s", "service.verbosity=0"),
)
_TARGETS = {
    "p50_excess_ms": Target(max=6),
    "p99_ratio": Target(max=3),
    "noop_ratio": Target(min=0.33),
}


class Filled(NamedTuple):
    """How fast the episodes came in."""

    contributed_per_s: float
    chunks_indexed_per_s: float


class Calls(NamedTuple):
    """What the rounds measured of one application."""

    alone_s: list[float]
    """Seconds of each call, one at a time."""
    per_s: list[float]
    """Calls a second with many at once, of each round."""


def run(chunks: int = CHUNKS) -> BenchResult:
    """Measure with that many chunks; takes about five minutes with 100,000."""
    folder = Path(tempfile.mkdtemp(prefix="collegium-bench-"))
    # As root, the database's server runs under another account, which has to pass through.
    folder.chmod(0o711)
    try:
        return asyncio.run(_run(folder, chunks // _STEPS))
    finally:
        shutil.rmtree(folder)


async def _run(folder: Path, episodes: int) -> BenchResult:
    environment = {**os.environ, "COLLEGIUM_DATA": str(folder / "data")}
    environment.pop("DATABASE_URL", None)
    clock = SystemClock()
    with ExitStack() as stack:
        ours = stack.enter_context(served(environment, *_SERVED))
        noop = stack.enter_context(served(environment, "noop"))
        key = command(environment, *_MINT)["key"]
        async with Client(ours, key, clock) as asked, Client(noop, key, clock) as idle:
            filled = await _fill(asked, episodes, clock)
            calls, nothing = await _rounds(asked, idle)
    (index,) = (folder / "data" / "retrieval").glob("*/namespaces/bench/*")
    with _one_thread(), ProcessPoolExecutor(1, get_context("spawn")) as own:
        searches = own.submit(compare_searches, index, K).result()
    return _judge(calls, nothing, searches, filled)


async def _fill(client: Client, episodes: int, clock: Clock) -> Filled:
    """Contribute episodes and wait until they are found."""
    bodies = [_body({"trajectory": trajectory}) for trajectory in islice(_episodes(), episodes)]
    started = clock.monotonic()
    per_s = await client.at_once(_TRAJECTORIES, bodies, _WRITERS)
    wanted = json.loads(await client.post(_TRAJECTORIES, bodies[-1]))["position"]
    (question,) = _questions(1)
    while json.loads(await client.post(_RETRIEVE, question))["decision"]["as_of"] < wanted:
        if clock.monotonic() - started > _INDEXED_WITHIN_S:
            raise UnavailableError(f"not indexed within {_INDEXED_WITHIN_S:.0f} s")
        await asyncio.sleep(1)
    return Filled(per_s, episodes * _STEPS / (clock.monotonic() - started))


async def _rounds(asked: Client, idle: Client) -> tuple[Calls, Calls]:
    """Let the two take turns, as a machine's speed changes from one minute to the next."""
    alone, together = _questions(ALONE), _questions(TOGETHER)
    ours, noop = Calls([], []), Calls([], [])
    for _ in range(ROUNDS):
        for calls, client, path in ((noop, idle, _NOOP), (ours, asked, _RETRIEVE)):
            await client.one_by_one(path, alone[:10])
            calls.alone_s.extend(await client.one_by_one(path, alone))
            calls.per_s.append(await client.at_once(path, together, AT_ONCE))
    return ours, noop


def _judge(ours: Calls, noop: Calls, searches: Searches, filled: Filled) -> BenchResult:
    p50, p99 = (1000 * float(np.quantile(ours.alone_s, q)) for q in (0.5, 0.99))
    noop_p50 = 1000 * statistics.median(noop.alone_s)
    per_s, noop_per_s = statistics.median(ours.per_s), statistics.median(noop.per_s)
    figures: dict[str, int | float | None] = {
        "p50_excess_ms": p50 - noop_p50 - 2 * searches.numpy_p50_ms,
        "p99_ratio": p99 / p50,
        "noop_ratio": per_s / noop_per_s,
        "p50_ms": p50,
        "p99_ms": p99,
        "calls_per_s": per_s,
        "noop_p50_ms": noop_p50,
        "noop_calls_per_s": noop_per_s,
        **searches._asdict(),
        **filled._asdict(),
    }
    rounded = {n: None if f is None else round(f, 3) for n, f in figures.items()}
    missing = [name for name in ("faiss", "lancedb") if rounded[f"{name}_p50_ms"] is None]
    notes = tuple(f"{name}: pip install 'collegium[{name}]' to see it beside" for name in missing)
    return BenchResult.judge("retrieval", rounded, _TARGETS, notes)


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let processes that start in the context compute with one thread each."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _episodes() -> Iterator[dict[str, Any]]:
    """Yield made-up episodes, none like another."""
    rng = generator(0, "bench retrieval")
    number = 0
    while True:
        steps = [
            {"action": f"go to {_words(rng, 2)}", "observation": f"You see {_words(rng, 5)}."}
            for _ in range(_STEPS)
        ]
        yield {
            "task": _task(f"task/{number}", _words(rng, 5)),
            "producer": f"agent-{number % 34}",
            "initial_observation": f"You see {_words(rng, 5)}.",
            "steps": steps,
            "success": True,
            "score": 1.0,
            "versions": {"game_data": "bench", "grammar": "bench", "engine": "bench"},
        }
        number += 1


def _questions(count: int) -> list[bytes]:
    rng = generator(1, "bench retrieval")
    return [_body(_question(rng, number)) for number in range(count)]


def _question(rng: np.random.Generator, number: int) -> dict[str, Any]:
    steps = [
        {"action": f"go to {_words(rng, 2)}", "observation": f"You see {_words(rng, 5)}."}
        for _ in range(number % 8)
    ]
    return {
        "task": _task(f"asked/{number}", _words(rng, 5)),
        "state": {
            "grammar": "bench",
            "initial_observation": f"You see {_words(rng, 5)}.",
            "steps": steps,
        },
        "consumer": "agent-0",
    }


def _task(task_id: str, goal: str) -> dict[str, str]:
    kind = {"environment": "bench", "task_type": "bench", "split": "train"}
    return {**kind, "task_id": task_id, "goal": goal}


def _words(rng: np.random.Generator, count: int) -> str:
    return " ".join(f"w{word}" for word in rng.integers(_WORDS, size=count))


def _body(value: dict[str, Any]) -> bytes:
    return json.dumps(value).encode()
