"""Utility labels: what showing one chunk at one moment changed (MATM App. I; formulas §2.3).

One row a future. `label` is the paper's, against the baseline that was branched; `utility` is
against the control, which continued from the same state without guidance and with the same seeds.
Rows of one `group` share consumer, state and candidates, and are what a ranker compares.
"""

from collections.abc import Iterator, Sequence
from statistics import fmean

from pydantic import Field

from collegium.core import Chunk, Episode, Guidance, Query, Record, content_id, generator
from collegium.experience.branching import BranchPoint
from collegium.statistics import ClusterBootstrap
from collegium.store import RunDirectory
from collegium.store.records import read_records

LABELS = "labels"
"""Table of a run directory with one `UtilityLabel` a row; `tables/labels.parquet` when finished."""

_RESAMPLES = 2000


class UtilityLabel(Record):
    """What one chunk, shown to one agent at one step, did to the episode's score."""

    key: str
    group: str
    """Id of the branching point."""
    question: str
    """Task id; training and validation are divided by it."""
    task_type: str
    partition: int
    """p of the task; the candidates came from D_{p-1}."""
    agent: str
    """The consumer."""
    step: int
    """Steps taken before the guidance was shown."""
    rank: int = Field(ge=1)
    """Rank of the chunk in the retrieval."""
    retrieval_score: float
    """Squared L2 distance; smaller is closer."""
    chunk_id: str
    producer: str
    query: str
    """JSON of `core.Query`."""
    chunk: str
    """JSON of `core.Chunk`."""
    score_base: float
    """Of the baseline, in [0, 1], as all scores."""
    score_future: float
    """Mean over repeats, as all that follows."""
    score_control: float | None
    """None where no control was played, or the machinery ended each."""
    label: float
    """score_future - score_base, in [-1, 1]."""
    utility: float | None
    """score_future - score_control over the repeats in which both were played to the end."""
    utility_low: float | None
    """Lower end of the 95 % interval of `utility` over repeats; None with fewer than two."""
    utility_high: float | None
    repeats: int
    """Futures played to the end."""
    steps_future: float
    """Steps taken after the branching point."""
    steps_control: float | None
    seeds: tuple[int, ...]
    """One a repeat; a future and the control of one seed sample alike."""
    embedder: str
    grammar: str

    def as_query(self) -> Query:
        """Return what the consumer asked."""
        return Query.model_validate_json(self.query)

    def as_chunk(self) -> Chunk:
        """Return what it was shown."""
        return Chunk.model_validate_json(self.chunk)


def read_labels(run: RunDirectory) -> Iterator[UtilityLabel]:
    """Yield the labels of a run of `label_utility`; raises CorruptDataError naming the row."""
    return read_records(run, LABELS, UtilityLabel)


def label_point(
    point: BranchPoint,
    query: Query,
    futures: Sequence[tuple[Guidance, Sequence[Episode]]],
    controls: Sequence[Episode],
    embedder: str,
) -> list[UtilityLabel]:
    """Return one label a future; those that the machinery ended each time have none.

    Args:
        point: Where they branched.
        query: What was asked there.
        futures: What was shown, and the episodes it led to.
        controls: The episodes without guidance.
        embedder: Name of the embedder of the retrieval.
    """
    control = _by_seed(controls)
    return [
        _label(point, query, guidance, played, control, embedder)
        for guidance, episodes in futures
        if (played := _by_seed(episodes))
    ]


def _by_seed(episodes: Sequence[Episode]) -> dict[int, Episode]:
    """Return what was played to the end."""
    return {e.seed: e for e in episodes if not e.stop_reason.is_machinery}


def _label(
    point: BranchPoint,
    query: Query,
    guidance: Guidance,
    futures: dict[int, Episode],
    controls: dict[int, Episode],
    embedder: str,
) -> UtilityLabel:
    baseline = point.baseline.trajectory
    key = content_id([point.group, guidance.rank])
    score = _mean_score(futures)
    return UtilityLabel(
        key=key,
        group=point.group,
        question=baseline.task.task_id,
        task_type=baseline.task.task_type,
        partition=point.baseline.partition,
        agent=baseline.producer,
        step=point.step,
        rank=guidance.rank,
        retrieval_score=guidance.retrieval_score,
        chunk_id=guidance.chunk.chunk_id,
        producer=guidance.chunk.producer,
        query=query.model_dump_json(),
        chunk=guidance.chunk.model_dump_json(),
        score_base=baseline.score,
        score_future=score,
        score_control=_mean_score(controls) if controls else None,
        label=score - baseline.score,
        **_utility(futures, controls, key),
        repeats=len(futures),
        steps_future=_mean_steps(futures, point.step),
        steps_control=_mean_steps(controls, point.step) if controls else None,
        seeds=tuple(sorted(futures)),
        embedder=embedder,
        grammar=query.grammar,
    )


def _mean_score(episodes: dict[int, Episode]) -> float:
    return fmean(episode.trajectory.score for episode in episodes.values())


def _mean_steps(episodes: dict[int, Episode], start: int) -> float:
    return fmean(len(episode.trajectory.steps) - start for episode in episodes.values())


def _utility(
    futures: dict[int, Episode], controls: dict[int, Episode], key: str
) -> dict[str, float | None]:
    """Return the paired difference and, over at least two repeats, its interval."""
    seeds = sorted(futures.keys() & controls.keys())
    treated = [futures[seed].trajectory.score for seed in seeds]
    control = [controls[seed].trajectory.score for seed in seeds]
    if not seeds:
        return {"utility": None, "utility_low": None, "utility_high": None}
    if len(seeds) == 1:
        return {"utility": treated[0] - control[0], "utility_low": None, "utility_high": None}
    draws = ClusterBootstrap.draw(
        [str(seed) for seed in seeds], generator(0, "utility", key), resamples=_RESAMPLES
    )
    mean, low, high = draws.difference(treated, control)
    return {"utility": mean, "utility_low": low, "utility_high": high}
