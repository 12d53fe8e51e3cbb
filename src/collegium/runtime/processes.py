"""Processes by id: told apart from later ones with the same number, and killed with their children.

Ray's own kill asks a process to end itself, which one that hangs may not do.
"""

import asyncio
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import NamedTuple

import psutil
import ray
from ray.exceptions import RayError, RayTaskError
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

_SAME_PROCESS_S = 5.0
_GONE_WITHIN_S = 30.0
_POLL_S = 0.02


class Process(NamedTuple):
    """A process on some machine of the cluster."""

    pid: int
    created: float
    """Seconds since the epoch."""
    node: str
    """Ray's id of the machine."""


def this_process() -> Process:
    """Return the process that this is called in; it must be one of Ray's."""
    me = psutil.Process()
    return Process(me.pid, me.create_time(), ray.get_runtime_context().get_node_id())


def kill_children() -> None:
    """Kill all children of the process that this is called in."""
    _kill(psutil.Process().children(recursive=True))


def kill_here(process: Process, patience_s: float = 0.0) -> bool:
    """Kill a process of this machine and all its children; returns whether they are gone.

    Args:
        process: Which one; another that has its number by now is left alone.
        patience_s: Time it has to end by itself before.
    """
    try:
        root = psutil.Process(process.pid)
        if abs(root.create_time() - process.created) > _SAME_PROCESS_S:
            return True
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return True
    _kill(_living(family, patience_s))
    return not _living(family, _GONE_WITHIN_S)


async def kill_anywhere(process: Process, patience_s: float = 0.0) -> bool:
    """Kill a process wherever in the cluster it runs; returns whether it is gone.

    One whose machine has left the cluster is.
    """
    if process.node == ray.get_runtime_context().get_node_id():
        return await asyncio.to_thread(kill_here, process, patience_s)
    there = NodeAffinitySchedulingStrategy(process.node, soft=False)
    task = ray.remote(kill_here).options(num_cpus=0, scheduling_strategy=there)
    try:
        async with asyncio.timeout(patience_s + 2 * _GONE_WITHIN_S):
            gone: bool = await task.remote(process, patience_s)
    except (TimeoutError, RayTaskError):
        return False
    except RayError:
        return True
    return gone


def _kill(family: Sequence[psutil.Process]) -> None:
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()


def _living(family: Sequence[psutil.Process], within_s: float) -> list[psutil.Process]:
    """Return those that have not ended in time; a zombie has."""
    deadline = time.monotonic() + within_s
    while (living := [p for p in family if _lives(p)]) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    return living


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
