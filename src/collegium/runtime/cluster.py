"""The Ray cluster that a run works on: one of its own on this machine, or one that is there.

A cluster of one is started small and quiet, and ends with the driver: on leaving the context, and
by Ray's own watching of its parent if the driver is killed.
"""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

import ray
from pydantic import Field

from collegium.config import Config

_MB = 1 << 20


class ClusterConfig(Config):
    """Where Ray is."""

    address: str | None = None
    """Address of a running cluster, or `auto`; None starts one on this machine."""
    num_cpus: int | None = Field(default=None, ge=0)
    """CPUs to announce on an own cluster; None announces all."""
    object_store_mb: int = Field(default=200, ge=80)
    """Shared memory of an own cluster; only requests and answers pass through it."""


@contextmanager
def ray_cluster(config: ClusterConfig) -> Iterator[None]:
    """Connect this driver to Ray, and disconnect it (or end its own cluster) afterwards."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if config.address is not None:
        ray.init(address=config.address, logging_level=logging.ERROR, log_to_driver=False)
    else:
        ray.init(
            num_cpus=config.num_cpus,
            object_store_memory=config.object_store_mb * _MB,
            include_dashboard=False,
            logging_level=logging.ERROR,
            log_to_driver=False,
        )
    try:
        yield
    finally:
        ray.shutdown()
