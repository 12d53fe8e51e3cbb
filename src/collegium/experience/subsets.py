"""Parts of a memory: nested subsets of its trajectories, and what failed (MATM §5.5, Limitations).

A part is an index of its own, in a folder of one process's own: it is made from what the memory
holds each time it is needed, and its vectors come from the cache beside the memory.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from collegium.core import Chunk, generator
from collegium.embedding import Embedder
from collegium.experience.chunks import chunk_trajectory
from collegium.experience.index import ExactIndex, IndexHeader
from collegium.experience.memory import ExperienceMemory, Snapshot
from collegium.experience.retrieval import IndexRetriever, RetrievalConfig
from collegium.statistics.sampling import nested_subset


def subset_of(chunks: Sequence[Chunk], fraction: float, seed: int, stream: int) -> list[Chunk]:
    """Return the chunks of a share of the trajectories, in their order.

    Each producer and task type keeps its share. Under one seed and stream a smaller fraction gives
    a part of what a larger one gives.

    Args:
        chunks: Of whole trajectories.
        fraction: In (0, 1].
        seed: Seed of the order in which trajectories enter.
        stream: Number of the draw: other streams give other subsets.
    """
    strata = {chunk.trajectory_id: (chunk.producer, chunk.task_type) for chunk in chunks}
    names = sorted(strata)
    kept = nested_subset(
        names,
        [strata[name] for name in names],
        fraction,
        lambda stratum: generator(seed, "subset", stream, *stratum),
    )
    return [chunk for chunk in chunks if chunk.trajectory_id in kept]


def failed_chunks(memory: ExperienceMemory, snapshot: Snapshot) -> Iterator[Chunk]:
    """Yield the chunks of failed trajectories in D_p: of each producer and task, the first one.

    Futures of one branching share most of what they tried, so one stands for them.
    """
    seen: set[tuple[str, str]] = set()
    for partition in range(snapshot.partition + 1):
        for trajectory in memory.trajectories.read(partition):
            attempt = (trajectory.producer, trajectory.task.task_id)
            if trajectory.score < memory.config.threshold and attempt not in seen:
                seen.add(attempt)
                yield from chunk_trajectory(trajectory, memory.config.window, partition=partition)


def index_of(
    chunks: Iterable[Chunk],
    embedder: Embedder,
    grammar: str,
    folder: Path,
    config: RetrievalConfig,
) -> IndexRetriever:
    """Index `chunks` in `folder`, which is empty, and return a guidance source over them."""
    header = IndexHeader(embedder=embedder.name, dimension=embedder.dimension, grammar=grammar)
    index = ExactIndex(folder, header)
    everything = list(chunks)
    index.add(everything, embedder.embed([chunk.key_text for chunk in everything]))
    return IndexRetriever(index, embedder, config)
