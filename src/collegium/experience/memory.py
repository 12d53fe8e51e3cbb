"""The population's experience: every trajectory stored, the good ones indexed (MATM §3.1, §4.1).

Layout of its folder, usually `memory/` of a run directory, on a local disk::

    memory.json          how trajectories become chunks; fixed when the memory is made
    trajectories/        all trajectories, successful or not
    index/               chunks of those with score >= theta
    sealed/p00000.json   one file a finished partition, with its counts

D_p is what partitions 0 .. p hold; D_0 is the pre-population. Partitions are contributed in order:
p opens once p - 1 is sealed, and a sealed partition never changes. `contribute` may be repeated
after a kill, with the same trajectories, and counts nothing twice.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, ValidationError

from collegium.config import Config
from collegium.core import Chunk, CorruptDataError, InvalidInputError, Record, Trajectory
from collegium.embedding import Embedder
from collegium.experience.chunks import WINDOW, chunk_trajectory
from collegium.experience.index import (
    ExactIndexConfig,
    IndexConfig,
    IndexHeader,
    VectorIndex,
    open_index,
)
from collegium.experience.retrieval import IndexRetriever, RetrievalConfig
from collegium.experience.trajectories import TrajectoryStore
from collegium.store.files import write_text


class MemoryConfig(Config):
    """How trajectories become chunks, and where these are searched."""

    window: int = Field(default=WINDOW, ge=1)
    """Steps of guidance in a chunk."""
    threshold: float = Field(default=1.0, ge=0.0, le=1.0)
    """Theta: trajectories with at least this score are indexed."""
    splits: tuple[str, ...] = ("train", "generated_train")
    """Trajectories of tasks of other splits are refused: test tasks never enter the memory."""
    index: IndexConfig = ExactIndexConfig()
    """The index backend."""


class Growth(NamedTuple):
    """What one producer added to one partition."""

    partition: int
    producer: str
    trajectories: int
    successes: int
    chunks: int


class Contribution(NamedTuple):
    """What a call of `contribute` added."""

    trajectories: int
    chunks: int


@dataclass(frozen=True)
class Snapshot:
    """D_p: what the memory held when partition p was sealed."""

    partition: int
    index: VectorIndex
    embedder: Embedder

    def count(self) -> int:
        """Return the number of chunks."""
        return self.index.count(self.partition)

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks, in the order they were added."""
        return self.index.chunks(self.partition)

    def retriever(self, config: RetrievalConfig | None = None) -> IndexRetriever:
        """Return a guidance source that sees nothing later than this snapshot."""
        return IndexRetriever(self.index, self.embedder, config, as_of=self.partition)


class _Card(Record):
    """The file memory.json."""

    schema_version: Literal[1] = 1
    window: int
    threshold: float


class ExperienceMemory:
    """The shared memory of a population; one writer at a time, any number of readers."""

    def __init__(
        self,
        directory: Path,
        embedder: Embedder,
        *,
        grammar: str,
        config: MemoryConfig | None = None,
    ) -> None:
        """Open the memory in `directory`, or make it there.

        Args:
            directory: Its folder.
            embedder: Embeds keys and queries; put a `CachedEmbedder` around slow ones.
            grammar: The one grammar of all trajectories.
            config: As when it was made; the default configuration when None.

        Raises:
            InvalidInputError: The memory there was made with another embedder, grammar, window or
                threshold.
            CorruptDataError: A file is missing or unreadable.
        """
        self.config = config or MemoryConfig()
        self.grammar = grammar
        self._directory = directory
        self._embedder = embedder
        self._check_card()
        header = IndexHeader(embedder=embedder.name, dimension=embedder.dimension, grammar=grammar)
        self.index = open_index(self.config.index, directory / "index", header)
        self.trajectories = TrajectoryStore(directory / "trajectories")

    @property
    def sealed(self) -> int:
        """The number of sealed partitions: D_0 .. D_{sealed - 1} are complete."""
        return len(list((self._directory / "sealed").glob("p*.json")))

    def contribute(self, trajectories: Sequence[Trajectory], partition: int) -> Contribution:
        """Store all `trajectories` under `partition`, and index those with score >= theta.

        Raises:
            InvalidInputError: The partition is not the one that is open, or a trajectory has
                another grammar or split; nothing is stored then.
        """
        self._check_open(partition)
        for trajectory in trajectories:
            self._check_admitted(trajectory)
        stored = self.trajectories.append(trajectories, partition)
        chunks = [
            chunk
            for trajectory in trajectories
            if trajectory.score >= self.config.threshold
            for chunk in chunk_trajectory(trajectory, self.config.window, partition=partition)
        ]
        vectors = self._embedder.embed([chunk.key_text for chunk in chunks])
        return Contribution(stored, self.index.add(chunks, vectors))

    def seal(self, partition: int) -> Snapshot:
        """Close `partition`, also an empty one, and return D_p.

        Raises:
            InvalidInputError: The partition is not the one that is open.
        """
        self._check_open(partition)
        growth = [row._asdict() for row in self.growth() if row.partition == partition]
        file = self._directory / "sealed" / f"p{partition:05d}.json"
        write_text(file, json.dumps({"partition": partition, "growth": growth}, indent=1))
        return self.as_of(partition)

    def as_of(self, partition: int) -> Snapshot:
        """Return D_p; raises InvalidInputError when that partition is not sealed yet."""
        if not 0 <= partition < self.sealed:
            raise InvalidInputError(
                f"{self._directory}: D_{partition} is not complete; sealed so far: {self.sealed}"
            )
        return Snapshot(partition, self.index, self._embedder)

    def growth(self) -> list[Growth]:
        """Return what each producer added to each partition, in that order."""
        chunks: dict[tuple[int, str], int] = {}
        for row in self.index.census():
            group = (row.partition, row.producer)
            chunks[group] = chunks.get(group, 0) + row.chunks
        return [
            Growth(*row, chunks.get((row.partition, row.producer), 0))
            for row in self.trajectories.counts()
        ]

    def _check_open(self, partition: int) -> None:
        if partition != self.sealed:
            raise InvalidInputError(
                f"{self._directory}: partition {partition} is not open; partition {self.sealed} "
                "is: contribute in order, and seal each one before the next"
            )

    def _check_admitted(self, trajectory: Trajectory) -> None:
        name = f"trajectory {trajectory.trajectory_id} of {trajectory.producer!r}"
        if trajectory.versions.grammar != self.grammar:
            raise InvalidInputError(
                f"{name} has grammar {trajectory.versions.grammar!r}, the memory has "
                f"{self.grammar!r}: translate it first"
            )
        if trajectory.task.split not in self.config.splits:
            raise InvalidInputError(
                f"{name} is of split {trajectory.task.split!r}; the memory admits "
                f"{', '.join(self.config.splits)}: test tasks must stay out of it"
            )

    def _check_card(self) -> None:
        mine = _Card(window=self.config.window, threshold=self.config.threshold)
        file = self._directory / "memory.json"
        if not file.exists():
            write_text(file, mine.model_dump_json(indent=1))
            return
        try:
            found = _Card.model_validate_json(file.read_text(encoding="utf-8"))
        except ValidationError as error:
            raise CorruptDataError(f"{file}: not the card of a memory: {error}") from error
        if found != mine:
            raise InvalidInputError(
                f"{self._directory} was made with {found!r}, not {mine!r}: use the same "
                "configuration, or another directory"
            )
