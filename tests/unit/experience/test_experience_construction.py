"""The construction loop: D_{p-1} only, after the whole partition, resumable."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from collegium.core import Episode, InvalidInputError, StopReason, Task
from collegium.embedding import HashEmbedder
from collegium.experience.construction import grow_memory, partition_tasks
from collegium.experience.memory import ExperienceMemory


def make_tasks(kinds: list[str]) -> list[Task]:
    return [
        Task(environment="household", task_id=f"task-{i:03d}", task_type=kind, split="train")
        for i, kind in enumerate(kinds)
    ]


@pytest.fixture
def memory(tmp_path, make_trajectory) -> ExperienceMemory:
    memory = ExperienceMemory(tmp_path, HashEmbedder(32), grammar="test-grammar")
    memory.contribute([make_trajectory(4, task_id="before")], 0)
    memory.seal(0)
    return memory


@pytest.fixture
def play(memory, make_trajectory):
    """Every second task is solved, in four steps; notes what the memory held meanwhile."""

    class Play:
        def __init__(self) -> None:
            self.seen: list[tuple[int, int, int]] = []
            self.stop = StopReason.SOLVED
            self.die_in = 0

        async def __call__(self, partition):
            if partition.number == self.die_in:
                raise RuntimeError("killed")
            self.seen.append((partition.number, partition.start, memory.index.count()))
            return [
                Episode(
                    key=task.task_id,
                    arm="baseline",
                    trajectory=make_trajectory(4, task_id=task.task_id, success=i % 2 == 0),
                    stop_reason=self.stop if i % 2 == 0 else StopReason.STEP_LIMIT,
                )
                for i, task in enumerate(partition.tasks)
            ]

    return Play()


def grow(memory, partitions, play):
    async def collect():
        return [grown.partition async for grown in grow_memory(memory, partitions, play)]

    return asyncio.run(collect())


def test_a_partition_sees_only_what_was_sealed_before_it(memory, play):
    partitions = partition_tasks(make_tasks(["a"] * 12), 3, seed=1)
    assert grow(memory, partitions, play) == [1, 2, 3]
    assert play.seen == [(1, 0, 4), (2, 4, 12), (3, 8, 20)]
    assert [memory.as_of(p).count() for p in range(4)] == [4, 12, 20, 28]


def test_a_killed_build_goes_on_and_equals_one_without_a_kill(memory, play):
    partitions = partition_tasks(make_tasks(["a"] * 12), 3, seed=1)
    play.die_in = 2
    with pytest.raises(RuntimeError, match="killed"):
        grow(memory, partitions, play)
    play.die_in = 0
    assert grow(memory, partitions, play) == [2, 3]
    assert play.seen == [(1, 0, 4), (2, 4, 12), (3, 8, 20)]
    assert [memory.as_of(p).count() for p in range(4)] == [4, 12, 20, 28]
    assert grow(memory, partitions, play) == []


def test_failures_of_the_machinery_are_not_contributed(memory, play):
    play.stop = StopReason.ENGINE_ERROR
    grow(memory, [make_tasks(["a"] * 4)], play)
    assert len(list(memory.trajectories.read(1))) == 2


def test_it_needs_a_pre_population(tmp_path, play):
    memory = ExperienceMemory(tmp_path / "new", HashEmbedder(32), grammar="test-grammar")
    with pytest.raises(InvalidInputError, match="not sealed"):
        grow(memory, [make_tasks(["a"])], play)


@given(
    kinds=st.lists(st.sampled_from("abc"), max_size=40),
    count=st.integers(1, 6),
    seed=st.integers(0, 9),
)
def test_partitions_are_balanced_and_lose_nothing(kinds, count, seed):
    tasks = make_tasks(kinds)
    parts = partition_tasks(tasks, count, seed)
    assert sorted(t.task_id for part in parts for t in part) == [t.task_id for t in tasks]
    sizes = [len(part) for part in parts]
    assert max(sizes) - min(sizes) <= 1
    for kind in set(kinds):
        shares = [Counter(t.task_type for t in part)[kind] for part in parts]
        assert max(shares) - min(shares) <= 1
    assert parts == partition_tasks(tasks[::-1], count, seed)


def test_the_seed_decides_who_comes_together():
    tasks = make_tasks(["a"] * 20)
    assert partition_tasks(tasks, 4, 1) != partition_tasks(tasks, 4, 2)
    with pytest.raises(InvalidInputError, match="at least 1"):
        partition_tasks(tasks, 0, 1)
