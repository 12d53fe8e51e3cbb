"""Evaluates a population on test games: each arm plays the same (task, agent, offset) pairs.

For each offset every task is given one agent by the allocation sigma. Guided arms see D_P, the
memory of an earlier `build_memory` or `label_utility`, each in its own way (`evaluation.arms`); the
arm `expert` is played once a task.
"""

from collections.abc import Sequence

from collegium.agents.allocation import allocate
from collegium.agents.experts import ExplorerPolicy
from collegium.agents.planner import build_planner, check_planner_variety
from collegium.agents.policies import GuidedPolicy, Retrieval
from collegium.agents.protocol import Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, ConfigError, Task
from collegium.environments.household.abstraction import follows
from collegium.evaluation import Summary, read_episodes
from collegium.evaluation.arms import EXPERT, RETRIEVAL
from collegium.evaluation.report import build
from collegium.experience.replay import EXPLORER
from collegium.llm import Engine
from collegium.runtime.jobs.configs import EvaluateAgentsConfig
from collegium.runtime.jobs.episodes import EpisodePlayer, JobContext, Planned
from collegium.runtime.jobs.formats import build_format
from collegium.runtime.jobs.games import open_games, select_tasks
from collegium.runtime.jobs.guidance_sources import GuidanceSources
from collegium.store import RunDirectory


async def evaluate_agents(config: EvaluateAgentsConfig, context: JobContext) -> Summary:
    """Play all arms, then write and return what they showed.

    Raises:
        NotFoundError: Games, memory or models are not there.
        BudgetExceededError: The budget is spent; the run can be resumed.
        ConfigError: Offsets repeat, or the planner never varied (all rows are stored by then).
    """
    check_offsets(config.offsets, len(config.agents))
    store = open_games(config.games, context.run)
    tasks = select_tasks(config.games, store)
    context.progress.stage("guidance")
    sources = GuidanceSources(config, context.run, store, tasks)
    player = EpisodePlayer(config, store, context)
    if expert := plan_expert(config, tasks):
        context.progress.stage("expert")
        await player.play_alone(expert, lambda unit: ExplorerPolicy(seed=unit.seed))
    context.progress.stage("agents")
    planned = plan_episodes(config, tasks)
    played = [one for one in planned if one.unit.arm not in sources.refused]
    await player.play(played, _Policies(config, sources))
    context.run.finish()
    summary = build(context.run.path)
    _check_planner(config, context.run)
    return summary


def plan_episodes(config: EvaluateAgentsConfig, tasks: Sequence[Task]) -> list[Planned]:
    """Return the episodes of the agents' arms; those of one pair stand together."""
    ids = [agent.id for agent in config.agents]
    planned = []
    for offset in config.offsets:
        allocation = allocate(tasks, ids, offset=offset, seed=config.agent_order_seed)
        planned += [
            _planned(config, task, arm.name, allocation[task.task_id], offset)
            for task in tasks
            for arm in config.arms
            if arm.mode != EXPERT
        ]
    return planned


def plan_expert(config: EvaluateAgentsConfig, tasks: Sequence[Task]) -> list[Planned]:
    """Return the expert's episodes, one a task, if it is an arm."""
    arms = [arm.name for arm in config.arms if arm.mode == EXPERT]
    return [_planned(config, task, arm, EXPLORER, 0) for task in tasks for arm in arms]


def check_offsets(offsets: Sequence[int], agents: int) -> None:
    """Refuse offsets that give the same pairs twice, which would count as two observations.

    Raises:
        ConfigError: Two offsets are equal modulo the number of agents.
    """
    turns = [offset % agents for offset in offsets]
    if len(set(turns)) < len(turns):
        raise ConfigError(
            f"offsets {list(offsets)} give some tasks the same agent twice, as there are {agents} "
            "agents: choose offsets that differ modulo that number"
        )


class _Policies:
    """Makes each episode's policy, with the guidance source of its arm."""

    def __init__(self, config: EvaluateAgentsConfig, sources: GuidanceSources) -> None:
        self._config = config
        self._sources = sources
        self._format = build_format(config)

    def __call__(self, unit: EpisodeUnit, agent: Agent, engine: Engine) -> Policy:
        retrieval = None
        source = self._sources.of(unit.arm, unit.offset)
        if source is not None:
            planner = build_planner(
                self._config.planner, engine=engine, agent=agent, follows=follows
            )
            retrieval = Retrieval(source, planner, self._config.grammar)
        return GuidedPolicy(engine, agent, self._format, seed=unit.seed, retrieval=retrieval)


def _planned(
    config: EvaluateAgentsConfig, task: Task, arm: str, agent_id: str, offset: int
) -> Planned:
    unit = EpisodeUnit(
        arm=arm,
        environment=task.environment,
        task_id=task.task_id,
        agent_id=agent_id,
        offset=offset,
        seed=config.seed,
    )
    return Planned(unit, task)


def _check_planner(config: EvaluateAgentsConfig, run: RunDirectory) -> None:
    by_similarity = {arm.name for arm in config.arms if arm.mode == RETRIEVAL}
    decisions = [
        step.retrieved
        for episode in read_episodes(run)
        if episode.arm in by_similarity
        for step in episode.trajectory.steps
    ]
    check_planner_variety(decisions, config.planner)
