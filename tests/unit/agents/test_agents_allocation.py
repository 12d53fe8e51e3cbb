"""The allocation function: the oracle of formulas §2.4, and what must always hold."""

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.agents.allocation import agent_order, allocate, turn_wheel
from collegium.core import InvalidInputError, Task

CATEGORIES = ("clean", "heat", "clean", "cool", "heat", "clean", "cool")


def task(task_id, task_type="clean"):
    return Task(environment="household", task_id=task_id, task_type=task_type, split="train")


def tasks_of(types, prefix=""):
    return [task(f"{prefix}q{i:03}", kind) for i, kind in enumerate(types)]


ORACLE_TASKS = [task(f"q{i}", kind) for i, kind in enumerate(CATEGORIES)]


@pytest.mark.parametrize(
    ("offset", "expected"),
    [(0, "q0A q2B q5C q3A q6B q1C q4A"), (1, "q0B q2C q5A q3B q6C q1A q4B")],
)
def test_the_oracle(offset, expected):
    allocation = turn_wheel(ORACLE_TASKS, "ABC", offset)
    assert " ".join(f"{task_id}{agent}" for task_id, agent in allocation.items()) == expected


def test_allocate_turns_the_wheel_of_permuted_agents():
    wheel = agent_order(["A", "B", "C"])
    expected = turn_wheel(ORACLE_TASKS, wheel, 5 + 7)
    assert allocate(ORACLE_TASKS, ["A", "B", "C"], start=5, offset=7) == expected


def test_the_permutation_is_fixed_by_its_seed_alone():
    agents = [f"agent-{i}" for i in range(34)]
    order = agent_order(agents)
    assert order == agent_order(agents[::-1])
    assert sorted(order) == sorted(agents)
    assert order != agent_order(agents, seed=43)
    assert order[:4] == ("agent-22", "agent-10", "agent-12", "agent-4")


types = st.lists(st.sampled_from(("clean", "heat", "cool", "look")), min_size=1, max_size=60)
counts = st.integers(1, 12)
offsets = st.sampled_from((0, 7, 14, 21, 28))


@given(types, counts, st.integers(0, 200), offsets)
def test_counts_differ_by_at_most_one_overall_and_in_each_type(types, n, start, offset):
    agents = [f"a{i}" for i in range(n)]
    tasks = tasks_of(types)
    allocation = allocate(tasks, agents, start=start, offset=offset)
    assert allocation.keys() == {t.task_id for t in tasks}
    for kind in {None, *types}:
        chosen = [t for t in tasks if kind is None or t.task_type == kind]
        per_agent = Counter(dict.fromkeys(agents, 0))
        per_agent.update(allocation[t.task_id] for t in chosen)
        assert max(per_agent.values()) - min(per_agent.values()) <= 1


@given(types, counts, st.randoms(use_true_random=False))
def test_the_order_of_tasks_and_agents_does_not_matter(types, n, random):
    agents = [f"a{i}" for i in range(n)]
    tasks = tasks_of(types)
    expected = allocate(tasks, agents)
    random.shuffle(tasks)
    random.shuffle(agents)
    assert allocate(tasks, agents) == expected


@given(st.lists(types, min_size=2, max_size=4), counts)
def test_the_wheel_keeps_turning_over_partitions(partitions, n):
    agents = [f"a{i}" for i in range(n)]
    wheel = agent_order(agents)
    given_out, start = [], 0
    for p, kinds in enumerate(partitions):
        given_out += allocate(tasks_of(kinds, f"p{p}"), agents, start=start).values()
        start += len(kinds)
    turns = [wheel.index(agent) for agent in given_out]
    assert turns[0] == 0
    assert all((after - before) % n == 1 % n for before, after in pairwise(turns))


def test_repeated_or_missing_names_are_refused():
    with pytest.raises(InvalidInputError, match="distinct agents"):
        allocate(ORACLE_TASKS, [])
    with pytest.raises(InvalidInputError, match="distinct agents"):
        allocate(ORACLE_TASKS, ["A", "A"])
    with pytest.raises(InvalidInputError, match="1 of 8"):
        allocate([*ORACLE_TASKS, ORACLE_TASKS[0]], ["A"])
