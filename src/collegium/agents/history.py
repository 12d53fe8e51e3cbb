"""The last steps of an episode as one text, as the paper's prompts show them.

An entry pairs an action with the observation it was chosen on, not with the answer to it: that
answer is the next entry's observation, and the last one is the prompt's current observation.
"""

from collegium.agents.protocol import View

HISTORY_WINDOW = 3
"""Steps shown, as in the released code."""


def recent_history(view: View) -> str:
    """Return one line for each of the last `HISTORY_WINDOW` steps; empty before the first step."""
    first = max(0, len(view.steps) - HISTORY_WINDOW)
    return "\n".join(_entry(view, index) for index in range(first, len(view.steps)))


def _entry(view: View, index: int) -> str:
    before = view.steps[index - 1].observation if index else view.initial_observation
    step = view.steps[index]
    return f"STEP {index}: OBSERVATION: {before} | ACTION: {step.action} | REWARD: {step.score:g}"
