"""The Ray cluster that a run works on: one of its own on this machine, or one that is there.

A cluster of one is started small and quiet, and ends with the driver: on leaving the context, and
by Ray's own watching of its parent if the driver is killed.
"""

import logging
import os
import signal
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray

from collegium.core import ConfigError, EngineError

_OBJECT_STORE_BYTES = 200 << 20
"""Shared memory of an own cluster; only requests and answers pass through it."""
_CPUS = 1
"""Announced on an own cluster: engines ask for none, and Ray starts a process for each."""
_KNOCK_S = 10.0
_QUIET = {"logging_level": logging.ERROR, "log_to_driver": False}


@contextmanager
def ray_cluster(address: str | None = None) -> Iterator[None]:
    """Connect this driver to Ray, and disconnect it (or end its own cluster) afterwards.

    A handler of SIGTERM that the process has set stays in force.

    Args:
        address: Of a running cluster, or `auto`; None starts one on this machine.

    Raises:
        ConfigError: There is no cluster at `address`.
        EngineError: An own cluster did not start.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    ends = signal.getsignal(signal.SIGTERM)
    try:
        _start_own() if address is None else _connect(address)
        if callable(ends) and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, ends)  # instead of Ray's, which aborts the process
        yield
    finally:
        ray.shutdown()


def _connect(address: str) -> None:
    try:
        _knock(address)
        ray.init(address=address, **_QUIET)
    except Exception as error:  # of many types, with the address or without
        raise ConfigError(
            f"no Ray cluster at {address!r} ({type(error).__name__}: {_first_line(error)}): check "
            "`execution.ray_address`, or leave it out to start a cluster on this machine"
        ) from error


def _knock(address: str) -> None:
    """Raise OSError if nobody listens at a host and port, which Ray takes minutes to find out."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), _KNOCK_S).close()


def _start_own() -> None:
    """Start Ray; on a busy machine it gives up after half a minute, so it gets a second chance."""
    own: dict[str, Any] = {
        "num_cpus": _CPUS,
        "object_store_memory": _OBJECT_STORE_BYTES,
        "include_dashboard": False,
        **_QUIET,
    }
    try:
        ray.init(**own)
    except Exception:  # a node that is late is a plain Exception
        ray.shutdown()
        try:
            ray.init(**own)
        except Exception as error:
            raise EngineError(
                f"Ray did not start ({type(error).__name__}: {_first_line(error)}): is the machine "
                "too busy, or /tmp or /dev/shm full? Then resume the run"
            ) from error


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [""])[0]
