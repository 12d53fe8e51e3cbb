"""TextWorld itself, the engine that ours must equal; for parity checks and benchmarks only."""

import importlib.util
from pathlib import Path
from typing import Any

from collegium.core import MissingDependencyError
from collegium.environments.protocol import Turn

ORACLE = "textworld 1.7.0, alfworld 0.4.2"
"""What the answers are those of."""


def oracle_is_installed() -> bool:
    """Return whether the extra `parity` is there."""
    return all(importlib.util.find_spec(name) for name in ("textworld", "alfworld"))


class Oracle:
    """One game in TextWorld, named as ALFWorld names it. Takes about a second to load."""

    def __init__(self, path: Path) -> None:
        """Load the official game file at `path`.

        Raises:
            MissingDependencyError: If TextWorld or ALFWorld is not installed.
        """
        try:
            import textworld
            from alfworld.agents.environment.alfred_tw_env import AlfredDemangler
        except ImportError as error:
            raise MissingDependencyError(
                "TextWorld is not installed; install the extra: pip install 'collegium[parity]'"
            ) from error
        wanted = textworld.EnvInfos(feedback=True, admissible_commands=True, won=True, score=True)
        self._game: Any = textworld.start(str(path), wanted, wrappers=[AlfredDemangler()])

    def reset(self) -> Turn:
        """Return to the initial state and give its turn."""
        return _turn(self._game.reset())

    def step(self, action: str) -> Turn:
        """Carry out `action`."""
        state, _, _ = self._game.step(action)
        return _turn(state)

    def close(self) -> None:
        """Release TextWorld's copy of the planner library."""
        self._game.close()


def _turn(state: Any) -> Turn:
    """Return TextWorld's state as a turn; at a reset it leaves `done` and `score` unset."""
    return Turn(
        observation=state.feedback,
        admissible=tuple(state.admissible_commands),
        done=bool(state.done),
        won=bool(state.won),
        score=float(state.score or 0),
    )
