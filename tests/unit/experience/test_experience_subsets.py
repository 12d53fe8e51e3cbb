"""Nested parts of a memory: nested, proportional, complete in types, the same for a seed."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import InvalidInputError
from collegium.experience.chunks import chunk_trajectory
from collegium.experience.subsets import FRACTIONS, Unit, nested_subsets, quotas, units_of


def make_units(sizes: dict[tuple[str, str], int]) -> list[Unit]:
    return [
        Unit(f"{producer}-{kind}-{i}", producer, kind)
        for (producer, kind), size in sizes.items()
        for i in range(size)
    ]


def test_largest_remainder_is_the_published_oracle():
    sizes = {"a": 50, "b": 30, "c": 7}
    assert quotas(sizes, 10, sizes) == {"a": 6, "b": 3, "c": 1}


def test_a_small_stratum_gets_one_when_all_can():
    sizes = {"big": 1000, "small": 1}
    assert quotas(sizes, 10, sizes) == {"big": 9, "small": 1}
    assert quotas(sizes, 1, sizes) == {"big": 1, "small": 0}


def test_one_each_and_nesting_hold_together():
    sizes = {("p", "pick"): 40} | {(f"q{i}", "heat"): 1 for i in range(8)}
    parts = nested_subsets(make_units(sizes), 0)
    assert [len(parts[f]) for f in FRACTIONS] == [5, 12, 24, 36, 48]
    assert all(a <= b for a, b in pairwise(parts[f] for f in FRACTIONS))
    assert {name.split("-")[0] for name in parts[0.25]} == {"p", *(f"q{i}" for i in range(8))}


strata = st.dictionaries(
    st.tuples(st.sampled_from(["p", "q", "r"]), st.sampled_from(["heat", "cool", "pick"])),
    st.integers(0, 40),
    min_size=1,
)


@given(strata, st.integers(0, 5))
def test_parts_are_nested_and_have_their_size(sizes, seed):
    units = make_units(sizes)
    parts = nested_subsets(units, seed)
    assert [len(parts[f]) for f in FRACTIONS] == [int(f * len(units) + 0.5) for f in FRACTIONS]
    for smaller, larger in pairwise(FRACTIONS):
        assert parts[smaller] <= parts[larger]
    assert parts[1.0] == {unit.trajectory_id for unit in units}


@given(strata, st.integers(0, 5))
def test_each_type_and_producer_is_there_when_there_is_room(sizes, seed):
    units = make_units(sizes)
    filled = [stratum for stratum, size in sizes.items() if size]
    for part in nested_subsets(units, seed).values():
        if len(part) >= len(filled):
            present = {(u.producer, u.task_type) for u in units if u.trajectory_id in part}
            assert present == set(filled)


@given(
    st.dictionaries(
        st.tuples(st.sampled_from(["p", "q"]), st.sampled_from(["heat", "cool", "pick"])),
        st.integers(10, 60),
        min_size=1,
    )
)
def test_shares_are_kept_to_one_trajectory_a_stratum(sizes):
    units = make_units(sizes)
    for fraction, part in nested_subsets(units, 3).items():
        taken = Counter((u.producer, u.task_type) for u in units if u.trajectory_id in part)
        for stratum, size in sizes.items():
            exact = len(part) * size / len(units)
            assert abs(taken[stratum] - exact) <= 1, (fraction, stratum)


def test_the_seed_decides_and_the_order_of_the_units_does_not():
    units = make_units({("p", "heat"): 30, ("q", "cool"): 30})
    assert nested_subsets(units, 1) == nested_subsets(units[::-1], 1)
    assert nested_subsets(units, 1) != nested_subsets(units, 2)


def test_units_are_trajectories(make_trajectory):
    trajectories = [make_trajectory(4, task_id=f"t{i}") for i in range(3)]
    chunks = [chunk for t in trajectories for chunk in chunk_trajectory(t)]
    assert units_of(chunks) == [Unit(t.trajectory_id, "agent-a", "pick") for t in trajectories]


def test_a_fraction_out_of_range_is_refused():
    with pytest.raises(InvalidInputError):
        nested_subsets([], 0, [0.0])
