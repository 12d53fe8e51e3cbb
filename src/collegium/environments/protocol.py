"""What an interactive environment offers: one game, played by commands in text.

An environment object is one game instance; it is not shared between threads. `fork` gives an
independent copy that continues from the same state.
"""

from typing import NamedTuple, Protocol, Self

from collegium.core import Task, Versions


class Turn(NamedTuple):
    """What the environment says after a reset or a step."""

    observation: str
    admissible: tuple[str, ...]
    """Commands that are accepted now, in the environment's own order."""
    done: bool
    won: bool
    score: float
    """In [0, 1]."""


class Environment(Protocol):
    """One task that can be played, forked and compared."""

    task: Task
    versions: Versions

    def reset(self) -> Turn:
        """Return to the initial state and give its turn."""
        ...

    def step(self, action: str) -> Turn:
        """Carry out `action`; one that is not admissible changes nothing."""
        ...

    def fork(self) -> Self:
        """Return an independent copy that continues from the present state."""
        ...

    def state_hash(self) -> str:
        """Return a hash of the present observation and admissible commands."""
        ...
