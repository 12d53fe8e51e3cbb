"""Quotas by largest remainder, and nested subsets that keep every stratum's share (formulas §2.9).

The prefix of one fixed order of a stratum is taken, and the quotas of a larger fraction are never
below those of a smaller one, so smaller subsets lie within larger ones.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from collegium.core import InvalidInputError

S = TypeVar("S", bound=Hashable)

STEPS = 100
"""Fractions are cut into hundredths; the quotas are fixed from one to the next."""


def largest_remainder(sizes: Mapping[S, int], total: int) -> dict[S, int]:
    """Share `total` out in proportion to `sizes`; equal remainders go to the earlier key.

    Each key with a size gets at least 1 if `total` allows, and none more than its size.

    Raises:
        InvalidInputError: A size is negative, or `total` is not in [0, sum of sizes].
    """
    everything = sum(sizes.values())
    if min(sizes.values(), default=0) < 0 or not 0 <= total <= everything:
        raise InvalidInputError(f"cannot share {total} out among sizes {list(sizes.values())}")
    filled = [key for key, size in sizes.items() if size]
    least = int(len(filled) <= total)
    exact = {key: Fraction(total * sizes[key], everything) for key in filled}
    quotas = {key: max(least, math.floor(share)) for key, share in exact.items()}
    by_need = sorted(filled, key=lambda key: quotas[key] - exact[key])
    _settle(quotas, by_need, total, least)
    return {key: quotas.get(key, 0) for key in sizes}


def _settle(quotas: dict[S, int], by_need: Sequence[S], total: int, least: int) -> None:
    """Move quotas by ones until they add up: first to the neediest, or from the least needy."""
    for key in by_need[: max(0, total - sum(quotas.values()))]:
        quotas[key] += 1
    while (excess := sum(quotas.values()) - total) > 0:
        spare = [key for key in reversed(by_need) if quotas[key] > least]
        for key in spare[:excess]:
            quotas[key] -= 1


def nested_quotas(sizes: Mapping[S, int], fraction: float) -> dict[S, int]:
    """Return how many of each stratum a subset of `fraction` holds, never fewer than a smaller one.

    The fraction counts in hundredths. Rising quotas may exceed round(fraction * N) by some items.

    Raises:
        InvalidInputError: The fraction is not a whole number of hundredths in (0, 1].
    """
    hundredths = round(fraction * STEPS)
    if not 0 < hundredths <= STEPS or abs(hundredths - fraction * STEPS) > 1e-6:
        raise InvalidInputError(f"a fraction counts in hundredths, from 0.01 to 1, not {fraction}")
    everything = sum(sizes.values())
    quotas = dict.fromkeys(sizes, 0)
    for step in range(1, hundredths + 1):
        now = largest_remainder(sizes, round(everything * step / STEPS))
        quotas = {key: max(quotas[key], now[key]) for key in sizes}
    return quotas


def nested_subset(
    items: Sequence[str],
    strata: Sequence[S],
    fraction: float,
    rng: Callable[[S], np.random.Generator],
) -> set[str]:
    """Return the items of a subset of `fraction`, nested in those of larger fractions.

    Args:
        items: Names, each once.
        strata: One an item.
        fraction: In hundredths, in (0, 1].
        rng: Gives the generator of a stratum's order; the same one each time.
    """
    members: defaultdict[S, list[str]] = defaultdict(list)
    for item, stratum in zip(items, strata, strict=True):
        members[stratum].append(item)
    sizes = {stratum: len(names) for stratum, names in sorted(members.items(), key=str)}
    quotas = nested_quotas(sizes, fraction)
    return {
        members[stratum][place]
        for stratum, quota in quotas.items()
        for place in rng(stratum).permutation(sizes[stratum])[:quota]
    }
