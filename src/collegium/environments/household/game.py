"""A loaded game: immutable, shared by all environments that play it."""

from dataclasses import dataclass

from collegium.core import Task
from collegium.environments.household.house import House
from collegium.environments.household.problem import PddlGoal
from collegium.environments.household.state import State
from collegium.environments.household.winning import WinCondition

ENGINE = "household-1"
"""Version of the engine; it rises whenever any answer of it changes."""


@dataclass(frozen=True, slots=True, eq=False)
class Game:
    """Everything about a game that playing it does not change."""

    task: Task
    walkthrough: tuple[str, ...]
    """Commands of the current grammar that win exactly at the last one."""
    digest: str
    """`sha256:<hex>` of the game file."""
    house: House
    start: State
    """The initial state; copy it, never change it."""
    goal: PddlGoal
    win: WinCondition
