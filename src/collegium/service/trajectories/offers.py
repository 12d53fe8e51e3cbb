"""The use-cases of trajectories as operations."""

from typing import Any

from collegium.core import ConflictError, NotFoundError, Step, Task, Trajectory, Versions
from collegium.service.operations import Operation, Scope
from collegium.service.trajectories.records import (
    ContributedTrajectory,
    ContributeInput,
    Contribution,
    ListInput,
    ReadInput,
    TrajectoryPage,
)
from collegium.service.trajectories.use_cases import TrajectoryService


def trajectory_operations(trajectories: TrajectoryService) -> tuple[Operation[Any, Any], ...]:
    """Return the use-cases as operations."""
    contribute = Operation(
        name="contribute_trajectory",
        summary="Contribute what an agent did to a namespace",
        scope=Scope.WRITE,
        method="POST",
        path="/v1/namespaces/{namespace}/trajectories",
        input=ContributeInput,
        output=Contribution,
        handler=trajectories.contribute,
        example=ContributeInput(namespace="demo", trajectory=_example()),
        errors=(ConflictError,),
        takes_idempotency_key=True,
    )
    listing = Operation(
        name="list_trajectories",
        summary="List a namespace's trajectories, without their steps",
        scope=Scope.READ,
        method="GET",
        path="/v1/namespaces/{namespace}/trajectories",
        input=ListInput,
        output=TrajectoryPage,
        handler=trajectories.page,
        example=ListInput(namespace="demo"),
    )
    read = Operation(
        name="read_trajectory",
        summary="Read a trajectory with all its steps",
        scope=Scope.READ,
        method="GET",
        path="/v1/namespaces/{namespace}/trajectories/{trajectory_id}",
        input=ReadInput,
        output=ContributedTrajectory,
        handler=trajectories.read,
        example=ReadInput(namespace="demo", trajectory_id=_example().trajectory_id),
        errors=(NotFoundError,),
    )
    return (contribute, listing, read)


def _example() -> Trajectory:
    return Trajectory(
        task=Task(
            environment="household",
            task_id="pick_and_place_simple-Mug-None-Desk-308/trial_1",
            task_type="pick_and_place_simple",
            split="train",
            goal="put some mug on desk.",
        ),
        producer="agent-a",
        initial_observation="You are in the middle of a room. You see a desk 1 and a shelf 1.",
        steps=(
            Step(action="go to shelf 1", observation="On the shelf 1, you see a mug 1."),
            Step(action="take mug 1 from shelf 1", observation="You pick up the mug 1."),
            Step(action="go to desk 1", observation="On the desk 1, you see nothing."),
            Step(action="move mug 1 to desk 1", observation="You move the mug 1.", score=1.0),
        ),
        success=True,
        score=1.0,
        versions=Versions(game_data="sha256:…", grammar="alfworld-0.4", engine="collegium"),
    )
