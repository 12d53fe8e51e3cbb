"""Nested parts of a memory, for growth curves: D10 within D25 within ... D100 (formulas §2.9).

The unit is a trajectory, so its chunks stay together. Strata are (producer, task type): each is
shuffled once for a seed, and a part takes a prefix of each, in proportion.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from collegium.core import Chunk, InvalidInputError, generator

FRACTIONS = (0.10, 0.25, 0.50, 0.75, 1.00)
"""The parts of the paper's §5.5."""

Stratum = TypeVar("Stratum", bound=Hashable)


class Unit(NamedTuple):
    """A trajectory and the stratum it belongs to."""

    trajectory_id: str
    producer: str
    task_type: str


def units_of(chunks: Iterable[Chunk]) -> list[Unit]:
    """Return the trajectories that `chunks` come from, each once, in order."""
    return list(dict.fromkeys(Unit(c.trajectory_id, c.producer, c.task_type) for c in chunks))


def nested_subsets(
    units: Sequence[Unit], seed: int, fractions: Sequence[float] = FRACTIONS
) -> dict[float, frozenset[str]]:
    """Return fraction -> ids of the trajectories in that part; smaller parts lie within larger.

    Args:
        units: All trajectories, in any order.
        seed: Seed of the shuffles; the paper averages five.
        fractions: Sizes of the parts, in (0, 1].

    Raises:
        InvalidInputError: A fraction is out of range.
    """
    if not all(0 < fraction <= 1 for fraction in fractions):
        raise InvalidInputError(f"fractions must be in (0, 1], got {list(fractions)}")
    strata = _shuffled_strata(units, seed)
    sizes = {stratum: len(ids) for stratum, ids in strata.items()}
    taken = sizes
    parts = {}
    for fraction in sorted(fractions, reverse=True):
        taken = quotas(sizes, math.floor(fraction * len(units) + 0.5), taken)
        parts[fraction] = frozenset(
            name for stratum, ids in strata.items() for name in ids[: taken[stratum]]
        )
    return parts


def quotas(
    sizes: Mapping[Stratum, int], total: int, most: Mapping[Stratum, int]
) -> dict[Stratum, int]:
    """Divide `total` over strata in proportion to their sizes, by largest remainder.

    A stratum that is not empty gets at least 1 when `total` allows it for all, and none gets more
    than `most`. Ties go to the stratum that comes first.

    Args:
        sizes: Stratum -> members.
        total: What is divided, in 0 .. sum(most).
        most: Stratum -> largest quota, e.g. that of a larger part, within which this one lies.
    """
    filled = sum(size > 0 for size in sizes.values())
    least = {s: int(size > 0 and total >= filled) for s, size in sizes.items()}
    everything = max(1, sum(sizes.values()))
    share = {s: total * size / everything for s, size in sizes.items()}
    quota = {s: min(most[s], max(least[s], math.floor(share[s]))) for s in sizes}

    def excess(stratum: Stratum) -> float:
        return quota[stratum] - share[stratum]

    while sum(quota.values()) > total:
        quota[max((s for s in sizes if quota[s] > least[s]), key=excess)] -= 1
    while sum(quota.values()) < total:
        quota[min((s for s in sizes if quota[s] < most[s]), key=excess)] += 1
    return quota


def _shuffled_strata(units: Sequence[Unit], seed: int) -> dict[tuple[str, str], list[str]]:
    members: dict[tuple[str, str], list[str]] = defaultdict(list)
    for unit in sorted(units):
        members[unit.producer, unit.task_type].append(unit.trajectory_id)
    return {stratum: _shuffled(members[stratum], seed, *stratum) for stratum in sorted(members)}


def _shuffled(items: list[str], seed: int, *stream: str) -> list[str]:
    order = generator(seed, "subsets", *stream).permutation(len(items))
    return [items[i] for i in order]
