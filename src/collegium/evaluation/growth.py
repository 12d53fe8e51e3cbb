"""How the corpus grew from D_0 to D_P, and whose chunks were retrieved (formulas §2.8)."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Literal

from pydantic import Field

from collegium.core import Chunk, Record
from collegium.statistics import effective_number, inverse_simpson

GROWTH = "growth"
"""Name of the table of a run directory that holds one row for each partition."""


class GrowthRow(Record):
    """The corpus after partition p: everything in D_p, not only what p added."""

    schema_version: Literal[1] = 1
    partition: int = Field(ge=0)
    trajectories: int = Field(ge=0)
    chunks_by_producer: dict[str, int]

    @property
    def chunks(self) -> int:
        """Chunks in D_p."""
        return sum(self.chunks_by_producer.values())

    @property
    def producers(self) -> int:
        """Producers with at least one chunk."""
        return sum(count > 0 for count in self.chunks_by_producer.values())

    @property
    def effective_producers(self) -> float:
        """Exponential of the Shannon entropy of the producers' shares."""
        return effective_number(list(self.chunks_by_producer.values()))

    @property
    def inverse_simpson(self) -> float:
        """The stricter count of producers, order 2."""
        return inverse_simpson(list(self.chunks_by_producer.values()))


class ProducerShare(Record):
    """One producer's part of the corpus and of what the consumers were shown."""

    producer: str
    corpus: float | None
    """Share of the chunks of the last D_p; None where the run holds no corpus."""
    retrieved: float
    """Share of the retrieved pieces of guidance, all arms together."""
    retrievals: int


def corpus_growth(chunks: Iterable[Chunk]) -> tuple[GrowthRow, ...]:
    """Return one cumulative row for each partition 0 .. P that the chunks' tags name."""
    producers: dict[int, Counter[str]] = {}
    trajectories: dict[int, set[str]] = {}
    for chunk in chunks:
        producers.setdefault(chunk.partition, Counter())[chunk.producer] += 1
        trajectories.setdefault(chunk.partition, set()).add(chunk.trajectory_id)
    rows = []
    so_far: Counter[str] = Counter()
    known: set[str] = set()
    for partition in range(max(producers, default=-1) + 1):
        so_far += producers.get(partition, Counter())
        known |= trajectories.get(partition, set())
        rows.append(
            GrowthRow(
                partition=partition,
                trajectories=len(known),
                chunks_by_producer=dict(sorted(so_far.items())),
            )
        )
    return tuple(rows)


def producer_shares(
    corpus: Mapping[str, int] | None, retrieved: Mapping[str, int]
) -> tuple[ProducerShare, ...]:
    """Set each producer's share of the corpus beside its share of retrievals, largest first."""
    names = sorted({*(corpus or {}), *retrieved})
    chunks = sum((corpus or {}).values())
    shown = sum(retrieved.values())
    shares = [
        ProducerShare(
            producer=name,
            corpus=(corpus or {}).get(name, 0) / chunks if chunks else None,
            retrieved=retrieved.get(name, 0) / shown if shown else 0.0,
            retrievals=retrieved.get(name, 0),
        )
        for name in names
    ]
    return tuple(sorted(shares, key=lambda s: (-s.retrieved, -(s.corpus or 0.0), s.producer)))
