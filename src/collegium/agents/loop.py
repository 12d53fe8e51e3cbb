"""The act loop: one agent plays one task until it is solved, the steps are used up, or it breaks.

What the agent does wrong, outgrowing its model's context included, costs the agent steps or ends
its episode; what the machinery does wrong ends the episode with a machinery stop reason, which no
success rate counts. Only a spent budget (`BudgetExceededError`) leaves the loop: it stops the run,
not the episode.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import NamedTuple

from pydantic import Field

from collegium.agents.protocol import Decision, HeldGuidance, Policy, View
from collegium.agents.units import EpisodeUnit
from collegium.config import Config
from collegium.core import (
    Clock,
    EngineError,
    EnvironmentFailedError,
    Episode,
    InvalidInputError,
    Step,
    StopReason,
    Task,
    Trajectory,
    Usage,
    Versions,
)
from collegium.environments.protocol import Environment, Turn
from collegium.llm.protocol import PromptTooLongError


class LoopConfig(Config):
    """How long an agent plays, and what stands in for an answer without an action."""

    step_limit: int = Field(default=30, gt=0)
    """Most steps of an episode."""
    parse_failure_limit: int = Field(default=5, gt=0)
    """This many answers in a row without an action end the episode."""
    fallback_action: str = "look"
    """Carried out in place of an answer without an action; must exist in the environment."""
    unrepeatable: tuple[str, ...] = ("look",)
    """Actions not offered again right after they were taken."""
    avoid_repeats: bool = False
    """Do not offer what was tried before in a state that looked the same: equal observation and
    equal admissible commands. While other commands are left, circles end."""


class Opening(NamedTuple):
    """Where an episode stands that goes on from the midst of another."""

    initial_observation: str
    steps: tuple[Step, ...]
    """Those taken before; they keep what they cost then, which the new episode does not count."""
    turn: Turn
    """The environment's answer to the last of them."""
    held: HeldGuidance | None = None


async def play(
    environment: Environment,
    policy: Policy,
    unit: EpisodeUnit,
    *,
    config: LoopConfig,
    clock: Clock,
    opening: Opening | None = None,
) -> Episode:
    """Play `unit` to its end and return its row.

    Args:
        environment: The task of `unit`; it is reset first, unless there is an `opening`.
        policy: The agent of `unit`.
        unit: Names the attempt in the run.
        config: Limits of the loop.
        clock: Measures the episode's seconds.
        opening: Go on from there, where `environment` must stand already.

    Raises:
        BudgetExceededError: The run's budget is spent; the attempt leaves no row.
        InvalidInputError: `environment` holds another task than `unit` names.
    """
    if environment.task.task_id != unit.task_id:
        raise InvalidInputError(
            f"unit {unit.key} is for task {unit.task_id!r}, but the environment holds "
            f"{environment.task.task_id!r}"
        )
    started = clock.monotonic()
    attempt = _Attempt(environment, policy, config, opening)
    ending = await attempt.run()
    return attempt.episode(unit, ending, clock.monotonic() - started)


def unplayed(unit: EpisodeUnit, task: Task, versions: Versions, error: str) -> Episode:
    """Return the row of an attempt at `unit` whose environment could not be opened."""
    trajectory = Trajectory(
        task=task,
        producer=unit.agent_id,
        initial_observation="",
        steps=(),
        success=False,
        score=0.0,
        versions=versions,
    )
    return _row(unit, trajectory, _Ending(StopReason.ENVIRONMENT_ERROR, error), Usage(), 0.0)


class _Ending(NamedTuple):
    reason: StopReason
    error: str = ""


def _row(
    unit: EpisodeUnit,
    trajectory: Trajectory,
    ending: _Ending,
    usage: Usage,
    seconds: float,
) -> Episode:
    return Episode(
        key=unit.key,
        arm=unit.arm,
        partition=unit.partition,
        offset=unit.offset,
        seed=unit.seed,
        trajectory=trajectory,
        stop_reason=ending.reason,
        error=ending.error,
        usage=usage,
        seconds=seconds,
    )


@contextmanager
def _environment_at_work() -> Iterator[None]:
    """Blame the environment for whatever it raises."""
    try:
        yield
    except EnvironmentFailedError:
        raise
    except Exception as error:
        raise EnvironmentFailedError(f"{type(error).__name__}: {error}") from error


class _Attempt:
    """The changing state of one episode."""

    def __init__(
        self,
        environment: Environment,
        policy: Policy,
        config: LoopConfig,
        opening: Opening | None,
    ) -> None:
        self._environment = environment
        self._policy = policy
        self._config = config
        self._opening = opening
        self._initial_observation = opening.initial_observation if opening else ""
        self._steps = list(opening.steps) if opening else []
        self._score = opening.turn.score if opening else 0.0
        self._held = opening.held if opening else None
        self._usage = Usage()
        failed = takewhile(lambda step: step.parse_failed, reversed(self._steps))
        self._parse_failures = len(list(failed))

    async def run(self) -> _Ending:
        try:
            return _Ending(await self._play())
        except PromptTooLongError as error:
            return _Ending(StopReason.CONTEXT_LIMIT, str(error))
        except EngineError as error:
            return _Ending(StopReason.ENGINE_ERROR, str(error))
        except EnvironmentFailedError as error:
            return _Ending(StopReason.ENVIRONMENT_ERROR, str(error))

    def episode(self, unit: EpisodeUnit, ending: _Ending, seconds: float) -> Episode:
        trajectory = Trajectory(
            task=self._environment.task,
            producer=unit.agent_id,
            initial_observation=self._initial_observation,
            steps=tuple(self._steps),
            success=ending.reason is StopReason.SOLVED,
            score=self._score,
            versions=self._environment.versions,
        )
        return _row(unit, trajectory, ending, self._usage, seconds)

    async def _play(self) -> StopReason:
        turn = self._opening.turn if self._opening else self._reset()
        while not (turn.won or turn.done):
            if len(self._steps) == self._config.step_limit:
                return StopReason.STEP_LIMIT
            decision = await self._policy.act(self._view(turn))
            self._usage += decision.usage
            self._held = decision.held
            self._parse_failures = 0 if decision.action is not None else self._parse_failures + 1
            if self._parse_failures == self._config.parse_failure_limit:
                return StopReason.PARSE_FAILURE
            turn = self._step(decision)
        return StopReason.SOLVED if turn.won else StopReason.AGENT_STOPPED

    def _reset(self) -> Turn:
        with _environment_at_work():
            turn = self._environment.reset()
        self._initial_observation, self._score = turn.observation, turn.score
        return turn

    def _view(self, turn: Turn) -> View:
        withheld = self._withheld()
        admissible = tuple(action for action in turn.admissible if action not in withheld)
        return View(
            task=self._environment.task,
            initial_observation=self._initial_observation,
            steps=tuple(self._steps),
            observation=turn.observation,
            admissible=admissible or turn.admissible,
            step_limit=self._config.step_limit,
            held=self._held,
        )

    def _withheld(self) -> set[str]:
        """Return what is not offered now: small models decoding greedily go in circles for ever."""
        if not self._steps:
            return set()
        last = self._steps[-1]
        withheld = {last.action} & set(self._config.unrepeatable)
        if self._config.avoid_repeats:
            pairs = zip(self._steps, self._steps[1:], strict=False)
            withheld |= {then.action for now, then in pairs if now.state_hash == last.state_hash}
        return withheld

    def _step(self, decision: Decision) -> Turn:
        failed = decision.action is None
        action = self._config.fallback_action if decision.action is None else decision.action
        with _environment_at_work():
            turn = self._environment.step(action)
            state_hash = self._environment.state_hash()
        self._score = turn.score
        self._steps.append(
            Step(
                action=action,
                observation=turn.observation,
                score=turn.score,
                state_hash=state_hash,
                guidance=decision.guidance,
                retrieved=decision.retrieved,
                parse_failed=failed,
                usage=decision.usage,
            )
        )
        return turn
