"""The allocation function sigma: which agent gets which task (MATM appendix F, formulas §2.4).

    sigma(x, A, p) = A[(pos_p(x) + o_p) mod n],   o_p = (sum over r < p of |X_r|) mod n

pos_p(x) is the place of task x in its partition, ordered by (task type, task id); A is the sorted
agents, permuted once with a seed. The wheel keeps turning: a partition goes on where the one
before it stopped. In each partition, and in each task type within it, the agents' counts differ
by at most one.
"""

from collections.abc import Sequence

from collegium.core import InvalidInputError, Task, generator

AGENT_ORDER_SEED = 42
"""Seed of the agents' one permutation."""


def agent_order(agent_ids: Sequence[str], seed: int = AGENT_ORDER_SEED) -> tuple[str, ...]:
    """Return the agents in the wheel's order: sorted, then permuted with `seed`.

    Raises:
        InvalidInputError: There are no agents, or one is named twice.
    """
    if not agent_ids or len(set(agent_ids)) != len(agent_ids):
        raise InvalidInputError(f"allocation needs distinct agents, at least one: {agent_ids!r}")
    ordered = sorted(agent_ids)
    return tuple(
        ordered[i] for i in generator(seed, "allocation", "agents").permutation(len(ordered))
    )


def turn_wheel(tasks: Sequence[Task], wheel: Sequence[str], first: int) -> dict[str, str]:
    """Return task id -> agent id, giving `wheel[first mod n]` the first task in order.

    Raises:
        InvalidInputError: Two tasks have one id.
    """
    ordered = sorted(tasks, key=lambda task: (task.task_type, task.task_id))
    allocation = {
        task.task_id: wheel[(position + first) % len(wheel)]
        for position, task in enumerate(ordered)
    }
    if len(allocation) != len(tasks):
        raise InvalidInputError(f"{len(tasks) - len(allocation)} of {len(tasks)} task ids repeat")
    return allocation


def allocate(
    tasks: Sequence[Task],
    agent_ids: Sequence[str],
    *,
    start: int = 0,
    offset: int = 0,
    seed: int = AGENT_ORDER_SEED,
) -> dict[str, str]:
    """Return task id -> agent id for one partition or test split.

    Args:
        tasks: The tasks of the partition, in any order.
        agent_ids: The population, in any order.
        start: Number of tasks in all earlier partitions; 0 for an evaluation.
        offset: Extra turn of the wheel, one of 0, 7, 14, 21, 28 in the paper's evaluations.
        seed: Seed of the agents' permutation.

    Raises:
        InvalidInputError: No agents, or agents or tasks that are named twice.
    """
    return turn_wheel(tasks, agent_order(agent_ids, seed), start + offset)
