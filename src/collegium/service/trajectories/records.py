"""What the use-cases of trajectories take and give."""

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, Field, StringConstraints, field_validator

from collegium.core import Record, Trajectory
from collegium.service.operations import NamespacedInput

TrajectoryId = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{32}$")]


class ContributeInput(NamespacedInput):
    """A trajectory for a namespace."""

    trajectory: Trajectory
    """What the agent did, step by step."""
    observed_at: AwareDatetime | None = None
    """When the episode ended; null: now."""

    @field_validator("trajectory")
    @classmethod
    def _in_range(cls, trajectory: Trajectory) -> Trajectory:
        scores = [trajectory.score, *(step.score for step in trajectory.steps)]
        if not all(0 <= score <= 1 for score in scores):
            raise ValueError("a score lies outside [0, 1]")
        if not trajectory.steps:
            raise ValueError("it has no steps")
        return trajectory


class ReadInput(NamespacedInput):
    """Which trajectory."""

    trajectory_id: TrajectoryId
    """Its content hash, as given back when it was contributed."""


class ListInput(NamespacedInput):
    """Which page of a namespace's trajectories."""

    after: int = Field(default=0, ge=0)
    """`next` of the page before; 0 for the first."""
    limit: int = Field(default=20, ge=1, le=100)
    """Trajectories on a page."""
    as_of: int | None = Field(default=None, ge=0)
    """Position of the ledger to answer for, such as that of the first page; null: the newest."""


class Contribution(Record):
    """A trajectory as an entry of the ledger."""

    trajectory_id: str
    namespace: str
    number: int
    """Its place in the namespace, from 1, without gaps."""
    producer: str
    """Id of the agent that acted."""
    contributor: str
    """Id of the key that it came with."""
    environment: str
    task_id: str
    success: bool
    score: float
    steps: int
    observed_at: datetime
    recorded_at: datetime
    position: int
    """Position of its event in the ledger."""


class ContributedTrajectory(Record):
    """A trajectory with its entry."""

    entry: Contribution
    trajectory: Trajectory


class TrajectoryPage(Record):
    """Entries in the order they were contributed."""

    items: tuple[Contribution, ...]
    next: int | None
    """Pass it as `after` for the next page, with the same `as_of`; null: this is the last."""
    total: int
    """Trajectories in the namespace at `as_of`."""
    as_of: int
    """Position of the ledger that the page answers for."""
