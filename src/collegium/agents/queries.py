"""The query of a live state: the same text as a chunk's key, so that the two can meet.

Before step i (0-based), with o_j what the agent saw when it chose step j (formulas §2.1)::

    state    = "observation: {o_i}"
    context  = "observation: {o_j} | action: {a_j}" for j in max(0, i - 5) .. i - 1, joined by " ; "
    progress = i
"""

from collegium.agents.protocol import View
from collegium.core import Query

CONTEXT_STEPS = 5
"""How many earlier steps a key describes."""


def build_query(view: View, *, grammar: str, consumer: str) -> Query:
    """Return the query that `consumer` asks in the state of `view`.

    Args:
        view: What the agent sees now.
        grammar: The environment's grammar; guidance of another grammar is never returned.
        consumer: Id of the asking agent.
    """
    seen = [view.initial_observation, *(step.observation for step in view.steps)]
    taken = len(view.steps)
    context = " ; ".join(
        f"observation: {seen[j]} | action: {view.steps[j].action}"
        for j in range(max(0, taken - CONTEXT_STEPS), taken)
    )
    return Query(
        environment=view.task.environment,
        task_id=view.task.task_id,
        task_type=view.task.task_type,
        goal=view.task.goal,
        state=f"observation: {view.observation}",
        context=context,
        progress=taken,
        grammar=grammar,
        consumer=consumer,
    )
