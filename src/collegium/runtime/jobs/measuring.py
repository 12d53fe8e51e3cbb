"""Lets trained adapters play games set aside, and writes what they solved into their cards."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from collegium.agents.policies import GuidedPolicy
from collegium.agents.protocol import Policy
from collegium.agents.units import EpisodeUnit
from collegium.core import Agent, Episode, Sampling, SystemClock, Task
from collegium.environments.household import GameStore
from collegium.evaluation.arms import NO_RETRIEVAL
from collegium.llm import Engine, EngineSettings
from collegium.llm.adapters import read_card, write_card
from collegium.runtime.jobs.configs import ExecutionConfig, PlayingConfig
from collegium.runtime.jobs.episodes import EpisodePlayer, JobContext, Planned
from collegium.runtime.jobs.formats import build_format
from collegium.runtime.jobs.hosting import hosted_engines
from collegium.runtime.jobs.progress import ConsoleProgress
from collegium.store import RunDirectory


class MeasuringSetup(NamedTuple):
    """Where and how adapters are measured."""

    model: str
    engine: EngineSettings
    execution: ExecutionConfig
    store: GameStore
    run: RunDirectory
    progress: ConsoleProgress


async def measure_adapters(
    adapters: Sequence[Path], tasks: Sequence[Task], setup: MeasuringSetup
) -> None:
    """Let each adapter play each task once, without guidance, and note its success in its card."""
    agents = tuple(
        Agent(id=adapter.name, model=setup.model, adapter=str(adapter), sampling=Sampling())
        for adapter in adapters
    )
    playing = PlayingConfig(agents=agents, engine=setup.engine, execution=setup.execution)
    text = build_format(playing)

    def policy(unit: EpisodeUnit, agent: Agent, engine: Engine) -> Policy:
        return GuidedPolicy(engine, agent, text, seed=unit.seed)

    planned = [_planned(agent, task) for agent in agents for task in tasks]
    setup.progress.stage("measuring")
    async with hosted_engines(playing) as engines:
        context = JobContext(setup.run, engines, setup.progress, SystemClock())
        player = EpisodePlayer(playing, setup.store, context)
        await player.play(planned, policy)
    _note_benchmarks(adapters, player.episodes(planned))


def _planned(agent: Agent, task: Task) -> Planned:
    unit = EpisodeUnit(
        arm=NO_RETRIEVAL,
        environment=task.environment,
        task_id=task.task_id,
        agent_id=agent.id,
    )
    return Planned(unit, task)


def _note_benchmarks(adapters: Sequence[Path], episodes: Sequence[Episode]) -> None:
    solved: dict[str, dict[str, list[bool]]] = defaultdict(lambda: defaultdict(list))
    for episode in episodes:
        trajectory = episode.trajectory
        if not episode.stop_reason.is_machinery:
            for scope in ("all", trajectory.task.task_type):
                solved[trajectory.producer][scope].append(trajectory.success)
    for adapter in adapters:
        scores = {scope: sum(won) / len(won) for scope, won in sorted(solved[adapter.name].items())}
        about = read_card(adapter).model_dump(exclude={"files", "benchmarks"})
        write_card(adapter, **about, benchmarks=scores)
