"""What ranking adds to a retrieval: the 44 features of 20 candidates, and their scores.

Keys, candidates and queries come from the expert's episodes on generated games; vectors have 768
dimensions, as E5-Base's, and are there before anything is timed. One core, one thread. Rankers are
trained on drawn labels: what they score does not change how long it takes.

Figures:
    features_p50_ms, features_p99_ms: features of 20 candidates whose texts were prepared, as a
        service does with its index; the query is new.
    features_cold_p50_ms: the same for candidates whose texts were never seen.
    rank_p50_ms: scores of 20 candidates by the slowest of the three rankers.
    lambdamart_p50_ms, svmrank_p50_ms, ffn_p50_ms: by each.
"""

import os
import statistics
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

from collegium.core import Agent, Chunk, Clock, Guidance, Query, SystemClock, generator
from collegium.embedding import CachedEmbedder, HashConfig, build_embedder
from collegium.environments.household import GameStore
from collegium.environments.household.generator import write_games
from collegium.evaluation.benchmarks.result import BenchResult, Target
from collegium.experience import chunk_trajectory, expert_trajectories
from collegium.experience.replay import EXPLORER
from collegium.ranking.cascade import CANDIDATES
from collegium.ranking.configs import FFNConfig, LambdaMARTConfig, SVMRankConfig
from collegium.ranking.features import Candidates, FeatureExtractor
from collegium.ranking.grades import GradeScale
from collegium.ranking.groups import TrainingSet
from collegium.ranking.kinds import fit_ranker
from collegium.ranking.producers import benchmark_table
from collegium.ranking.protocol import Matrix, Ranker
from collegium.ranking.resources import FeatureResources, fit_resources
from collegium.ranking.schema import FeatureSchema

GAMES = 90
REQUESTS = 300
COLD = 60
_CONSUMERS = tuple(f"agent-{number}" for number in range(6))
_SPLIT = "generated_train"
_STEPS = 30
_DIMENSION = 768
_KINDS = (LambdaMARTConfig(), SVMRankConfig(), FFNConfig(epochs=5))
_TARGETS = {"features_p50_ms": Target(max=3), "rank_p50_ms": Target(max=0.5)}


class Workload(NamedTuple):
    """Chunks, requests for their features, and what these are computed from."""

    chunks: list[Chunk]
    requests: list[Candidates]
    schema: FeatureSchema
    resources: FeatureResources
    embedder: CachedEmbedder

    def extractor(self) -> FeatureExtractor:
        """Return one that has seen no text yet."""
        return FeatureExtractor(self.schema, self.resources, self.embedder)


def run(games: int = GAMES, requests: int = REQUESTS) -> BenchResult:
    """Measure on one core; takes about half a minute."""
    with tempfile.TemporaryDirectory(prefix="collegium-bench-") as folder, _one_core():
        work = workload(Path(folder), games, requests)
        warm = _warm(work, SystemClock())
        cold = _cold(work, SystemClock())
        ranked = _ranked(work, SystemClock())
    figures: dict[str, int | float | None] = {
        "features_p50_ms": _ms(statistics.median(warm)),
        "features_p99_ms": _ms(float(np.quantile(warm, 0.99))),
        "features_cold_p50_ms": _ms(statistics.median(cold)),
        "rank_p50_ms": max(ranked.values()),
        **{f"{kind}_p50_ms": figure for kind, figure in ranked.items()},
    }
    return BenchResult.judge("features", figures, _TARGETS)


def workload(folder: Path, games: int, requests: int) -> Workload:
    """Play games and draw requests; every text's vector is known afterwards."""
    chunks = list(_chunks(folder, games))
    agents = [Agent(id=name, model="none", benchmarks={"all": 0.5}) for name in _CONSUMERS]
    resources = fit_resources(chunks, benchmark_table(agents))
    embedder = CachedEmbedder(build_embedder(HashConfig(dimension=_DIMENSION)), folder)
    schema = FeatureSchema(
        producers=(*_CONSUMERS, EXPLORER),
        consumers=_CONSUMERS,
        embedder=embedder.name,
        grammar=chunks[0].grammar,
        resources=resources.digest,
    )
    rng = generator(0, "bench features")
    drawn = [_request(chunks, number, rng) for number in range(requests)]
    work = Workload(chunks, drawn, schema, resources, embedder)
    work.extractor().prepare(chunks)
    return work


@contextmanager
def _one_core() -> Iterator[None]:
    """Stay on one core, where the system lets a process choose."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def _chunks(folder: Path, games: int) -> Iterator[Chunk]:
    write_games(folder, games, 0, (_SPLIT,))
    store = GameStore(folder)
    tasks = store.tasks(_SPLIT)
    for played in expert_trajectories(tasks, store, seed=0, step_limit=_STEPS):
        if played.success:
            yield from chunk_trajectory(played)


def _request(chunks: Sequence[Chunk], number: int, rng: np.random.Generator) -> Candidates:
    """Ask in the situation of one chunk, with others as candidates."""
    asked, *found = rng.choice(len(chunks), CANDIDATES + 1, replace=False)
    key = chunks[asked]
    query = Query(
        consumer=_CONSUMERS[number % len(_CONSUMERS)],
        **key.model_dump(include=set(Query.model_fields) - {"consumer"}),
    )
    distances = np.sort(rng.random(CANDIDATES))
    return Candidates(
        query,
        [
            Guidance(chunk=chunks[place], rank=rank, retrieval_score=float(distance))
            for rank, (place, distance) in enumerate(zip(found, distances, strict=True), start=1)
        ],
    )


def _warm(work: Workload, clock: Clock) -> list[float]:
    """Return seconds a request; candidates are prepared, and the query is another chunk's key.

    To keep it new, its goal gets a word that no text before it had.
    """
    extractor = work.extractor()
    extractor.prepare(work.chunks)
    seconds = []
    for number, (query, guidance) in enumerate(work.requests):
        new = query.model_copy(update={"goal": f"{query.goal} {number}"})
        work.embedder.embed([new.goal])
        seconds.append(_timed(clock, partial(extractor.matrix, new, guidance)))
    return seconds


def _cold(work: Workload, clock: Clock) -> list[float]:
    """Return seconds a request when no text was seen before."""
    return [
        _timed(clock, partial(work.extractor().matrix, *request))
        for request in work.requests[:COLD]
    ]


def _ranked(work: Workload, clock: Clock) -> dict[str, float]:
    """Return the median milliseconds that each ranker takes for 20 candidates."""
    matrices = work.extractor().matrices(work.requests)
    data = _drawn_labels(work, matrices)
    rankers = [fit_ranker(config, data, 0) for config in _KINDS]
    return {ranker.kind: _ms(_median_score_s(ranker, matrices, clock)) for ranker in rankers}


def _median_score_s(ranker: Ranker, matrices: Sequence[Matrix], clock: Clock) -> float:
    ranker.score(matrices[0])
    return statistics.median(_timed(clock, partial(ranker.score, matrix)) for matrix in matrices)


def _drawn_labels(work: Workload, matrices: Sequence[Matrix]) -> TrainingSet:
    rng = generator(0, "bench labels")
    count = sum(map(len, matrices))
    return TrainingSet(
        features=np.concatenate(matrices),
        labels=rng.integers(-1, 2, count).astype(np.float64),
        weights=np.ones(count),
        sizes=np.array([len(matrix) for matrix in matrices], np.int64),
        groups=(),
        schema=work.schema,
        clones={},
        scale=GradeScale.for_repeats(1),
        null=False,
    )


def _timed(clock: Clock, work: Callable[[], object]) -> float:
    started = clock.monotonic()
    work()
    return clock.monotonic() - started


def _ms(seconds: float) -> float:
    return round(seconds * 1000, 3)
