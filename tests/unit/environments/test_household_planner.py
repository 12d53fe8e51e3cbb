import random

import pytest

from collegium.core.errors import InvalidInputError
from collegium.environments.household import Game, Household, load_game_text
from collegium.environments.household.generator import generate_game
from collegium.environments.household.goals import TaskType
from collegium.environments.household.planner import plan, plan_from


def game(seed: int, task_type: TaskType) -> Game:
    return load_game_text(generate_game(seed, task_type), f"{task_type}/{seed}")


def wins(household: Household, commands: tuple[str, ...]) -> list[bool]:
    return [household.step(command).won for command in commands]


def wander(household: Household, steps: int, rng: random.Random) -> None:
    """Walk at random, as often by each verb, but never take what can be put down nowhere."""
    turn = household.reset()
    fitting = {kind for r in household.game.house.receptacles for kind in r.accepts}
    for _ in range(steps):
        safe = [
            command
            for command in turn.admissible
            if not command.startswith("take ") or command.split()[1] in fitting
        ]
        verb = rng.choice(sorted({command.split()[0] for command in safe}))
        turn = household.step(rng.choice([c for c in safe if c.split()[0] == verb]))


@pytest.mark.parametrize("task_type", TaskType)
def test_plans_win_exactly_at_their_last_command(task_type: TaskType) -> None:
    for seed in range(10):
        played = game(seed, task_type)
        won = wins(Household(played), plan(played))
        assert won.index(True) == len(won) - 1


@pytest.mark.parametrize("task_type", TaskType)
def test_plans_start_from_any_state_and_leave_it_alone(task_type: TaskType) -> None:
    rng = random.Random(5)
    for seed in range(6):
        household = Household(game(seed, task_type))
        wander(household, 25, rng)
        before = household.state_hash()
        commands = plan_from(household)
        assert household.state_hash() == before
        assert not commands or wins(household, commands)[-1]


def test_a_won_game_needs_no_commands() -> None:
    household = Household(game(1, TaskType.HEAT))
    wins(household, plan_from(household))
    assert plan_from(household) == ()


@pytest.mark.parametrize("task_type", TaskType)
def test_following_a_plan_never_lengthens_it(task_type: TaskType) -> None:
    household = Household(game(2, task_type))
    commands = plan_from(household)
    for done, command in enumerate(commands, start=1):
        household.step(command)
        assert len(plan_from(household)) <= len(commands) - done


def test_a_dead_end_is_reported() -> None:
    """Some things can be taken but fit nowhere: with one in hand the game is lost."""
    for seed in range(40):
        household = Household(game(seed, TaskType.COOL))
        held = next((t for t in household.game.house.things if t.kind == "papertowelroll"), None)
        if held is not None:
            break
    place = next(
        r for r in household.game.house.receptacles if held in household.state.contents[r.index]
    )
    household.step(place.go_command)
    household.step(place.open_command)
    household.step(f"take {held.name} from {place.name}")
    with pytest.raises(InvalidInputError, match="no plan"):
        plan_from(household)
