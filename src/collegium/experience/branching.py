"""Branching points: states in the midst of a baseline from which several futures are played.

Before step t of a baseline, an agent could have been shown any of the candidates that a retrieval
gives there. A future shows one of them, from t to the end, with no further retrieval; the control
shows none (MATM App. I; formulas §2.5). The environment is brought to each point once by the
baseline's own actions, and each answer is checked against what the baseline got: where they differ,
this point and those after it are left out and counted.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from collegium.agents.loop import Opening
from collegium.agents.protocol import HeldGuidance, View
from collegium.agents.queries import build_query
from collegium.config import Config
from collegium.core import (
    EnvironmentFailedError,
    Episode,
    Guidance,
    Query,
    Trajectory,
    content_id,
    generator,
)
from collegium.environments import Environment, Turn

FUTURE: Final = "future"
"""Arm of the branches that are shown a candidate."""
CONTROL: Final = "control"
"""Arm of the branches that are shown none."""


class BranchingConfig(Config):
    """Where baselines are branched, and into what."""

    points: int = Field(default=2, ge=1)
    """T, branching points of a baseline; fewer where it has fewer than T + 1 steps."""
    ranks: tuple[int, ...] = Field(default=(1, 5, 10, 15, 20), min_length=1)
    """I: the candidates that are shown, by their rank in the retrieval."""
    candidates: int = Field(default=20, ge=1)
    """K: how many are retrieved."""
    repeats: int = Field(default=1, ge=1)
    """Times each future and control is played; more than one needs agents that sample."""
    control: bool = True
    """Play the branch without guidance too."""
    mode: Literal["fork", "replay"] = "fork"
    """Copy the environment at the point, or bring a fresh one there for each branch."""
    seed: int = 0
    """Seed of the choice of points."""

    @model_validator(mode="after")
    def _ranks_among_candidates(self) -> Self:
        if sorted(set(self.ranks)) != list(self.ranks) or self.ranks[0] < 1:
            raise ValueError(f"ranks {list(self.ranks)} must rise and count from 1")
        if self.ranks[-1] > self.candidates:
            raise ValueError(
                f"rank {self.ranks[-1]} is not among {self.candidates} candidates: retrieve more"
            )
        return self

    @property
    def branches(self) -> int:
        """Episodes a branching point, controls included."""
        return (len(self.ranks) + self.control) * self.repeats


class BranchPoint(NamedTuple):
    """A state of a baseline, ready to be continued any number of times."""

    baseline: Episode
    step: int
    """t: steps taken before it, from 1."""
    turn: Turn
    environment: Callable[[], Environment]
    """Gives an environment of its own that stands here; raises EnvironmentFailedError."""

    @property
    def group(self) -> str:
        """Id of the point within its run: its futures are compared with each other."""
        return content_id([self.baseline.key, self.step])

    def query(self, step_limit: int) -> Query:
        """Return what the agent would ask the memory here."""
        trajectory = self.baseline.trajectory
        view = View(
            task=trajectory.task,
            initial_observation=trajectory.initial_observation,
            steps=trajectory.steps[: self.step],
            observation=self.turn.observation,
            admissible=self.turn.admissible,
            step_limit=step_limit,
        )
        return build_query(view, grammar=trajectory.versions.grammar, consumer=trajectory.producer)

    def enter(self, guidance: Guidance | None) -> tuple[Environment, Opening]:
        """Return an environment that stands here, and the episode so far with `guidance` in use."""
        trajectory = self.baseline.trajectory
        opening = Opening(
            initial_observation=trajectory.initial_observation,
            steps=trajectory.steps[: self.step],
            turn=self.turn,
            held=HeldGuidance(guidance, since=self.step) if guidance else None,
        )
        return self.environment(), opening


def choose_steps(trajectory: Trajectory, config: BranchingConfig, partition: int) -> list[int]:
    """Return the steps before which a baseline is branched, in order: some of 1 .. H - 1.

    The choice depends on seed, partition and task only, so a resumed run makes the same one.
    """
    last = len(trajectory.steps) - 1
    if last < 1:
        return []
    rng = generator(config.seed, "branching", partition, trajectory.task.task_id)
    chosen = rng.choice(last, size=min(config.points, last), replace=False)
    return sorted(int(step) + 1 for step in chosen)


def open_points(
    baseline: Episode,
    steps: Sequence[int],
    new: Callable[[], Environment],
    mode: Literal["fork", "replay"],
) -> Iterator[BranchPoint]:
    """Walk along a baseline and yield a point at each of `steps` that is reached as it was then.

    Args:
        baseline: An episode that the agent, not the machinery, ended.
        steps: Rising, each from 1 to H - 1.
        new: Gives an environment of the baseline's task.
        mode: `fork` copies the environment there; `replay` makes a new one walk there each time.
    """
    environment = new()
    taken = 0
    for step in steps:
        try:
            turn = _walk(environment, baseline.trajectory, taken, step)
        except EnvironmentFailedError:
            return
        taken = step
        stands = (
            environment.fork().fork if mode == "fork" else partial(_walked, new, baseline, step)
        )
        yield BranchPoint(baseline, step, turn, stands)


def _walked(new: Callable[[], Environment], baseline: Episode, step: int) -> Environment:
    environment = new()
    _walk(environment, baseline.trajectory, 0, step)
    return environment


def _walk(environment: Environment, trajectory: Trajectory, start: int, end: int) -> Turn:
    """Take the steps start .. end - 1 again; from the beginning, after a reset.

    Raises:
        EnvironmentFailedError: The environment broke, or answered otherwise than then.
    """
    try:
        turn = environment.reset() if start == 0 else None
        same = turn is None or turn.observation == trajectory.initial_observation
        for step in trajectory.steps[start:end]:
            turn = environment.step(step.action)
            same = same and environment.state_hash() == step.state_hash
    except Exception as error:
        raise EnvironmentFailedError(f"{type(error).__name__}: {error}") from error
    if turn is None or not same:
        raise EnvironmentFailedError(
            f"{trajectory.task.task_id}: the way to step {end} went otherwise than before"
        )
    return turn
