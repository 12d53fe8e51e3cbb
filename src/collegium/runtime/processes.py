"""Processes by id: told apart from later ones with the same number, and killed with their children.

Ray's own kill asks a process to end itself, which one that hangs may not do.
"""

import asyncio
from contextlib import suppress
from typing import NamedTuple

import psutil
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

_SAME_PROCESS_S = 5.0
_GONE_WITHIN_S = 30.0


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


def kill_here(process: Process) -> bool:
    """Kill a process of this machine and all its children; returns whether it is gone."""
    try:
        root = psutil.Process(process.pid)
        if abs(root.create_time() - process.created) > _SAME_PROCESS_S:
            return True
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return True
    for member in family:
        with suppress(psutil.NoSuchProcess):
            member.kill()
    _, alive = psutil.wait_procs(family, timeout=_GONE_WITHIN_S)
    return not alive


async def kill_anywhere(process: Process) -> bool:
    """Kill a process wherever in the cluster it runs; returns whether it is gone."""
    if process.node == ray.get_runtime_context().get_node_id():
        return await asyncio.to_thread(kill_here, process)
    there = NodeAffinitySchedulingStrategy(process.node, soft=False)
    task = ray.remote(kill_here).options(num_cpus=0, scheduling_strategy=there)
    gone: bool = await task.remote(process)
    return gone
