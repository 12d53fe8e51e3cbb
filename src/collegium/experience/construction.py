"""Incremental construction of the memory over partitions of the train tasks (MATM §4.1, App. I).

    for p in 1 .. P:
        every task of X_p is played by its agent; what is retrieved meanwhile comes from D_{p-1}
        D_p = D_{p-1} + the trajectories of X_p with score >= theta, once all of X_p is played

D_0, the pre-population, is sealed before. A build that was killed goes on with the first partition
that is not sealed; its runner decides which episodes of that one are already done. Branching
(futures of a baseline's prefix under guidance) adds its episodes to those that are played.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import NamedTuple

from collegium.core import Episode, InvalidInputError, Task, generator
from collegium.experience.memory import ExperienceMemory, Snapshot


class Partition(NamedTuple):
    """One partition X_p while it is being played."""

    number: int
    """p, from 1."""
    tasks: tuple[Task, ...]
    start: int
    """Tasks in all earlier partitions: where the allocation wheel stands."""


PlayPartition = Callable[[Partition], Awaitable[Sequence[Episode]]]
"""Plays each task of a partition once, by the agent it is allocated to."""


async def grow_memory(
    memory: ExperienceMemory, partitions: Sequence[Sequence[Task]], play: PlayPartition
) -> AsyncIterator[Snapshot]:
    """Play the partitions one after the other, contribute each when it is done, and give its D_p.

    Episodes that the machinery ended are not contributed.

    Args:
        memory: Its D_0 must be sealed; partitions that are sealed already are passed over.
        partitions: X_1 .. X_P.
        play: Plays the baseline episodes of a partition.

    Raises:
        InvalidInputError: D_0 is not sealed.
    """
    if not memory.sealed:
        raise InvalidInputError("the pre-population D_0 is not sealed: contribute it and seal it")
    start = 0
    for number, tasks in enumerate(partitions, start=1):
        if number >= memory.sealed:
            episodes = await play(Partition(number, tuple(tasks), start))
            played = [e.trajectory for e in episodes if not e.stop_reason.is_machinery]
            memory.contribute(played, number)
            yield memory.seal(number)
        start += len(tasks)


def partition_tasks(tasks: Sequence[Task], count: int, seed: int) -> list[list[Task]]:
    """Divide `tasks` into partitions that are balanced by task type.

    Sizes differ by at most one, and so does each type's share. The order of `tasks` is irrelevant.

    Args:
        tasks: Train tasks, each once.
        count: Number of partitions, at least 1.
        seed: Decides which tasks come together.

    Raises:
        InvalidInputError: `count` is less than 1.
    """
    if count < 1:
        raise InvalidInputError(f"at least 1 partition is needed, asked for {count}")
    by_id = sorted(tasks, key=lambda task: task.task_id)
    order = generator(seed, "partitions").permutation(len(by_id))
    dealt = sorted((by_id[i] for i in order), key=lambda task: task.task_type)
    return [dealt[first::count] for first in range(count)]
