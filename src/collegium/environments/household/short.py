"""The household wording that compact transcripts use (see `agents.transcript.ShortText`)."""

from collegium.core import Chunk
from collegium.environments.household.abstraction import hint
from collegium.environments.household.compact import compact_observation, compact_room


class HouseholdText:
    """Household text in few tokens; stateless."""

    def room(self, initial_observation: str) -> str:
        """Return the receptacle types with the highest number of each."""
        return compact_room(initial_observation)

    def observation(self, text: str) -> str:
        """Return what the observation adds: things seen, "closed", "taken"."""
        return compact_observation(text)

    def hint(self, chunk: Chunk, goal: str) -> str:
        """Return the chunk's goal and actions, without numbers, told for `goal`."""
        return hint(chunk, goal)
