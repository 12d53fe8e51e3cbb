"""RPP: the issue's oracles, the published table to the integer, and the invariants."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from collegium.evaluation.preference import (
    preference_votes,
)

INF = float("inf")

# Published ALFWorld table: solved of 1,370 and RPP numerators over 1,370 x 4 (formulas §2.6).
SOLVED = (645, 755, 803, 783, 881)
VOTES = (-869, -247, -25, 333, 808)


def _published_table():
    """Task-runs with the published success counts and votes.

    With equal steps everywhere the votes are 5 x solved - all solved; the rest of each numerator is
    made by task-runs that exactly two methods solve, one of them sooner.
    """
    sooner = {(3, 0): 227, (3, 1): 58, (4, 1): 97, (4, 2): 173}
    columns = []
    for (fast, slow), count in sooner.items():
        steps = np.zeros(5, dtype=int)
        steps[fast], steps[slow] = 4, 9
        columns += [steps] * count
    left = np.array(SOLVED) - np.sum(np.array(columns) > 0, axis=0)
    columns += [np.where(left > place, 7, 0) for place in range(1370 - len(columns))]
    steps_AN = np.array(columns).T
    return steps_AN > 0, steps_AN


def test_published_table_is_exact_in_integers():
    success_AN, steps_AN = _published_table()
    votes_AN = preference_votes(success_AN, steps_AN)
    assert tuple(success_AN.sum(axis=1)) == SOLVED
    assert tuple(votes_AN.sum(axis=1)) == VOTES
    assert votes_AN.sum() == 0
    rpp = votes_AN.sum(axis=1) / (1370 * 4)
    assert [round(float(r), 4) for r in rpp] == [-0.1586, -0.0451, -0.0046, 0.0608, 0.1474]


@pytest.mark.parametrize(
    ("x", "y", "vote"),
    [
        ((True, 20), (False, 3), 1),
        ((True, 4), (True, 9), 1),
        ((True, 9), (True, 4), -1),
        ((True, 5), (True, 5), 0),
        ((False, 3), (False, 30), 0),
    ],
)
def test_binary_votes(x, y, vote):
    votes = preference_votes([[x[0]], [y[0]]], [[x[1]], [y[1]]])
    assert votes.tolist() == [[vote], [-vote]]


TABLES = st.tuples(st.integers(1, 6), st.integers(1, 8)).flatmap(
    lambda shape: st.tuples(arrays(bool, shape), arrays(int, shape, elements=st.integers(1, 9)))
)


@given(TABLES)
def test_votes_sum_to_zero_and_are_those_of_each_pair(table):
    success_AN, steps_AN = table
    votes_AN = preference_votes(success_AN, steps_AN)
    assert not votes_AN.sum(axis=0).any()
    for n in range(success_AN.shape[1]):
        reached = [
            int(steps) if success else INF
            for success, steps in zip(success_AN[:, n], steps_AN[:, n], strict=True)
        ]
        for a, mine in enumerate(reached):
            assert votes_AN[a, n] == sum((other > mine) - (other < mine) for other in reached)
