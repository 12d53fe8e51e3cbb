"""Episodes reduced to what is counted: one small outcome each, whatever the length of its steps."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict

from collegium.core import Episode, StopReason, Usage
from collegium.store import RunDirectory
from collegium.store.records import read_records

EPISODES = "episodes"
"""Name of the table of a run directory that holds whole episodes."""
FAILED_ATTEMPTS = "failed_attempts"
"""Table of the attempts that the machinery ended and that were made again, as whole episodes."""
UNFINISHED_ATTEMPTS = "unfinished"
"""Table of what was spent on attempts in flight when the run was stopped; a kill leaves none."""


class LostAttempt(BaseModel):
    """The countable part of an attempt that is no episode; further fields of its row are left."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    arm: str
    usage: Usage
    stop_reason: StopReason | None = None
    """None where the run was stopped meanwhile."""


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
    split: str
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
        split=task.split,
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
    return read_records(run, EPISODES, Episode)


def pooled_episodes(runs: Iterable[RunDirectory]) -> Iterator[Episode]:
    """Yield the episodes of runs that go together; one that several runs hold counts once.

    Episodes are the same if their keys are: arm, task, agent, offset and seed are equal then.
    """
    seen: set[str] = set()
    for run in runs:
        for episode in read_episodes(run):
            if episode.key not in seen:
                seen.add(episode.key)
                yield episode


def read_outcomes(runs: Iterable[RunDirectory]) -> list[Outcome]:
    """Return the outcomes of `pooled_episodes`."""
    return [outcome_of(episode) for episode in pooled_episodes(runs)]


def read_lost_attempts(run: RunDirectory) -> Iterator[LostAttempt]:
    """Yield what was spent on attempts that left no episode; raises as `read_episodes`."""
    for table in (FAILED_ATTEMPTS, UNFINISHED_ATTEMPTS):
        yield from read_records(run, table, LostAttempt)
