"""Episodes reduced to what is counted: one small outcome each, whatever the length of its steps."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import ValidationError

from collegium.core import CorruptDataError, Episode, StopReason, Usage
from collegium.store import RunDirectory

EPISODES = "episodes"
"""Name of the table of a run directory that holds whole episodes."""


class TaskRun(NamedTuple):
    """What is paired between arms: one agent at one task under one allocation offset."""

    task: str
    agent: str
    offset: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """The countable part of an episode."""

    key: str
    arm: str
    task_run: TaskRun
    task_type: str
    source: str
    success: bool
    stop_reason: StopReason
    steps: int
    retrievals: int
    """Steps at which the planner asked for guidance."""
    producers: tuple[str, ...]
    """Producer of each piece of guidance that a retrieval brought."""
    usage: Usage
    """Everything the episode spent, planner calls included (formulas §2.10)."""


def outcome_of(episode: Episode) -> Outcome:
    """Return the countable part of `episode`."""
    trajectory = episode.trajectory
    task = trajectory.task
    retrieved = [step for step in trajectory.steps if step.retrieved]
    return Outcome(
        key=episode.key,
        arm=episode.arm,
        task_run=TaskRun(f"{task.environment}:{task.task_id}", trajectory.producer, episode.offset),
        task_type=task.task_type,
        source=task.source,
        success=trajectory.success,
        stop_reason=episode.stop_reason,
        steps=len(trajectory.steps),
        retrievals=len(retrieved),
        producers=tuple(step.guidance.producer for step in retrieved if step.guidance),
        usage=episode.usage,
    )


def read_episodes(run: RunDirectory) -> Iterator[Episode]:
    """Yield the run's episodes; raises CorruptDataError naming the run, the row and the field."""
    for row in run.rows(EPISODES):
        try:
            yield Episode.model_validate(row)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise CorruptDataError(
                f"{run.path}: row {row['key']!r} of table {EPISODES!r}: {place}: {first['msg']}; "
                "was the run made by another version?"
            ) from None
