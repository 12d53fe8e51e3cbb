"""What a run will take, before anything is started: a simple model whose assumptions are told."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from collegium.agents.planner import PlannerKind
from collegium.core import Record
from collegium.environments.household import GameStore
from collegium.evaluation.arms import EXPERT, NO_RETRIEVAL
from collegium.llm import HttpConfig, VllmConfig
from collegium.runtime.jobs.configs import (
    ConstructionConfig,
    EvaluateAgentsConfig,
    GamesConfig,
    LabelUtilityConfig,
    PlayingConfig,
)
from collegium.runtime.jobs.engines import engines_needed, side_by_side
from collegium.runtime.jobs.train_agents import TrainAgentsConfig

OFFICIAL_SIZES = {"train": 3553, "valid_seen": 140, "valid_unseen": 134}
STEP_SHARE = 0.75
"""Mean length of an episode, as a share of the step limit."""
BRANCH_SHARE = 0.5
"""Mean length of a branch, as a share of a whole episode's."""
ENGINE_START_S = 15.0
CPU_CALLS_PER_S = 15.0
CPU_TRAINED_TOKENS_PER_S = 350
REMOTE_CALL_S = 2.0


class _Prompt(NamedTuple):
    """Tokens of one call."""

    fixed: int
    per_step: int
    guidance: int
    answer: int


_PROMPTS = {
    "transcript": _Prompt(fixed=60, per_step=17, guidance=40, answer=6),
    "json": _Prompt(fixed=1500, per_step=0, guidance=250, answer=120),
    "choice": _Prompt(fixed=1500, per_step=0, guidance=250, answer=8),
}
_PLANNER = _Prompt(fixed=600, per_step=0, guidance=250, answer=8)


class _Work(NamedTuple):
    """What is to be played; lengths are in whole episodes."""

    tasks: int
    episodes: int
    lengths: float
    """Of all episodes together."""
    guided: float
    """Of those with guidance in the prompt."""
    planned: float
    """Of those with a planner that asks a model."""
    stages: int
    """Times that all agents play."""


class Estimate(Record):
    """Expected size of a run that starts from nothing."""

    tasks: int
    episodes: int
    """Episodes of language-model agents."""
    calls: int
    prompt_tokens: int
    """Those served from a prefix cache included."""
    completion_tokens: int
    engine_starts: int
    minutes: float
    assumptions: tuple[str, ...]


def estimate_evaluation(config: EvaluateAgentsConfig) -> Estimate:
    """Return what `evaluate_agents` will take."""
    tasks = count_tasks(config.games)
    runs = tasks * len(config.offsets)
    arms = [arm for arm in config.arms if arm.mode != EXPERT]
    guided = runs * sum(arm.mode != NO_RETRIEVAL for arm in arms)
    planner = guided if config.planner is PlannerKind.LLM else 0
    work = _Work(tasks, runs * len(arms), runs * len(arms), guided, planner, stages=1)
    return _estimate(config, work)


def estimate_memory(config: ConstructionConfig) -> Estimate:
    """Return what `build_memory` will take."""
    tasks = _constructing_tasks(config)
    episodes = tasks if config.partitions else 0
    return _estimate(config, _Work(tasks, episodes, episodes, 0, 0, config.partitions))


def estimate_labels(config: LabelUtilityConfig) -> Estimate:
    """Return what `label_utility` will take, if all retrievals find enough candidates."""
    tasks = _constructing_tasks(config)
    baselines = tasks if config.partitions else 0
    points = baselines * config.branching.points
    branches = points * config.branching.branches
    guided = points * len(config.branching.ranks) * config.branching.repeats * BRANCH_SHARE
    work = _Work(
        tasks,
        episodes=baselines + branches,
        lengths=baselines + branches * BRANCH_SHARE,
        guided=guided,
        planned=0,
        stages=2 * config.partitions,
    )
    return _estimate(config, work)


def _constructing_tasks(config: ConstructionConfig) -> int:
    tasks = count_tasks(config.games)
    return tasks if config.tasks is None else min(tasks, config.tasks)


def count_tasks(config: GamesConfig) -> int:
    """Return how many games `config` chooses; official ones need not be there.

    Raises:
        NotFoundError: A split that is neither official nor generated is not there.
    """
    total = sum(_split_sizes(config))
    return total if config.limit is None else min(total, config.limit)


def _split_sizes(config: GamesConfig) -> Iterable[int]:
    for split in config.splits:
        if config.generated is not None:
            yield config.generated.count
        elif split in OFFICIAL_SIZES:
            yield OFFICIAL_SIZES[split]
        else:
            yield len(GameStore(Path(config.root) if config.root else None).tasks(split))


def _estimate(config: PlayingConfig, work: _Work) -> Estimate:
    steps = config.loop.step_limit * STEP_SHARE
    prompt = _PROMPTS[config.format]
    per_call = prompt.fixed + prompt.per_step * steps / 2
    calls = (work.lengths + work.planned) * steps
    starts = _engine_starts(config, work.stages) if work.episodes else 0
    return Estimate(
        tasks=work.tasks,
        episodes=work.episodes,
        calls=round(calls),
        prompt_tokens=round(
            steps
            * (
                work.lengths * per_call
                + work.guided * prompt.guidance
                + work.planned * (_PLANNER.fixed + _PLANNER.guidance)
            )
        ),
        completion_tokens=round(
            steps * (work.lengths * prompt.answer + work.planned * _PLANNER.answer)
        ),
        engine_starts=starts,
        minutes=round(_seconds(config, calls, starts) / 60, 1),
        assumptions=_assumptions(config, per_call),
    )


def _engine_starts(config: PlayingConfig, stages: int) -> int:
    """Those that fit side by side stay alive from one stage to the next."""
    if not isinstance(config.engine, VllmConfig):
        return 0
    engines = len(engines_needed(config.engine, config.agents))
    return engines + (stages - 1) * max(0, engines - side_by_side(config))


def _seconds(config: PlayingConfig, calls: float, starts: int) -> float:
    if isinstance(config.engine, HttpConfig):
        return calls * REMOTE_CALL_S / config.execution.concurrency
    return calls / CPU_CALLS_PER_S + starts * ENGINE_START_S


def _assumptions(config: PlayingConfig, per_call: float) -> tuple[str, ...]:
    speed = (
        f"{REMOTE_CALL_S:g} s a call, {config.execution.concurrency} episodes at once"
        if isinstance(config.engine, HttpConfig)
        else f"{CPU_CALLS_PER_S:g} calls/s and {ENGINE_START_S:g} s an engine start, as on two "
        "CPU cores with a model of 135 M parameters"
    )
    return (
        f"an episode has {STEP_SHARE:.0%} of the {config.loop.step_limit} steps allowed",
        f"a prompt in format {config.format} has {per_call:.0f} tokens on average",
        speed,
    )


class TrainingEstimate(Record):
    """Expected size of a training run that starts from nothing."""

    adapters: int
    tokens: int
    minutes: float
    assumptions: tuple[str, ...]


def estimate_training(config: TrainAgentsConfig) -> TrainingEstimate:
    """Return what `train_agents` will take, the measuring left out."""
    tokens = sum(plan.curriculum.tokens * plan.training.epochs for plan in config.adapters)
    return TrainingEstimate(
        adapters=sum(1 + len(plan.earlier) for plan in config.adapters),
        tokens=tokens,
        minutes=round(tokens / CPU_TRAINED_TOKENS_PER_S / 60, 1),
        assumptions=(f"{CPU_TRAINED_TOKENS_PER_S} tokens a second, for 135M parameters on CPUs",),
    )
