"""Episodes played without a language model: commands carried out again, and the expert's own.

What is stored are the environment's own answers, so a replayed trajectory is of the environment's
grammar whatever it was recorded in, and it counts as a success only if it wins here.
"""

from collections.abc import Callable, Iterable, Iterator

from collegium.core import Step, Task, Trajectory
from collegium.environments.household.engine import Household
from collegium.environments.household.explorer import Explorer
from collegium.environments.household.store import GameStore
from collegium.environments.protocol import Environment, Turn

EXPLORER = "explorer"
"""Producer id of the household's text-only expert."""


def play_out(
    environment: Environment, choose: Callable[[Turn], str | None], producer: str
) -> Trajectory:
    """Play from a reset until the game is won or `choose` gives None.

    Args:
        environment: The game.
        choose: Gives the next action for the newest turn.
        producer: Id of the agent that the trajectory is stored under.
    """
    turn = environment.reset()
    initial_observation = turn.observation
    steps: list[Step] = []
    while not turn.won and (action := choose(turn)) is not None:
        turn = environment.step(action)
        steps.append(
            Step(
                action=action,
                observation=turn.observation,
                score=turn.score,
                state_hash=environment.state_hash(),
            )
        )
    return Trajectory(
        task=environment.task,
        producer=producer,
        initial_observation=initial_observation,
        steps=tuple(steps),
        success=turn.won,
        score=turn.score,
        versions=environment.versions,
    )


def replay(environment: Environment, commands: Iterable[str], producer: str) -> Trajectory:
    """Carry out `commands` from a reset, up to the one that wins."""
    rest = iter(commands)
    return play_out(environment, lambda _: next(rest, None), producer)


def expert_trajectories(
    tasks: Iterable[Task],
    store: GameStore,
    *,
    seed: int,
    step_limit: int,
    noise: float = 0.0,
) -> Iterator[Trajectory]:
    """Yield the explorer's trajectory of each task, successful or not, in order.

    Args:
        tasks: Household tasks of `store`.
        store: Where their games are.
        seed: Seed of the explorer's noise; each game has its own stream.
        step_limit: Most steps of an episode.
        noise: Probability in [0, 1] that a step is a random one.
    """
    for task in tasks:
        household = Household(store.load(task))
        first = household.reset().observation
        explorer = Explorer(household.task.goal, first, seed, noise)
        yield play_out(household, _limited(explorer, step_limit), EXPLORER)


def _limited(explorer: Explorer, step_limit: int) -> Callable[[Turn], str | None]:
    left = iter(range(step_limit))

    def choose(turn: Turn) -> str | None:
        if next(left, None) is None:
            return None
        return explorer.act(turn.observation, turn.admissible)

    return choose
