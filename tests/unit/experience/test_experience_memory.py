"""The memory: all stored, the good indexed, partitions in order, kills counted once."""

import multiprocessing
import os
import signal

import pytest

from collegium.core import CorruptDataError, InvalidInputError
from collegium.embedding import HashEmbedder
from collegium.experience.memory import Contribution, ExperienceMemory, Growth, MemoryConfig

GRAMMAR = "test-grammar"


@pytest.fixture
def open_memory(tmp_path):
    def build(**config) -> ExperienceMemory:
        return ExperienceMemory(
            tmp_path / "memory",
            HashEmbedder(32),
            grammar=GRAMMAR,
            config=MemoryConfig(**config),
        )

    return build


def test_failures_are_stored_and_only_successes_indexed(open_memory, make_trajectory):
    memory = open_memory()
    won, lost = make_trajectory(4), make_trajectory(9, task_id="t1", success=False)
    assert memory.contribute([won, lost], 0) == Contribution(trajectories=2, chunks=4)
    assert list(memory.trajectories.read()) == [won, lost]
    assert {c.trajectory_id for c in memory.index.chunks()} == {won.trajectory_id}
    assert memory.growth() == [Growth(0, "agent-a", 2, 1, 4)]


def test_theta_decides_what_is_indexed(open_memory, make_trajectory):
    memory = open_memory(threshold=0.0)
    memory.contribute([make_trajectory(3, success=False)], 0)
    assert memory.index.count() == 3


def test_partitions_grow_in_order_and_stay_as_they_were(open_memory, make_trajectory):
    memory = open_memory()
    memory.contribute([make_trajectory(3, task_id="t0")], 0)
    first = memory.seal(0)
    memory.contribute([make_trajectory(5, task_id="t1", producer="b")], 1)
    assert (first.count(), memory.seal(1).count()) == (3, 8)
    memory.seal(2)
    assert [memory.as_of(p).count() for p in range(3)] == [3, 8, 8]
    assert {c.task_id for c in memory.as_of(0).chunks()} == {"t0"}
    assert memory.growth() == [Growth(0, "agent-a", 1, 1, 3), Growth(1, "b", 1, 1, 5)]


def test_sealed_and_future_partitions_are_refused(open_memory, make_trajectory):
    memory = open_memory()
    memory.seal(0)
    for partition in (0, 2):
        with pytest.raises(InvalidInputError, match="partition 1 is"):
            memory.contribute([make_trajectory()], partition)
        with pytest.raises(InvalidInputError, match="seal each one"):
            memory.seal(partition)
    with pytest.raises(InvalidInputError, match="D_1 is not complete"):
        memory.as_of(1)


def test_another_grammar_is_refused_before_anything_is_stored(open_memory, make_trajectory):
    memory = open_memory()
    with pytest.raises(InvalidInputError, match="translate it first"):
        memory.contribute([make_trajectory(), make_trajectory(grammar="old")], 0)
    assert list(memory.trajectories.read()) == []


def test_test_tasks_never_enter(open_memory, make_trajectory):
    memory = open_memory()
    with pytest.raises(InvalidInputError, match="test tasks must stay out"):
        memory.contribute([make_trajectory(), make_trajectory(split="valid_unseen")], 0)
    assert list(memory.trajectories.read()) == []


def test_repeating_a_contribution_changes_nothing(open_memory, make_trajectory):
    trajectories = [make_trajectory(3, task_id=f"t{i}") for i in range(3)]
    open_memory().contribute(trajectories, 0)
    memory = open_memory()
    assert memory.contribute(trajectories, 0) == Contribution(0, 0)
    assert memory.growth() == [Growth(0, "agent-a", 3, 3, 9)]


def test_a_kill_between_store_and_index_is_repaired_by_repeating(open_memory, make_trajectory):
    trajectories = [make_trajectory(3, task_id=f"t{i}") for i in range(3)]
    open_memory().trajectories.append(trajectories, 0)
    assert open_memory().contribute(trajectories, 0) == Contribution(0, 9)


def test_a_memory_made_otherwise_is_refused(open_memory, tmp_path):
    open_memory()
    with pytest.raises(InvalidInputError, match="window=5"):
        open_memory(window=3)
    with pytest.raises(InvalidInputError, match="hash-32"):
        ExperienceMemory(tmp_path / "memory", HashEmbedder(8), grammar=GRAMMAR)
    (tmp_path / "memory" / "memory.json").write_text("{}")
    with pytest.raises(CorruptDataError, match=r"memory\.json"):
        open_memory()


def test_a_damaged_trajectory_file_is_named(open_memory, make_trajectory, tmp_path):
    open_memory().contribute([make_trajectory()], 0)
    [file] = (tmp_path / "memory" / "trajectories").iterdir()
    file.write_bytes(b"PAR1 but not really")
    with pytest.raises(CorruptDataError, match=file.name):
        open_memory()


def _contribute_and_die(directory, trajectories) -> None:
    memory = ExperienceMemory(directory, HashEmbedder(32), grammar=GRAMMAR)
    for trajectory in trajectories:
        memory.contribute([trajectory], 0)
        if trajectory is trajectories[1]:
            os.kill(os.getpid(), signal.SIGKILL)


def test_a_build_killed_with_kill_9_resumes_and_counts_once(open_memory, make_trajectory, tmp_path):
    trajectories = [make_trajectory(4, task_id=f"t{i}") for i in range(4)]
    spawn = multiprocessing.get_context("spawn")
    worker = spawn.Process(target=_contribute_and_die, args=(tmp_path / "memory", trajectories))
    worker.start()
    worker.join(60)
    assert worker.exitcode == -signal.SIGKILL
    memory = open_memory()
    assert memory.index.count() == 8
    memory.contribute(trajectories, 0)
    assert memory.seal(0).count() == 16
    assert memory.growth() == [Growth(0, "agent-a", 4, 4, 16)]
