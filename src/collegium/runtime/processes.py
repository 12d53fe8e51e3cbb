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


def kill_here(process: Process) -> bool:
    """Kill a process of this machine and all its children; returns whether they are gone.

    Another process that has its number by now is left alone.
    """
    try:
        root = psutil.Process(process.pid)
        if abs(root.create_time() - process.created) > _SAME_PROCESS_S:
            return True
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return True
    _kill(family)
    return _gone(family)


async def kill_anywhere(process: Process) -> bool:
    """Kill a process wherever in the cluster it runs; returns whether it is gone.

    One whose machine has left the cluster is.
    """
    if process.node == ray.get_runtime_context().get_node_id():
        return await asyncio.to_thread(kill_here, process)
    there = NodeAffinitySchedulingStrategy(process.node, soft=False)
    task = ray.remote(kill_here).options(num_cpus=0, scheduling_strategy=there)
    try:
        async with asyncio.timeout(2 * _GONE_WITHIN_S):
            gone: bool = await task.remote(process)
    except (TimeoutError, RayTaskError):
        return False
    except RayError:
        return True
    return gone


def _kill(family: Sequence[psutil.Process]) -> None:
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()


def _gone(family: Sequence[psutil.Process]) -> bool:
    """Wait until all have ended, zombies included; returns whether they did in time."""
    deadline = time.monotonic() + _GONE_WITHIN_S
    while any(map(_lives, family)):
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True


def _lives(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
