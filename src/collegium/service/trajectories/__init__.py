"""Trajectories that agents contribute: the first use-case that services share."""

from collegium.service.trajectories.offers import trajectory_operations
from collegium.service.trajectories.use_cases import CONTRIBUTED, STREAMS, TrajectoryService

__all__ = ["CONTRIBUTED", "STREAMS", "TrajectoryService", "trajectory_operations"]
