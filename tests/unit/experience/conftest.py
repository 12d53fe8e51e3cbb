"""Builders of small trajectories and chunks for the experience tests."""

from collections.abc import Callable

import pytest

from collegium.core import Step, Task, Trajectory, Versions

GRAMMAR = "test-grammar"


@pytest.fixture
def make_trajectory() -> Callable[..., Trajectory]:
    def build(
        n_steps: int = 7,
        *,
        task_id: str = "task-0",
        task_type: str = "pick",
        producer: str = "agent-a",
        success: bool = True,
        grammar: str = GRAMMAR,
        split: str = "train",
        goal: str = "put an apple in the fridge.",
    ) -> Trajectory:
        steps = tuple(
            Step(
                action=f"go to shelf {i}",
                observation=f"{task_id}: you see thing {i}.",
                score=float(success and i == n_steps - 1),
            )
            for i in range(n_steps)
        )
        return Trajectory(
            task=Task(
                environment="household",
                task_id=task_id,
                task_type=task_type,
                split=split,
                goal=goal,
            ),
            producer=producer,
            initial_observation=f"{task_id}: you are in a room.",
            steps=steps,
            success=success,
            score=float(success),
            versions=Versions(game_data="g", grammar=grammar, engine="test-1"),
        )

    return build
