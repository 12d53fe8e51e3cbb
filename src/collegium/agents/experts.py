"""The agent that is no language model: the household's text-only explorer.

It bounds what imitating it can reach.
"""

from collegium.agents.protocol import Decision, View
from collegium.environments.household.explorer import Explorer


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
