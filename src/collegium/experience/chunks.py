"""Trajectories cut into overlapping chunks, one for each step (MATM §3.1, formulas §2.1).

Chunk i holds steps i .. min(i + W, H) - 1 as its value and the situation before step i as its key.
Which trajectories deserve chunks (score >= theta, the right grammar) is `memory`'s decision.
"""

from collegium.core import Chunk, ChunkStep, Trajectory, content_id
from collegium.experience.keys import key_parts

WINDOW = 5
"""Steps of guidance in a chunk, as in the paper."""


def chunk_trajectory(
    trajectory: Trajectory, window: int = WINDOW, *, partition: int = 0
) -> list[Chunk]:
    """Return one chunk for each step of `trajectory`, in order (stride 1).

    Args:
        trajectory: The steps to cut; without steps there are no chunks.
        window: Most steps in a chunk, at least 1.
        partition: p of the D_p that the chunks join; it does not enter their ids.
    """
    return [
        _chunk_at(trajectory, index, window, partition) for index in range(len(trajectory.steps))
    ]


def dedup_key(chunk: Chunk) -> str:
    """Return the id two chunks share when the later one adds nothing (formulas §2.1).

    They have the same goal, state, context, progress and producer.
    """
    return content_id([chunk.goal, chunk.state, chunk.context, chunk.progress, chunk.producer])


def _chunk_at(trajectory: Trajectory, index: int, window: int, partition: int) -> Chunk:
    parts = key_parts(trajectory.initial_observation, trajectory.steps, index)
    steps = tuple(
        ChunkStep(action=step.action, observation=step.observation, score=step.score)
        for step in trajectory.steps[index : index + window]
    )
    trajectory_id = trajectory.trajectory_id
    return Chunk(
        chunk_id=content_id([trajectory_id, index, len(steps)]),
        trajectory_id=trajectory_id,
        producer=trajectory.producer,
        environment=trajectory.task.environment,
        task_id=trajectory.task.task_id,
        task_type=trajectory.task.task_type,
        goal=trajectory.task.goal,
        state=parts.state,
        context=parts.context,
        progress=index,
        total_steps=len(trajectory.steps),
        steps=steps,
        partition=partition,
        grammar=trajectory.versions.grammar,
        success=trajectory.success,
    )
