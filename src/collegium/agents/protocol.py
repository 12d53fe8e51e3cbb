"""What an agent's policy sees and decides, and where guidance comes from."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from collegium.core import Guidance, GuidanceRef, Query, Step, Task, Usage


class View(NamedTuple):
    """Everything a policy may look at before it acts."""

    task: Task
    initial_observation: str
    steps: Sequence[Step]
    observation: str
    admissible: tuple[str, ...]
    step_limit: int


class Decision(NamedTuple):
    """What a policy decided; `action` is None when no action could be read from its output."""

    action: str | None
    guidance: GuidanceRef | None = None
    retrieved: bool = False
    usage: Usage = Usage()


class Policy(Protocol):
    """Chooses actions for one episode at a time; holds no state between episodes."""

    async def act(self, view: View) -> Decision:
        """Choose the next action."""
        ...


class GuidanceSource(Protocol):
    """Finds guidance for a live state: the index, or the cascade retrieve -> rerank."""

    async def retrieve(self, query: Query, k: int) -> list[Guidance]:
        """Return at most `k` pieces of guidance, best first; ranks count from 1."""
        ...
