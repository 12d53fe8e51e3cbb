"""Trajectories cut into overlapping chunks, one for each step (MATM §3.1, formulas §2.1).

Chunk i holds steps i .. min(i + W, H) - 1 as its value. Its key is the query that an agent in the
situation before step i would ask, built by the same function, so the two meet by construction.
Which trajectories deserve chunks (score >= theta, the right grammar) is `memory`'s decision.
"""

from collegium.agents.protocol import View
from collegium.agents.queries import build_query
from collegium.core import Chunk, ChunkStep, Query, Trajectory, content_id

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
    return [_chunk(trajectory, i, window, partition) for i in range(len(trajectory.steps))]


def dedup_key(chunk: Chunk) -> str:
    """Return the id two chunks share when the later one adds nothing (formulas §2.1).

    They have the same goal, state, context, progress and producer.
    """
    return content_id([chunk.goal, chunk.state, chunk.context, chunk.progress, chunk.producer])


def _query_before(trajectory: Trajectory, index: int) -> Query:
    view = View(
        task=trajectory.task,
        initial_observation=trajectory.initial_observation,
        steps=trajectory.steps[:index],
        observation=trajectory.observation_before(index),
        admissible=(),
        step_limit=len(trajectory.steps),
    )
    return build_query(view, grammar=trajectory.versions.grammar, consumer=trajectory.producer)


def _chunk(trajectory: Trajectory, index: int, window: int, partition: int) -> Chunk:
    key = _query_before(trajectory, index)
    steps = tuple(
        ChunkStep(action=step.action, observation=step.observation, score=step.score)
        for step in trajectory.steps[index : index + window]
    )
    return Chunk(
        chunk_id=content_id([trajectory.trajectory_id, index, len(steps)]),
        trajectory_id=trajectory.trajectory_id,
        producer=trajectory.producer,
        environment=key.environment,
        task_id=key.task_id,
        task_type=key.task_type,
        goal=key.goal,
        state=key.state,
        context=key.context,
        progress=key.progress,
        total_steps=len(trajectory.steps),
        steps=steps,
        partition=partition,
        grammar=key.grammar,
        success=trajectory.success,
    )
