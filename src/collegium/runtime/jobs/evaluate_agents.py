"""Evaluates a population on test games: each arm plays the same (task, agent, offset) pairs.

For each offset every task is given one agent by the allocation sigma. `no_retrieval` is the
baseline; `retrieval` sees D_P, the memory of an earlier `build_memory`; `expert` is the text-only
explorer, played once a task: what imitating it could reach at most.
"""

import json
from collections.abc import Sequence

from collegium.agents.allocation import allocate
from collegium.agents.experts import ExplorerPolicy
from collegium.agents.planner import build_planner, check_planner_variety
from collegium.agents.policies import GuidedPolicy, Retrieval
from collegium.agents.protocol import GuidanceSource, Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, ConfigError, InvalidInputError, Task
from collegium.environments.household.abstraction import follows
from collegium.evaluation import Summary, read_episodes
from collegium.evaluation.report import build
from collegium.experience import Snapshot
from collegium.experience.replay import EXPLORER
from collegium.llm import Engine
from collegium.runtime.jobs.configs import EXPERT, RETRIEVAL, EvaluateAgentsConfig
from collegium.runtime.jobs.episodes import EpisodePlayer, JobContext, Planned
from collegium.runtime.jobs.formats import build_format
from collegium.runtime.jobs.games import open_games, select_tasks
from collegium.runtime.jobs.memory import built_memory, store_growth
from collegium.store import RunDirectory

_MEMORY = "memory.json"


async def evaluate_agents(config: EvaluateAgentsConfig, context: JobContext) -> Summary:
    """Play all arms, then write and return what they showed.

    Raises:
        NotFoundError: Games or memory are not there.
        BudgetExceededError: The budget is spent; the run can be resumed.
        ConfigError: Offsets repeat, or the planner never varied (all rows are stored by then).
    """
    check_offsets(config.offsets, len(config.agents))
    store = open_games(config.games, context.run)
    tasks = select_tasks(config.games, store)
    source = _guidance_source(config, context.run)
    player = EpisodePlayer(config, store, context)
    if EXPERT in config.arms:
        context.progress.stage("expert")
        await player.play_alone(
            plan_expert(config, tasks), lambda unit: ExplorerPolicy(seed=unit.seed)
        )
    context.progress.stage("agents")
    await player.play(plan_episodes(config, tasks), _Policies(config, source))
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
            _planned(config, task, arm, allocation[task.task_id], offset)
            for task in tasks
            for arm in config.arms
            if arm != EXPERT
        ]
    return planned


def plan_expert(config: EvaluateAgentsConfig, tasks: Sequence[Task]) -> list[Planned]:
    """Return the expert's episodes, one a task."""
    return [_planned(config, task, EXPERT, EXPLORER, 0) for task in tasks]


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
    """Makes each episode's policy; only the arm `retrieval` has a guidance source."""

    def __init__(self, config: EvaluateAgentsConfig, source: GuidanceSource | None) -> None:
        self._config = config
        self._source = source
        self._format = build_format(config)

    def __call__(self, unit: EpisodeUnit, agent: Agent, engine: Engine) -> Policy:
        retrieval = None
        if unit.arm == RETRIEVAL and self._source is not None:
            planner = build_planner(
                self._config.planner, engine=engine, agent=agent, follows=follows
            )
            retrieval = Retrieval(self._source, planner, self._config.grammar)
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


def _guidance_source(config: EvaluateAgentsConfig, run: RunDirectory) -> GuidanceSource | None:
    if RETRIEVAL not in config.arms or config.memory is None:
        return None
    snapshot = _snapshot(RunDirectory(config.memory), run)
    if not snapshot.count():
        raise InvalidInputError(f"{config.memory}: the memory holds no chunk to retrieve")
    store_growth(snapshot, run)
    return snapshot.retriever(config.retrieval)


def _snapshot(memory_run: RunDirectory, run: RunDirectory) -> Snapshot:
    """Return D_P as it was when the evaluation started, also when the memory grew since."""
    memory = built_memory(memory_run)
    digest = memory_run.read_text("digest.txt").strip()
    if run.exists(_MEMORY):
        noted = json.loads(run.read_text(_MEMORY))
        if noted["digest"] != digest:
            raise ConfigError(
                f"{run.path} was begun with the memory of run {noted['digest']}, but "
                f"{memory_run.path} is {digest}: use another run directory"
            )
        return memory.as_of(noted["partition"])
    snapshot = memory.as_of(memory.sealed - 1)
    noted = {"run": memory_run.path, "digest": digest, "partition": snapshot.partition}
    run.write_text(_MEMORY, json.dumps(noted | {"chunks": snapshot.count()}, indent=1))
    return snapshot


def _check_planner(config: EvaluateAgentsConfig, run: RunDirectory) -> None:
    decisions = [
        step.retrieved
        for episode in read_episodes(run)
        if episode.arm == RETRIEVAL
        for step in episode.trajectory.steps
    ]
    check_planner_variety(decisions, config.planner)
