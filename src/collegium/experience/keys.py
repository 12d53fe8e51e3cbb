"""The text that finds a chunk, and the same text from a live state (MATM §3.1, formulas §2.1).

Before step i (0-based) of an episode::

    state    = "observation: {o_i}"
    context  = "observation: {o_j} | action: {a_j}" for j in max(0, i - 5) .. i - 1, joined by " ; "
    progress = i

o_j is what the agent saw when it chose step j. A chunk of a stored trajectory and a query from the
live prefix of the same episode have equal keys by construction: both call `key_parts`.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from collegium.core import Query, Task

CONTEXT_STEPS = 5
"""How many earlier steps a key describes."""


class ActionObservation(Protocol):
    """What a key needs of a step: `core.Step` and `core.ChunkStep` both offer it."""

    @property
    def action(self) -> str:
        """The command."""
        ...

    @property
    def observation(self) -> str:
        """The environment's answer to it."""
        ...


class KeyParts(NamedTuple):
    """State and context of a key; goal and progress stand in the record itself."""

    state: str
    context: str


def key_parts(initial_observation: str, steps: Sequence[ActionObservation], index: int) -> KeyParts:
    """Describe the situation before step `index`, from the steps that came earlier.

    Args:
        initial_observation: What the environment said after its reset.
        steps: The episode's steps; only the first `index` are read.
        index: Number of steps taken so far, in 0 .. len(steps).
    """

    def seen_before(j: int) -> str:
        return steps[j - 1].observation if j else initial_observation

    context = " ; ".join(
        f"observation: {seen_before(j)} | action: {steps[j].action}"
        for j in range(max(0, index - CONTEXT_STEPS), index)
    )
    return KeyParts(f"observation: {seen_before(index)}", context)


def make_query(
    task: Task,
    initial_observation: str,
    steps: Sequence[ActionObservation],
    *,
    grammar: str,
    consumer: str = "",
) -> Query:
    """Return the query of a consumer that has taken `steps` so far.

    Args:
        task: The task being played.
        initial_observation: What the environment said after its reset.
        steps: All steps taken until now, oldest first.
        grammar: The environment's grammar; guidance of another grammar is never returned.
        consumer: Id of the asking agent.
    """
    parts = key_parts(initial_observation, steps, len(steps))
    return Query(
        environment=task.environment,
        task_id=task.task_id,
        task_type=task.task_type,
        goal=task.goal,
        state=parts.state,
        context=parts.context,
        progress=len(steps),
        grammar=grammar,
        consumer=consumer,
    )
