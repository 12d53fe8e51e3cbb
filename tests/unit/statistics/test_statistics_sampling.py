"""Quotas and nested subsets (formulas §2.4, §2.9)."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import InvalidInputError, generator
from collegium.statistics.sampling import largest_remainder, nested_quotas, nested_subset

SIZES = st.dictionaries(st.integers(0, 30), st.integers(0, 60), min_size=1, max_size=12)
FRACTIONS = (0.1, 0.25, 0.5, 0.75, 1.0)


def test_the_oracle_of_the_formulas():
    assert largest_remainder({"a": 50, "b": 30, "c": 7}, 10) == {"a": 6, "b": 3, "c": 1}


@given(SIZES, st.floats(0, 1))
def test_quotas_add_up_and_fit(sizes, share):
    total = round(share * sum(sizes.values()))
    quotas = largest_remainder(sizes, total)
    assert sum(quotas.values()) == total
    filled = [key for key in sizes if sizes[key]]
    assert all(0 <= quotas[key] <= sizes[key] for key in sizes)
    assert all(quotas[key] for key in filled) or total < len(filled)


def test_what_cannot_be_shared_out_is_refused():
    with pytest.raises(InvalidInputError, match="cannot share 4 out"):
        largest_remainder({"a": 3}, 4)


@given(SIZES)
def test_larger_fractions_never_take_less(sizes):
    quotas = [nested_quotas(sizes, fraction) for fraction in FRACTIONS]
    for smaller, larger in pairwise(quotas):
        assert all(smaller[key] <= larger[key] for key in sizes)
    assert quotas[-1] == sizes


@pytest.mark.parametrize("fraction", [0.0, 1.01, 0.123])
def test_fractions_count_in_hundredths(fraction):
    with pytest.raises(InvalidInputError, match="hundredths"):
        nested_quotas({"a": 3}, fraction)


def subset(fraction, seed=0):
    items = [f"i{n:03d}" for n in range(200)]
    strata = [("expert", "pick") if n % 10 else ("novice", "heat") for n in range(200)]
    return nested_subset(items, strata, fraction, lambda s: generator(seed, *s))


def test_subsets_are_nested_and_keep_the_shares():
    subsets = [subset(fraction) for fraction in FRACTIONS]
    assert all(a < b for a, b in pairwise(subsets))
    assert len(subsets[-1]) == 200
    for fraction, chosen in zip(FRACTIONS, subsets, strict=True):
        novices = sum(int(name[1:]) % 10 == 0 for name in chosen)
        assert abs(novices - 20 * fraction) <= 1
        assert abs(len(chosen) - 200 * fraction) <= 1


def test_a_seed_decides_which():
    assert subset(0.25) == subset(0.25)
    assert subset(0.25) != subset(0.25, seed=1)
    assert np.mean([len(subset(0.1, seed)) for seed in range(3)]) == 20
