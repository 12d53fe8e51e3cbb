"""The household engine: ALFWorld's rules, to the letter, on a small mutable state.

Every answer equals that of TextWorld 1.7.0 with ALFWorld 0.4.2 (observation, admissible commands
in their order, done, won, score). Observation and admissible list are built anew at each step;
only texts of single entities and places are prepared. Not thread-safe; `fork` shares all parts.
"""

import hashlib
from typing import Self

from collegium.core import Versions
from collegium.environments.household.admissible import admissible_commands
from collegium.environments.household.commands import HANDLERS
from collegium.environments.household.game import ENGINE, Game
from collegium.environments.household.house import join_names
from collegium.environments.household.state import State
from collegium.environments.household.wording import (
    NOTHING_HAPPENS,
    ROOM,
    TASK_PREFIX,
    WELCOME,
    Grammar,
)
from collegium.environments.protocol import Turn


class Household:
    """One game being played; implements `collegium.environments.Environment`."""

    __slots__ = ("_grammar", "_handlers", "_state", "_turn", "_won", "game", "task", "versions")

    def __init__(self, game: Game, grammar: Grammar = Grammar.CURRENT) -> None:
        self.game = game
        self.task = game.task
        self.versions = Versions(game_data=game.digest, grammar=grammar, engine=ENGINE)
        self._grammar = grammar
        self._handlers = HANDLERS[grammar]
        self.reset()

    @property
    def state(self) -> State:
        """The present state, for planners with full knowledge; read it, never change it."""
        return self._state

    def reset(self) -> Turn:
        """Return to the initial state and give its turn."""
        self._state = self.game.start.copy()
        self._won = self.game.win.holds(self._state)
        room = join_names([receptacle.listed for receptacle in self.game.house.receptacles])
        return self._answer(f"{WELCOME}\n\n{ROOM}{room}.\n\n{TASK_PREFIX}{self.task.goal}")

    def step(self, action: str) -> Turn:
        """Carry out `action`; one that is not admissible changes nothing."""
        verb, _, rest = action.strip().partition(" ")
        handler = self._handlers.get(verb)
        observation = handler(self.game.house, self._state, rest) if handler else None
        if observation is None:
            return self._answer(NOTHING_HAPPENS)
        if verb in self.game.win.verbs:
            self._won = self.game.win.holds(self._state)
        return self._answer(observation)

    def fork(self) -> Self:
        """Return an independent copy that continues from the present state."""
        twin = object.__new__(type(self))
        twin.game = self.game
        twin.task = self.task
        twin.versions = self.versions
        twin._grammar = self._grammar
        twin._handlers = self._handlers
        twin._state = self._state.copy()
        twin._won = self._won
        twin._turn = self._turn
        return twin

    def state_hash(self) -> str:
        """Return a hash of the present observation and admissible commands."""
        text = "\x1f".join((self._turn.observation, *self._turn.admissible))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def _answer(self, observation: str) -> Turn:
        won = self._won
        admissible = admissible_commands(self._state, self._grammar)
        self._turn = Turn(observation, admissible, won, won, 1.0 if won else 0.0)
        return self._turn
