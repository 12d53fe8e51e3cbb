"""What an agent's policy sees and decides, and where guidance comes from."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from collegium.core import Guidance, GuidanceRef, Query, Step, Task, Usage


class HeldGuidance(NamedTuple):
    """Guidance in use, from the step it was retrieved at until another takes its place."""

    guidance: Guidance
    since: int
    """Steps taken when it was retrieved: its step j is meant for step `since + j`."""


class View(NamedTuple):
    """Everything a policy may look at before it acts."""

    task: Task
    initial_observation: str
    steps: Sequence[Step]
    observation: str
    admissible: tuple[str, ...]
    step_limit: int
    held: HeldGuidance | None = None
    """What the last decision held on to; the loop carries it, so policies need no state."""


class Decision(NamedTuple):
    """What a policy decided; `action` is None when no action could be read from its output."""

    action: str | None
    guidance: GuidanceRef | None = None
    retrieved: bool = False
    usage: Usage = Usage()
    held: HeldGuidance | None = None
    """The guidance in use, which comes back in the next view."""


class Policy(Protocol):
    """Chooses actions.

    A policy without state serves any number of episodes at once; an expert that remembers what it
    saw says so and is made anew for each episode.
    """

    async def act(self, view: View) -> Decision:
        """Choose the next action."""
        ...


class GuidanceSource(Protocol):
    """Finds guidance for a live state: the index, or the cascade retrieve -> rerank."""

    async def retrieve(self, query: Query, k: int) -> list[Guidance]:
        """Return at most `k` pieces of guidance, best first; ranks count from 1."""
        ...
