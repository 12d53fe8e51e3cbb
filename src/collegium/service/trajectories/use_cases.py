"""Contributing trajectories to a namespace, and reading them back.

Each is one event `trajectory.contributed` in the stream of its namespace, which names the content
hash, the producer and the key that contributed it. The content hash is the act's idempotency key:
contributing a trajectory again has no effect and gets the answer of the first time.
"""

from typing import Any

from collegium.core import Clock, ConflictError, InvalidInputError, NotFoundError, Trajectory
from collegium.service.operations import Call
from collegium.service.trajectories.records import (
    ContributedTrajectory,
    ContributeInput,
    Contribution,
    ListInput,
    ReadInput,
    TrajectoryPage,
)
from collegium.store.ledger import Event, Ledger, NewEvent

CONTRIBUTED = "trajectory.contributed"
STREAMS = "trajectories/"
"""How the names of the streams begin that hold contributions; the namespace follows."""


class TrajectoryService:
    """The use-cases of contributed trajectories over one ledger."""

    def __init__(self, ledger: Ledger, clock: Clock) -> None:
        """Contribute to `ledger` and read from it."""
        self._ledger = ledger
        self._clock = clock

    def contribute(self, call: Call, given: ContributeInput) -> Contribution:
        """Record a trajectory; once it returns, it stays recorded."""
        stream, trajectory = _stream(given.namespace), given.trajectory
        event = NewEvent(
            stream=stream,
            type=CONTRIBUTED,
            payload=_payload(trajectory, call.caller.key_id),
            observed_at=given.observed_at or self._clock.now(),
            idempotency_key=trajectory.trajectory_id,
        )
        try:
            kept = self._ledger.append(event)
        except ConflictError:
            # Contributed before, with another key or other accounting: the first time counts.
            first = self._ledger.find(stream, trajectory.trajectory_id)
            if first is None:
                raise
            kept = first
        return _entry(kept, given.namespace)

    def read(self, call: Call, given: ReadInput) -> ContributedTrajectory:
        """Return one trajectory; raises NotFoundError."""
        event = self._ledger.find(_stream(given.namespace), given.trajectory_id)
        if event is None:
            raise NotFoundError(f"no trajectory {given.trajectory_id} in {given.namespace}")
        return ContributedTrajectory(
            entry=_entry(event, given.namespace),
            trajectory=Trajectory.model_validate(event.payload["trajectory"]),
        )

    def page(self, call: Call, given: ListInput) -> TrajectoryPage:
        """Return one page; raises InvalidInputError for an `as_of` that is still to come."""
        newest = self._ledger.position()
        as_of = newest if given.as_of is None else given.as_of
        if as_of > newest:
            raise InvalidInputError(f"as_of: {as_of} is still to come, the ledger is at {newest}")
        stream = _stream(given.namespace)
        total = self._ledger.version(stream, as_of)
        wanted = min(given.limit, total - given.after)
        events = self._ledger.stream(stream, given.after, wanted) if wanted > 0 else []
        return TrajectoryPage(
            items=tuple(_entry(event, given.namespace) for event in events),
            next=events[-1].version if events and events[-1].version < total else None,
            total=total,
            as_of=as_of,
        )


def _stream(namespace: str) -> str:
    return f"{STREAMS}{namespace}"


def _payload(trajectory: Trajectory, contributor: str) -> dict[str, Any]:
    return {
        "trajectory_id": trajectory.trajectory_id,
        "producer": trajectory.producer,
        "contributor": contributor,
        "trajectory": trajectory.model_dump(mode="json"),
    }


def _entry(event: Event, namespace: str) -> Contribution:
    trajectory = event.payload["trajectory"]
    return Contribution(
        trajectory_id=event.payload["trajectory_id"],
        namespace=namespace,
        number=event.version,
        producer=event.payload["producer"],
        contributor=event.payload["contributor"],
        environment=trajectory["task"]["environment"],
        task_id=trajectory["task"]["task_id"],
        success=trajectory["success"],
        score=trajectory["score"],
        steps=len(trajectory["steps"]),
        observed_at=event.observed_at,
        recorded_at=event.recorded_at,
        position=event.position,
    )
