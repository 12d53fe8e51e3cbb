"""Agents that are no language models: a recorded plan, and the household's text-only explorer.

They make training data and the pre-population D_0, and bound what imitating them can reach.
"""

from collections.abc import Sequence

from collegium.agents.protocol import Decision, View
from collegium.core import InvalidInputError
from collegium.environments.household.explorer import Explorer


class PlanPolicy:
    """Carries out commands one after the other: a walkthrough, or a stored trajectory."""

    def __init__(self, commands: Sequence[str]) -> None:
        self._commands = tuple(commands)

    async def act(self, view: View) -> Decision:
        """Return the next command; raises InvalidInputError when all are used up."""
        taken = len(view.steps)
        if taken >= len(self._commands):
            raise InvalidInputError(
                f"{view.task.task_id}: the plan of {taken} commands ended before the task did"
            )
        return Decision(self._commands[taken])


class ExplorerPolicy:
    """The household expert that sees what an agent sees; remembers, so make one an episode."""

    def __init__(self, *, seed: int, noise: float = 0.0) -> None:
        """Take the explorer's seed, and the probability in [0, 1] of a random step."""
        self._seed = seed
        self._noise = noise
        self._explorer: Explorer | None = None

    async def act(self, view: View) -> Decision:
        """Return the explorer's next command; raises InvalidInputError for an unknown goal."""
        if self._explorer is None:
            self._explorer = Explorer(
                view.task.goal, view.initial_observation, self._seed, self._noise
            )
        return Decision(self._explorer.act(view.observation, view.admissible))
