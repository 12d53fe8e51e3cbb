"""The applications by name."""

from enum import StrEnum


class ServedApplication(StrEnum):
    """What can be served on one machine."""

    SERVICE = "service"
    """The ledger's use-cases: trajectories and keys."""
    RETRIEVAL = "retrieval"
    """These, and guidance from the trajectories."""
    NOOP = "noop"
    """Nothing: the yardstick for what any call costs."""
